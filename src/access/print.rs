//! The text forms of the access stage: `itp emit --stage access` and `--stage views`.
//!
//! ```text
//! t1 smooth
//!     v5 = t0 height[dy + y, x]
//!         y in y + -2..3, x in x + 0..1
//!     where f3 = ⌊x / 2⌋                      what lies too deep to be written out where it is used
//!     window of t0 height [5, 1] stride [1, 1] offset [-2, 0]
//! ```

use super::linear::{Atom, Floor, Linear};
use super::{Access, Accesses, Driver, Reach, TensorAccess};
use crate::graph::body::{Body, Coord, NodeId, Op, TensorId};
use crate::graph::print::{coord_text, labels};
use crate::graph::view::{Step, View};
use crate::graph::{Graph, Tensor, TensorKind};
use crate::index::Interval;
use crate::source::Sources;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;

/// How every tensor, or one of them, reads the others.
pub fn print(graph: &Graph, accesses: &Accesses, tensor: Option<&str>) -> String {
    let mut out = String::new();
    for (id, own) in graph.iter() {
        if tensor.is_none_or(|name| *own.name == *name) {
            print_tensor(&mut out, graph, &accesses.tensors[id.index()], (id, own));
        }
    }
    out
}

fn print_tensor(out: &mut String, graph: &Graph, access: &TensorAccess, (id, tensor): (TensorId, &Tensor)) {
    let _ = writeln!(out, "{id} {}", tensor.name);
    let Some(resolved) = tensor.bodies().first().copied() else { return };
    let names = Names {
        body: &resolved.body,
        labels: labels(tensor.domain.dims()),
        locals: local_names(tensor),
        floors: &access.floors,
        forms: &access.forms,
        later: RefCell::default(),
    };
    for read in &access.reads {
        let source = graph.tensor(read.tensor);
        let map: Vec<_> = read.map.iter().map(|form| names.form(form, DEPTH)).collect();
        let _ = writeln!(out, "    {} = {} {}[{}]", read.read, read.tensor, source.name, map.join(", "));
        let reach = read.reach.iter().zip(labels(source.domain.dims()));
        let reach: Vec<_> =
            reach.map(|(reach, label)| format!("{label} in {}", names.reach(reach))).collect();
        let _ = writeln!(out, "        {}", reach.join(", "));
    }
    while let Some((name, text)) = names.next_definition() {
        let _ = writeln!(out, "    where {name} = {text}");
    }
    for (source, window) in inferred_windows(access) {
        let (size, stride, offset) = window;
        let name = &graph.tensor(source).name;
        let clamped = if is_clamped(access, source) { ", clamped" } else { "" };
        let _ = writeln!(
            out,
            "    window of {source} {name} {size:?} stride {stride:?} offset {offset:?}{clamped}"
        );
    }
}

fn local_names(tensor: &Tensor) -> Vec<String> {
    match &tensor.kind {
        TensorKind::Windowed(windowed) => windowed.windows.locals.iter().map(ToString::to_string).collect(),
        TensorKind::Input(_) | TensorKind::Var(_) | TensorKind::Pointwise(_) => Vec::new(),
    }
}

/// Size, stride and offset of the window that one element needs of a source, where all its reads move alike.
pub type InferredWindow = (Vec<i64>, Vec<i64>, Vec<i64>);

/// The window that one element needs of every source whose reads all move alike.
pub fn inferred_windows(access: &TensorAccess) -> Vec<(TensorId, InferredWindow)> {
    let mut sources: BTreeMap<TensorId, Vec<&Access>> = BTreeMap::new();
    access.reads.iter().for_each(|read| sources.entry(read.tensor).or_default().push(read));
    let window = |(tensor, reads): (TensorId, Vec<&Access>)| Some((tensor, inferred(&reads)?));
    sources.into_iter().filter_map(window).collect()
}

/// Whether some element of the window lies where a coordinate is clamped to.
fn is_clamped(access: &TensorAccess, source: TensorId) -> bool {
    let mut reads = access.reads.iter().filter(|read| read.tensor == source);
    reads.any(|read| read.reach.iter().any(|reach| reach.clip.is_some()))
}

