//! Expressions of a wanted type, from whatever the scope has.

use crate::scope::{BOOL, Gen, MOST_WORK, Scope, Var};
use crate::tree::Node;
use itp::graph::types::{Element, Ty};

const ARITHMETIC: [&str; 5] = ["+", "-", "*", "//", "%"];
const INTEGER_ONLY: [&str; 6] = ["&", "|", "^", "<<", ">>", "**"];
const COMPARISONS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];
const ROUNDINGS: [&str; 6] = ["floor", "ceil", "round", "trunc", "fract", "sqrt"];
pub(crate) const MATH: [&str; 14] = [
    "rsqrt", "exp", "exp2", "log", "log2", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
    "tanh",
];
pub(crate) const MATH2: [&str; 3] = ["pow", "atan2", "hypot"];

impl Gen {
    /// An expression of type `ty`.
    pub(crate) fn value(&mut self, scope: &Scope, ty: Ty, depth: u32) -> Node {
        self.spend(scope, 1);
        if depth == 0 || self.work > MOST_WORK {
            return self.leaf(scope, ty);
        }
        if ty == BOOL {
            return self.boolean(scope, depth);
        }
        match self.rng.below(20) {
            0..=6 => self.arithmetic(scope, ty, depth),
            7..=9 => self.specific(scope, ty, depth),
            10 | 11 => self.choice(scope, ty, depth),
            12 => self.extreme(scope, ty, depth),
            13 => self.unary(scope, ty, depth),
            14 => self.block(scope, ty, depth),
            15 => self.reduction(scope, ty, depth),
            16 => self.cast(scope, ty, depth),
            17 => self.call(scope, ty, depth),
            _ => self.leaf_or_read(scope, ty, depth),
        }
    }

    /// An operand beside one of type `ty`: often weak.
    fn beside(&mut self, scope: &Scope, ty: Ty, depth: u32) -> Node {
        let weak = match ty {
            Ty::Strong(element) if element.is_float() && self.rng.chance(15) => Ty::WeakFloat,
            Ty::Strong(_) | Ty::WeakFloat if ty != BOOL && self.rng.chance(20) => Ty::WeakInt,
            Ty::Strong(_) | Ty::WeakInt | Ty::WeakFloat => ty,
        };
        if weak != ty {
            self.hit("weak operand");
        }
        self.value(scope, weak, depth)
    }

    /// One of type `ty` and others beside it, in any order.
    fn operands(&mut self, scope: &Scope, ty: Ty, count: usize, depth: u32) -> Vec<Node> {
        let mut nodes = vec![self.value(scope, ty, depth)];
        (1..count).for_each(|_| nodes.push(self.beside(scope, ty, depth)));
        self.rng.shuffle(&mut nodes);
        nodes
    }

    fn arithmetic(&mut self, scope: &Scope, ty: Ty, depth: u32) -> Node {
        let op = match ty.is_int() {
            true if self.rng.chance(45) => self.rng.pick(&INTEGER_ONLY),
            false if self.rng.chance(20) => "/",
            _ => self.rng.pick(&ARITHMETIC),
        };
        self.hit(format!("op {op}"));
        let kids = self.operands(scope, ty, 2, depth - 1);
        Node::new(ty, format!("(# {op} #)"), kids)
    }

    /// What only integers or only floats have.
    fn specific(&mut self, scope: &Scope, ty: Ty, depth: u32) -> Node {
        if ty.is_float() {
            self.float_function(scope, ty, depth)
        } else {
            self.int_function(scope, ty, depth)
        }
    }

