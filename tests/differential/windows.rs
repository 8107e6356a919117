//! Windowed tensors: geometries that fit their domains, takes that stay inside their sources, blends.

use crate::coverage::BLENDS;
use crate::generate::{dims_text, vars};
use crate::scope::{Array, Dim, Gen, MOST_WORK, Scope, Var};
use crate::tree::{Item, Node};
use itp::graph::types::{Element, Ty};

/// The windows along one dimension.
#[derive(Clone, Copy)]
struct Along {
    size: i64,
    stride: i64,
    offset: i64,
    /// Lowest and highest window number, where both ends are bounded.
    numbers: Option<(i64, i64)>,
}

const LOCALS: [&str; 3] = ["i", "j", "k"];

impl Gen {
    pub(crate) fn windowed(&mut self) {
        self.hit("tensor windowed");
        if self.rng.chance(15) {
            return self.crowded();
        }
        let element = self.element();
        let rank = self.rng.pick(&[1, 1, 2, 2, 2, 3]);
        self.hit(format!("window {rank} dims"));
        let labels = self.labels(rank);
        let (dims, along): (Vec<Dim>, Vec<Along>) = labels.iter().map(|label| self.along(label)).unzip();
        let mut clauses = vec![self.window_clause(&along)];
        let mut takes = Vec::new();
        for _ in 0..self.rng.pick(&[0, 1, 1, 2]) {
            if let Some((clause, take)) = self.take(&dims, &along) {
                clauses.push(clause);
                takes.push(take);
            }
        }
        if takes.len() == 2 {
            self.hit("window two takes");
        }
        clauses.extend(self.blend(element));
        clauses.extend(self.storage(element, &dims));
        if !takes.is_empty() && self.rng.chance(20) {
            return self.external(element, dims, &along, clauses, &takes);
        }
        let body = self.window_body(element, &dims, &along, takes);
        let overlaps: i64 = along.iter().map(|a| (a.size + a.stride - 1) / a.stride).product();
        self.work *= overlaps.max(1) as u64;
        self.finish(element, dims, clauses, body);
    }

    /// Floats that three windows or more add to: another order gives other bits.
    fn crowded(&mut self) {
        self.hit("window crowded");
        let element = self.rng.pick(&[Element::F32, Element::F32, Element::F64]);
        let rank = self.rng.pick(&[1, 1, 2]);
        let labels = self.labels(rank);
        let dims: Vec<Dim> = labels.iter().map(|label| Dim::endless(label)).collect();
        let along: Vec<Along> = labels.iter().map(|_| self.crowd()).collect();
        let mut clauses = vec![self.window_clause(&along)];
        clauses.extend(self.rng.chance(50).then(|| "blend sum".to_owned()));
        let (ty, part) = (Ty::Strong(element), self.rng.within(3, 99));
        let body = self.window_body(element, &dims, &along, Vec::new());
        let number = format!("rand(index({}), {}, {part})", labels[0], LOCALS[0]);
        let body = Node::new(ty, format!("(if # > 0 then {number} else {number} / 7)"), vec![body]);
        let overlaps: i64 = along.iter().map(|a| a.size / a.stride).product();
        self.work *= overlaps.max(1) as u64;
        self.finish(element, dims, clauses, body);
    }

    /// Windows of which at least three cover every element.
    fn crowd(&mut self) -> Along {
        let stride = self.rng.within(1, 2);
        let size = stride * self.rng.within(3, 5) + self.rng.within(0, 1);
        Along { size, stride, offset: self.rng.within(-3, 3), numbers: None }
    }