fn inferred(reads: &[&Access]) -> Option<InferredWindow> {
    let mut parts = (Vec::new(), Vec::new(), Vec::new());
    for dim in 0..reads[0].reach.len() {
        let driver = reads[0].reach[dim].driver;
        let mut hull: Option<Interval> = None;
        for read in reads {
            let reach = read.reach[dim];
            let resamples = driver.is_some_and(|driver| driver.per != 1);
            if reach.driver != driver || !reach.range.is_bounded() || resamples {
                return None;
            }
            hull = Some(hull.map_or(reach.range, |hull| hull.hull(reach.range)));
        }
        let hull = hull?;
        parts.0.push(hull.len()?);
        parts.1.push(driver.map_or(0, |driver| driver.stride));
        parts.2.push(hull.first());
    }
    Some(parts)
}

/// Terms inside terms that are written out; what lies deeper gets a line of its own, once.
const DEPTH: usize = 4;

/// How to call what occurs in the forms of one body.
struct Names<'n> {
    body: &'n Body,
    labels: Vec<String>,
    locals: Vec<String>,
    floors: &'n [Floor],
    forms: &'n BTreeMap<NodeId, Linear>,
    later: RefCell<Later>,
}

/// Atoms that were named instead of written out.
#[derive(Default)]
struct Later {
    waiting: VecDeque<Atom>,
    seen: BTreeSet<Atom>,
}

impl Names<'_> {
    fn coord(&self, coord: Coord) -> String {
        coord_text(self.body, coord, &self.labels, &self.locals)
    }

    /// The next atom that was named, and what it stands for.
    fn next_definition(&self) -> Option<(String, String)> {
        let atom = self.later.borrow_mut().waiting.pop_front()?;
        Some((short_name(atom), self.atom(atom, DEPTH)))
    }

    /// The name of an atom that is written out in a line of its own.
    fn name(&self, atom: Atom) -> String {
        let mut later = self.later.borrow_mut();
        if later.seen.insert(atom) {
            later.waiting.push_back(atom);
        }
        short_name(atom)
    }

    fn atom(&self, atom: Atom, depth: usize) -> String {
        match atom {
            Atom::Coord(coord) => self.coord(coord),
            Atom::Node(id) => self.node(id, depth),
            Atom::Floor(_) if depth == 0 => self.name(atom),
            Atom::Floor(floor) => {
                let Floor { form, by } = &self.floors[floor as usize];
                let inside = self.form(form, depth - 1);
                if form.terms.len() == 1 && form.offset == 0 {
                    format!("⌊{inside} / {by}⌋")
                } else {
                    format!("⌊({inside}) / {by}⌋")
                }
            }
        }
    }

    /// `2·x - y + 1`
    fn form(&self, form: &Linear, depth: usize) -> String {
        let mut text = String::new();
        for (atom, factor) in &form.terms {
            let name = self.atom(*atom, depth);
            let scale = if factor.unsigned_abs() == 1 {
                String::new()
            } else {
                format!("{}·", factor.unsigned_abs())
            };
            let sign = match (text.is_empty(), *factor < 0) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            let _ = write!(text, "{sign}{scale}{name}");
        }
        match (text.is_empty(), form.offset) {
            (true, offset) => offset.to_string(),
            (false, 0) => text,
            (false, offset) => {
                format!("{text} {} {}", if offset < 0 { '-' } else { '+' }, offset.unsigned_abs())
            }
        }
    }

    /// A node that is not linear as an expression.
    fn node(&self, id: NodeId, depth: usize) -> String {
        let node = self.body.node(id);
        let linear =
            node.ty.is_int() && self.forms.get(&id).is_some_and(|form| form.terms != [(Atom::Node(id), 1)]);
        let plain = matches!(node.op, Op::Const(_) | Op::Coord(_));
        if depth == 0 && !plain {
            return self.name(Atom::Node(id));
        }
        if linear {
            return self.form(&self.forms[&id], depth.saturating_sub(1));
        }
        let args =
            |ids: &[NodeId]| ids.iter().map(|id| self.node(*id, depth - 1)).collect::<Vec<_>>().join(", ");
        match &node.op {
            Op::Const(value) => value.to_string(),
            Op::Coord(coord) => self.coord(*coord),
            Op::Unary(function, a) => format!("{}({})", function.name(), args(&[*a])),
            Op::Binary(function, a, b) => format!("{}({})", function.name(), args(&[*a, *b])),
            Op::Select(c, a, b) => format!("select({})", args(&[*c, *a, *b])),
            Op::Cast(a) => format!("{}({})", node.ty, args(&[*a])),
            Op::Read { tensor, coords, .. } => format!("{tensor}[{}]", args(coords)),
            Op::Table(table, coords) => format!("{}[{}]", self.body.tables[table.index()].name, args(coords)),
            Op::Arg(_) | Op::Fma(..) | Op::Math(..) | Op::Hash(_) | Op::Reduce { .. } => id.to_string(),
        }
    }

    fn reach(&self, reach: &Reach) -> String {
        let Some(Driver { coord, stride, per }) = reach.driver else { return reach.range.to_string() };
        let coord = if per == 1 { self.coord(coord) } else { format!("⌊{} / {per}⌋", self.coord(coord)) };
        let clip = reach.clip.map(|clip| format!(" clamped to {clip}")).unwrap_or_default();
        match stride {
            1 => format!("{coord} + {}{clip}", reach.range),
            -1 => format!("-{coord} + {}{clip}", reach.range),
            _ => format!("{stride}·{coord} + {}{clip}", reach.range),
        }
    }
}

