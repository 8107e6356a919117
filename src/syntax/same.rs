//! Two trees -> whether they say the same, wherever it was written.
//!
//! ```text
//! a+b  and  a + b   ->   [Binary, +, Name a, Name b]  twice: the same
//! ```
//!
//! Each tree becomes a list of marks, children after their parents, in which a mark fixes how many follow for it.

use super::ast::*;

/// True when the two trees differ at most in where things were written.
pub fn same(a: &Ast, b: &Ast) -> bool {
    marks(a) == marks(b)
}

/// One fact of a tree.
#[derive(Debug, PartialEq, Eq)]
enum Mark<'a> {
    /// What comes next.
    Tag(&'static str),
    /// A word or a text.
    Text(&'a str),
    /// A number, the bits of a float, or how many of something follow.
    Number(u64),
}

fn marks(ast: &Ast) -> Vec<Mark<'_>> {
    let mut marker = Marker { ast, marks: Vec::new() };
    for item in &ast.items {
        marker.texts(&item.doc);
        marker.item(&item.kind);
    }
    marker.marks
}

struct Marker<'a> {
    ast: &'a Ast,
    marks: Vec<Mark<'a>>,
}

impl<'a> Marker<'a> {
    fn tag(&mut self, tag: &'static str) {
        self.marks.push(Mark::Tag(tag));
    }

    fn text(&mut self, text: &'a str) {
        self.marks.push(Mark::Text(text));
    }

    fn number(&mut self, number: u64) {
        self.marks.push(Mark::Number(number));
    }

    fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    fn texts(&mut self, texts: &'a [std::sync::Arc<str>]) {
        self.count(texts.len());
        texts.iter().for_each(|text| self.text(text));
    }