    /// A dimension and windows that leave no element to a window that sticks out.
    fn along(&mut self, label: &str) -> (Dim, Along) {
        let size = self.rng.within(1, 4);
        let widest = if self.rng.chance(60) { size } else { 5 };
        let stride = self.rng.within(1, widest);
        self.hit(match stride.cmp(&size) {
            std::cmp::Ordering::Less => "window overlap",
            std::cmp::Ordering::Equal => "window exact",
            std::cmp::Ordering::Greater => "window gap",
        });
        let offset = if self.rng.chance(40) { 0 } else { self.rng.within(-6, 6) };
        if offset != 0 {
            self.hit("window offset");
        }
        let plain = Along { size, stride, offset, numbers: None };
        let slack = (stride - size).max(0);
        let (lead, tail) = (self.rng.within(0, slack), self.rng.within(0, slack));
        match self.rng.below(10) {
            0..=3 => {
                self.hit("window bounded");
                let (first, count) = (self.rng.within(-2, 1), self.rng.within(1, 3));
                let lo = offset + first * stride - lead;
                let hi = offset + (first + count - 1) * stride + size + tail;
                (Dim::new(label, lo, hi), Along { numbers: Some((first, first + count - 1)), ..plain })
            }
            4 => {
                self.hit("window half bounded");
                let lo = offset + self.rng.within(-2, 1) * stride - lead;
                (Dim { lo: Some(lo), ..Dim::endless(label) }, plain)
            }
            _ => {
                self.hit("window unbounded");
                (Dim::endless(label), plain)
            }
        }
    }

    fn window_clause(&mut self, along: &[Along]) -> String {
        let plain = along.iter().all(|a| a.stride == a.size) && self.rng.chance(50);
        let stride = if plain { String::new() } else { format!(" stride [{}]", each(along, |a| a.stride)) };
        let still = along.iter().all(|a| a.offset == 0);
        let offset = if still { String::new() } else { format!(" offset [{}]", each(along, |a| a.offset)) };
        let names = format!(" as [{}]", LOCALS[..along.len()].join(", "));
        let size = each(along, |a| a.size);
        if !self.rng.chance(25) {
            return format!("window [{size}]{stride}{offset}{names}");
        }
        self.hit("window item");
        self.hit(if still { "window by name" } else { "window named and changed" });
        let name = self.name("W");
        self.item(format!("window {name} = [{size}]{stride}"), None);
        format!("window {name}{offset}{names}")
    }

    /// A take of an array or of a view of it.
    fn take(&mut self, dims: &[Dim], along: &[Along]) -> Option<(String, Array)> {
        let affordable = |array: &&Array| !array.is_empty() && !array.near_only && array.cost < 200;
        let known: Vec<Array> = self.arrays.iter().filter(affordable).cloned().collect();
        if known.is_empty() {
            return None;
        }
        let array = &known[self.rng.below(known.len())];
        let (mut text, mut source) = (array.name.clone(), array.clone());
        if self.rng.chance(30) {
            (text, source) = self.chain_in_place(array);
            self.hit("window take of a view");
        }
        if source.is_empty() || source.dims.is_empty() || source.dims.len() > 3 {
            return None;
        }
        let drivers: Vec<(Option<usize>, Along)> =
            source.dims.iter().map(|dim| self.driven(dim, along)).collect();
        let windows: Vec<Along> = drivers.iter().map(|(_, window)| *window).collect();
        let by_place = drivers.iter().enumerate().all(|(at, (driver, _))| *driver == Some(at));
        let label = |driver: &Option<usize>| driver.map_or("_", |at| &dims[at].label);
        let map: Vec<&str> = drivers.iter().map(|(driver, _)| label(driver)).collect();
        let map = if by_place && source.dims.len() == dims.len() && self.rng.chance(70) {
            self.hit("window take by default");
            String::new()
        } else {
            self.hit("window take mapped");
            format!(" map [{}]", map.join(", "))
        };
        self.hit("window take");
        let name = self.name("b");
        let (size, stride) = (each(&windows, |a| a.size), each(&windows, |a| a.stride));
        let offset = each(&windows, |a| a.offset);
        let clause = format!("take {name} = {text} window [{size}] stride [{stride}] offset [{offset}]{map}");
        let dims = windows.iter().map(|window| Dim::new("_", 0, window.size)).collect();
        let cost = source.read_cost();
        Some((clause, Array { name, dims, cost, base_len: None, ..source }))
    }

