//! The syntax tree: what was written, nothing resolved.
//!
//! Expressions live in one arena per file and refer to each other by [`ExprId`], children before parents,
//! so a deep tree is dropped, printed and walked without deep recursion:
//!
//! ```text
//! y + 2 * x      e0 = y   e1 = 2   e2 = x   e3 = e1 * e2   e4 = e0 + e3
//! ```

use crate::source::{SourceId, Span};
use std::fmt;
use std::sync::Arc;

/// One expression of an [`Ast`]; prints as `e12`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(pub u32);

impl fmt::Debug for ExprId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{}", self.0)
    }
}

/// A parsed file.
#[derive(Debug)]
pub struct Ast {
    /// The text it was parsed from.
    pub source: SourceId,
    /// In the order of the file.
    pub items: Vec<Item>,
    exprs: Vec<(Expr, Span)>,
}

/// A word and where it stands. `_` names nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ident {
    /// The word itself.
    pub name: Arc<str>,
    /// Where it was written.
    pub span: Span,
}

/// A string literal, escapes undone, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrLit {
    /// The characters it stands for.
    pub value: Arc<str>,
    /// Where it was written, quotes included.
    pub span: Span,
}

/// One item: a keyword and what follows, up to the next item.
#[derive(Debug)]
pub struct Item {
    /// What it declares.
    pub kind: ItemKind,
    /// From its keyword to its last token.
    pub span: Span,
    /// The `##` lines right before it, without the marks.
    pub doc: Vec<Arc<str>>,
}

/// The kinds of item, in the order of the language reference.
#[derive(Debug)]
pub enum ItemKind {
    /// `use noise`, `use "lib/mine.itp"`
    Use(UseTarget),
    /// `param name [: type] = constant`
    Param {
        /// What `--set` calls it.
        name: Ident,
        /// Absent: the parameter is weak.
        ty: Option<Ident>,
        /// The default.
        value: ExprId,
    },
    /// `let name = constant`, a table when the value is a list
    Let {
        /// What it is called.
        name: Ident,
        /// A constant expression, or nested lists of them.
        value: ExprId,
    },
    /// `fn name(a, b: f32, n: i64 = 4) -> type = expr`
    Fn(FnItem),
    /// `window Name = [size] stride [s] offset [o] map [m]`
    Window {
        /// What clauses call it.
        name: Ident,
        /// Its sizes and the rest.
        window: WindowSpec,
    },
    /// `input name: type[dims] format levels from "path"`
    Input {
        /// What reads call it.
        name: Ident,
        /// Element type and dimensions.
        ty: TensorType,
        /// How its data is stored.
        format: Option<(ExprId, Span)>,
        /// Absent: bound by the host or `--bind`.
        from: Option<InputFrom>,
    },
    /// `var name: type[dims] chunk [..] = constant`
    Var {
        /// What reads and writes call it.
        name: Ident,
        /// Element type and dimensions.
        ty: TensorType,
        /// Tile shape over the unbounded dimensions.
        chunk: Option<List>,
        /// What every element holds before the first `set`.
        value: ExprId,
    },
    /// `tensor name: type[dims] clauses = body`
    Tensor(TensorItem),
    /// `view name = view expression`
    View {
        /// What reads call it.
        name: Ident,
        /// A name followed by slices and movement ops.
        value: ExprId,
    },
    /// `output "path" = name[slice] options`
    Output {
        /// The file, its ending the kind.
        path: StrLit,
        /// A view expression.
        value: ExprId,
        /// In the order written.
        options: Vec<OutputOption>,
    },
    /// `set name[slice] = expr`
    Set {
        /// A view expression over a `var`.
        target: ExprId,
        /// May use the target's labels.
        value: ExprId,
    },
}

/// What `use` names.
#[derive(Debug)]
pub enum UseTarget {
    /// A module of the standard library.
    Module(Ident),
    /// A file, relative to the importing one.
    File(StrLit),
}

/// Where an input's data comes from.
#[derive(Debug)]
pub enum InputFrom {
    /// `from "path"`
    File(StrLit),
    /// `from stream`: the word, checked later.
    Word(Ident),
}

/// A function item.
#[derive(Debug)]
pub struct FnItem {
    /// What calls name.
    pub name: Ident,
    /// In order.
    pub params: Vec<FnParam>,
    /// The declared result type.
    pub result: Option<Ident>,
    /// One expression.
    pub body: ExprId,
}

