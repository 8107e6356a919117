//! The functions that need no `use`: what they take and what they become.

use super::Elaborator;
use super::operators::Operand;
use super::reductions::is_reduction;
use crate::diagnostic::{Code, Diagnostic, Result, any_of, closest, counted};
use crate::graph::body::{Coord, MathFn, NodeId, Op};
use crate::graph::meanings::{self, FUNCTIONS, REDUCTIONS};
use crate::graph::scalar::{BinaryFn, UnaryFn};
use crate::graph::types::{Element, Ty};
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprId, Ident};

/// Every built-in name, for suggestions and completion: functions, reductions, types.
pub const BUILTIN_NAMES: &[&str] = &[
    "abs",
    "acos",
    "all",
    "any",
    "argmax",
    "argmin",
    "asin",
    "atan",
    "atan2",
    "bits",
    "bool",
    "ceil",
    "clamp",
    "cos",
    "cosh",
    "exp",
    "exp2",
    "f16",
    "f32",
    "f64",
    "float_bits",
    "floor",
    "fma",
    "fract",
    "hash",
    "hypot",
    "i16",
    "i32",
    "i64",
    "i8",
    "index",
    "lerp",
    "log",
    "log2",
    "max",
    "mean",
    "min",
    "popcount",
    "pow",
    "product",
    "rand",
    "round",
    "rsqrt",
    "select",
    "sign",
    "sin",
    "sinh",
    "smoothstep",
    "sqrt",
    "sum",
    "tan",
    "tanh",
    "trunc",
    "u16",
    "u32",
    "u64",
    "u8",
];

/// A built-in function.
#[derive(Clone, Copy)]
enum Builtin {
    /// A number to a number of its type.
    Number(UnaryFn),
    /// A float to a float.
    Float(UnaryFn),
    Math(MathFn),
    /// Two or more alternatives.
    Extreme(BinaryFn),
    Clamp,
    Select,
    Lerp,
    Smoothstep,
    Fract,
    Fma,
    Bits,
    FloatBits,
    Popcount,
    Hash,
    Rand,
    Index,
}

fn builtin(name: &str) -> Option<Builtin> {
    let math = MathFn::ALL.into_iter().find(|function| function.name() == name);
    Some(match name {
        _ if math.is_some() => Builtin::Math(math?),
        "abs" => Builtin::Number(UnaryFn::Abs),
        "sign" => Builtin::Number(UnaryFn::Sign),
        "floor" => Builtin::Float(UnaryFn::Floor),
        "ceil" => Builtin::Float(UnaryFn::Ceil),
        "round" => Builtin::Float(UnaryFn::Round),
        "trunc" => Builtin::Float(UnaryFn::Trunc),
        "sqrt" => Builtin::Float(UnaryFn::Sqrt),
        "min" => Builtin::Extreme(BinaryFn::Min),
        "max" => Builtin::Extreme(BinaryFn::Max),
        "clamp" => Builtin::Clamp,
        "select" => Builtin::Select,
        "lerp" => Builtin::Lerp,
        "smoothstep" => Builtin::Smoothstep,
        "fract" => Builtin::Fract,
        "fma" => Builtin::Fma,
        "bits" => Builtin::Bits,
        "float_bits" => Builtin::FloatBits,
        "popcount" => Builtin::Popcount,
        "hash" => Builtin::Hash,
        "rand" => Builtin::Rand,
        "index" => Builtin::Index,
        _ => return None,
    })
}

impl Builtin {
    /// Fewest and most arguments.
    fn arity(self) -> (usize, usize) {
        match self {
            Builtin::Number(_) | Builtin::Float(_) | Builtin::Fract | Builtin::Index => (1, 1),
            Builtin::Bits | Builtin::FloatBits | Builtin::Popcount => (1, 1),
            Builtin::Math(function) => (function.arity(), function.arity()),
            Builtin::Extreme(_) => (2, usize::MAX),
            Builtin::Clamp | Builtin::Select | Builtin::Lerp | Builtin::Smoothstep | Builtin::Fma => (3, 3),
            Builtin::Hash | Builtin::Rand => (1, usize::MAX),
        }
    }
}

/// What a call of a built-in name looks like.
pub(in crate::graph) fn builtin_call(name: &str) -> String {
    let known = [FUNCTIONS, REDUCTIONS].into_iter().find_map(|words| meanings::of(words, name));
    known.map_or_else(|| format!("{name}(x)"), |(call, _)| call.to_owned())
}

