//! Tensors -> 128 bits each that stand for their whole definition: two tensors with the same bits have the same
//! elements, whatever they are called, whichever script they are in.
//!
//! ```text
//! param k = 2   tensor a: f32[x: inf] = k * x   tensor b: f32[x: inf] = a[x - 1]     a: 5c1f…   b: 9d20…
//! param k = 3                                                                        both change
//! tensor c: f32[z: inf] = 2 * z                                                      as a with k = 2: names are left out
//! ```
//!
//! It holds the element type, the domain, the body with everything that it is folded to (parameters, functions, tables),
//! windows and blends, what is read by its own definition, and for variables every `set` that can reach them. Names,
//! labels, places in the text, `chunk` and `format` are left out, since no element depends on them. What a script does
//! not say (the data of inputs, host functions, what the host writes) is asked of the caller.

use super::body::{Body, Coord, NodeId, Op, TensorId};
use super::digest::Digest;
use super::resolve_weak::Resolved;
use super::scalar::Scalar;
use super::types::Ty;
use super::upstream::{reads, upstream};
use super::view::View;
use super::window::Take;
use super::{Blend, BlendKind, Graph, InputSource, Set, Tensor, TensorKind, WindowBody, Windowed};
use crate::index::Domain;
use std::collections::BTreeSet;
use std::fmt;

/// What a tensor is, in 128 bits; prints as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Definition(pub u128);

/// Something that elements depend on and the script does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside<'a> {
    /// The data of an input.
    Input(TensorId),
    /// A function of the host, by its name.
    Host(&'a str),
    /// What the host wrote into a variable, after the `set` items of the script.
    Written(TensorId),
}

/// To be raised whenever the same nodes come to mean other elements: results of older versions are then not taken
/// for those of newer ones.
const MEANING: u64 = 1;

