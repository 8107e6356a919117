//! The arguments of a kernel: what stands where, and how callers make them.
//!
//! ```text
//! lo0 hi0 lo1 hi1 | w0 w1 | a.0 a.0.end a.0.mask a.0.pitch a.1 a.1.end | out.0 …
//! box             | window| buffer a, dimension 0            dimension 1 | output
//! ```
//!
//! Boxes of lists of stored elements follow the output, the dimension that they go along being the last.

use crate::access::skip::List;
use crate::graph::Graph;
use crate::graph::body::TensorId;
use crate::index::Interval;

/// Where the elements of one dimension of a buffer lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferDim {
    /// The first coordinate.
    pub origin: i64,
    /// One past the last coordinate.
    pub end: i64,
    /// -1 in a box; 2^k - 1 in a ring of 2^k rows. Not looked at in the last dimension.
    pub mask: i64,
    /// Elements from one row to the next. Not looked at in the last dimension, where it is 1.
    pub pitch: i64,
}

/// Which elements a buffer holds and where: the element at `coords` has the offset
/// `Σ ((coord - origin) & mask) * pitch`, and along the last dimension `coord - origin`.
///
/// Every buffer holds at least one element, even if the box that is computed needs none of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferBox {
    /// One per dimension of the tensor.
    pub dims: Vec<BufferDim>,
}

impl BufferBox {
    /// A box in row-major order without gaps; its intervals are bounded, not empty, and their product is an i64.
    pub fn dense(region: &[Interval]) -> Self {
        let mut pitch = 1;
        let mut dims: Vec<BufferDim> = Vec::with_capacity(region.len());
        for range in region.iter().rev() {
            let (origin, end) = (range.first(), range.last() + 1);
            dims.push(BufferDim { origin, end, mask: -1, pitch });
            pitch *= end - origin;
        }
        dims.reverse();
        BufferBox { dims }
    }

    /// One element, for sources that the box does not need.
    pub fn single(rank: usize) -> Self {
        BufferBox { dims: vec![BufferDim { origin: 0, end: 1, mask: 0, pitch: 0 }; rank] }
    }

    /// The offset of an element.
    pub fn offset(&self, coords: &[i64]) -> i64 {
        let Some((last, outer)) = self.dims.split_last() else { return 0 };
        let place = |(dim, coord): (&BufferDim, &i64)| ((coord - dim.origin) & dim.mask) * dim.pitch;
        outer.iter().zip(coords).map(place).sum::<i64>() + coords[outer.len()] - last.origin
    }
}

/// Where each argument stands.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// For the text form.
    pub(super) names: Vec<String>,
    windows: usize,
    /// First argument and rank of each buffer.
    buffers: Vec<(usize, usize)>,
}

impl Layout {
    pub(super) fn new(
        graph: &Graph,
        sources: &[TensorId],
        rank: usize,
        windows: usize,
        lists: &[List],
    ) -> Self {
        let mut names: Vec<String> =
            (0..rank).flat_map(|dim| [format!("lo{dim}"), format!("hi{dim}")]).collect();
        let first = names.len();
        names.extend((0..windows).map(|dim| format!("w{dim}")));
        let mut layout = Layout { names, windows: first, buffers: Vec::new() };
        for source in sources {
            layout.buffer(&graph.tensor(*source).name, graph.tensor(*source).domain.rank());
        }
        layout.buffer("out", rank);
        for List { tensor, dim, .. } in lists {
            layout.buffer(
                &format!("{}.along{dim}", graph.tensor(*tensor).name),
                graph.tensor(*tensor).domain.rank(),
            );
        }
        layout
    }

    fn buffer(&mut self, name: &str, rank: usize) {
        self.buffers.push((self.names.len(), rank));
        for dim in 0..rank {
            self.names.extend([format!("{name}.{dim}"), format!("{name}.{dim}.end")]);
            if dim + 1 < rank {
                self.names.extend([format!("{name}.{dim}.mask"), format!("{name}.{dim}.pitch")]);
            }
        }
    }

    pub(super) fn window(&self, dim: usize) -> usize {
        self.windows + dim
    }

    /// The last dimension of a buffer has neither mask nor pitch.
    pub(super) fn is_last(&self, buffer: usize, dim: usize) -> bool {
        dim + 1 == self.buffers[buffer].1
    }

    /// The origin along the dimension before the last, if there is one.
    pub(super) fn before_last(&self, buffer: usize) -> Option<usize> {
        let (first, rank) = self.buffers[buffer];
        rank.checked_sub(2).map(|dim| first + 4 * dim)
    }

    /// End, mask and pitch follow it.
    pub(super) fn origin(&self, buffer: usize, dim: usize) -> usize {
        self.buffers[buffer].0 + 4 * dim
    }

    /// The arguments in order.
    pub(super) fn args(&self, region: &[Interval], windows: &[i64], buffers: &[BufferBox]) -> Vec<i64> {
        debug_assert_eq!(buffers.len(), self.buffers.len(), "one box per buffer");
        let mut args: Vec<i64> = region.iter().flat_map(|range| [range.first(), range.last() + 1]).collect();
        args.extend(windows);
        for buffer in buffers {
            let count = buffer.dims.len();
            for (at, dim) in buffer.dims.iter().enumerate() {
                args.extend([dim.origin, dim.end]);
                args.extend([dim.mask, dim.pitch].into_iter().filter(|_| at + 1 < count));
            }
        }
        debug_assert_eq!(args.len(), self.names.len(), "what the kernel takes");
        args
    }
}
