//! The reference engine: the definition of every value, element by element, slow and obvious.
//!
//! ```text
//! element(smooth, [0, 0])   evaluates the body of `smooth` at y = 0, x = 0, which asks for elements of `height`, …
//! ```
//!
//! It works on the checked graph and shares nothing with the compiler below it: no index maps, no loops, no plan. An
//! arm that is not selected is not evaluated. Elements are remembered, so each is computed once.

use crate::graph::body::{Body, Coord, MathFn, NodeId, Obligation, Op, ReduceFn, TensorId};
use crate::graph::fold::{Fold, factors};
use crate::graph::resolve_weak::Resolved;
use crate::graph::scalar::{self, BinaryFn, Scalar, UnaryFn};
use crate::graph::types::Element;
use crate::graph::view::{Boundary, Step, View, dimension_name, row_major};
use crate::graph::{Blend, BlendKind, Graph, Pointwise, Set, Tensor, TensorKind, WindowBody, Windowed};
use crate::index::interval::finite;
use crate::index::walk::points;
use crate::index::{Interval, OutputMap, Overflow, Transform, Window};
use std::collections::{HashMap, HashSet};

/// What the interpreter asks of the world outside the script.
pub trait Host {
    /// The element of an input at global coordinates.
    fn input(&self, tensor: TensorId, coords: &[i64]) -> Result<Scalar, String>;

    /// One whole window of an extern tensor, row-major, from the elements of its takes.
    fn call(&self, call: &WindowCall<'_>) -> Result<Vec<Scalar>, String>;

    /// Asked before each element: an error ends the evaluation.
    fn go_on(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A window that a host function makes.
#[derive(Clone, Copy, Debug)]
pub struct WindowCall<'a> {
    /// The function.
    pub name: &'a str,
    /// Whose window.
    pub tensor: TensorId,
    /// Which window, per dimension.
    pub number: &'a [i64],
    /// The elements of the takes, in the order of the arguments.
    pub takes: &'a [Vec<Scalar>],
    /// Elements of the window, per dimension.
    pub size: &'a [i64],
    /// Their type.
    pub element: Element,
}

/// Evaluates elements of one graph.
pub struct Interp<'g> {
    graph: &'g Graph,
    host: &'g dyn Host,
    known: Vec<HashMap<Vec<i64>, Scalar>>,
    written: HashMap<(TensorId, Vec<i64>), Scalar>,
    windows: HashMap<(TensorId, Vec<i64>), Vec<Scalar>>,
    /// Nodes that are being evaluated, each for the one before it.
    depth: usize,
}

/// Nodes that may wait for each other: what a stack of [`STACK_BYTES`] has room for.
const MAX_DEPTH: usize = 100_000;

/// The stack that evaluation may need; address space, since pages are used only when they are touched.
pub const STACK_BYTES: usize = 512 << 20;

type Result<T, E = String> = std::result::Result<T, E>;

/// Where a body is evaluated.
#[derive(Clone, Debug, Default)]
struct Place {
    /// Global coordinates.
    global: Vec<i64>,
    /// Coordinates inside the window.
    local: Vec<i64>,
    /// Window numbers.
    window: Vec<i64>,
    /// Values of `Arg` nodes.
    args: Vec<Scalar>,
}

impl<'g> Interp<'g> {
    /// An interpreter with every `set` of the script done.
    pub fn new(graph: &'g Graph, host: &'g dyn Host) -> Result<Self> {
        Interp::after(graph, host, &graph.sets)
    }

    /// An interpreter with some `set` items done, in the order of the script.
    pub fn after(
        graph: &'g Graph,
        host: &'g dyn Host,
        sets: impl IntoIterator<Item = &'g Set>,
    ) -> Result<Self> {
        let known = vec![HashMap::new(); graph.tensors.len()];
        let mut interp =
            Interp { graph, host, known, written: HashMap::new(), windows: HashMap::new(), depth: 0 };
        for set in sets {
            interp.write(&set.target, &set.body)?;
        }
        Ok(interp)
    }

