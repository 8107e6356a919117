//! Syntax tree and tokens -> canonical text.
//!
//! ```text
//! param   n=3 # rows          ->   param n = 3  # rows
//! tensor a:f32[x:inf]=x+ n    ->   tensor a: f32[x: inf] = x + n
//! ```
//!
//! The tree says where lines may break, the tokens are then written in their order with new space between them, so no
//! comment is lost and the text parses to the same tree. Only a trailing comma comes or goes with the lines of its list.

mod exprs;
mod items;
mod layout;
mod page;

use super::ast::Ast;
use super::lexer::{Comment, Lexed, lex};
use super::parser::parse_lexed;
use crate::diagnostic::Diagnostics;
use crate::source::{SourceId, Sources};
use items::item_layout;
use layout::{Script, lay_out};
use page::Page;

/// The script in canonical layout; `None` when it has syntax errors, which go to `diagnostics`.
pub fn format(sources: &Sources, id: SourceId, diagnostics: &mut Diagnostics) -> Option<String> {
    let text = &*sources.get(id).text;
    let lexed = lex(id, text);
    let mut errors = Diagnostics::default();
    let ast = parse_lexed(id, text, &lexed, &mut errors);
    if errors.is_empty() {
        return Some(format_items(&ast, text, &lexed));
    }
    errors.into_sorted().into_iter().for_each(|error| diagnostics.push(error));
    None
}

/// The items of the tree in canonical layout, one after the other, without comments.
pub fn print_ast(ast: &Ast, sources: &Sources) -> String {
    let text = &*sources.get(ast.source).text;
    let tokens = lex(ast.source, text).tokens;
    let script = Script { text, tokens: &tokens, comments: &[] };
    let mut page = Page::default();
    for item in &ast.items {
        lay_out(&item_layout(ast, item, &script), &script, &mut page);
        page.new_line(0);
    }
    page.finish()
}

/// Items and the comments between them, with at most one blank line where there were some.
fn format_items(ast: &Ast, text: &str, lexed: &Lexed) -> String {
    let script = Script { text, tokens: &lexed.tokens, comments: &lexed.comments };
    let mut lines = Lines { text, page: Page::default(), end: 0 };
    let mut comments = lexed.comments.as_slice();
    for item in &ast.items {
        lines.comments(take_before(&mut comments, item.span.start));
        lines.start(item.span.start, item.span.end);
        lay_out(&item_layout(ast, item, &script), &script, &mut lines.page);
        take_before(&mut comments, item.span.end);
    }
    lines.comments(comments);
    if !lines.page.is_empty() {
        lines.page.new_line(0);
    }
    lines.page.finish()
}

/// Splits off the comments that start before byte `end`.
fn take_before<'c>(comments: &mut &'c [Comment], end: u32) -> &'c [Comment] {
    let (before, after) = comments.split_at(comments.partition_point(|comment| comment.start < end));
    *comments = after;
    before
}

/// The page so far, and the byte of the source up to which it stands for.
struct Lines<'s> {
    text: &'s str,
    page: Page,
    end: u32,
}

impl Lines<'_> {
    fn comments(&mut self, comments: &[Comment]) {
        for comment in comments {
            let written = &self.text[comment.start as usize..comment.end as usize];
            if comment.own_line || self.page.is_empty() {
                self.start(comment.start, comment.end);
                self.page.write(written);
            } else {
                self.page.trailing_comment(written);
                self.end = comment.end;
            }
        }
    }

    /// Starts a line for what stands in the bytes `start..end`.
    fn start(&mut self, start: u32, end: u32) {
        if !self.page.is_empty() {
            let gap = &self.text[self.end as usize..start as usize];
            let breaks = gap.bytes().filter(|byte| *byte == b'\n').count();
            (0..breaks.clamp(1, 2)).for_each(|_| self.page.new_line(0));
        }
        self.end = end;
    }
}
