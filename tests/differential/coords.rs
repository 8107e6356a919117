//! Coordinates that the checker can follow, and reads of arrays with them.

use crate::scope::{Array, Back, Dim, Gen, MOST_WORK, Scope, Var};
use crate::tree::Node;
use itp::graph::types::{Element, Ty};

const INT: Ty = Ty::WeakInt;

impl Gen {
    /// A read that gives a value of type `ty`, cast if no array of that type is there.
    pub(crate) fn some_read(&mut self, scope: &Scope, ty: Ty, depth: u32) -> Node {
        let Ty::Strong(element) = ty else { return self.table_read(scope, ty, depth) };
        if let Some(back) = scope.back.clone()
            && self.rng.chance(50)
        {
            let node = self.step_back(scope, &back, depth);
            return self.converted(node, ty);
        }
        if self.rng.chance(15) {
            let weak = if element.is_float() && self.rng.chance(60) { Ty::WeakFloat } else { INT };
            let node = self.table_read(scope, weak, depth);
            return self.converted(node, ty);
        }
        let Some(array) = self.readable(scope, element) else {
            return if depth == 0 { Node::simplest(ty) } else { self.leaf(scope, ty) };
        };
        let node = self.read(scope, &array, depth);
        self.converted(node, ty)
    }

    pub(crate) fn converted(&mut self, node: Node, ty: Ty) -> Node {
        match ty {
            Ty::Strong(to) if node.ty != ty => {
                self.hit(format!("cast to {to}"));
                Node::new(ty, format!("{to}(#)"), vec![node])
            }
            Ty::Strong(_) | Ty::WeakInt | Ty::WeakFloat => node,
        }
    }

    /// An array to read, rather of the wanted type, that is not too dear.
    fn readable(&mut self, scope: &Scope, element: Element) -> Option<Array> {
        let room = MOST_WORK.saturating_sub(self.work);
        let cheap = |array: &&Array| {
            !array.is_empty() && !array.near_only && array.read_cost() * scope.times.max(1) <= room
        };
        let top: &[Array] = if scope.closed { &[] } else { &self.arrays };
        let known: Vec<&Array> = scope.takes.iter().chain(top).filter(cheap).collect();
        let same: Vec<&Array> =
            known.iter().copied().filter(|array| array.element.computed() == element).collect();
        let from = if same.is_empty() || self.rng.chance(25) { known } else { same };
        (!from.is_empty()).then(|| from[self.rng.below(from.len())].clone())
    }

    /// An element of `array`, plainly, through a view in place, or guarded by a condition.
    pub(crate) fn read(&mut self, scope: &Scope, array: &Array, depth: u32) -> Node {
        self.spend(scope, array.read_cost());
        let taken = scope.takes.iter().any(|take| take.name == array.name);
        if taken {
            self.hit("read of a take");
        } else if self.rng.chance(35) {
            let (text, view) = self.chain_in_place(array);
            if !view.is_empty() && !view.near_only {
                self.hit("view in place");
                return self.element_read(scope, &Array { name: text, ..view }, depth);
            }
        } else if self.rng.chance(25)
            && let Some(node) = self.guarded(scope, array, depth)
        {
            return node;
        }
        self.element_read(scope, array, depth)
    }

    fn element_read(&mut self, scope: &Scope, array: &Array, depth: u32) -> Node {
        let coords: Vec<Node> = array.dims.iter().map(|dim| self.coord(scope, dim, depth)).collect();
        let ty = Ty::Strong(array.element.computed());
        Node::new(ty, format!("{}[{}]", array.name, vec!["#"; coords.len()].join(", ")), coords)
    }

    /// `if x + 1 < 9 and x + 1 >= 0 then a[x + 1] else …`
    fn guarded(&mut self, scope: &Scope, array: &Array, depth: u32) -> Option<Node> {
        let var = self.some_var(scope)?;
        let at = array.dims.iter().position(Dim::is_bounded)?;
        let (lo, hi) = (array.dims[at].lo?, array.dims[at].hi?);
        self.hit("guarded read");
        let coord = format!("{} + {}", var.name, self.rng.within(0, 3));
        let mut coords: Vec<Node> = array.dims.iter().map(|dim| self.coord(scope, dim, depth)).collect();
        coords.remove(at);
        let mut marks = vec!["#".to_owned(); array.dims.len()];
        marks[at] = coord.clone();
        let ty = Ty::Strong(array.element.computed());
        let test = format!("{coord} >= {lo} and {coord} < {hi}");
        let template = match self.rng.below(2) {
            0 => format!("(if {test} then {}[{}] else #)", array.name, marks.join(", ")),
            _ => format!("select({test}, {}[{}], #)", array.name, marks.join(", ")),
        };
        coords.push(Node::simplest(ty));
        Some(Node::new(ty, template, coords))
    }