impl Elaborator<'_, '_> {
    /// A call of a built-in function, if `name` is one.
    pub(super) fn builtin(&mut self, name: &Ident, args: &[ExprId], span: Span) -> Option<Result<NodeId>> {
        builtin(&name.name).map(|builtin| self.apply(builtin, name, args, span))
    }

    fn apply(&mut self, builtin: Builtin, name: &Ident, args: &[ExprId], span: Span) -> Result<NodeId> {
        let (fewest, most) = builtin.arity();
        if !(fewest..=most).contains(&args.len()) {
            let wrong = wrong_count(name, args.len(), fewest, most, &builtin_call(&name.name));
            if args.len() == 1 && is_reduction(&name.name) {
                let example = self.with_range(name, args);
                return wrong
                    .help(format!("write the range first for the {} of many: `{example}`", name.name))
                    .err();
            }
            return wrong.err();
        }
        match builtin {
            Builtin::Index => return self.window_index(args[0], span),
            Builtin::Select => return self.choose("select", [args[0], args[1], args[2]], span),
            _ => {}
        }
        let args = self.operands(args)?;
        match builtin {
            Builtin::Number(function) => self.number_function(function, name, args[0], span),
            Builtin::Float(function) => {
                let ty = self.float_type(name, &args)?;
                Ok(self.body.unary(function, args[0].node, ty, span))
            }
            Builtin::Math(function) => {
                let ty = self.float_type(name, &args)?;
                Ok(self.body.push(Op::Math(function, args.iter().map(|arg| arg.node).collect()), ty, span))
            }
            Builtin::Extreme(function) => self.extreme(function, name, &args, span),
            Builtin::Clamp => self.clamp(name, &args, span),
            Builtin::Lerp => self.lerp(name, &args, span),
            Builtin::Smoothstep => self.smoothstep(name, &args, span),
            Builtin::Fract => {
                let ty = self.float_type(name, &args)?;
                let floor = self.body.unary(UnaryFn::Floor, args[0].node, ty, span);
                Ok(self.body.binary(BinaryFn::Sub, args[0].node, floor, ty, span))
            }
            Builtin::Fma => {
                let ty = self.float_type(name, &args)?;
                Ok(self.body.push(Op::Fma(args[0].node, args[1].node, args[2].node), ty, span))
            }
            Builtin::Bits => self.bits(name, args[0], span),
            Builtin::FloatBits => self.float_bits(args[0], span),
            Builtin::Popcount => {
                let arg = self.integer(args[0], "`popcount`")?;
                Ok(self.body.unary(UnaryFn::Popcount, arg, self.body.ty(arg), span))
            }
            Builtin::Hash => self.hash("`hash`", &args, span),
            Builtin::Rand => self.rand(&args, span),
            Builtin::Index | Builtin::Select => unreachable!("handled above"),
        }
    }

    fn operands(&mut self, args: &[ExprId]) -> Result<Vec<Operand>> {
        args.iter().map(|expr| Ok(Operand { node: self.number(*expr)?, expr: *expr })).collect()
    }

    fn number_function(
        &mut self,
        function: UnaryFn,
        name: &Ident,
        arg: Operand,
        span: Span,
    ) -> Result<NodeId> {
        let ty = self.body.ty(arg.node);
        if !ty.is_number() {
            return self.not_a_number(&format!("`{}`", name.name), arg.expr);
        }
        Ok(self.body.unary(function, arg.node, ty, span))
    }

    /// The float type of all arguments together; weak integers become weak floats.
    fn float_type(&mut self, name: &Ident, args: &[Operand]) -> Result<Ty> {
        match self.unify_args(&format!("the arguments of `{}`", name.name), args)? {
            Ty::WeakInt => Ok(Ty::WeakFloat),
            ty if ty.is_float() => Ok(ty),
            ty => {
                let arg = args.iter().find(|arg| self.body.ty(arg.node) == ty).unwrap_or(&args[0]);
                let message = format!("`{}` takes floats, but this is {}", name.name, super::a_type(ty));
                Diagnostic::new(Code::E0407, message)
                    .at(self.span(arg.expr), "not a float")
                    .help(format!("convert it: `f32({})`", self.bare_text(arg.expr)))
                    .err()
            }
        }
    }