    fn each<T>(&mut self, list: &'a [T], mark: impl Fn(&mut Self, &'a T)) {
        self.count(list.len());
        list.iter().for_each(|one| mark(self, one));
    }

    fn maybe<T>(&mut self, one: Option<&'a T>, mark: impl FnOnce(&mut Self, &'a T)) {
        self.number(one.is_some().into());
        if let Some(one) = one {
            mark(self, one);
        }
    }

    fn ident(&mut self, ident: &'a Ident) {
        self.text(&ident.name);
    }

    // ------------------------------------------------------------ items

    fn item(&mut self, kind: &'a ItemKind) {
        self.tag(item_word(kind));
        if let Some(name) = kind.name() {
            self.ident(name);
        }
        match kind {
            ItemKind::Use(target) => self.use_target(target),
            ItemKind::Param { ty, value, .. } => {
                self.maybe(ty.as_ref(), Self::ident);
                self.expr(*value);
            }
            ItemKind::Let { value, .. } | ItemKind::View { value, .. } => self.expr(*value),
            ItemKind::Fn(item) => self.function(item),
            ItemKind::Window { window, .. } => self.window(window),
            ItemKind::Input { ty, format, from, .. } => {
                self.tensor_type(ty);
                self.maybe(format.as_ref(), |own, (levels, _)| own.expr(*levels));
                self.maybe(from.as_ref(), Self::input_from);
            }
            ItemKind::Var { ty, chunk, value, .. } => {
                self.tensor_type(ty);
                self.maybe(chunk.as_ref(), Self::list);
                self.expr(*value);
            }
            ItemKind::Tensor(item) => self.tensor(item),
            ItemKind::Output { path, value, options } => self.output(path, *value, options),
            ItemKind::Set { target, value } => {
                self.expr(*target);
                self.expr(*value);
            }
        }
    }

    fn use_target(&mut self, target: &'a UseTarget) {
        match target {
            UseTarget::Module(name) => self.ident(name),
            UseTarget::File(path) => self.tagged_text("file", &path.value),
        }
    }

    fn output(&mut self, path: &'a StrLit, value: ExprId, options: &'a [OutputOption]) {
        self.text(&path.value);
        self.expr(value);
        self.each(options, |marker, option| {
            marker.ident(&option.name);
            marker.expr(option.value);
        });
    }

    fn function(&mut self, item: &'a FnItem) {
        self.each(&item.params, |marker, param| {
            marker.ident(&param.name);
            marker.maybe(param.ty.as_ref(), Self::ident);
            marker.maybe(param.default.as_ref(), |marker, value| marker.expr(*value));
        });
        self.maybe(item.result.as_ref(), Self::ident);
        self.expr(item.body);
    }

    fn input_from(&mut self, from: &'a InputFrom) {
        match from {
            InputFrom::File(path) => self.tagged_text("file", &path.value),
            InputFrom::Word(word) => self.ident(word),
        }
    }

    fn tensor(&mut self, item: &'a TensorItem) {
        self.tensor_type(&item.ty);
        self.each(&item.clauses, Self::clause);
        match &item.body {
            TensorBody::Expr(body) => self.expr(*body),
            TensorBody::Extern { name, args } => {
                self.tag("extern");
                self.text(&name.value);
                self.each(args, |marker, arg| marker.expr(*arg));
            }
        }
    }

    fn tensor_type(&mut self, ty: &'a TensorType) {
        self.ident(&ty.element);
        self.each(&ty.dims, |marker, dim| {
            marker.ident(&dim.label);
            match &dim.extent {
                Extent::Count(bound) => marker.bounds("count", [bound]),
                Extent::Range(lo, hi) => marker.bounds("range", [lo, hi]),
            }
        });
    }

    fn bounds<const N: usize>(&mut self, tag: &'static str, bounds: [&'a Bound; N]) {
        self.tag(tag);
        for bound in bounds {
            self.number(bound.implicit.into());
            self.expr(bound.value);
        }
    }

    fn clause(&mut self, clause: &'a Clause) {
        match clause {
            Clause::Window { window, locals, .. } => {
                self.tag("window");
                self.window(window);
                self.maybe(locals.as_ref(), |marker, locals| marker.each(locals, Self::ident));
            }
            Clause::Take { name, source, window, .. } => {
                self.tag("take");
                self.ident(name);
                self.expr(*source);
                self.window(window);
            }
            Clause::Blend { kind, init, .. } => {
                self.tag("blend");
                self.blend(kind);
                self.maybe(init.as_ref(), |marker, init| marker.expr(*init));
            }
            Clause::Chunk { sizes, .. } => {
                self.tag("chunk");
                self.list(sizes);
            }
            Clause::Format { levels, .. } => {
                self.tag("format");
                self.expr(*levels);
            }
        }
    }

    fn blend(&mut self, kind: &'a BlendKind) {
        match kind {
            BlendKind::Named(name) => self.ident(name),
            BlendKind::Custom { old, new, body } => {
                self.tag("custom");
                self.ident(old);
                self.ident(new);
                self.expr(*body);
            }
        }
    }

    fn window(&mut self, window: &'a WindowSpec) {
        self.maybe(window.base.as_ref(), Self::ident);
        self.maybe(window.size.as_ref(), Self::list);
        self.each(&window.parts, |marker, part| match part {
            WindowPart::Stride(list) => marker.tagged_list("stride", list),
            WindowPart::Offset(list) => marker.tagged_list("offset", list),
            WindowPart::Map(list) => marker.tagged_list("map", list),
        });
    }

    fn tagged_list(&mut self, tag: &'static str, list: &'a List) {
        self.tag(tag);
        self.list(list);
    }

    fn list(&mut self, list: &'a List) {
        self.each(&list.items, |marker, item| marker.expr(*item));
    }

    // ------------------------------------------------------------ expressions

    /// With a list of what is still to do instead of recursion, because a sum may be long.
    fn expr(&mut self, id: ExprId) {
        let mut todo = vec![id];
        while let Some(id) = todo.pop() {
            self.head(id);
            let from = todo.len();
            self.ast.expr(id).for_each_child(|child| todo.push(child));
            todo[from..].reverse();
        }
    }

    /// Everything of an expression but its children.
    fn head(&mut self, id: ExprId) {
        let expr = self.ast.expr(id);
        match expr {
            Expr::Int(value) => self.tagged_number("int", *value),
            Expr::Float(value) => self.tagged_number("float", value.to_bits()),
            Expr::Bool(value) => self.tagged_number("bool", (*value).into()),
            Expr::Inf => self.tag("inf"),
            Expr::Str(text) => self.tagged_text("str", text),
            Expr::Name(name) => self.tagged_text("name", name),
            Expr::Paren(_) => self.tag("paren"),
            Expr::Unary(op, _) => self.tagged_text("unary", op.symbol()),
            Expr::Binary(op, ..) => self.tagged_text("binary", op.symbol()),
            Expr::If { .. } => self.tag("if"),
            Expr::Reduce { kind, binders, .. } => {
                self.tagged_text("reduce", &kind.name);
                self.each(binders, |marker, binder| {
                    marker.ident(&binder.name);
                    marker.number(binder.inclusive.into());
                });
            }
            Expr::Call { function, args } => {
                self.tagged_text("call", &function.name);
                self.count(args.len());
            }
            Expr::Method { name, args, .. } => {
                self.tagged_text("method", &name.name);
                self.count(args.len());
            }
            Expr::Index { indices, .. } => {
                self.tag("index");
                self.each(indices, Self::index);
            }
            Expr::Block { lets, .. } => {
                self.tag("block");
                self.each(lets, |marker, (name, _)| marker.ident(name));
            }
            Expr::List(items) => self.tagged_number("list", items.len() as u64),
            Expr::Map(entries) => self.tagged_number("map", entries.len() as u64),
            Expr::Range(..) => self.tag("range"),
        }
    }

    fn tagged_text(&mut self, tag: &'static str, text: &'a str) {
        self.tag(tag);
        self.text(text);
    }

    fn tagged_number(&mut self, tag: &'static str, number: u64) {
        self.tag(tag);
        self.number(number);
    }

    fn index(&mut self, index: &'a Index) {
        self.maybe(index.label.as_ref(), Self::ident);
        match index.kind {
            IndexKind::At(_) => self.tag("at"),
            IndexKind::Slice { start, stop, step } => {
                self.tag("slice");
                [start, stop, step].iter().for_each(|part| self.number(part.is_some().into()));
            }
            IndexKind::Ellipsis => self.tag("..."),
        }
    }
}

fn item_word(kind: &ItemKind) -> &'static str {
    match kind {
        ItemKind::Use(_) => "use",
        ItemKind::Param { .. } => "param",
        ItemKind::Let { .. } => "let",
        ItemKind::Fn(_) => "fn",
        ItemKind::Window { .. } => "window",
        ItemKind::Input { .. } => "input",
        ItemKind::Var { .. } => "var",
        ItemKind::Tensor(_) => "tensor",
        ItemKind::View { .. } => "view",
        ItemKind::Output { .. } => "output",
        ItemKind::Set { .. } => "set",
    }
}
