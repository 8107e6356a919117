//! Element types and the weak types of numbers whose type is still open.
//!
//! `height[y, x] * 2 + y / 256` with an f32 `height`: the read is `f32`, `2` and `y` are weak integers, `y / 256`
//! is a weak float; all become f32 where they meet the read.

use std::fmt;

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Element {
    Bool,
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    /// Storage only: computes as f32.
    F16,
    F32,
    F64,
}

/// The type of a value in a body: an element type other than f16, or weak.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ty {
    /// Decided.
    Strong(Element),
    /// Computed in i64, converted as a whole where it meets a strong type.
    WeakInt,
    /// Every operation runs in the float type that is found where it meets one.
    WeakFloat,
}

impl Element {
    /// Every element type, narrow ones first.
    pub const ALL: [Element; 12] = [
        Element::Bool,
        Element::U8,
        Element::U16,
        Element::U32,
        Element::U64,
        Element::I8,
        Element::I16,
        Element::I32,
        Element::I64,
        Element::F16,
        Element::F32,
        Element::F64,
    ];

    /// As written in a script.
    pub fn name(self) -> &'static str {
        match self {
            Element::Bool => "bool",
            Element::U8 => "u8",
            Element::U16 => "u16",
            Element::U32 => "u32",
            Element::U64 => "u64",
            Element::I8 => "i8",
            Element::I16 => "i16",
            Element::I32 => "i32",
            Element::I64 => "i64",
            Element::F16 => "f16",
            Element::F32 => "f32",
            Element::F64 => "f64",
        }
    }

    /// The type with that name.
    pub fn parse(name: &str) -> Option<Element> {
        Element::ALL.into_iter().find(|element| element.name() == name)
    }

    /// Bytes of one stored element.
    pub fn bytes(self) -> u64 {
        match self {
            Element::Bool | Element::U8 | Element::I8 => 1,
            Element::U16 | Element::I16 | Element::F16 => 2,
            Element::U32 | Element::I32 | Element::F32 => 4,
            Element::U64 | Element::I64 | Element::F64 => 8,
        }
    }

    /// Bits of a value.
    pub fn bits(self) -> u32 {
        if self == Element::Bool { 1 } else { self.bytes() as u32 * 8 }
    }

    /// f16, f32 or f64.
    pub fn is_float(self) -> bool {
        matches!(self, Element::F16 | Element::F32 | Element::F64)
    }

    /// Signed or unsigned, not bool.
    pub fn is_int(self) -> bool {
        !self.is_float() && self != Element::Bool
    }

    /// i8 to i64.
    pub fn is_signed(self) -> bool {
        matches!(self, Element::I8 | Element::I16 | Element::I32 | Element::I64)
    }

    /// The type that values of this type are computed in: f16 computes as f32.
    pub fn computed(self) -> Element {
        if self == Element::F16 { Element::F32 } else { self }
    }

    /// The type in which the windows of a mean are added up: integers in 64 bits, so that a mean lies between its values.
    pub fn summed_in(self) -> Element {
        match self {
            _ if self.is_float() => self.computed(),
            _ if self.is_signed() => Element::I64,
            _ => Element::U64,
        }
    }

    /// Smallest and largest value of an integer type, of bool as 0 and 1.
    pub fn int_range(self) -> Option<(i128, i128)> {
        match self {
            Element::Bool => Some((0, 1)),
            Element::F16 | Element::F32 | Element::F64 => None,
            Element::I8 | Element::I16 | Element::I32 | Element::I64 => {
                let half = 1i128 << (self.bits() - 1);
                Some((-half, half - 1))
            }
            Element::U8 | Element::U16 | Element::U32 | Element::U64 => Some((0, (1i128 << self.bits()) - 1)),
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Ty {
    /// f32, f64 or weak float.
    pub fn is_float(self) -> bool {
        match self {
            Ty::Strong(element) => element.is_float(),
            Ty::WeakFloat => true,
            Ty::WeakInt => false,
        }
    }

    /// An integer type or weak integer.
    pub fn is_int(self) -> bool {
        match self {
            Ty::Strong(element) => element.is_int(),
            Ty::WeakInt => true,
            Ty::WeakFloat => false,
        }
    }

    /// Not bool.
    pub fn is_number(self) -> bool {
        self != Ty::Strong(Element::Bool)
    }

    /// The strong type, if it is decided.
    pub fn strong(self) -> Option<Element> {
        match self {
            Ty::Strong(element) => Some(element),
            Ty::WeakInt | Ty::WeakFloat => None,
        }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ty::Strong(element) => element.fmt(f),
            Ty::WeakInt => f.write_str("int"),
            Ty::WeakFloat => f.write_str("float"),
        }
    }
}

impl fmt::Debug for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