    fn extreme(&mut self, function: BinaryFn, name: &Ident, args: &[Operand], span: Span) -> Result<NodeId> {
        let ty = self.alternatives(name, args)?;
        let fold = |node, arg: &Operand| self.body.binary(function, node, arg.node, ty, span);
        Ok(args[1..].iter().fold(args[0].node, fold))
    }

    fn clamp(&mut self, name: &Ident, args: &[Operand], span: Span) -> Result<NodeId> {
        let ty = self.alternatives(name, args)?;
        let raised = self.body.binary(BinaryFn::Max, args[0].node, args[1].node, ty, span);
        Ok(self.body.binary(BinaryFn::Min, raised, args[2].node, ty, span))
    }

    fn alternatives(&mut self, name: &Ident, args: &[Operand]) -> Result<Ty> {
        let ty = self.unify_args(&format!("the arguments of `{}`", name.name), args)?;
        if ty.is_number() { Ok(ty) } else { self.not_a_number(&format!("`{}`", name.name), args[0].expr) }
    }

    /// `a + (b - a) * t`
    fn lerp(&mut self, name: &Ident, args: &[Operand], span: Span) -> Result<NodeId> {
        let ty = self.float_type(name, args)?;
        let [a, b, t] = [args[0].node, args[1].node, args[2].node];
        let step = self.body.binary(BinaryFn::Sub, b, a, ty, span);
        let part = self.body.binary(BinaryFn::Mul, step, t, ty, span);
        Ok(self.body.binary(BinaryFn::Add, a, part, ty, span))
    }

    /// `t * t * (3 - 2 * t)` with `t = clamp((x - lo) / (hi - lo), 0, 1)`
    fn smoothstep(&mut self, name: &Ident, args: &[Operand], span: Span) -> Result<NodeId> {
        let ty = self.float_type(name, args)?;
        let [lo, hi, x] = [args[0].node, args[1].node, args[2].node];
        let [zero, one] = [0.0, 1.0].map(|value| self.body.weak_float(value, span));
        let [two, three] = [2.0, 3.0].map(|value| self.body.weak_float(value, span));
        let mut op = |function, a, b| self.body.binary(function, a, b, ty, span);
        let rise = op(BinaryFn::Sub, x, lo);
        let run = op(BinaryFn::Sub, hi, lo);
        let ratio = op(BinaryFn::Div, rise, run);
        let raised = op(BinaryFn::Max, ratio, zero);
        let t = op(BinaryFn::Min, raised, one);
        let square = op(BinaryFn::Mul, t, t);
        let double = op(BinaryFn::Mul, two, t);
        let rest = op(BinaryFn::Sub, three, double);
        Ok(op(BinaryFn::Mul, square, rest))
    }

    fn bits(&mut self, name: &Ident, arg: Operand, span: Span) -> Result<NodeId> {
        let float = match self.float_type(name, &[arg])? {
            Ty::Strong(element) => element,
            Ty::WeakInt | Ty::WeakFloat => self.owner.float.unwrap_or(Element::F32),
        };
        // A weak argument is decided here: the type of the result depends on it.
        let own = Ty::Strong(float);
        let node = if self.body.ty(arg.node) == own { arg.node } else { self.body.cast(arg.node, own, span) };
        Ok(self.body.push(Op::Unary(UnaryFn::Bits, node), Ty::Strong(UnaryFn::Bits.result(float)), span))
    }

    /// 32-bit integers give an f32, 64-bit ones an f64; weak ones follow the tensor's own type.
    fn float_bits(&mut self, arg: Operand, span: Span) -> Result<NodeId> {
        let node = self.integer(arg, "`float_bits`")?;
        let element = match self.body.ty(node) {
            Ty::Strong(element) if element.bits() >= 32 => element,
            Ty::Strong(element) => {
                let message = format!(
                    "`float_bits` takes 32 or 64 bits, but this is {}",
                    super::a_type(Ty::Strong(element))
                );
                let help = format!("convert it: `u32({})`", self.text(arg.expr));
                return Diagnostic::new(Code::E0407, message)
                    .at(self.span(arg.expr), "too narrow")
                    .help(help)
                    .err();
            }
            Ty::WeakInt | Ty::WeakFloat if self.owner.float == Some(Element::F64) => Element::U64,
            Ty::WeakInt | Ty::WeakFloat => Element::U32,
        };
        let node = if self.body.ty(node) == Ty::WeakInt {
            self.body.cast(node, Ty::Strong(element), span)
        } else {
            node
        };
        Ok(self.body.push(
            Op::Unary(UnaryFn::FloatBits, node),
            Ty::Strong(UnaryFn::FloatBits.result(element)),
            span,
        ))
    }