    /// A read of the tensor itself, of its own type.
    pub(crate) fn some_step(&mut self, scope: &Scope, ty: Ty) -> Node {
        let back = scope.back.clone().expect("inside a recurrence");
        let node = self.step_back(scope, &back, 1);
        self.converted(node, ty)
    }

    /// The tensor itself, some steps ago.
    fn step_back(&mut self, scope: &Scope, back: &Back, depth: u32) -> Node {
        let steps = self.rng.within(1, back.reach);
        self.spend(scope, 8);
        let mut folded = Vec::new();
        let mut kids = Vec::new();
        let mut marks = Vec::new();
        for (at, dim) in back.array.dims.iter().enumerate() {
            if at == back.dim {
                marks.push(format!("{} - {steps}", dim.label));
            } else if dim.lo.is_none() && dim.hi.is_none() || self.rng.chance(40) {
                let by = self.rng.within(-1, 1);
                if dim.lo.is_some() || dim.hi.is_some() {
                    folded.push(dim.label.clone());
                }
                if by != 0 {
                    self.hit("recurrence with a halo");
                }
                marks.push(format!("{} + ({by})", dim.label));
            } else {
                marks.push("#".to_owned());
                kids.push(self.coord(scope, dim, depth.min(1)));
            }
        }
        let ty = Ty::Strong(back.array.element.computed());
        let fold = if folded.is_empty() { String::new() } else { format!(".clamp([{}])", folded.join(", ")) };
        Node::new(ty, format!("{}{fold}[{}]", back.array.name, marks.join(", ")), kids)
    }

    fn some_var(&mut self, scope: &Scope) -> Option<Var> {
        (!scope.vars.is_empty()).then(|| scope.vars[self.rng.below(scope.vars.len())].clone())
    }

    /// A coordinate that stays inside `dim`.
    fn coord(&mut self, scope: &Scope, dim: &Dim, depth: u32) -> Node {
        match (dim.lo, dim.hi) {
            (None, None) => self.free_coord(scope, depth),
            (Some(lo), Some(hi)) => self.inside(scope, lo, hi, depth),
            (Some(lo), None) => {
                let free = self.free_coord(scope, depth);
                Node::new(INT, format!("max(#, {lo})"), vec![free])
            }
            (None, Some(hi)) => {
                let free = self.free_coord(scope, depth);
                Node::new(INT, format!("min(#, {})", hi - 1), vec![free])
            }
        }
    }

    fn inside(&mut self, scope: &Scope, lo: i64, hi: i64, depth: u32) -> Node {
        let fits = |var: &&Var| matches!((var.lo, var.hi), (Some(a), Some(b)) if b - a <= hi - lo);
        let fitting: Vec<Var> = scope.vars.iter().filter(fits).cloned().collect();
        if !fitting.is_empty() && self.rng.chance(60) {
            let var = &fitting[self.rng.below(fitting.len())];
            let (a, b) = (var.lo.unwrap_or(0), var.hi.unwrap_or(0));
            let by = self.rng.within(lo - a, hi - b);
            let by = if (lo - a..=hi - b).contains(&0) && self.rng.chance(60) { 0 } else { by };
            let kid = Node::leaf(INT, var.name.clone());
            return if by == 0 { kid } else { Node::new(INT, format!("# + ({by})"), vec![kid]) };
        }
        match self.rng.below(6) {
            0 => Node::int(self.rng.within(lo, hi - 1)),
            1 | 2 => {
                self.hit("coordinate by %");
                let free = self.free_coord(scope, depth);
                Node::new(INT, format!("({lo}) + (#) % {}", hi - lo), vec![free])
            }
            3 if depth > 0 => self.data_coord(scope, lo, hi - 1, depth),
            _ => {
                self.hit("clamped coordinate");
                let free = self.free_coord(scope, depth);
                Node::new(INT, format!("clamp(#, {lo}, {})", hi - 1), vec![free])
            }
        }
    }