/// A parameter of a function: `a`, `b: f32`, `n: i64 = 4`.
#[derive(Debug)]
pub struct FnParam {
    /// What the body calls it.
    pub name: Ident,
    /// Absent: generic.
    pub ty: Option<Ident>,
    /// Used when the call leaves it out.
    pub default: Option<ExprId>,
}

/// A tensor item.
#[derive(Debug)]
pub struct TensorItem {
    /// What reads call it.
    pub name: Ident,
    /// Element type and dimensions.
    pub ty: TensorType,
    /// In the order written; repeated ones are refused later.
    pub clauses: Vec<Clause>,
    /// What makes one element, or one window.
    pub body: TensorBody,
}

/// The right-hand side of a tensor.
#[derive(Debug)]
pub enum TensorBody {
    /// An expression of the language.
    Expr(ExprId),
    /// `extern "name"(b, …)`
    Extern {
        /// The name the host registered.
        name: StrLit,
        /// The takes it is handed.
        args: Vec<ExprId>,
    },
}

/// `f32[y: inf, x: inf]`
#[derive(Debug)]
pub struct TensorType {
    /// The element type's name, looked up later.
    pub element: Ident,
    /// Outermost first.
    pub dims: Vec<Dim>,
    /// The whole type.
    pub span: Span,
}

/// `label: extent`
#[derive(Debug)]
pub struct Dim {
    /// `_` when unlabelled.
    pub label: Ident,
    /// Its bounds.
    pub extent: Extent,
    /// Label and extent.
    pub span: Span,
}

/// The bounds of a dimension as written.
#[derive(Debug)]
pub enum Extent {
    /// `n`, meaning `0..n`; `inf`, meaning unbounded both ways.
    Count(Bound),
    /// `a..b`
    Range(Bound, Bound),
}

/// One bound: `512`, `n`, `inf`, `-inf`, or `512*` when implicit.
#[derive(Debug)]
pub struct Bound {
    /// A constant expression.
    pub value: ExprId,
    /// Marked with `*`. Only signed literals and names may be; checked later.
    pub implicit: bool,
}

/// A clause of a tensor.
#[derive(Debug)]
pub enum Clause {
    /// `window [2, 256] stride [..] offset [..] as [c, i]`
    Window {
        /// Sizes, strides, offsets.
        window: WindowSpec,
        /// Names of the local coordinates.
        locals: Option<Vec<Ident>>,
        /// The whole clause.
        span: Span,
    },
    /// `take b = source window […] map [y, x]`
    Take {
        /// What the body calls the slice.
        name: Ident,
        /// A view expression.
        source: ExprId,
        /// The window over the source.
        window: WindowSpec,
        /// The whole clause.
        span: Span,
    },
    /// `blend sum init 0`
    Blend {
        /// How windows combine.
        kind: BlendKind,
        /// Where no window covers, and where folds start.
        init: Option<ExprId>,
        /// The whole clause.
        span: Span,
    },
    /// `chunk [h, w]`
    Chunk {
        /// Tile shape over the unbounded dimensions.
        sizes: List,
        /// The whole clause.
        span: Span,
    },
    /// `format dense(sparse_list(element(0.0)))`
    Format {
        /// Levels as nested calls.
        levels: ExprId,
        /// The whole clause.
        span: Span,
    },
}

/// How overlapping windows combine.
#[derive(Debug)]
pub enum BlendKind {
    /// `sum`, `max`, …: looked up later.
    Named(Ident),
    /// `(old, new) => expr`
    Custom {
        /// What is there already.
        old: Ident,
        /// What the next window brings.
        new: Ident,
        /// The combination.
        body: ExprId,
    },
}

/// A window: `[size] stride […] offset […] map […]`, or `Name` with overrides.
#[derive(Debug)]
pub struct WindowSpec {
    /// The `window` item it starts from.
    pub base: Option<Ident>,
    /// Present unless `base` is.
    pub size: Option<List>,
    /// Everything after that, in the order written; repeated ones are refused later.
    pub parts: Vec<WindowPart>,
    /// From the size or name to the last part.
    pub span: Span,
}

/// One part of a window after its size.
#[derive(Debug)]
pub enum WindowPart {
    /// `stride [s]`
    Stride(List),
    /// `offset [o]`
    Offset(List),
    /// `map [y, _]`
    Map(List),
}