    /// The element of a view; an error names the element that it is of its tensor.
    pub fn view_element(&mut self, view: &View, coords: &[i64]) -> Result<Scalar> {
        let at = |name: &str, coords: &[i64], why: String| format!("`{name}` at {coords:?}: {why}");
        match follow(view, coords).map_err(|why| at(&view.name, coords, why))? {
            Target::Base(coords) => {
                let name = &self.graph.tensor(view.base).name;
                self.element(view.base, &coords).map_err(|why| at(name, &coords, why))
            }
            Target::Value(value) => Ok(value),
        }
    }

    /// The element of a tensor, in the type it computes in.
    pub fn element(&mut self, tensor: TensorId, coords: &[i64]) -> Result<Scalar> {
        if let Some(value) = self.known[tensor.index()].get(coords) {
            return Ok(*value);
        }
        let value = self.compute(tensor, coords)?;
        let value = stored(value, self.graph.tensor(tensor).element);
        self.known[tensor.index()].insert(coords.to_vec(), value);
        Ok(value)
    }

    /// How many elements of a tensor that is computed were, since the last write.
    pub fn computed(&self, tensor: TensorId) -> usize {
        match self.graph.tensor(tensor).kind {
            TensorKind::Input(_) | TensorKind::Var(_) => 0,
            TensorKind::Pointwise(_) | TensorKind::Windowed(_) => self.known[tensor.index()].len(),
        }
    }

    /// How many windows cover the elements of a tensor that were computed since the last write; none of what has no windows.
    pub fn windows(&self, tensor: TensorId) -> usize {
        let TensorKind::Windowed(windowed) = &self.graph.tensor(tensor).kind else { return 0 };
        let domain = self.graph.tensor(tensor).domain.dims();
        let mut numbers = HashSet::new();
        for coords in self.known[tensor.index()].keys() {
            let dims = windowed.windows.dims.iter().zip(domain).zip(coords);
            let all = dims.map(|((window, dim), coord)| covering(*window, dim.interval, *coord));
            numbers.extend(all.collect::<Result<Vec<Interval>>>().iter().flat_map(|all| points(all)));
        }
        numbers.len()
    }

    /// The elements of a tensor that were asked for so far, in order.
    pub fn asked_for(&self, tensor: TensorId) -> Vec<Vec<i64>> {
        let mut elements: Vec<Vec<i64>> = self.known[tensor.index()].keys().cloned().collect();
        elements.sort();
        elements
    }

    fn compute(&mut self, tensor: TensorId, coords: &[i64]) -> Result<Scalar> {
        has_element(self.graph.tensor(tensor), coords)?;
        match &self.graph.tensor(tensor).kind {
            TensorKind::Input(_) => self.host.input(tensor, coords),
            TensorKind::Var(value) => {
                Ok(self.written.get(&(tensor, coords.to_vec())).copied().unwrap_or(*value))
            }
            TensorKind::Pointwise(Pointwise { body, .. }) => {
                self.evaluate(body, &Place { global: coords.to_vec(), ..Place::default() })
            }
            TensorKind::Windowed(windowed) => self.blended(tensor, windowed, coords),
        }
    }

    /// Folds the windows that cover an element, in lexicographic order of their numbers.
    fn blended(&mut self, tensor: TensorId, windowed: &'g Windowed, coords: &[i64]) -> Result<Scalar> {
        let domain = &self.graph.tensor(tensor).domain;
        let dims = windowed.windows.dims.iter().zip(domain.dims()).zip(coords);
        let covering = dims.map(|((window, dim), coord)| covering(*window, dim.interval, *coord));
        let covering: Vec<Interval> = covering.collect::<Result<_>>()?;
        let mut values = Vec::new();
        for number in points(&covering) {
            values.push(self.window_element(tensor, windowed, &number, coords)?);
        }
        self.fold(&windowed.blend, &values, self.graph.tensor(tensor).element)
    }

