//! A compiled script -> the picture of its pipeline.
//!
//! ```text
//! input photo: f32[y: inf, x: inf]                              input photo
//! tensor blur: f32[y: inf, x: inf] =                               │ ±1
//!     (photo[y - 1, x - 1] + photo[y + 1, x + 1]) / 2           tensor blur
//! view turned = blur.permute([x, y])                               │
//! output "a.png" = turned[0:9, 0:9]                             view turned ── output a.png
//! ```
//!
//! Who reads through a named view is drawn below the view, and the halo is the one that the script writes: what a
//! boundary folds inside counts as it was before.

use crate::access::Reach;
use crate::compile::Program;
use crate::graph::body::TensorId;
use crate::graph::view::View;
use crate::graph::window::Take;
use crate::graph::{
    BlendKind, Graph, InputSource, Output, Pointwise, Recurrence, Tensor, TensorKind, WindowBody, Windowed,
};
use crate::index::{Interval, Window};
use crate::picture::{NodeKind, Picture, PictureEdge, PictureNode};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A halo above this says nothing that a reader could use.
const WIDEST_HALO: i64 = 9999;

/// The picture: tensors first, then named views, then outputs, each in the order of the script.
pub fn picture(program: &Program) -> Picture {
    let graph = &program.graph;
    let mut nodes: Vec<PictureNode> = graph.tensors.iter().map(tensor_node).collect();
    for (node, lines) in nodes.iter_mut().zip(write_lines(graph)) {
        node.lines.extend(lines);
    }
    nodes.extend(
        graph
            .views
            .iter()
            .map(|named| node(&named.view.name, NodeKind::View, view_lines(&named.view), &named.doc)),
    );
    nodes.extend(graph.outputs.iter().map(output_node));
    let mut edges = read_edges(program);
    edges.extend(graph.iter().filter_map(|(id, tensor)| self_edge(id, tensor)));
    edges.extend(write_edges(program));
    edges.extend(view_edges(graph));
    Picture { nodes, edges }
}

fn node(name: &str, kind: NodeKind, lines: Vec<String>, doc: &[Arc<str>]) -> PictureNode {
    let doc: Vec<&str> = doc.iter().map(|line| &**line).collect();
    PictureNode { name: name.to_owned(), kind, lines, tooltip: (!doc.is_empty()).then(|| doc.join("\n")) }
}

fn tensor_node(tensor: &Tensor) -> PictureNode {
    let mut lines = vec![format!("{}{}", tensor.element, tensor.domain)];
    let kind = match &tensor.kind {
        TensorKind::Input(source) => {
            lines.push(source_line(source));
            NodeKind::Input
        }
        TensorKind::Var(value) => {
            lines.push(format!("{value} at first"));
            NodeKind::Var
        }
        TensorKind::Pointwise(Pointwise { recurrence: Some(_), .. }) => NodeKind::Recurrence,
        TensorKind::Pointwise(Pointwise { recurrence: None, .. }) => NodeKind::Tensor,
        TensorKind::Windowed(windowed) => {
            lines.extend(windowed_lines(windowed));
            NodeKind::Windowed
        }
    };
    lines.extend(tensor.format.iter().map(|format| format!("format {format}")));
    node(&tensor.name, kind, lines, &tensor.doc)
}

fn source_line(source: &InputSource) -> String {
    match source {
        InputSource::Host => "from the host or --bind".to_owned(),
        InputSource::File(path) => format!("from {path}"),
        InputSource::Stream => "from a stream".to_owned(),
    }
}

/// `window [3, 3] stride [1, 1] offset [-1, -1]`, the blend, and the host function if there is one.
fn windowed_lines(windowed: &Windowed) -> Vec<String> {
    let dims = &windowed.windows.dims;
    let part = |get: fn(Window) -> i64| dims.iter().map(|window| get(*window)).collect::<Vec<i64>>();
    let (size, stride, offset) = (part(Window::size), part(Window::stride), part(Window::offset));
    let mut window = format!("window {size:?}");
    if stride != size {
        window += &format!(" stride {stride:?}");
    }
    if offset.iter().any(|offset| *offset != 0) {
        window += &format!(" offset {offset:?}");
    }
    let blend = format!("blend {}", blend_name(&windowed.blend.kind));
    let host = match &windowed.body {
        WindowBody::Expr(_) => None,
        WindowBody::Extern { name, .. } => Some(format!("extern {name}")),
    };
    [window, blend].into_iter().chain(host).collect()
}

fn blend_name(kind: &BlendKind) -> String {
    let more = if matches!(kind, BlendKind::Custom(_)) { " …" } else { "" };
    format!("{}{more}", kind.name())
}