    fn int_function(&mut self, scope: &Scope, ty: Ty, depth: u32) -> Node {
        match (self.rng.below(5), ty) {
            (0, Ty::Strong(_)) => {
                self.hit("fn hash");
                let kids = self.integers(scope, depth - 1);
                let marks = vec!["#"; kids.len()].join(", ");
                let hash = Node::new(Ty::Strong(Element::U32), format!("hash({marks})"), kids);
                self.settled(hash, ty)
            }
            (1, Ty::Strong(_)) => {
                self.hit("fn bits");
                let (own, float) =
                    self.rng.pick(&[(Element::U32, Element::F32), (Element::U64, Element::F64)]);
                let kid = self.value(scope, Ty::Strong(float), depth - 1);
                let bits = Node::new(Ty::Strong(own), "bits(#)", vec![kid]);
                self.settled(bits, ty)
            }
            (0..=3, _) => {
                let place = self.arg_extreme(scope, depth);
                self.settled(place, ty)
            }
            _ => {
                self.hit("fn popcount");
                let kid = self.value(scope, ty, depth - 1);
                Node::new(ty, "popcount(#)", vec![kid])
            }
        }
    }

    /// Some integers, weak or of any type.
    fn integers(&mut self, scope: &Scope, depth: u32) -> Vec<Node> {
        let count = 1 + self.rng.below(3);
        let one = |gen_: &mut Gen| match gen_.number_type() {
            element if element.is_float() => gen_.value(scope, Ty::WeakInt, depth.min(1)),
            element => gen_.value(scope, Ty::Strong(element), depth.min(1)),
        };
        (0..count).map(|_| one(self)).collect()
    }

    fn float_function(&mut self, scope: &Scope, ty: Ty, depth: u32) -> Node {
        let (name, count) = match self.rng.below(12) {
            0 => ("lerp", 3),
            1 => ("smoothstep", 3),
            2 => ("fma", 3),
            3 => return self.power(scope, ty, depth),
            4 => return self.random(scope, ty, depth),
            5..=8 => (self.rng.pick(&ROUNDINGS), 1),
            9 => (self.rng.pick(&MATH2), 2),
            _ => (self.rng.pick(&MATH), 1),
        };
        if MATH.contains(&name) || MATH2.contains(&name) {
            self.spend(scope, 40);
        }
        self.hit(format!("fn {name}"));
        let kids = self.operands(scope, ty, count, depth - 1);
        Node::new(ty, format!("{name}({})", vec!["#"; count].join(", ")), kids)
    }

    /// `x ** 3`, `x ** y`
    fn power(&mut self, scope: &Scope, ty: Ty, depth: u32) -> Node {
        let base = self.value(scope, ty, depth - 1);
        if self.rng.chance(70) {
            self.hit("float ** constant");
            let exponent = self.rng.within(-5, 7);
            return Node::new(ty, format!("(# ** {exponent})"), vec![base]);
        }
        self.hit("float ** float");
        self.spend(scope, 60);
        let exponent = self.value(scope, ty, depth - 1);
        Node::new(ty, "(# ** #)", vec![base, exponent])
    }

    fn random(&mut self, scope: &Scope, ty: Ty, depth: u32) -> Node {
        match ty {
            Ty::Strong(element) if self.rng.chance(50) => {
                self.hit("fn float_bits");
                let wide = if element == Element::F64 {
                    [Element::U64, Element::I64]
                } else {
                    [Element::U32, Element::I32]
                };
                let int = self.rng.pick(&wide);
                let kid = self.value(scope, Ty::Strong(int), depth - 1);
                Node::new(ty, "float_bits(#)", vec![kid])
            }
            Ty::Strong(_) | Ty::WeakInt | Ty::WeakFloat => {
                self.hit("fn rand");
                let kids = self.integers(scope, depth - 1);
                let marks = vec!["#"; kids.len()].join(", ");
                let weak = Node::new(Ty::WeakFloat, format!("rand({marks})"), kids);
                self.settled(weak, ty)
            }
        }
    }

    /// A node, cast if it is not of the strong type `ty`.
    pub(crate) fn settled(&mut self, node: Node, ty: Ty) -> Node {
        match ty {
            Ty::Strong(element) if node.ty != ty => Node::new(ty, format!("{element}(#)"), vec![node]),
            Ty::Strong(_) | Ty::WeakInt | Ty::WeakFloat => node,
        }
    }

