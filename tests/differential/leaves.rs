//! The ends of expressions: literals, coordinates, names, tables, and calls of the standard library.

use crate::scope::{BOOL, Gen, Scope};
use crate::tree::Node;
use itp::graph::types::{Element, Ty};

const FLOATS: [&str; 10] = ["1.0", "0.5", "2.0", "-1.5", "3.25", "0.1", "-7.3", "100.0", "0.75", "-0.25"];
const ENDS: [&str; 7] = ["0.0", "-0.0", "1e30", "1e-40", "inf", "-inf", "65519.0"];

/// Calls that give a float from places; `Y`, `X` stand for floats, `N` for an integer.
const NOISES: [(&str, u64); 7] = [
    ("value(Y, X, N)", 120),
    ("gradient(Y, X, N)", 160),
    ("simplex(Y, X, N)", 160),
    ("worley(Y, X, N)", 300),
    ("worley_cell(Y, X, N)", 300),
    ("fbm(Y, X, N, 2)", 700),
    ("ridged(Y, X, N, 1)", 400),
];

const BLENDS: [&str; 5] =
    ["ramp(I, 7)", "smooth_ramp(I, 5)", "hann(I, 6)", "feather(I, 8, 3)", "rise(F, 0.2, 0.7)"];

const SHADES: [&str; 3] = ["luma(F, 0.5, F)", "lambert(F, 0.25, 315, 45)", "near_stop(F, 2)"];

const FILTERS: [(&str, u64); 6] = [
    ("box(T, Y, X, 1)", 9),
    ("gauss3(T, Y, X)", 9),
    ("sobel_x(T, Y, X)", 9),
    ("sobel(T, Y, X)", 18),
    ("median3(T, Y, X)", 20),
    ("laplace(T, Y, X)", 6),
];

impl Gen {
    /// An expression without parts of its own, but for a read now and then.
    pub(crate) fn leaf(&mut self, scope: &Scope, ty: Ty) -> Node {
        let named = self.named(scope, ty);
        if !named.is_empty() && self.rng.chance(55) {
            let at = self.rng.below(named.len());
            return named[at].clone();
        }
        if self.rng.chance(50) {
            return self.some_read(scope, ty, 0);
        }
        match ty {
            BOOL => Node::leaf(BOOL, self.rng.pick(&["true", "false"])),
            Ty::WeakInt => self.weak_int(scope),
            Ty::WeakFloat => self.weak_float(scope),
            Ty::Strong(element) => {
                let weak = if element.is_float() { self.weak_float(scope) } else { self.weak_int(scope) };
                self.settled(weak, ty)
            }
        }
    }

    /// Local and top-level names of that type.
    fn named(&self, scope: &Scope, ty: Ty) -> Vec<Node> {
        let all = scope.lets.iter().chain(&self.constants);
        all.filter(|(_, known)| *known == ty).map(|(name, _)| Node::leaf(ty, name.clone())).collect()
    }

    fn weak_int(&mut self, scope: &Scope) -> Node {
        if !scope.vars.is_empty() && self.rng.chance(65) {
            let at = self.rng.below(scope.vars.len());
            return Node::leaf(Ty::WeakInt, scope.vars[at].name.clone());
        }
        if self.rng.chance(10) {
            self.hit("wide literal");
            let wide =
                self.rng.pick(&["0x7fffffff", "0x80000000", "0xffffffffffffffff", "1_000_000", "65535"]);
            return Node::leaf(Ty::WeakInt, wide);
        }
        Node::int(self.rng.within(-9, 20))
    }

    fn weak_float(&mut self, scope: &Scope) -> Node {
        if self.rng.chance(40) {
            let kid = self.weak_int(scope);
            let by = self.rng.within(2, 9);
            return Node::new(Ty::WeakFloat, format!("(# / {by})"), vec![kid]);
        }
        let text = if self.rng.chance(20) { self.rng.pick(&ENDS) } else { self.rng.pick(&FLOATS) };
        if text.starts_with('-') {
            return Node::leaf(Ty::WeakFloat, format!("({text})"));
        }
        Node::leaf(Ty::WeakFloat, text)
    }

    /// A call into a module that comes with the language.
    pub(crate) fn library(&mut self, scope: &Scope, ty: Ty, depth: u32) -> Node {
        let (module, text) = match self.rng.below(7) {
            0 | 1 => {
                let (text, cost) = self.rng.pick(&NOISES);
                self.spend(scope, cost);
                ("noise", text)
            }
            2 => ("blend", self.rng.pick(&BLENDS)),
            3 => ("shade", self.rng.pick(&SHADES)),
            _ => return self.filtered(scope, ty),
        };
        self.hit(format!("use {module}"));
        self.import(module);
        self.spend(scope, 20);
        let mut kids = Vec::new();
        let mut template = String::new();
        for mark in text.chars() {
            match mark {
                'Y' | 'X' | 'F' => kids.push(self.value(scope, ty, depth.min(1) - depth.min(1) / 2)),
                'N' | 'I' => kids.push(self.weak_int(scope)),
                _ => {
                    template.push(mark);
                    continue;
                }
            }
            template.push('#');
        }
        let node = Node::new(ty, template, kids);
        // All arguments may be weak, and then the result is.
        Node::new(ty, format!("{}(#)", strong_name(ty)), vec![node])
    }

    fn import(&mut self, module: &'static str) {
        if !self.uses.contains(&module) {
            self.uses.push(module);
        }
    }

    /// A filter of the library, or a function of the script's own over an array.
    fn filter(&mut self) -> (String, u64) {
        if self.rng.chance(60) {
            self.import("filter");
            self.hit("use filter");
            let (text, cost) = self.rng.pick(&FILTERS);
            return (text.to_owned(), cost);
        }
        self.hit("fn over an array");
        let name = self.near.clone().unwrap_or_else(|| self.name("near"));
        if self.near.replace(name.clone()).is_none() {
            self.item(format!("fn {name}(s, p, q) = s[p, q + 1] - s[p - 1, q]"), None);
        }
        (format!("{name}(T, Y, X)"), 2)
    }

    /// A filter over a float array of two dimensions, made endless.
    fn filtered(&mut self, scope: &Scope, ty: Ty) -> Node {
        let fits = |array: &&crate::scope::Array| {
            Ty::Strong(array.element.computed()) == ty
                && array.dims.len() == 2
                && !array.is_empty()
                && !array.near_only
                && array.cost < 150
        };
        let known: Vec<_> = self.arrays.iter().filter(fits).cloned().collect();
        if known.is_empty() || scope.times > 4 {
            return self.leaf(scope, ty);
        }
        let array = &known[self.rng.below(known.len())];
        let (text, cost) = self.filter();
        self.spend(scope, cost * (array.read_cost() + 4));
        let bounded = array.dims.iter().any(|dim| dim.lo.is_some() || dim.hi.is_some());
        let name = if bounded { format!("{}.clamp()", array.name) } else { array.name.clone() };
        let kids = vec![self.free_coord(scope, 0), self.free_coord(scope, 0)];
        let template = text.replace(['Y', 'X'], "#").replace('T', &name);
        Node::new(ty, format!("{}({template})", strong_name(ty)), kids)
    }
}

fn strong_name(ty: Ty) -> Element {
    ty.strong().expect("library calls are made for strong types")
}