    fn window_element(
        &mut self,
        tensor: TensorId,
        windowed: &'g Windowed,
        number: &[i64],
        coords: &[i64],
    ) -> Result<Scalar> {
        let starts =
            windowed.windows.dims.iter().zip(number).map(|(window, w)| window.offset() + w * window.stride());
        let local: Vec<i64> = coords.iter().zip(starts).map(|(coord, start)| coord - start).collect();
        match &windowed.body {
            WindowBody::Expr(body) => {
                let place =
                    Place { global: coords.to_vec(), local, window: number.to_vec(), args: Vec::new() };
                self.evaluate(body, &place)
            }
            WindowBody::Extern { name, args } => {
                let sizes: Vec<i64> = windowed.windows.dims.iter().map(|window| window.size()).collect();
                let position: i64 = local.iter().zip(row_major(&sizes)).map(|(at, stride)| at * stride).sum();
                let key = (tensor, number.to_vec());
                if !self.windows.contains_key(&key) {
                    let window = self.host_window(tensor, windowed, name, args, number)?;
                    self.windows.insert(key.clone(), window);
                }
                Ok(self.windows[&key][position as usize])
            }
        }
    }

    fn host_window(
        &mut self,
        tensor: TensorId,
        windowed: &'g Windowed,
        name: &str,
        args: &[usize],
        number: &[i64],
    ) -> Result<Vec<Scalar>> {
        let mut takes = Vec::new();
        for take in args.iter().map(|arg| &windowed.takes[*arg]) {
            let starts = (0..take.sizes.len()).map(|dim| {
                let w = take.map[dim].map_or(0, |driver| number[driver]);
                take.offset[dim] + w * take.stride[dim]
            });
            let ranges = starts.zip(&take.sizes).map(|(start, size)| Interval::sized(start, *size));
            let ranges: Vec<Interval> = ranges.collect::<Result<_, _>>().map_err(|error| error.message)?;
            let elements = points(&ranges).map(|coords| self.view_element(&take.source, &coords));
            takes.push(elements.collect::<Result<Vec<_>>>()?);
        }
        let sizes: Vec<i64> = windowed.windows.dims.iter().map(|window| window.size()).collect();
        let element = self.graph.tensor(tensor).element;
        let call = WindowCall { name, tensor, number, takes: &takes, size: &sizes, element };
        let window = self.host.call(&call)?;
        let expected: i64 = sizes.iter().product();
        if window.len() as i64 == expected && window.iter().all(|value| value.element() == element.computed())
        {
            return Ok(window);
        }
        let given = window.first().map_or(element, |value| value.element());
        Err(format!(
            "host function `{name}` gave {} elements of `{given}`, but a window has {expected} of `{element}`",
            window.len()
        ))
    }

    fn fold(&mut self, blend: &'g Blend, values: &[Scalar], element: Element) -> Result<Scalar> {
        let combine =
            |function| values.iter().fold(blend.init, |old, new| scalar::binary(function, old, *new));
        Ok(match &blend.kind {
            BlendKind::Sum => combine(BinaryFn::Add),
            BlendKind::Product => combine(BinaryFn::Mul),
            BlendKind::Min => combine(BinaryFn::Min),
            BlendKind::Max => combine(BinaryFn::Max),
            BlendKind::First => values.first().copied().unwrap_or(blend.init),
            BlendKind::Last => values.last().copied().unwrap_or(blend.init),
            BlendKind::Mean => mean(values, element).unwrap_or(blend.init),
            BlendKind::Custom(body) => {
                let mut old = blend.init;
                for new in values {
                    old = self.evaluate(body, &Place { args: vec![old, *new], ..Place::default() })?;
                }
                old
            }
        })
    }

    /// Does one `set`: all values first, then the writes.
    fn write(&mut self, target: &View, body: &'g Resolved) -> Result<()> {
        let dims: Vec<Interval> = target.domain().dims().iter().map(|dim| dim.interval).collect();
        let mut writes = Vec::new();
        for coords in points(&dims) {
            let value = self.evaluate(body, &Place { global: coords.clone(), ..Place::default() })?;
            if let Target::Base(base) = follow(target, &coords)? {
                writes.push((base, value));
            }
        }
        for (coords, value) in writes {
            self.written.insert((target.base, coords), value);
        }
        self.forget();
        Ok(())
    }

    /// Writes elements from outside, as a `set` after all others would; `value` gives the one at a row-major position.
    pub fn put(&mut self, target: &View, value: impl Fn(usize) -> Scalar) -> Result<()> {
        let dims: Vec<Interval> = target.domain().dims().iter().map(|dim| dim.interval).collect();
        for (at, coords) in points(&dims).enumerate() {
            self.host.go_on()?;
            if let Target::Base(base) = follow(target, &coords)? {
                self.written.insert((target.base, base), value(at));
            }
        }
        self.forget();
        Ok(())
    }

