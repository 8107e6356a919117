//! Known bugs, to see whether the tests find them: none is there without the feature `seeded-bugs`.
//!
//! ```text
//! let low = if seeded::active(Bug::HaloOffByOne) { low + 1 } else { low };     in the code under test
//! seeded::activate(Some(Bug::HaloOffByOne));                                   in the test that has to notice
//! ```
//!
//! Without the feature [`active`] is the constant `false`, so the wrong arm is not even compiled in. The bug that is
//! active is one for the whole process, as engines have threads of their own.

/// A mistake that an engine could make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A stage computes one row too few for the stencil that reads it.
    HaloOffByOne,
    /// Overlapping windows are summed in another order than that of their numbers.
    SumInArrivalOrder,
    /// A ring of rows is one row too short.
    RingTooShort,
    /// A box that lies in several tiles is copied from the first one only.
    OneTileOnly,
    /// `blend first` keeps the last window, and the other way round.
    FirstLastSwapped,
    /// A product that is added is rounded before.
    ProductNotFused,
    /// A NaN keeps the payload it came with.
    NanNotCanonical,
    /// Floor division of floats cuts toward zero.
    DivisionTruncates,
    /// A `set` does not see what those before it wrote.
    StaleSet,
    /// A recurrence starts one step late.
    RecurrenceStart,
    /// The elements at the end of a row that fill no whole vector are left out.
    RowTail,
    /// Elements that no window covers hold 0 instead of the initial value.
    GapWithoutInit,
    /// `min` and `max` take the other side of a NaN.
    NanInMinMax,
}

/// Every bug.
pub const ALL: &[Bug] = &[
    Bug::HaloOffByOne,
    Bug::SumInArrivalOrder,
    Bug::RingTooShort,
    Bug::OneTileOnly,
    Bug::FirstLastSwapped,
    Bug::ProductNotFused,
    Bug::NanNotCanonical,
    Bug::DivisionTruncates,
    Bug::StaleSet,
    Bug::RecurrenceStart,
    Bug::RowTail,
    Bug::GapWithoutInit,
    Bug::NanInMinMax,
];

impl Bug {
    /// As reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Bug::HaloOffByOne => "halo off by one",
            Bug::SumInArrivalOrder => "sum in arrival order",
            Bug::RingTooShort => "ring too short",
            Bug::OneTileOnly => "one tile only",
            Bug::FirstLastSwapped => "first and last swapped",
            Bug::ProductNotFused => "product not fused",
            Bug::NanNotCanonical => "NaN not canonical",
            Bug::DivisionTruncates => "division truncates",
            Bug::StaleSet => "stale set",
            Bug::RecurrenceStart => "recurrence start",
            Bug::RowTail => "row tail",
            Bug::GapWithoutInit => "gap without init",
            Bug::NanInMinMax => "NaN in min and max",
        }
    }
}

#[cfg(feature = "seeded-bugs")]
static ACTIVE: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// Whether that bug is switched on.
#[cfg(feature = "seeded-bugs")]
pub fn active(bug: Bug) -> bool {
    ACTIVE.load(std::sync::atomic::Ordering::Relaxed) == bug as usize + 1
}

/// Switches one bug on and every other off.
#[cfg(feature = "seeded-bugs")]
pub fn activate(bug: Option<Bug>) {
    ACTIVE.store(bug.map_or(0, |bug| bug as usize + 1), std::sync::atomic::Ordering::Relaxed);
}

/// Never: the feature is off.
#[cfg(not(feature = "seeded-bugs"))]
#[inline(always)]
pub const fn active(_: Bug) -> bool {
    false
}