    fn hash(&mut self, what: &str, args: &[Operand], span: Span) -> Result<NodeId> {
        let args = args.iter().map(|arg| {
            let node = self.integer(*arg, what)?;
            Ok(self.as_i64(node, span))
        });
        let args = args.collect::<Result<_>>()?;
        Ok(self.body.push(Op::Hash(args), Ty::Strong(Element::U32), span))
    }

    /// The top 24 bits of the hash over 2^24: exact in every float type, so it stays weak.
    fn rand(&mut self, args: &[Operand], span: Span) -> Result<NodeId> {
        let hash = self.hash("`rand`", args, span)?;
        let eight = self.body.weak_int(8, span);
        let top = self.body.binary(BinaryFn::Shr, hash, eight, Ty::Strong(Element::U32), span);
        let top = self.body.cast(top, Ty::WeakFloat, span);
        let scale = self.body.weak_float(1.0 / 16_777_216.0, span);
        Ok(self.body.binary(BinaryFn::Mul, top, scale, Ty::WeakFloat, span))
    }

    /// An argument that must be an integer.
    pub(super) fn integer(&mut self, arg: Operand, what: &str) -> Result<NodeId> {
        if self.body.ty(arg.node).is_int() {
            return Ok(arg.node);
        }
        Diagnostic::new(Code::E0407, format!("{what} takes integers, but this is {}", self.a(arg.node)))
            .at(self.span(arg.expr), "not an integer")
            .help(format!("convert it: `i64({})`", self.bare_text(arg.expr)))
            .err()
    }

    /// An integer of any type as an i64 or a weak integer, which is one.
    pub(super) fn as_i64(&mut self, node: NodeId, span: Span) -> NodeId {
        let i64 = Ty::Strong(Element::I64);
        if self.body.ty(node) == Ty::WeakInt || self.body.ty(node) == i64 {
            node
        } else {
            self.body.cast(node, i64, span)
        }
    }

    /// `index(y)`: the number of the window along `y`.
    fn window_index(&mut self, arg: ExprId, span: Span) -> Result<NodeId> {
        let module = self.frame().module.clone();
        let name = match module.ast.expr(module.ast.unparen(arg)) {
            Expr::Name(name) => name.clone(),
            _ => "".into(),
        };
        if !self.owner.windowed || !self.calls.is_empty() {
            let (place, help) = if self.calls.is_empty() {
                ("this tensor has no window", "add a `window` clause to the tensor, or remove `index`")
            } else {
                (
                    "not in a function",
                    "pass the number as an argument: `index(y)` stands in the body of the tensor",
                )
            };
            return Diagnostic::new(Code::E0211, "`index` counts windows, and there is none here")
                .at(span, place)
                .help(help)
                .err();
        }
        let labels = || self.owner.labels.iter().map(|label| &**label).filter(|label| *label != "_");
        let Some(dim) = self.owner.labels.iter().position(|label| *label == name && &**label != "_") else {
            let label = closest(&name, labels()).or(labels().next().filter(|_| labels().count() == 1));
            let help = match label {
                Some(label) => format!("write `index({label})`"),
                None => format!("choose {}", any_of(labels())),
            };
            let message = "`index` takes a label of the tensor";
            return Diagnostic::new(Code::E0211, message)
                .at(self.span(arg), "not a label of it")
                .help(help)
                .err();
        };
        Ok(self.body.push(Op::Coord(Coord::Window(dim as u32)), Ty::WeakInt, span))
    }
}

/// The error for a call with too few or too many arguments; `usage` is what a call looks like.
pub(super) fn wrong_count(name: &Ident, given: usize, fewest: usize, most: usize, usage: &str) -> Diagnostic {
    let takes = match (fewest, most) {
        _ if fewest == most => counted(fewest, "argument"),
        (_, usize::MAX) => format!("at least {}", counted(fewest, "argument")),
        _ if fewest + 1 == most => format!("{fewest} or {}", counted(most, "argument")),
        _ => format!("{fewest} to {}", counted(most, "argument")),
    };
    let message =
        format!("`{}` takes {takes}, but {given} {} given", name.name, if given == 1 { "is" } else { "are" });
    Diagnostic::new(Code::E0205, message)
        .at(name.span, counted(given, "argument"))
        .help(format!("write it like `{usage}`"))
}