    fn forget(&mut self) {
        self.known.iter_mut().for_each(HashMap::clear);
        self.windows.clear();
    }

    fn evaluate(&mut self, resolved: &'g Resolved, place: &Place) -> Result<Scalar> {
        self.host.go_on()?;
        let mut values = vec![None; resolved.body.len()];
        let mut bound = vec![0; resolved.body.binders.len()];
        self.node(&resolved.body, resolved.root, place, &mut bound, &mut values)
    }

    /// The value of a node; what was worked out before is in `values`.
    fn node(
        &mut self,
        body: &'g Body,
        id: NodeId,
        place: &Place,
        bound: &mut Vec<i64>,
        values: &mut Vec<Option<Scalar>>,
    ) -> Result<Scalar> {
        if let Some(value) = values[id.index()] {
            return Ok(value);
        }
        if self.depth == MAX_DEPTH {
            return Err(format!(
                "it takes more than {MAX_DEPTH} operations that wait for each other; `--engine jit` goes step by step"
            ));
        }
        self.depth += 1;
        let value = self.operation(body, id, place, bound, values);
        self.depth -= 1;
        let value = value?;
        values[id.index()] = Some(value);
        Ok(value)
    }

    fn operation(
        &mut self,
        body: &'g Body,
        id: NodeId,
        place: &Place,
        bound: &mut Vec<i64>,
        values: &mut Vec<Option<Scalar>>,
    ) -> Result<Scalar> {
        let node = body.node(id);
        let element = node.ty.strong().expect("bodies are resolved");
        let mut arg = |this: &mut Self, id: NodeId| this.node(body, id, place, bound, values);
        Ok(match &node.op {
            Op::Const(value) => *value,
            Op::Coord(coord) => Scalar::i64(match coord {
                Coord::Global(dim) => place.global[*dim as usize],
                Coord::Local(dim) => place.local[*dim as usize],
                Coord::Window(dim) => place.window[*dim as usize],
                Coord::Bound(var) => bound[*var as usize],
            }),
            Op::Arg(number) => place.args[*number as usize],
            Op::Unary(function, a) => scalar::unary(*function, arg(self, *a)?),
            Op::Binary(function, a, b) => scalar::binary(*function, arg(self, *a)?, arg(self, *b)?),
            Op::Fma(a, b, c) => scalar::fma(arg(self, *a)?, arg(self, *b)?, arg(self, *c)?),
            Op::Select(condition, a, b) => {
                let chosen = if arg(self, *condition)?.is_true() { a } else { b };
                arg(self, *chosen)?
            }
            Op::Cast(a) => arg(self, *a)?.cast(element),
            Op::Math(function, args) => {
                let args = args.iter().map(|id| arg(self, *id)).collect::<Result<_>>()?;
                self.math(*function, element, args)?
            }
            Op::Hash(args) => {
                let args = args.iter().map(|id| Ok(integer(arg(self, *id)?)));
                let args = args.collect::<Result<Vec<i64>>>()?;
                Scalar::int(Element::U32, scalar::hash(&args).into())
            }
            Op::Read { tensor, coords, .. } => {
                for step in body.steps_to(id) {
                    stays_in_space(step, integer(arg(self, step.coord)?))?;
                }
                let coords =
                    coords.iter().map(|id| Ok(integer(arg(self, *id)?))).collect::<Result<Vec<i64>>>()?;
                self.element(*tensor, &coords)?
            }
            Op::Table(table, coords) => {
                let coords =
                    coords.iter().map(|id| Ok(integer(arg(self, *id)?))).collect::<Result<Vec<i64>>>()?;
                let table = &body.tables[table.index()];
                let position: i64 =
                    coords.iter().zip(row_major(&table.shape)).map(|(at, stride)| at * stride).sum();
                table.values[position as usize]
            }
            Op::Reduce { function, vars, body: inner } => {
                self.reduce(body, *function, vars, *inner, place, bound)?
            }
        })
    }

