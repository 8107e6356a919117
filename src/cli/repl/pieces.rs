//! What was typed -> the items of a script, each a piece of text that a later one of the same name replaces.
//!
//! ```text
//! param k = 2     tensor a: f32[x: inf] = k * x      two pieces
//! param k = 3                                        takes the place of the first
//! ```

use crate::diagnostic::Diagnostics;
use crate::source::Sources;
use crate::syntax::ast::{Item, ItemKind, UseTarget};
use crate::syntax::{self, goes_on, starts_item};
use std::sync::Arc;

/// One item of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What a later piece must have to take its place; a `set` never does.
    pub key: Option<String>,
    /// The name that it declares.
    pub name: Option<Arc<str>>,
    /// As it was typed, its documentation included.
    pub text: String,
}

impl Piece {
    /// Whether it writes into a variable: nothing else is without a key.
    pub(super) fn is_set(&self) -> bool {
        self.key.is_none()
    }
}

/// The items of a text, or everything that is wrong with it.
pub fn pieces(text: &str) -> Result<Vec<Piece>, (Sources, Diagnostics)> {
    let (mut sources, mut diagnostics) = (Sources::default(), Diagnostics::default());
    let source = sources.add("<typed>", text);
    let ast = syntax::parse(&sources, source, &mut diagnostics);
    if diagnostics.has_errors() {
        return Err((sources, diagnostics));
    }
    Ok(ast.items.iter().map(|item| piece(item, &sources)).collect())
}

fn piece(item: &Item, sources: &Sources) -> Piece {
    let name = item.kind.name().map(|name| name.name.clone());
    let doc: String = item.doc.iter().map(|line| format!("## {}\n", line.trim())).collect();
    let key = match &item.kind {
        ItemKind::Use(UseTarget::Module(module)) => Some(format!("use {}", module.name)),
        ItemKind::Use(UseTarget::File(path)) => Some(format!("use {:?}", path.value)),
        ItemKind::Output { path, .. } => Some(format!("output {:?}", path.value)),
        ItemKind::Set { .. } => None,
        ItemKind::Param { .. }
        | ItemKind::Let { .. }
        | ItemKind::Fn(_)
        | ItemKind::Window { .. }
        | ItemKind::Input { .. }
        | ItemKind::Var { .. }
        | ItemKind::Tensor(_)
        | ItemKind::View { .. } => name.as_ref().map(ToString::to_string),
    };
    Piece { key, name, text: doc + sources.text(item.span) }
}

/// The pieces with new ones in the place of those with the same key, or at the end.
pub fn with(mut all: Vec<Piece>, new: &[Piece]) -> Vec<Piece> {
    for piece in new {
        let place = all.iter_mut().find(|old| piece.key.is_some() && old.key == piece.key);
        match place {
            Some(old) => *old = piece.clone(),
            None => all.push(piece.clone()),
        }
    }
    all
}

/// The script that pieces make.
pub fn script(pieces: &[Piece]) -> String {
    pieces.iter().map(|piece| format!("{}\n", piece.text)).collect()
}

/// Cuts lines into inputs: commands, expressions, and runs of items.
#[derive(Debug, Default)]
pub struct Inputs {
    /// Lines that are not known to be whole.
    open: String,
}

impl Inputs {
    /// Takes a line in, and gives what is whole by now: what stood before it, and the line itself.
    pub fn line(&mut self, line: &str) -> Vec<String> {
        let mut whole = Vec::new();
        let indented = line.starts_with([' ', '\t']) && !line.trim().is_empty();
        let continues = !self.open.is_empty() && (goes_on(&self.open) || indented);
        if !continues {
            whole.extend(self.end());
        }
        if !(self.open.is_empty() && line.trim().is_empty()) {
            self.open.push_str(line);
            self.open.push('\n');
        }
        // An item may go on in the next line, anything else is done once it can be.
        if !starts_item(&self.open) && (is_command(&self.open) || !goes_on(&self.open)) {
            whole.extend(self.end());
        }
        whole
    }

    /// What is left, whole or not.
    pub fn end(&mut self) -> Option<String> {
        let left = std::mem::take(&mut self.open);
        let left = left.trim_end();
        (!left.is_empty()).then(|| left.to_owned())
    }
}

/// Whether a text is for the session, and not for the language.
pub fn is_command(text: &str) -> bool {
    text.trim_start().starts_with(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(text: &str) -> Vec<String> {
        let mut inputs = Inputs::default();
        let mut found: Vec<String> = text.lines().flat_map(|line| inputs.line(line)).collect();
        found.extend(inputs.end());
        found
    }

    #[test]
    fn lines_become_inputs() {
        let check = |text: &str, expect: &[&str]| assert_eq!(inputs(text), expect, "{text:?}");
        check("1 + 2\n3", &["1 + 2", "3"]);
        check("1 +\n2\n:help\n", &["1 +\n2", ":help"]);
        check(
            "tensor a: f32[x: inf] =\n    x\n    + 1\na[0:3]",
            &["tensor a: f32[x: inf] =\n    x\n    + 1", "a[0:3]"],
        );
        check("param a = 1\n\nparam b = 2", &["param a = 1", "param b = 2"]);
        check("## about\ntensor a: u8[] = {\n\n 1 }", &["## about\ntensor a: u8[] = {\n\n 1 }"]);
        check("# nothing\n", &["# nothing"]);
        check(":show a[\n1", &[":show a[", "1"]);
        check("(1 +", &["(1 +"]);
    }

    #[test]
    fn later_pieces_take_the_place_of_earlier_ones() {
        let all = pieces("param k = 2 tensor a: f32[x: inf] = k set v[0:1] = 1 output \"a.png\" = a[0:1]")
            .expect("items");
        let again = pieces("## three\nlet k = 3 set v[0:1] = 2 output \"a.png\" = a[0:2]").expect("items");
        let all = script(&with(all, &again));
        let expect = "## three\nlet k = 3\ntensor a: f32[x: inf] = k\nset v[0:1] = 1\noutput \"a.png\" = a[0:2]\nset v[0:1] = 2\n";
        assert_eq!(all, expect);
        assert!(pieces("param = 3").is_err());
    }
}