    fn unary(&mut self, scope: &Scope, ty: Ty, depth: u32) -> Node {
        let (feature, template) =
            self.rng.pick(&[("op unary -", "(-#)"), ("fn abs", "abs(#)"), ("fn sign", "sign(#)")]);
        self.hit(feature);
        let kid = self.value(scope, ty, depth - 1);
        Node::new(ty, template, vec![kid])
    }

    /// `if` and `select`
    fn choice(&mut self, scope: &Scope, ty: Ty, depth: u32) -> Node {
        let condition = self.value(scope, BOOL, depth - 1);
        let mut kids = self.operands(scope, ty, 2, depth - 1);
        kids.insert(0, condition);
        if self.rng.chance(50) {
            self.hit("if");
            return Node::new(ty, "(if # then # else #)", kids);
        }
        self.hit("fn select");
        Node::new(ty, "select(#, #, #)", kids)
    }

    fn extreme(&mut self, scope: &Scope, ty: Ty, depth: u32) -> Node {
        if self.rng.chance(35) {
            self.hit("fn clamp");
            let kids = self.operands(scope, ty, 3, depth - 1);
            return Node::new(ty, "clamp(#, #, #)", kids);
        }
        let name = self.rng.pick(&["min", "max"]);
        self.hit(format!("fn {name}"));
        let count = 2 + self.rng.below(2);
        let kids = self.operands(scope, ty, count, depth - 1);
        Node::new(ty, format!("{name}({})", vec!["#"; count].join(", ")), kids)
    }

    /// `{ let a = …; … }`
    fn block(&mut self, scope: &Scope, ty: Ty, depth: u32) -> Node {
        self.hit("block");
        let name = self.name("a");
        let bound = match self.rng.below(4) {
            0 => Ty::WeakInt,
            1 => Ty::Strong(self.number_type()),
            _ => ty,
        };
        let first = self.value(scope, bound, depth - 1);
        let mut inner = scope.clone();
        inner.lets.push((name.clone(), bound));
        let result = self.value(&inner, ty, depth - 1);
        let uses = self.value(&inner, ty, 0);
        let op = if ty == BOOL { "^" } else { "+" };
        Node::new(ty, format!("{{ let {name} = #; (# {op} #) }}"), vec![first, result, uses])
    }

    /// Variables for a reduction and the scope inside it.
    fn binders(&mut self, scope: &Scope, most: usize) -> (String, Scope) {
        let mut inner = scope.clone();
        let mut texts = Vec::new();
        for _ in 0..1 + self.rng.below(most) {
            let name = self.name("r");
            let lo = self.rng.within(-3, 3);
            let len = if self.rng.chance(4) { 0 } else { self.rng.within(1, 4) };
            if len == 0 {
                self.hit("empty reduction");
            }
            let text = if len > 0 && self.rng.chance(50) {
                format!("{name} in {lo}..={}", lo + len - 1)
            } else {
                format!("{name} in {lo}..{}", lo + len)
            };
            texts.push(text);
            inner.times = inner.times.max(1) * len.max(1) as u64;
            inner.vars.push(Var { name, lo: Some(lo), hi: Some(lo + len.max(1)) });
        }
        if texts.len() > 1 {
            self.hit("reduction over two");
        }
        (texts.join(", "), inner)
    }

    fn reduction(&mut self, scope: &Scope, ty: Ty, depth: u32) -> Node {
        let name = match ty.is_float() {
            true => self.rng.pick(&["sum", "product", "min", "max", "mean"]),
            false => self.rng.pick(&["sum", "product", "min", "max"]),
        };
        if scope.times > 4 || (name == "mean" && ty == Ty::WeakInt) {
            return self.leaf(scope, ty);
        }
        self.hit(format!("reduce {name}"));
        let (vars, inner) = self.binders(scope, 2);
        let kid = self.value(&inner, ty, depth - 1);
        Node::new(ty, format!("({name}({vars}) #)"), vec![kid])
    }