/// The definition of every tensor, by its number; `outside` stands for what the script does not hold, and must differ
/// where that does.
pub fn definitions(graph: &Graph, outside: &dyn Fn(Outside<'_>) -> u128) -> Vec<Definition> {
    let declared = |var: TensorId| declared_var(graph, var, outside);
    let alone = digests(graph, outside, &declared);
    let written = |var: TensorId| written_var(graph, var, &alone);
    let all = digests(graph, outside, &written);
    all.into_iter().map(|digest| Definition(digest.bits())).collect()
}

/// Every tensor after what it reads, with `var` for the variables.
fn digests(
    graph: &Graph,
    outside: &dyn Fn(Outside<'_>) -> u128,
    var: &dyn Fn(TensorId) -> Digest,
) -> Vec<Digest> {
    let mut known = vec![Digest::of("itself"); graph.tensors.len()];
    for id in &graph.order {
        let tensor = graph.tensor(*id);
        let start = of_domain(Digest::of("tensor").word(MEANING).text(tensor.element.name()), &tensor.domain);
        let scope = Scope { graph, known: &known };
        known[id.index()] = match &tensor.kind {
            TensorKind::Input(source) => {
                of_input(start, tensor, source).digest(asked(outside, Outside::Input(*id)))
            }
            TensorKind::Var(_) => var(*id),
            TensorKind::Pointwise(pointwise) => start.text("pointwise").digest(scope.body(&pointwise.body)),
            TensorKind::Windowed(windowed) => scope.windowed(start.text("windowed"), windowed, outside),
        };
    }
    known
}

fn asked(outside: &dyn Fn(Outside<'_>) -> u128, what: Outside<'_>) -> Digest {
    let bits = outside(what);
    Digest::of("outside").word(bits as u64).word((bits >> 64) as u64)
}

/// Inputs are told apart by their names, too: the host may give each of them other data.
fn of_input(start: Digest, tensor: &Tensor, source: &InputSource) -> Digest {
    let start = named(start, tensor);
    match source {
        InputSource::Host => start.text("host"),
        InputSource::File(path) => start.text("file").text(path),
        InputSource::Stream => start.text("stream"),
    }
}

fn named(start: Digest, tensor: &Tensor) -> Digest {
    start.text(&tensor.name).word(tensor.module.0.into())
}

/// A variable before any `set`. Its name tells it apart from others that start alike.
fn declared_var(graph: &Graph, var: TensorId, outside: &dyn Fn(Outside<'_>) -> u128) -> Digest {
    let tensor = graph.tensor(var);
    let start = of_domain(Digest::of("var").word(MEANING).text(tensor.element.name()), &tensor.domain);
    let start = match &tensor.kind {
        TensorKind::Var(value) => scalar(start, *value),
        TensorKind::Input(_) | TensorKind::Pointwise(_) | TensorKind::Windowed(_) => start,
    };
    named(start, tensor).digest(asked(outside, Outside::Written(var)))
}

/// A variable with every `set` that it can depend on, in order. A `set` may read what reads the variable before it is
/// written, so these are told by what they are without any `set`.
fn written_var(graph: &Graph, var: TensorId, alone: &[Digest]) -> Digest {
    let reached = reached_by_sets(graph, var);
    let scope = Scope { graph, known: alone };
    let sets = graph.sets.iter().filter(|set| reached.contains(&set.target.base));
    sets.fold(alone[var.index()], |state, set| {
        scope.view(state.text("set"), &set.target).digest(scope.body(&set.body))
    })
}

/// The variable, and every other one whose `set` items can have an effect on it.
fn reached_by_sets(graph: &Graph, var: TensorId) -> BTreeSet<TensorId> {
    let is_var = |id: &TensorId| matches!(graph.tensor(*id).kind, TensorKind::Var(_));
    let mut queue = vec![var];
    let mut found = BTreeSet::new();
    while let Some(var) = queue.pop() {
        if found.insert(var) {
            let sets = graph.sets.iter().filter(|set| set.target.base == var);
            let read = upstream(graph, sets.flat_map(|set: &Set| reads(&set.body)));
            queue.extend(read.into_iter().filter(is_var));
        }
    }
    found
}

fn of_domain(start: Digest, domain: &Domain) -> Digest {
    domain.dims().iter().fold(start.word(domain.rank() as u64), |state, dim| {
        let implicit = u64::from(dim.implicit_lower) | u64::from(dim.implicit_upper) << 1;
        state.int(dim.interval.first()).int(dim.interval.last()).word(implicit)
    })
}

fn scalar(start: Digest, value: Scalar) -> Digest {
    start.text(value.element().name()).word(value.bits())
}

fn ints(start: Digest, values: &[i64]) -> Digest {
    values.iter().fold(start.word(values.len() as u64), |state, value| state.int(*value))
}

/// What bodies refer to.
struct Scope<'a> {
    graph: &'a Graph,
    /// The digests of the tensors so far; a tensor that is not among them reads itself.
    known: &'a [Digest],
}

impl Scope<'_> {
    fn body(&self, resolved: &Resolved) -> Digest {
        self.value(&resolved.body, resolved.root)
    }

    /// The digest of the value of a body: every node from those that it uses, so that neither their numbers nor nodes
    /// that nobody uses matter.
    fn value(&self, body: &Body, root: NodeId) -> Digest {
        let mut known: Vec<Digest> = Vec::with_capacity(body.len());
        for (_, node) in body.nodes() {
            let ty = match node.ty {
                Ty::Strong(element) => element.name(),
                Ty::WeakInt => "int",
                Ty::WeakFloat => "float",
            };
            let start = self.op(Digest::of(ty), body, &node.op, node.ty);
            let args = node.op.args();
            let digest = |state: Digest, arg: &NodeId| state.digest(known[arg.index()]);
            known.push(args.iter().fold(start.word(args.len() as u64), digest));
        }
        known[root.index()]
    }

    /// What an operation is, without its arguments.
    fn op(&self, start: Digest, body: &Body, op: &Op, ty: Ty) -> Digest {
        match op {
            Op::Const(value) => scalar(start.text("const"), *value),
            Op::Coord(coord) => of_coord(start, body, *coord),
            Op::Arg(number) => start.text("arg").word((*number).into()),
            Op::Unary(function, _) => start.text("unary").text(function.name()),
            Op::Binary(function, ..) => start.text("binary").text(function.name()),
            Op::Fma(..) => start.text("fma"),
            Op::Select(..) => start.text("select"),
            Op::Cast(_) => start.text("cast"),
            Op::Math(function, _) => {
                let made = ty.strong().and_then(|element| self.graph.math.get(&(*function, element)));
                let start = start.text("math").text(function.name());
                made.map_or(start, |made| start.digest(self.value(&made.0, made.1)))
            }
            Op::Hash(_) => start.text("hash"),
            Op::Read { tensor, .. } => start.text("read").digest(self.known[tensor.index()]),
            Op::Table(table, _) => {
                let table = &body.tables[table.index()];
                let start = ints(start.text("table"), &table.shape);
                table.values.iter().fold(start, |state, value| scalar(state, *value))
            }
            Op::Reduce { function, vars, .. } => {
                let start = start.text("reduce").text(function.name()).word(vars.len() as u64);
                vars.iter().fold(start, |state, var| of_coord(state, body, Coord::Bound(*var)))
            }
        }
    }

    fn windowed(&self, start: Digest, windowed: &Windowed, outside: &dyn Fn(Outside<'_>) -> u128) -> Digest {
        let windows = windowed.windows.dims.iter();
        let start = windows
            .fold(start, |state, window| state.int(window.size()).int(window.stride()).int(window.offset()));
        let start = self.blend(start, &windowed.blend);
        match &windowed.body {
            WindowBody::Expr(body) => start.text("expr").digest(self.body(body)),
            WindowBody::Extern { name, args } => {
                let start = start.text("extern").text(name).digest(asked(outside, Outside::Host(name)));
                args.iter().fold(start, |state, arg| self.take(state, &windowed.takes[*arg]))
            }
        }
    }

    fn blend(&self, start: Digest, blend: &Blend) -> Digest {
        let start = scalar(start.text(blend.kind.name()), blend.init);
        match &blend.kind {
            BlendKind::Custom(body) => start.digest(self.body(body)),
            BlendKind::Sum
            | BlendKind::Product
            | BlendKind::Min
            | BlendKind::Max
            | BlendKind::First
            | BlendKind::Last
            | BlendKind::Mean => start,
        }
    }

    fn take(&self, start: Digest, take: &Take) -> Digest {
        let start = self.view(start, &take.source);
        let start = ints(ints(ints(start, &take.sizes), &take.stride), &take.offset);
        take.map.iter().fold(start, |state, dim| state.int(dim.map_or(-1, |dim| dim as i64)))
    }

    /// The base of a view, and the way to it.
    fn view(&self, start: Digest, view: &View) -> Digest {
        let start = start.text("view").digest(self.known[view.base.index()]);
        view.steps().iter().fold(start, |state, step| state.text(&format!("{step:?}")))
    }
}

fn of_coord(start: Digest, body: &Body, coord: Coord) -> Digest {
    match coord {
        Coord::Global(dim) => start.text("global").word(dim.into()),
        Coord::Local(dim) => start.text("local").word(dim.into()),
        Coord::Window(dim) => start.text("window").word(dim.into()),
        Coord::Bound(var) => {
            let var = &body.binders[var as usize];
            start.text("bound").word(var.depth.into()).int(var.lo).int(var.hi)
        }
    }
}

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostics;
    use crate::graph::modules::NoFiles;
    use crate::source::Sources;

    fn graph(script: &str) -> Graph {
        let (mut sources, mut diagnostics) = (Sources::default(), Diagnostics::default());
        let root = sources.add("script.itp", script);
        let graph = crate::graph::check(&mut sources, root, &NoFiles, ("--set", &[]), &mut diagnostics);
        graph.filter(|_| !diagnostics.has_errors()).unwrap_or_else(|| panic!("does not compile: {script}"))
    }

    /// The definition of the last tensor of a script.
    fn last(script: &str) -> Definition {
        *definitions(&graph(script), &|_| 0).last().expect("a tensor")
    }

    #[test]
    fn names_places_and_storage_do_not_matter() {
        let check = |a: &str, b: &str| assert_eq!(last(a), last(b), "{a}  //  {b}");
        check("tensor a: f32[x: inf] = 2 * x", "# moved\ntensor b: f32[z: inf]\n  chunk [64] = 2 * z");
        check("param k = 2 tensor a: f32[x: inf] = k * x", "let c = 2 tensor a: f32[x: inf] = c * x");
        check(
            "tensor a: f32[x: inf] = sum(i in 0..3) rand(x + i)",
            "tensor a: f32[x: inf] = sum(j in 0..3) rand(x + j)",
        );
        check("tensor o: u8[x: inf] = 1 tensor a: u8[x: 9] = 2", "tensor a: u8[x: 9] = 2");
        check("fn f(v) = v + 1 tensor a: i32[x: inf] = f(x)", "tensor a: i32[x: inf] = x + 1");
    }

    #[test]
    fn everything_that_elements_depend_on_matters() {
        let scripts = [
            "tensor a: f32[x: inf] = 2 * x",
            "tensor a: f32[x: inf] = 3 * x",
            "tensor a: f64[x: inf] = 2 * x",
            "tensor a: f32[x: 8] = 2 * x",
            "tensor a: f32[x: 0..8*] = 2 * x",
            "tensor a: f32[y: inf, x: inf] = 2 * x",
            "tensor a: f32[y: inf, x: inf] = 2 * y",
            "tensor a: f32[x: inf] = sum(i in 0..3) f32(x)",
            "tensor a: f32[x: inf] = sum(i in 0..4) f32(x)",
            "tensor a: f32[x: inf] = product(i in 0..4) f32(x)",
            "let t = [1, 2] tensor a: f32[x: inf] = t[x % 2]",
            "let t = [1, 3] tensor a: f32[x: inf] = t[x % 2]",
            "tensor a: f32[x: inf] window [4] as [i] = i",
            "tensor a: f32[x: inf] window [4] stride [2] as [i] = i",
            "tensor a: f32[x: inf] window [4] stride [2] as [i] blend max = i",
            "tensor a: f32[x: inf] window [4] stride [2] as [i] blend max init 1 = i",
            "tensor o: u8[x: inf] = 1 tensor a: u8[x: inf] = o[x]",
            "tensor o: u8[x: inf] = 2 tensor a: u8[x: inf] = o[x]",
            "tensor o: u8[x: inf] = 2 tensor a: u8[x: inf] = o[x + 1]",
            "tensor a: i32[t: 0..9] = if t == 0 then 1 else a[t - 1] + 1",
            "tensor a: i32[t: 0..9] = if t == 0 then 1 else a[t - 1] + 2",
            "var v: u8[x: inf] = 0 tensor a: u8[x: inf] = v[x]",
            "var v: u8[x: inf] = 1 tensor a: u8[x: inf] = v[x]",
            "var w: u8[x: inf] = 1 tensor a: u8[x: inf] = w[x]",
            "var v: u8[x: inf] = 0 tensor a: u8[x: inf] = v[x] set v[0:3] = 1",
            "var v: u8[x: inf] = 0 tensor a: u8[x: inf] = v[x] set v[0:4] = 1",
            "var v: u8[x: inf] = 0 tensor a: u8[x: inf] = v[x] set v[0:4] = 2",
            "var v: u8[x: inf] = 0 tensor a: u8[x: inf] = v[x] set v[0:4] = 2 set v[0:4] = 1",
            "var v: u8[x: inf] = 0 tensor a: u8[x: inf] = v[x] set v[0:4] = 1 set v[0:4] = 2",
        ];
        let definitions: Vec<Definition> = scripts.iter().map(|script| last(script)).collect();
        for (at, definition) in definitions.iter().enumerate() {
            let same = definitions[..at].iter().position(|other| other == definition);
            assert_eq!(same.map(|other| scripts[other]), None, "{}", scripts[at]);
        }
    }

    #[test]
    fn a_set_reaches_through_other_variables_and_tensors() {
        let script = |set: &str| {
            format!(
                "var w: u8[x: inf] = 0 var v: u8[x: inf] = 0 {set}
                 tensor t: u8[x: inf] = w[x] + v[x] set v[0:4] = t[x] tensor a: u8[x: inf] = v[x]"
            )
        };
        assert_ne!(last(&script("")), last(&script("set w[0:2] = 1")));
        let other = "var w: u8[x: inf] = 0 var v: u8[x: inf] = 0 set w[0:2] = 1 tensor a: u8[x: inf] = v[x]";
        assert_eq!(last(other), last(&other.replace("set w[0:2] = 1", "")));
    }

    #[test]
    fn what_is_outside_is_asked_for() {
        let script = graph("input p: u8[x: 4] tensor b: u8[x: 4] = p[x] tensor c: u8[x: 4] = 1");
        let (a, b) = (definitions(&script, &|_| 0), definitions(&script, &|_| 1));
        assert_ne!(a[0], b[0]);
        assert_ne!(a[1], b[1]);
        assert_eq!(a[2], b[2]);
    }
}