fn short_name(atom: Atom) -> String {
    match atom {
        Atom::Coord(coord) => format!("{coord:?}"),
        Atom::Node(id) => id.to_string(),
        Atom::Floor(floor) => format!("f{floor}"),
    }
}

/// Every named view and output: the chain as written, then what it folds into.
pub fn print_views(graph: &Graph, sources: &Sources, only: Option<&str>) -> String {
    let mut out = String::new();
    for named in graph.views.iter().filter(|named| only.is_none_or(|name| *named.view.name == *name)) {
        let chain = sources.text(named.chain).split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(out, "view {} = {chain}", named.view.name);
        print_view(&mut out, graph, &named.view);
    }
    for output in graph.outputs.iter().filter(|output| only.is_none_or(|name| *output.view.name == *name)) {
        let _ = writeln!(out, "output {:?} of {}", output.path, output.view.name);
        print_view(&mut out, graph, &output.view);
    }
    out
}

fn print_view(out: &mut String, graph: &Graph, view: &View) {
    let base = graph.tensor(view.base);
    let _ = writeln!(
        out,
        "    {} over {} {}{}",
        view.describe().trim_matches('`'),
        base.name,
        base.element,
        base.domain
    );
    let only = view.steps().len() == 1;
    for step in view.steps().iter().filter(|step| only || !step.is_identity()) {
        let _ = writeln!(out, "    {step}");
    }
    match view.strided(&base.domain) {
        Ok(strided) => {
            let _ = writeln!(
                out,
                "    shape {:?} strides {:?} offset {}",
                strided.shape, strided.strides, strided.offset
            );
        }
        Err(why) => {
            let _ = writeln!(out, "    {}: {why}", lowered(view));
        }
    }
}

/// What a view that strides cannot say becomes.
fn lowered(view: &View) -> &'static str {
    let has = |test: fn(&Step) -> bool| view.steps().iter().any(test);
    if has(|step| matches!(step, Step::Mask { .. })) {
        "index arithmetic with a validity mask"
    } else if has(|step| matches!(step, Step::Boundary { .. } | Step::Flat { .. })) {
        "index arithmetic"
    } else if has(|step| matches!(step, Step::Map(map) if !map.is_affine())) {
        "index array"
    } else {
        "index transform"
    }
}