fn view_lines(view: &View) -> Vec<String> {
    vec![format!("{}{}", view.element, view.domain())]
}

fn output_node(output: &Output) -> PictureNode {
    let mut lines = view_lines(&output.view);
    lines.extend(output.options.colormap.iter().map(|name| format!("colormap {name}")));
    node(&output.path, NodeKind::Output, lines, &[])
}

/// From every tensor, or the views of it that are read, to those that compute with it.
fn read_edges(program: &Program) -> Vec<PictureEdge> {
    let dag = &program.graph.dag;
    let ends = dag.raw_edges().iter().map(|edge| (dag[edge.source()], dag[edge.target()]));
    let edges = |(from, to): (TensorId, TensorId)| {
        let names = names_of(program, from, to).into_iter();
        names.map(move |name| PictureEdge {
            from: shown_as(&program.graph, from, &name),
            to: to.index(),
            label: read_label(program, (from, &name), to),
        })
    };
    let mut edges: Vec<PictureEdge> = ends.flat_map(edges).collect();
    edges.sort_by_key(|edge| (edge.to, edge.from));
    edges
}

/// What `to` calls `from`: itself or views of it, each once.
fn names_of(program: &Program, from: TensorId, to: TensorId) -> Vec<Arc<str>> {
    let written = program.accesses.tensors[to.index()].written.iter();
    let written = written.filter(|written| written.base == from).map(|written| &written.what);
    let takes = takes(program.graph.tensor(to)).iter().filter(|take| take.source.base == from);
    let names: BTreeSet<_> = written.chain(takes.map(|take| &take.source.name)).cloned().collect();
    let own = || program.graph.tensor(from).name.clone();
    if names.is_empty() { vec![own()] } else { names.into_iter().collect() }
}

fn takes(tensor: &Tensor) -> &[Arc<Take>] {
    match &tensor.kind {
        TensorKind::Windowed(windowed) => &windowed.takes,
        TensorKind::Input(_) | TensorKind::Var(_) | TensorKind::Pointwise(_) => &[],
    }
}

/// A recurrence reads its own past: `t-1`, `t-1…t-3`.
fn self_edge(id: TensorId, tensor: &Tensor) -> Option<PictureEdge> {
    let TensorKind::Pointwise(Pointwise { recurrence: Some(Recurrence { dim, reach }), .. }) = &tensor.kind
    else {
        return None;
    };
    let name = match tensor.domain.dims()[*dim].label.as_str() {
        "" => "_",
        label => label,
    };
    let label = if *reach == 1 { format!("{name}-1") } else { format!("{name}-1…{name}-{reach}") };
    Some(PictureEdge { from: id.index(), to: id.index(), label })
}

/// Per tensor, the parts of it that `set` items write: the first few, and how many more.
fn write_lines(graph: &Graph) -> Vec<Vec<String>> {
    const SHOWN: usize = 3;
    let lines = graph.iter().map(|(id, _)| {
        let sets = graph.sets.iter().filter(|set| set.target.base == id);
        let mut lines: Vec<String> = sets.map(|set| format!("set {}", set.target.domain())).collect();
        let more = lines.len().saturating_sub(SHOWN);
        lines.truncate(SHOWN);
        lines.extend((more > 0).then(|| format!("and {more} more")));
        lines
    });
    lines.collect()
}

/// From the tensors that `set` items compute with to the variables they write.
fn write_edges(program: &Program) -> Vec<PictureEdge> {
    let sets = program.graph.sets.iter().zip(&program.accesses.sets);
    let ends = sets.flat_map(|(set, access)| access.reads.iter().map(|read| (read.tensor, set.target.base)));
    let mut ends: Vec<(TensorId, TensorId)> = ends.collect();
    ends.sort();
    ends.dedup();
    let edge = |(from, to): (TensorId, TensorId)| PictureEdge {
        from: from.index(),
        to: to.index(),
        label: "set".into(),
    };
    ends.into_iter().map(edge).collect()
}

/// From what views are written of to the views, and from what is written to outputs.
fn view_edges(graph: &Graph) -> Vec<PictureEdge> {
    let first_view = graph.tensors.len();
    let first_output = first_view + graph.views.len();
    let plain = |from: usize, to: usize| PictureEdge { from, to, label: String::new() };
    let views = graph.views.iter().enumerate();
    let views = views.map(|(at, named)| plain(shown_as(graph, named.view.base, &named.of), first_view + at));
    let outputs = graph.outputs.iter().enumerate();
    let outputs = outputs
        .map(|(at, output)| plain(shown_as(graph, output.view.base, &output.view.name), first_output + at));
    views.chain(outputs).collect()
}