    /// `argmin`, `argmax`: a weak integer.
    fn arg_extreme(&mut self, scope: &Scope, depth: u32) -> Node {
        if scope.times > 4 {
            return self.leaf(scope, Ty::WeakInt);
        }
        let name = self.rng.pick(&["argmin", "argmax"]);
        self.hit(format!("reduce {name}"));
        let (vars, inner) = self.binders(scope, 1);
        let ty = Ty::Strong(self.number_type());
        let kid = self.value(&inner, ty, depth - 1);
        Node::new(Ty::WeakInt, format!("({name}({vars}) #)"), vec![kid])
    }

    fn cast(&mut self, scope: &Scope, ty: Ty, depth: u32) -> Node {
        let Ty::Strong(to) = ty else { return self.leaf(scope, ty) };
        let from = match self.rng.below(8) {
            0 => Ty::WeakInt,
            1 => Ty::WeakFloat,
            _ => Ty::Strong(self.element().computed()),
        };
        let kid = self.value(scope, from, depth - 1);
        if to == Element::F32 && self.rng.chance(40) {
            self.hit("cast to f16");
            return Node::new(ty, "f16(#)", vec![kid]);
        }
        self.hit(format!("cast to {to}"));
        Node::new(ty, format!("{to}(#)"), vec![kid])
    }

    /// A function of the script or of the standard library.
    fn call(&mut self, scope: &Scope, ty: Ty, depth: u32) -> Node {
        let Ty::Strong(element) = ty else { return self.leaf(scope, ty) };
        if element.is_float() && !scope.closed && self.rng.chance(40) {
            return self.library(scope, ty, depth);
        }
        let known: Vec<_> = self.functions.iter().filter(|f| f.types.contains(&element)).cloned().collect();
        if known.is_empty() || scope.closed {
            return self.leaf(scope, ty);
        }
        self.hit("fn of the script");
        let function = &known[self.rng.below(known.len())];
        self.spend(scope, 20);
        let kids: Vec<Node> = (0..function.arity).map(|_| self.value(scope, ty, depth - 1)).collect();
        Node::new(ty, format!("{}({})", function.name, vec!["#"; kids.len()].join(", ")), kids)
    }

    fn boolean(&mut self, scope: &Scope, depth: u32) -> Node {
        match self.rng.below(14) {
            0..=6 => {
                let op = self.rng.pick(&COMPARISONS);
                self.hit(format!("op {op}"));
                let ty = match self.rng.below(6) {
                    0 => Ty::WeakInt,
                    1 => Ty::WeakFloat,
                    _ => Ty::Strong(self.number_type()),
                };
                let kids = self.operands(scope, ty, 2, depth - 1);
                Node::new(BOOL, format!("(# {op} #)"), kids)
            }
            7 | 8 => {
                let op = self.rng.pick(&["and", "or", "&", "|", "^", "==", "!="]);
                self.hit(format!("bool {op}"));
                let kids = (0..2).map(|_| self.value(scope, BOOL, depth - 1)).collect();
                Node::new(BOOL, format!("(# {op} #)"), kids)
            }
            9 => {
                self.hit("op not");
                let kid = self.value(scope, BOOL, depth - 1);
                Node::new(BOOL, "(not #)", vec![kid])
            }
            10 if scope.times <= 4 => {
                let name = self.rng.pick(&["any", "all"]);
                self.hit(format!("reduce {name}"));
                let (vars, inner) = self.binders(scope, 2);
                let kid = self.value(&inner, BOOL, depth - 1);
                Node::new(BOOL, format!("({name}({vars}) #)"), vec![kid])
            }
            11 => self.choice(scope, BOOL, depth),
            12 => self.cast(scope, BOOL, depth),
            _ => self.leaf_or_read(scope, BOOL, depth),
        }
    }

    fn leaf_or_read(&mut self, scope: &Scope, ty: Ty, depth: u32) -> Node {
        if self.rng.chance(80) { self.some_read(scope, ty, depth) } else { self.leaf(scope, ty) }
    }
}
