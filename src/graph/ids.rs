//! Typed numbers that print as the text forms write them: `NodeId(3)` as `v3`.

/// Makes `struct Id(u32)` print as a letter and its number, and count as an index.
macro_rules! prints_as {
    ($id:ident, $letter:literal) => {
        impl ::std::fmt::Display for $id {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }
        impl ::std::fmt::Debug for $id {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(self, f)
            }
        }
        impl $id {
            /// As an index.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}
pub(crate) use prints_as;