/// The node of what a script calls `name`: a named view of `base`, else the base.
fn shown_as(graph: &Graph, base: TensorId, name: &str) -> usize {
    let same = |named: &View| named.base == base && *named.name == *name;
    let found = graph.views.iter().position(|named| same(&named.view));
    found.map_or(base.index(), |at| graph.tensors.len() + at)
}

/// How much of `from`, by the name it is read as, one element of `to` needs: `±1`, `5×1`, nothing if it is one
/// element or not known.
fn read_label(program: &Program, (from, name): (TensorId, &str), to: TensorId) -> String {
    let taken = take_label(program.graph.tensor(to), from, name);
    if !taken.is_empty() {
        return taken;
    }
    let written = program.accesses.tensors[to.index()].written.iter();
    let mut dims: Vec<(&str, Vec<Reach>)> = Vec::new();
    for written in written.filter(|written| written.base == from && *written.what == *name) {
        match dims.iter_mut().find(|(dim, _)| *dim == &*written.dim) {
            Some((_, reaches)) => reaches.push(written.reach),
            None => dims.push((&written.dim, vec![written.reach])),
        }
    }
    let halo: Option<Vec<Interval>> = dims.iter().map(|(_, reaches)| halo(reaches)).collect();
    halo.map(|halo| halo_text(&halo)).unwrap_or_default()
}

/// What all the reads need around `stride · coordinate` along one dimension, if they move alike and not far.
fn halo(reaches: &[Reach]) -> Option<Interval> {
    let (first, rest) = reaches.split_first()?;
    let alike = rest.iter().all(|reach| reach.driver == first.driver);
    let hull = rest.iter().fold(first.range, |hull, reach| hull.hull(reach.range));
    let near = |end: Option<i64>| end.is_some_and(|end| end.abs() <= WIDEST_HALO);
    let moves = first.driver.is_some() || hull.single().is_some();
    (alike && moves && near(hull.lower()) && near(hull.upper())).then_some(hull)
}

fn halo_text(halo: &[Interval]) -> String {
    let sizes: Vec<i64> = halo.iter().filter_map(|range| range.len()).collect();
    let around = |range: &Interval| (-range.first() == range.last()).then(|| range.last());
    let radius = halo
        .first()
        .and_then(around)
        .filter(|radius| halo.iter().all(|range| around(range) == Some(*radius)));
    match radius {
        _ if sizes.iter().all(|size| *size == 1) => String::new(),
        Some(radius) => format!("±{radius}"),
        None => sizes_text(&sizes),
    }
}

/// The windows that `take` clauses cut out of a source, if they are of one size.
fn take_label(tensor: &Tensor, source: TensorId, name: &str) -> String {
    let same = |take: &&Arc<Take>| take.source.base == source && *take.source.name == *name;
    let mut sizes: Vec<&[i64]> =
        takes(tensor).iter().filter(same).map(|take| take.sizes.as_slice()).collect();
    sizes.dedup();
    if let [one] = sizes.as_slice() { sizes_text(one) } else { String::new() }
}

