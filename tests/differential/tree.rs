//! A script that can still be taken apart: items with expressions as trees, and the reads to do.
//!
//! ```text
//! Item { head: "tensor t: f32[x: inf]", clauses: ["chunk [8]"], body: (# + #) of [a[x], 0.5] }
//! tensor t: f32[x: inf] chunk [8] = (a[x] + 0.5)
//! ```

use itp::graph::types::{Element, Ty};
use std::fmt::Write;

/// An expression: text with a `#` where each part stands.
#[derive(Clone)]
pub(crate) struct Node {
    pub ty: Ty,
    template: String,
    pub kids: Vec<Node>,
}

/// One item of a script.
#[derive(Clone)]
pub(crate) struct Item {
    pub head: String,
    /// What may be left out.
    pub clauses: Vec<String>,
    pub body: Option<Node>,
}

/// What one seed makes.
#[derive(Clone, Default)]
pub(crate) struct Script {
    pub items: Vec<Item>,
    /// Slices, as `itp run --read` takes them.
    pub reads: Vec<String>,
}

impl Node {
    pub(crate) fn new(ty: Ty, template: impl Into<String>, kids: Vec<Node>) -> Self {
        let template = template.into();
        assert_eq!(template.matches('#').count(), kids.len(), "{template}");
        Node { ty, template, kids }
    }

    pub(crate) fn leaf(ty: Ty, text: impl Into<String>) -> Self {
        Node::new(ty, text, Vec::new())
    }

    pub(crate) fn int(value: i64) -> Self {
        Node::leaf(Ty::WeakInt, if value < 0 { format!("({value})") } else { value.to_string() })
    }

    /// The simplest expression of that type.
    pub(crate) fn simplest(ty: Ty) -> Self {
        Node::leaf(
            ty,
            match ty {
                Ty::Strong(Element::Bool) => "true".to_owned(),
                Ty::Strong(element) => format!("{element}(1)"),
                Ty::WeakInt => "1".to_owned(),
                Ty::WeakFloat => "1.0".to_owned(),
            },
        )
    }

    pub(crate) fn size(&self) -> usize {
        1 + self.kids.iter().map(Node::size).sum::<usize>()
    }

    /// The part with that number, counted from the root down.
    pub(crate) fn at(&mut self, number: usize) -> &mut Node {
        if number == 0 {
            return self;
        }
        let mut rest = number - 1;
        for kid in &mut self.kids {
            let size = kid.size();
            if rest < size {
                return kid.at(rest);
            }
            rest -= size;
        }
        unreachable!("numbers are below the size")
    }

    fn write(&self, out: &mut String) {
        let mut kids = self.kids.iter();
        for (at, text) in self.template.split('#').enumerate() {
            if at > 0 {
                kids.next().expect("as many parts as marks").write(out);
            }
            out.push_str(text);
        }
    }

    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }
}

impl Script {
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        for item in &self.items {
            let clauses: String = item.clauses.iter().map(|clause| format!(" {clause}")).collect();
            let body = item.body.as_ref().map(|body| format!(" = {}", body.text())).unwrap_or_default();
            writeln!(out, "{}{clauses}{body}", item.head).expect("a string takes everything");
        }
        out
    }

    /// How much there is to understand.
    pub(crate) fn size(&self) -> usize {
        let items =
            self.items.iter().map(|item| 5 + item.clauses.len() + item.body.as_ref().map_or(0, Node::size));
        items.sum::<usize>() + 5 * self.reads.len()
    }
}
