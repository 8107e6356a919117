//! A recurrence that follows a stream -> frames that arrive, and a map that makes the next of them.
//!
//! ```text
//! h[t, x] = 0.9 * h[t - 1, x] + cam[t, x]      ->      h: an input        next[t, x] = 0.9 * h[t - 1, x] + cam[t, x]
//! ```
//!
//! Nothing else changes: who reads `h` reads an input, and so does `next`, which has the body of `h`.

use super::body::TensorId;
use super::uses::uses;
use super::{Graph, InputSource, Pointwise, Tensor, TensorKind};
use petgraph::Direction;
use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef;

impl Graph {
    /// Recurrences along their first dimension that go on as long as a stream does, in frames of a known size.
    pub fn following_streams(&self) -> Vec<TensorId> {
        let is_stream =
            |id: &TensorId| matches!(self.tensor(*id).kind, TensorKind::Input(InputSource::Stream));
        let follows = |(id, tensor): (TensorId, &Tensor)| {
            let (first, inner) = tensor.domain.dims().split_first()?;
            let upwards = first.interval.lower().is_some() && first.interval.upper().is_none();
            let frames = upwards && inner.iter().all(|dim| dim.interval.len().is_some());
            let steps = recurs_along(tensor) == Some(0);
            (frames && steps && uses(self, id).tensors.iter().any(is_stream)).then_some(id)
        };
        self.iter().filter_map(follows).collect()
    }

    /// Makes a recurrence an input whose frames arrive; the tensor that computes them comes back.
    pub fn step_apart(&mut self, id: TensorId) -> TensorId {
        let frames = &mut self.tensors[id.index()];
        let mut next = frames.clone();
        frames.kind = TensorKind::Input(InputSource::Stream);
        (frames.format, next.format) = (None, None);
        if let TensorKind::Pointwise(Pointwise { recurrence, .. }) = &mut next.kind {
            *recurrence = None;
        }
        let made = TensorId(self.tensors.len() as u32);
        self.tensors.push(next);
        self.order.push(made);
        let (old, new) = (NodeIndex::new(id.index()), self.dag.add_node(made));
        let read: Vec<_> =
            self.dag.edges_directed(old, Direction::Incoming).map(|edge| edge.source()).collect();
        self.dag.retain_edges(|dag, edge| dag.edge_endpoints(edge).is_none_or(|(_, reader)| reader != old));
        for source in read.into_iter().chain([old]) {
            self.dag.add_edge(source, new, ());
        }
        made
    }
}

fn recurs_along(tensor: &Tensor) -> Option<usize> {
    match &tensor.kind {
        TensorKind::Pointwise(pointwise) => pointwise.recurrence.as_ref().map(|recurrence| recurrence.dim),
        TensorKind::Input(_) | TensorKind::Var(_) | TensorKind::Windowed(_) => None,
    }
}