/// `3×3`
fn sizes_text(sizes: &[i64]) -> String {
    sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join("×")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::{Options, compile};
    use crate::diagnostic::Diagnostics;
    use crate::graph::modules::NoFiles;
    use crate::source::Sources;

    fn drawn(script: &str) -> Picture {
        let (mut sources, mut diagnostics) = (Sources::default(), Diagnostics::default());
        let root = sources.add("test.itp", script);
        let program = compile(&mut sources, root, &NoFiles, &Options::default(), &mut diagnostics);
        let diagnostics = diagnostics.into_sorted();
        picture(&program.unwrap_or_else(|| panic!("{diagnostics:?}")))
    }

    /// `photo -> blur ±1`
    fn edges(picture: &Picture) -> Vec<String> {
        let name = |at: usize| picture.nodes[at].name.as_str();
        let text = |edge: &PictureEdge| format!("{} -> {} {}", name(edge.from), name(edge.to), edge.label);
        picture.edges.iter().map(|edge| text(edge).trim_end().to_owned()).collect()
    }

    #[test]
    fn reads_are_labelled_with_their_halo() {
        let check = |body: &str, expect: &str| {
            let head = "input a: f32[y: inf, x: inf]\ntensor b: f32[y: inf, x: inf] = ";
            let picture = drawn(&format!("{head}{body}\noutput \"b.npy\" = b[0:1, 0:1]"));
            assert_eq!(edges(&picture)[0], expect, "{body}");
        };
        check("a[y, x]", "a -> b");
        check("a[y + 1, x]", "a -> b");
        check("a[y - 1, x - 1] + a[y + 1, x + 1]", "a -> b ±1");
        check("sum(i in 0..3) a[y, x + i]", "a -> b 1×3");
        check("a[2 * y, x] + a[2 * y + 1, x]", "a -> b 2×1");
        check("a[2 * y, x] + a[y, x]", "a -> b");
        check("a[y + 20000, x] + a[y, x]", "a -> b");
        check("a[3, x] + a[3, x + 1]", "a -> b 1×2");
        check("a[clamp(y, 0, 9), x]", "a -> b");
        check("a[0:9, :].clamp()[y - 1, x] + a[0:9, :].clamp()[y + 1, x]", "a -> b 3×1");
    }

    #[test]
    fn readers_of_a_view_hang_off_the_view() {
        let picture = drawn(
            "input a: f32[y: 9, x: 9]\n\
             view edge = a.mirror()\n\
             tensor b: f32[y: inf, x: inf] = edge[y - 1, x - 1] + edge[y + 1, x + 1]\n\
             tensor c: f32[y: 9, x: 9] = edge[y, x] * a[y, x]\n\
             tensor d: f32[y: inf, x: inf] window [4, 4] as [i, j] take e = edge window [4, 4] = e[i, j]\n\
             output \"b.npy\" = b[0:1, 0:1]\noutput \"c.npy\" = c\noutput \"d.npy\" = d[0:1, 0:1]",
        );
        let reads = ["edge -> b ±1", "a -> c", "edge -> c", "edge -> d 4×4", "a -> edge"];
        assert_eq!(edges(&picture)[..5], reads);
    }

    #[test]
    fn writes_are_listed() {
        let sets: String = (0..5).map(|n| format!("set v[{n}:9] = {n}\n")).collect();
        let picture = drawn(&format!("var v: f32[x: 9] = 0\n{sets}output \"v.npy\" = v"));
        let lines =
            ["f32[x: 9]", "0.0 at first", "set [x: 9]", "set [x: 1..9]", "set [x: 2..9]", "and 2 more"];
        assert_eq!(picture.nodes[0].lines, lines);
    }

    #[test]
    fn views_hang_off_what_they_are_of_and_outputs_off_what_they_name() {
        let picture = drawn(
            "tensor a: f32[y: inf, x: inf] = y\n\
             view turned = a.permute([x, y])\n\
             view again = turned.flip([x])\n\
             output \"t.npy\" = turned[0:3, 0:4]\n\
             output \"a.npy\" = a[0:3, 0:4]",
        );
        assert_eq!(edges(&picture), ["a -> turned", "turned -> again", "turned -> t.npy", "a -> a.npy"]);
        assert_eq!(picture.nodes[3].lines, ["f32[x: 3, y: 4]"]);
    }

    #[test]
    fn kinds_and_lines_say_what_a_tensor_is() {
        let picture = drawn(
            "## Rain.\ninput rain: f32[y: 8, x: 8] from \"rain.npy\"\n\
             var board: bool[x: inf] = false\n\
             tensor wet: f32[y: inf, x: inf] window [2, 2] stride [1, 1] as [i, j]\n\
                 take r = rain.clamp() window [2, 2] stride [1, 1] blend max = r[i, j]\n\
             tensor h: f32[t: 0..5, x: inf] = if t < 2 then 0 else h[t - 2, x] + h[t - 1, x]\n\
             set board[0:3] = x == 1\n\
             output \"h.npy\" = h[:, 0:1]\noutput \"w.npy\" = wet[0:1, 0:1]\noutput \"b.npy\" = board[0:1]",
        );
        let text =
            |node: &PictureNode| format!("{} {}: {}", node.kind.word(), node.name, node.lines.join(" | "));
        let nodes: Vec<String> = picture.nodes.iter().map(text).collect();
        let expect = [
            "input rain: f32[y: 8, x: 8] | from rain.npy",
            "var board: bool[x: inf] | false at first | set [x: 3]",
            "windowed wet: f32[y: inf, x: inf] | window [2, 2] stride [1, 1] | blend max",
            "recurrence h: f32[t: 5, x: inf]",
        ];
        assert_eq!(nodes[..4], expect);
        assert_eq!(picture.nodes[0].tooltip.as_deref(), Some("Rain."));
        assert_eq!(edges(&picture)[..2], ["rain -> wet 2×2", "h -> h t-1…t-2"]);
    }
}