    fn math(&mut self, function: MathFn, element: Element, args: Vec<Scalar>) -> Result<Scalar> {
        let graph = self.graph;
        let found = graph.math.get(&(function, element));
        let (body, root) =
            &**found.ok_or_else(|| format!("`{}` of `{element}` is not there", function.name()))?;
        let mut values = vec![None; body.len()];
        let mut bound = vec![0; body.binders.len()];
        self.node(body, *root, &Place { args, ..Place::default() }, &mut bound, &mut values)
    }

    /// One accumulator, from the identity, the last variable fastest.
    fn reduce(
        &mut self,
        body: &'g Body,
        function: ReduceFn,
        vars: &[u32],
        inner: NodeId,
        place: &Place,
        bound: &[i64],
    ) -> Result<Scalar> {
        let ranges = vars.iter().map(|var| {
            let var = &body.binders[*var as usize];
            Interval::new(var.lo, var.hi.max(var.lo))
        });
        let ranges: Vec<Interval> = ranges.collect::<Result<_, _>>().map_err(|error| error.message)?;
        let element = body.ty(inner).strong().expect("bodies are resolved");
        let mut fold = Fold::new(function, element, ranges[0].first());
        for point in points(&ranges) {
            self.host.go_on()?;
            let mut bound = bound.to_vec();
            vars.iter().zip(&point).for_each(|(var, value)| bound[*var as usize] = *value);
            // Everything may depend on the variables, so nothing worked out outside is reused.
            let mut values = vec![None; body.len()];
            let mut node = |id: NodeId| self.node(body, id, place, &mut bound, &mut values);
            match factors(body, function, inner) {
                Some((a, b)) => fold.add_product(node(a)?, node(b)?),
                None => fold.add(node(inner)?, point[0]),
            }
        }
        Ok(fold.value())
    }
}

fn integer(value: Scalar) -> i64 {
    value.as_int().unwrap_or_default() as i64
}

/// What comes back after a value was stored: f16 rounds.
fn stored(value: Scalar, element: Element) -> Scalar {
    if element == Element::F16 { scalar::unary(UnaryFn::RoundF16, value) } else { value }
}

/// The sum divided by the count; integers are added up in 64 bits and floor, f16 divides in f32.
fn mean(values: &[Scalar], element: Element) -> Option<Scalar> {
    let wide = element.summed_in();
    let values = values.iter().map(|value| value.cast(wide));
    let count = Scalar::i64(values.len() as i64).cast(wide);
    let sum = values.reduce(|a, b| scalar::binary(BinaryFn::Add, a, b))?;
    let divide = if element.is_float() { BinaryFn::Div } else { BinaryFn::FloorDiv };
    Some(scalar::binary(divide, sum, count).cast(element.computed()))
}

/// Reads are proven to stay inside for near coordinates; farther out, arithmetic may wrap and lead anywhere.
fn has_element(tensor: &Tensor, coords: &[i64]) -> Result<()> {
    let mut dims = tensor.domain.dims().iter().zip(coords);
    match dims.find(|(dim, coord)| !dim.enforced().contains(**coord)) {
        None => Ok(()),
        Some((dim, coord)) => {
            let (name, along) = (&tensor.name, dimension_name(dim));
            Err(format!("`{name}` has no element at {coord} along {along}, which is {}", dim.enforced()))
        }
    }
}

/// What a view or a window makes of a coordinate must be one: there is no way around beyond the last.
fn stays_in_space(step: &Obligation, coord: i64) -> Result<()> {
    if step.range.contains(coord) {
        return Ok(());
    }
    let (what, dim) = (&step.what, &step.dim);
    Err(format!("`{what}` takes {coord} along `{dim}` outside the index space of ±(2^62 - 2)"))
}

/// The windows that cover a coordinate and lie inside the domain.
fn covering(window: Window, domain: Interval, coord: i64) -> Result<Interval> {
    let inside = window.inside(domain).map_err(|error| error.to_string())?;
    let covering = window.covering(coord).map_err(|error| error.to_string())?;
    let covering = covering.intersect(inside);
    if !covering.is_empty() {
        let leaves =
            |overflow: Overflow| format!("a window would reach {}, which is no coordinate", overflow.value);
        window.hull(covering).map_err(leaves)?;
    }
    Ok(covering)
}

/// Where a coordinate of a view leads.
pub enum Target {
    /// To an element of the base.
    Base(Vec<i64>),
    /// To a value that a mask stands for.
    Value(Scalar),
}

/// Where an element of a view comes from.
pub fn follow(view: &View, coords: &[i64]) -> Result<Target> {
    let mut coords = coords.to_vec();
    for step in view.steps() {
        coords = match step {
            Step::Map(map) => mapped(map, &coords)?,
            Step::Flat { strides, offset, storage, .. } => {
                let position =
                    offset + strides.iter().zip(&coords).map(|(stride, at)| stride * at).sum::<i64>();
                let shape: Vec<i64> = storage.iter().map(|range| range.len().unwrap_or(1)).collect();
                let places = storage.iter().zip(&shape).zip(row_major(&shape));
                places
                    .map(|((range, len), stride)| {
                        range.first() + position.div_euclid(stride).rem_euclid(*len)
                    })
                    .collect()
            }
            Step::Boundary { kinds, bounds } => {
                let dims = coords.iter().zip(kinds).zip(bounds);
                dims.map(|((coord, kind), bounds)| kind.map_or(*coord, |kind| folded(kind, *bounds, *coord)))
                    .collect()
            }
            Step::Mask { bounds, value } => {
                if coords.iter().zip(bounds).any(|(coord, bounds)| !bounds.contains(*coord)) {
                    return Ok(Target::Value(*value));
                }
                coords
            }
        };
    }
    Ok(Target::Base(coords))
}

fn mapped(map: &Transform, coords: &[i64]) -> Result<Vec<i64>> {
    let output = |output: &OutputMap| match output {
        OutputMap::Affine(affine) => {
            let terms = affine.terms().iter();
            let terms = terms.map(|term| i128::from(term.stride) * i128::from(coords[term.dim]));
            finite(i128::from(affine.offset()) + terms.sum::<i128>()).map_err(|error| error.to_string())
        }
        OutputMap::Array(array) => {
            let dims = coords.iter().zip(map.domain().dims());
            let place: Vec<i64> = dims.map(|(coord, dim)| coord - dim.interval.first()).collect();
            let entry = array.array.get(&place).ok_or("a coordinate outside an index array")?;
            Ok(array.offset + array.stride * entry)
        }
    };
    map.outputs().iter().map(output).collect()
}

/// A coordinate folded into `bounds`, walking back and forth by definition.
fn folded(kind: Boundary, bounds: Interval, coord: i64) -> i64 {
    let (lo, hi) = (bounds.lower(), bounds.upper());
    match (kind, lo, hi) {
        (Boundary::Clamp, lo, hi) => {
            let raised = lo.map_or(coord, |lo| coord.max(lo));
            hi.map_or(raised, |hi| raised.min(hi - 1))
        }
        (Boundary::Wrap, Some(lo), Some(hi)) => lo + (coord - lo).rem_euclid(hi - lo),
        (Boundary::Mirror, Some(lo), Some(hi)) => {
            let phase = (coord - lo).rem_euclid(2 * (hi - lo));
            lo + if phase < hi - lo { phase } else { 2 * (hi - lo) - 1 - phase }
        }
        (Boundary::Reflect, Some(lo), Some(hi)) if hi - lo == 1 => lo,
        (Boundary::Reflect, Some(lo), Some(hi)) => {
            let phase = (coord - lo).rem_euclid(2 * (hi - lo - 1));
            lo + if phase < hi - lo { phase } else { 2 * (hi - lo - 1) - phase }
        }
        (Boundary::Mirror, Some(lo), None) if coord < lo => 2 * lo - 1 - coord,
        (Boundary::Reflect, Some(lo), None) if coord < lo => 2 * lo - coord,
        (Boundary::Mirror, None, Some(hi)) if coord >= hi => 2 * hi - 1 - coord,
        (Boundary::Reflect, None, Some(hi)) if coord >= hi => 2 * hi - 2 - coord,
        (Boundary::Wrap | Boundary::Mirror | Boundary::Reflect, _, _) => coord,
    }
}