    /// Which windows of the tensor move along a dimension of a source, and how, so that all slices are inside.
    fn driven(&mut self, dim: &Dim, along: &[Along]) -> (Option<usize>, Along) {
        let (size, stride) = (self.rng.within(1, 4), self.rng.within(1, 4));
        let driver = self.rng.below(along.len());
        let free = Along { size, stride, offset: self.rng.within(-5, 5), numbers: None };
        if dim.lo.is_none() && dim.hi.is_none() {
            return (Some(driver), free);
        }
        let lo = dim.lo.unwrap_or(dim.hi.map_or(0, |hi| hi - 8));
        let room = dim.hi.map_or(9, |hi| hi - lo);
        if let Some((first, last)) = along[driver].numbers
            && last - first < room
        {
            let stride = stride.min((room - 1) / (last - first).max(1)).max(1);
            let size = size.min(room - (last - first) * stride).max(1);
            let slack = room - size - (last - first) * stride;
            let offset = lo - first * stride + self.rng.within(0, slack.max(0));
            return (Some(driver), Along { size, stride, offset, numbers: None });
        }
        self.hit("window take fixed");
        let size = size.min(room);
        (None, Along { size, stride, offset: lo + self.rng.within(0, room - size), numbers: None })
    }

    fn blend(&mut self, element: Element) -> Option<String> {
        let ty = Ty::Strong(element.computed());
        let name = match element {
            Element::Bool => self.rng.pick(&["first", "last", "custom"]),
            _ if self.rng.chance(12) => {
                self.hit("window blend by default");
                return None;
            }
            _ => self.rng.pick(&BLENDS),
        };
        self.hit(format!("blend {name}"));
        let value = self.constant(element);
        if name == "custom" {
            let lets = vec![("old".to_owned(), ty), ("new".to_owned(), ty)];
            let scope = Scope { lets, closed: true, ..Scope::default() };
            let rest = self.value(&scope, ty, 1).text();
            let op = if element == Element::Bool { "^" } else { "-" };
            return Some(format!("blend (old, new) => (new {op} old) {op} {rest} init {value}"));
        }
        if self.rng.chance(40) {
            self.hit("window blend with init");
            return Some(format!("blend {name} init {value}"));
        }
        Some(format!("blend {name}"))
    }

    fn window_body(&mut self, element: Element, dims: &[Dim], along: &[Along], takes: Vec<Array>) -> Node {
        let mut scope = Scope { vars: vars(dims), takes, ..Scope::default() };
        for ((local, window), dim) in LOCALS.iter().zip(along).zip(dims) {
            scope.vars.push(Var { name: (*local).to_owned(), lo: Some(0), hi: Some(window.size) });
            if self.rng.chance(30) {
                self.hit("window index");
                scope.vars.push(Var { name: format!("index({})", dim.label), lo: None, hi: None });
            }
        }
        let ty = Ty::Strong(element.computed());
        let depth = 2 + self.rng.below(3) as u32;
        let body = self.value(&scope, ty, depth);
        let Some(take) = scope.takes.first().cloned() else { return body };
        let read = self.read(&scope, &take, 1);
        let read = self.converted(read, ty);
        let op = if element == Element::Bool { "^" } else { "+" };
        Node::new(ty, format!("(# {op} #)"), vec![body, read])
    }

    /// A tensor whose windows a host function makes.
    fn external(
        &mut self,
        element: Element,
        dims: Vec<Dim>,
        along: &[Along],
        clauses: Vec<String>,
        takes: &[Array],
    ) {
        self.hit("window extern");
        self.hit(format!("tensor of {element}"));
        let (tensor, function) = (self.name("t"), self.rng.pick(&crate::host::FUNCTIONS));
        let names: Vec<&str> = takes.iter().map(|take| take.name.as_str()).collect();
        let head = format!("tensor {tensor}: {element}[{}] {}", dims_text(&dims), clauses.join(" "));
        let body = format!("extern \"{function}\"({})", names.join(", "));
        let head = format!("{head} = {body}");
        self.items.push(Item { head, clauses: Vec::new(), body: None });
        let taken: u64 = takes.iter().map(|take| take.len().unwrap_or(1) as u64 * take.cost).sum();
        let cells: i64 = along.iter().map(|a| a.size).product();
        let cost = (taken / cells.max(1) as u64 + 2).min(MOST_WORK);
        let mut array = Array {
            name: tensor,
            element,
            dims,
            cost,
            base_len: None,
            near_only: false,
            implicit: false,
            indexed: false,
        };
        array.base_len = array.len();
        self.arrays.push(array);
    }
}

fn each(along: &[Along], part: impl Fn(&Along) -> i64) -> String {
    along.iter().map(|a| part(a).to_string()).collect::<Vec<_>>().join(", ")
}
