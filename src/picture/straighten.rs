//! Takes needless turns out of edges once it is known where they leave and reach their boxes.
//!
//! ```text
//! port at 0, bend at 40, port at 90   ->   bend at 90: one turn instead of two, if there is room
//! ```

use super::graph::{Chain, Layered, Vertex, VertexMap};

/// Moves bends that their edge reaches and leaves with a turn over the stop after them, or the one before.
/// `ports` are the x of the upper and lower ends of each chain. The order of the layers stays as it is.
pub(super) fn straighten(graph: &Layered, ports: &[(f64, f64)], x: &mut VertexMap<f64>) {
    let places = graph.places();
    let layer_of = graph.layer_of();
    for (chain, ends) in graph.chains.iter().zip(ports) {
        for (i, bend) in chain.bends.iter().enumerate() {
            let (before, after) = beside(chain, i, *ends, x);
            let room = room(&graph.layers[layer_of[*bend]], places[*bend], graph, x);
            let fits = |x: &f64| room.0 <= *x && *x <= room.1;
            if x[*bend] != before && x[*bend] != after {
                x[*bend] = [after, before].into_iter().find(fits).unwrap_or(x[*bend]);
            }
        }
    }
}

/// The x of the stops before and after a bend.
fn beside(chain: &Chain, bend: usize, ends: (f64, f64), x: &VertexMap<f64>) -> (f64, f64) {
    let before = bend.checked_sub(1).map_or(ends.0, |i| x[chain.bends[i]]);
    let after = chain.bends.get(bend + 1).map_or(ends.1, |v| x[*v]);
    (before, after)
}

/// How far left and right the vertex at `place` may go without touching its neighbours.
fn room(layer: &[Vertex], place: usize, graph: &Layered, x: &VertexMap<f64>) -> (f64, f64) {
    let me = graph.extents[layer[place]];
    let left = place.checked_sub(1).map(|i| layer[i]).map(|v| x[v] + graph.extents[v].right + me.left);
    let right = layer.get(place + 1).map(|v| x[*v] - graph.extents[*v].left - me.right);
    (left.unwrap_or(f64::NEG_INFINITY), right.unwrap_or(f64::INFINITY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::tests::{layered, picture};

    /// Straightens `0 -> 2` past `1`, which is at x = 0 and half as wide as said; the bend starts at 200.
    fn check(ports: (f64, f64), half: f64, expect: f64) {
        let mut graph = layered(&picture(3, &[(0, 2, ""), (0, 1, ""), (1, 2, "")]));
        graph.extents[Vertex(1)].right = half;
        let mut x = VertexMap(vec![0.0, 0.0, 0.0, 200.0]);
        let elsewhere = (0.0, 0.0);
        straighten(&graph, &[ports, elsewhere, elsewhere], &mut x);
        assert_eq!(x.0, [0.0, 0.0, 0.0, expect]);
    }

    #[test]
    fn bends_move_where_there_is_room() {
        check((50.0, 120.0), 40.0, 120.0);
        check((120.0, 50.0), 80.0, 120.0);
    }

    #[test]
    fn bends_stay_where_there_is_none_or_no_need() {
        check((50.0, 60.0), 80.0, 200.0);
        check((200.0, 60.0), 0.0, 200.0);
    }
}