    /// A coordinate that depends on data, held between `lo` and `hi`.
    fn data_coord(&mut self, scope: &Scope, lo: i64, hi: i64, depth: u32) -> Node {
        self.hit("coordinate from data");
        let ty = Ty::Strong(self.number_type());
        let data = self.value(scope, ty, depth - 1);
        let text = match ty {
            Ty::Strong(element) if element.is_float() && self.rng.chance(60) => {
                format!("i64(clamp(#, {lo}, {hi}))")
            }
            Ty::Strong(Element::I32 | Element::I16) => format!("clamp(#, {lo}, {hi})"),
            Ty::Strong(_) | Ty::WeakInt | Ty::WeakFloat => format!("clamp(i64(#), {lo}, {hi})"),
        };
        let ty = if text.starts_with('i') || text.contains("i64") { Ty::Strong(Element::I64) } else { ty };
        Node::new(ty, text, vec![data])
    }

    /// A coordinate of a dimension without ends: anything that is affine in coordinates, and bounded data.
    pub(crate) fn free_coord(&mut self, scope: &Scope, depth: u32) -> Node {
        let Some(var) = self.some_var(scope) else { return Node::int(self.rng.within(-9, 9)) };
        let (kid, by) = (Node::leaf(INT, var.name), self.rng.within(-4, 4));
        match self.rng.below(12) {
            0..=3 => Node::new(INT, format!("# + ({by})"), vec![kid]),
            4 => kid,
            5 => {
                self.hit("strided read");
                let factor = self.rng.pick(&[-2, -1, 2, 3]);
                Node::new(INT, format!("({factor}) * # + ({by})"), vec![kid])
            }
            6 => {
                self.hit("coordinate by //");
                let divisor = self.rng.pick(&[2, 3, 4, -2]);
                Node::new(INT, format!("# // ({divisor}) + ({by})"), vec![kid])
            }
            7 => {
                self.hit("coordinate by %");
                let divisor = self.rng.within(2, 5);
                Node::new(INT, format!("# % {divisor} + ({by})"), vec![kid])
            }
            8 => {
                self.hit("resampling idiom");
                Node::new(INT, "# // 2 - 1 + 2 * (# % 2)", vec![kid.clone(), kid])
            }
            9 => {
                self.hit("sum of coordinates");
                let other = self.some_var(scope).map_or(Node::int(2), |var| Node::leaf(INT, var.name));
                let op = self.rng.pick(&["+", "-"]);
                Node::new(INT, format!("# {op} #"), vec![kid, other])
            }
            10 if depth > 0 => {
                let data = self.data_coord(scope, -3, 3, depth);
                let data = Node::new(Ty::Strong(Element::I64), "i64(#)", vec![data]);
                Node::new(Ty::Strong(Element::I64), "# + #", vec![kid, data])
            }
            _ => match self.rng.within(-9, 9) {
                7.. => {
                    self.hit("coordinate through u64");
                    Node::new(Ty::Strong(Element::I64), format!("i64(2 * u64(#) + ({by}))"), vec![kid])
                }
                number => Node::int(number),
            },
        }
    }

    /// An entry of a table, or a plain weak number.
    fn table_read(&mut self, scope: &Scope, ty: Ty, depth: u32) -> Node {
        let known: Vec<_> = self.tables.iter().filter(|table| table.ty == ty).cloned().collect();
        if known.is_empty() {
            return match ty {
                Ty::WeakFloat => Node::leaf(ty, "0.25"),
                Ty::Strong(_) | Ty::WeakInt => Node::int(self.rng.within(0, 5)),
            };
        }
        self.hit("table");
        let table = &known[self.rng.below(known.len())];
        let coords: Vec<Node> =
            table.shape.iter().map(|size| self.inside(scope, 0, *size, depth.min(1))).collect();
        Node::new(ty, format!("{}[{}]", table.name, vec!["#"; coords.len()].join(", ")), coords)
    }
}