/// `[a, b, _]`
#[derive(Debug, Clone)]
pub struct List {
    /// Expressions; `_` is the name `_`, a range is [`Expr::Range`].
    pub items: Vec<ExprId>,
    /// Brackets included.
    pub span: Span,
}

/// `colormap terrain`, `range 0..1`, `chunk [64, 64]`, `codec zstd`, `type u8`
#[derive(Debug)]
pub struct OutputOption {
    /// The option's word.
    pub name: Ident,
    /// A name, a range, a list, …: checked later.
    pub value: ExprId,
}

/// An expression.
#[derive(Debug, Clone)]
pub enum Expr {
    /// `12`, `0xff`: up to 2^64 - 1, meaning its 64-bit pattern.
    Int(u64),
    /// `1.5`, `1e-3`
    Float(f64),
    /// `true`, `false`
    Bool(bool),
    /// `inf`
    Inf,
    /// `"text"`: only where an argument may be one.
    Str(Arc<str>),
    /// A name, `_` included.
    Name(Arc<str>),
    /// `(e)`, kept so that printing gives back what was written.
    Paren(ExprId),
    /// `-e`, `not e`
    Unary(UnaryOp, ExprId),
    /// `a + b`
    Binary(BinaryOp, ExprId, ExprId),
    /// `if c then a else b`
    If {
        /// A bool.
        condition: ExprId,
        /// Selected when it is true.
        then: ExprId,
        /// Selected when it is false.
        otherwise: ExprId,
    },
    /// `sum(i in a..b) e`
    Reduce {
        /// `sum`, `min`, …: looked up later.
        kind: Ident,
        /// The last one fastest.
        binders: Vec<Binder>,
        /// Reaches as far right as it can.
        body: ExprId,
    },
    /// `f(a, b)`
    Call {
        /// A function, a builtin or an element type.
        function: Ident,
        /// In order.
        args: Vec<ExprId>,
    },
    /// `a.flip([x])`
    Method {
        /// What it applies to.
        object: ExprId,
        /// The view op.
        name: Ident,
        /// In order.
        args: Vec<ExprId>,
    },
    /// `a[y, x]`, `a[0:10:2, ...]`
    Index {
        /// What it applies to.
        object: ExprId,
        /// In order.
        indices: Vec<Index>,
    },
    /// `{ let a = e; result }`
    Block {
        /// In order; later ones see earlier ones.
        lets: Vec<(Ident, ExprId)>,
        /// The block's value.
        result: ExprId,
    },
    /// `[a, b]`: a table, or a list argument.
    List(Vec<ExprId>),
    /// `{y: 3, x: 4}`: a map argument; keys are names or positions.
    Map(Vec<(ExprId, ExprId)>),
    /// `a..b`, inside lists and options only.
    Range(ExprId, ExprId),
}

/// `i in a..b`
#[derive(Debug, Clone)]
pub struct Binder {
    /// The reduction variable.
    pub name: Ident,
    /// First value.
    pub lo: ExprId,
    /// Last value, or one past it.
    pub hi: ExprId,
    /// Written `..=`.
    pub inclusive: bool,
}

/// One entry between brackets.
#[derive(Debug, Clone)]
pub struct Index {
    /// `y=…`, on the command line only.
    pub label: Option<Ident>,
    /// What is picked.
    pub kind: IndexKind,
    /// The whole entry.
    pub span: Span,
}

/// What one entry between brackets picks.
#[derive(Debug, Clone)]
pub enum IndexKind {
    /// One coordinate.
    At(ExprId),
    /// `start:stop:step`, each may be absent.
    Slice {
        /// First coordinate.
        start: Option<ExprId>,
        /// One past the last.
        stop: Option<ExprId>,
        /// Distance.
        step: Option<ExprId>,
    },
    /// `...`
    Ellipsis,
}

/// Unary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `not`
    Not,
}

/// Binary operators, by falling precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `**`, right-associative
    Pow,
    /// `*`
    Mul,
    /// `/`, float division
    Div,
    /// `//`
    FloorDiv,
    /// `%`
    Rem,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `&`
    BitAnd,
    /// `^`
    BitXor,
    /// `|`
    BitOr,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `and`
    And,
    /// `or`
    Or,
}

