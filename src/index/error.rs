//! What goes wrong with indices: a malformed request, or a coordinate outside its domain.

use std::fmt;

/// The two kinds of failure, as TensorStore names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexErrorKind {
    /// The request makes no sense for any data: wrong rank, unknown label, zero stride, overflow.
    InvalidArgument,
    /// The request names coordinates outside explicit bounds.
    OutOfRange,
}

/// A failed index computation; the message is lower case and fit to be shown inside a diagnostic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexError {
    /// Malformed, or out of bounds.
    pub kind: IndexErrorKind,
    /// One line with both numbers.
    pub message: String,
}

/// A finite coordinate left the range -(2^62-2)..=2^62-2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// The exact value that does not fit.
    pub value: i128,
}

/// The result of index computations.
pub type Result<T> = std::result::Result<T, IndexError>;

impl fmt::Display for IndexErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IndexErrorKind::InvalidArgument => "INVALID_ARGUMENT",
            IndexErrorKind::OutOfRange => "OUT_OF_RANGE",
        })
    }
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "coordinate {} is outside the index range of ±(2^62 - 2)", self.value)
    }
}

impl std::error::Error for IndexError {}
impl std::error::Error for Overflow {}

impl From<Overflow> for IndexError {
    fn from(overflow: Overflow) -> Self {
        invalid(overflow.to_string())
    }
}

impl IndexError {
    /// Says in which step it happened: `slicing dimension 0: …`.
    #[must_use]
    pub fn context(mut self, place: impl fmt::Display) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }
}

/// An [`IndexErrorKind::InvalidArgument`] with that message.
pub(crate) fn invalid(message: impl Into<String>) -> IndexError {
    IndexError { kind: IndexErrorKind::InvalidArgument, message: message.into() }
}

/// An [`IndexErrorKind::OutOfRange`] with that message.
pub(crate) fn out_of_range(message: impl Into<String>) -> IndexError {
    IndexError { kind: IndexErrorKind::OutOfRange, message: message.into() }
}