impl Expr {
    /// Calls `f` with each direct child, in the order of the text.
    pub fn for_each_child(&self, mut f: impl FnMut(ExprId)) {
        match self {
            Expr::Int(_) | Expr::Float(_) | Expr::Bool(_) | Expr::Inf | Expr::Str(_) | Expr::Name(_) => {}
            Expr::Paren(inner) | Expr::Unary(_, inner) => f(*inner),
            Expr::Binary(_, a, b) | Expr::Range(a, b) => [*a, *b].into_iter().for_each(f),
            Expr::If { condition, then, otherwise } => {
                [*condition, *then, *otherwise].into_iter().for_each(f)
            }
            Expr::Reduce { binders, body, .. } => {
                binders.iter().flat_map(|binder| [binder.lo, binder.hi]).chain([*body]).for_each(f);
            }
            Expr::Call { args, .. } | Expr::List(args) => args.iter().copied().for_each(f),
            Expr::Method { object, args, .. } => [object].into_iter().chain(args).copied().for_each(f),
            Expr::Index { object, indices } => {
                f(*object);
                indices.iter().flat_map(Index::exprs).for_each(f);
            }
            Expr::Block { lets, result } => {
                lets.iter().map(|(_, value)| *value).chain([*result]).for_each(f);
            }
            Expr::Map(entries) => entries.iter().flat_map(|(key, value)| [*key, *value]).for_each(f),
        }
    }
}

impl Index {
    /// The expressions of the entry, in order.
    pub fn exprs(&self) -> impl Iterator<Item = ExprId> + use<> {
        let list = match self.kind {
            IndexKind::At(at) => [Some(at), None, None],
            IndexKind::Slice { start, stop, step } => [start, stop, step],
            IndexKind::Ellipsis => [None; 3],
        };
        list.into_iter().flatten()
    }
}

impl UnaryOp {
    /// As written.
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::Not => "not",
        }
    }
}

impl BinaryOp {
    /// As written.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Pow => "**",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::FloorDiv => "//",
            BinaryOp::Rem => "%",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitXor => "^",
            BinaryOp::BitOr => "|",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::And => "and",
            BinaryOp::Or => "or",
        }
    }

    /// `== != < <= > >=`
    pub fn is_comparison(self) -> bool {
        matches!(
            self,
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge
        )
    }
}

impl Ast {
    /// A tree without items.
    pub fn new(source: SourceId) -> Self {
        Ast { source, items: Vec::new(), exprs: Vec::new() }
    }

    /// Adds an expression whose children are already in.
    pub fn push(&mut self, expr: Expr, span: Span) -> ExprId {
        self.exprs.push((expr, span));
        ExprId(self.exprs.len() as u32 - 1)
    }

    /// All expressions, inner ones before those that they are part of.
    pub fn exprs(&self) -> impl Iterator<Item = ExprId> + use<> {
        (0..self.exprs.len() as u32).map(ExprId)
    }

    /// The expression with that id.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize].0
    }

    /// Where it was written.
    pub fn span(&self, id: ExprId) -> Span {
        self.exprs[id.0 as usize].1
    }

    /// The expression under any parentheses.
    pub fn unparen(&self, mut id: ExprId) -> ExprId {
        while let Expr::Paren(inner) = self.expr(id) {
            id = *inner;
        }
        id
    }

    /// True for a name followed by any number of slices and methods.
    pub fn is_view(&self, id: ExprId) -> bool {
        self.viewed(id).is_some()
    }

    /// The name that a view expression starts with: `a` of `a.flip([x])[0:3]`.
    pub fn viewed(&self, mut id: ExprId) -> Option<&Arc<str>> {
        while let Expr::Paren(inner)
        | Expr::Index { object: inner, .. }
        | Expr::Method { object: inner, .. } = self.expr(id)
        {
            id = *inner;
        }
        match self.expr(id) {
            Expr::Name(name) => Some(name),
            _ => None,
        }
    }

    /// How many expressions there are.
    pub fn len(&self) -> usize {
        self.exprs.len()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.exprs.is_empty()
    }
}

impl ItemKind {
    /// The name it declares, if it declares one.
    pub fn name(&self) -> Option<&Ident> {
        match self {
            ItemKind::Param { name, .. }
            | ItemKind::Let { name, .. }
            | ItemKind::Window { name, .. }
            | ItemKind::Input { name, .. }
            | ItemKind::Var { name, .. }
            | ItemKind::View { name, .. } => Some(name),
            ItemKind::Fn(item) => Some(&item.name),
            ItemKind::Tensor(item) => Some(&item.name),
            ItemKind::Use(_) | ItemKind::Output { .. } | ItemKind::Set { .. } => None,
        }
    }
}
