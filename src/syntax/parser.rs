//! Tokens -> syntax tree, with recovery.
//!
//! Every item starts with a keyword, and most of these can stand nowhere else, so the tokens are cut there and each
//! chunk is parsed on its own:
//!
//! ```text
//! tensor a: f32[x: inf] = (x + | param b = ) | view c = a     a, b and c: two errors, one item
//! ```
//!
//! A chunk reports its lexical errors, or else its first syntax error, or else what the builder refused.

use super::ast::{Ast, Expr, ExprId};
use super::builder::{Builder, MAX_NESTING};
use super::explain::{Chunk, explain};
use super::grammar::{ItemsParser, OneExprParser};
use super::lexer::{Lexed, MAX_ERRORS, lex};
use super::token::{Kind, Token};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::source::{SourceId, Sources, Span};
use lalrpop_util::ParseError;
use std::convert::Infallible;
use std::ops::Range;

/// What the generated parser reports.
pub(super) type SyntaxError = ParseError<u32, Kind, Infallible>;

/// Parses a whole script; what is wrong goes to `diagnostics`, in the order of the text, the rest to the tree.
pub fn parse(sources: &Sources, id: SourceId, diagnostics: &mut Diagnostics) -> Ast {
    parse_lexed(id, &sources.get(id).text, &lex(id, &sources.get(id).text), diagnostics)
}

/// Parses a script that is already cut into tokens.
pub(super) fn parse_lexed(id: SourceId, text: &str, lexed: &Lexed, diagnostics: &mut Diagnostics) -> Ast {
    let mut builder = Builder::new(id, text, &lexed.comments);
    let mut problems = lexed.problems.clone();
    for range in chunks(&lexed.tokens, text) {
        let chunk = Chunk::new(id, text, &lexed.tokens, range);
        problems.extend(parse_chunk(&chunk, &mut builder, run_items).err().flatten());
        problems.append(&mut builder.problems);
        problems.extend(builder.named_indices.drain(..).map(named_index));
        if problems.len() > MAX_ERRORS {
            break;
        }
    }
    report(problems, diagnostics);
    builder.ast
}

/// Parses one expression; `None` and a diagnostic when it is not one.
pub fn parse_expr(sources: &Sources, id: SourceId, diagnostics: &mut Diagnostics) -> Option<(Ast, ExprId)> {
    let text = &*sources.get(id).text;
    let lexed = lex(id, text);
    let mut builder = Builder::new(id, text, &lexed.comments);
    let mut problems = lexed.problems;
    let mut expr = None;
    if problems.is_empty() {
        let chunk = Chunk::new(id, text, &lexed.tokens, 0..lexed.tokens.len());
        match parse_chunk(&chunk, &mut builder, run_expr) {
            Ok(parsed) => expr = parsed,
            Err(problem) => problems.extend(problem),
        }
    }
    report(problems, diagnostics);
    expr.map(|expr| (builder.ast, expr))
}

/// Parses a slice as the command line takes it, `smooth[y=0:512, 3, ::2]`; the expression is an index.
pub fn parse_slice(sources: &Sources, id: SourceId, diagnostics: &mut Diagnostics) -> Option<(Ast, ExprId)> {
    let (ast, expr) = parse_expr(sources, id, diagnostics)?;
    if matches!(ast.expr(expr), Expr::Index { object, .. } if ast.is_view(*object)) {
        return Some((ast, expr));
    }
    let problem = Diagnostic::new(Code::E0102, "this is not a slice of a tensor")
        .at(ast.span(expr), "expected a name and a slice")
        .help("write a name and what to read of each dimension: `smooth[0:512, -100:412:2]`");
    diagnostics.push(problem);
    None
}

fn report(mut problems: Vec<Diagnostic>, diagnostics: &mut Diagnostics) {
    problems.sort_by_key(|problem| problem.primary().map(|label| label.span));
    if problems.len() > MAX_ERRORS {
        problems.truncate(MAX_ERRORS);
        problems
            .last_mut()
            .expect("it is full")
            .notes
            .push(format!("only the first {MAX_ERRORS} errors are shown"));
    }
    problems.into_iter().for_each(|problem| diagnostics.push(problem));
}

/// The ranges of tokens that are parsed on their own.
pub(super) fn chunks(tokens: &[Token], text: &str) -> Vec<Range<usize>> {
    let mut cuts = vec![0];
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if at > 0 && cuts_before(tokens, at, open.last().copied(), text) {
            cuts.push(at);
            open.clear();
        } else if token.kind.closer().is_some() {
            open.push(token.kind);
        } else if token.kind.closes() {
            open.pop();
        }
    }
    cuts.push(tokens.len());
    cuts.windows(2).map(|pair| pair[0]..pair[1]).filter(|range| !range.is_empty()).collect()
}

/// Whether token `at`, inside the bracket `open`, starts an item. In a script without errors all item words but `let`
/// and `window` always do; the rest of the rule keeps `param set = 3` and `f32[view: 3]`, which are wrong, in one piece.
fn cuts_before(tokens: &[Token], at: usize, open: Option<Kind>, text: &str) -> bool {
    let (kind, previous) = (tokens[at].kind, tokens[at - 1]);
    let new_line = text[previous.end as usize..tokens[at].start as usize].contains('\n');
    let also_elsewhere = kind == Kind::Window || (kind == Kind::Let && open == Some(Kind::LBrace));
    let may_start = kind.starts_item() && !also_elsewhere;
    may_start && (new_line || (open.is_none() && !previous.kind.starts_item()))
}

/// The tokens of a chunk as the generated parser takes them.
type Stream<'t> = dyn Iterator<Item = (u32, Kind, u32)> + 't;

/// A parser for a chunk; that for items gives no expression.
type Run = for<'s> fn(&mut Builder<'s>, &mut Stream<'_>) -> Result<Option<ExprId>, SyntaxError>;

fn run_items(builder: &mut Builder<'_>, tokens: &mut Stream<'_>) -> Result<Option<ExprId>, SyntaxError> {
    ItemsParser::new().parse(builder, tokens).map(|()| None)
}

fn run_expr(builder: &mut Builder<'_>, tokens: &mut Stream<'_>) -> Result<Option<ExprId>, SyntaxError> {
    OneExprParser::new().parse(builder, tokens).map(Some)
}

/// Runs a parser over one chunk; fails with its first error, or with nothing when the lexer has reported it.
fn parse_chunk<'s>(
    chunk: &Chunk<'s>,
    builder: &mut Builder<'s>,
    run: Run,
) -> Result<Option<ExprId>, Option<Diagnostic>> {
    let tokens = chunk.own();
    if tokens.iter().any(|token| token.kind == Kind::Bad) {
        return Err(None);
    }
    if let Some(token) = too_deep_bracket(tokens) {
        return Err(Some(too_deep(chunk.token_span(token), "brackets nest")));
    }
    let items = builder.ast.items.len();
    let result = run(builder, &mut tokens.iter().map(|token| (token.start, token.kind, token.end)));
    if let Some(span) = builder.too_deep.take() {
        builder.ast.items.truncate(items);
        return Err(Some(too_deep(span, "expression nests")));
    }
    result.map_err(|error| {
        let at = tokens.partition_point(|token| token.start < error_start(&error));
        Some(explain(chunk, at, expected_after(chunk, at, run)))
    })
}

/// Where the token starts that does not fit; past all tokens at the end of the chunk.
fn error_start(error: &SyntaxError) -> u32 {
    match error {
        ParseError::UnrecognizedToken { token: (start, ..), .. }
        | ParseError::ExtraToken { token: (start, ..) } => *start,
        ParseError::InvalidToken { location } => *location,
        ParseError::UnrecognizedEof { .. } => u32::MAX,
        ParseError::User { error } => match *error {},
    }
}

/// What may follow the first `count` tokens of a chunk.
///
/// The parser reduces before it finds that a token does not fit, and by then has forgotten that, say, an operator could
/// have come. A token that the grammar does not know stops it before that.
fn expected_after(chunk: &Chunk<'_>, count: usize, run: Run) -> Vec<String> {
    let mut scratch = chunk.scratch_builder();
    let known = chunk.own()[..count].iter().map(|token| (token.start, token.kind, token.end));
    match run(&mut scratch, &mut known.chain([(u32::MAX, Kind::Bad, u32::MAX)])) {
        Err(ParseError::UnrecognizedToken { expected, .. }) => expected,
        _ => Vec::new(),
    }
}

/// The first bracket inside [`MAX_NESTING`] others.
fn too_deep_bracket(tokens: &[Token]) -> Option<Token> {
    let mut depth = 0_usize;
    tokens.iter().copied().find(|token| {
        if token.kind.closer().is_some() {
            depth += 1;
        } else if token.kind.closes() {
            depth = depth.saturating_sub(1);
        }
        depth > MAX_NESTING
    })
}

fn too_deep(span: Span, what: &str) -> Diagnostic {
    Diagnostic::new(Code::E0119, format!("the {what} more than {MAX_NESTING} deep"))
        .at(Span { end: span.end.min(span.start + 1), ..span }, "deeper than the limit")
        .help("move parts into `let`, `fn` or `tensor` items of their own")
}

fn named_index(label: Span) -> Diagnostic {
    Diagnostic::new(Code::E0122, "a dimension cannot be named in an index of a script")
        .at(label, "named dimensions are for the command line")
        .help("write the indices by position, `:` for a whole dimension; write `==` for a comparison")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expression with parentheses around every operator, or its first error.
    fn shape(text: &str) -> String {
        let mut sources = Sources::default();
        let id = sources.add("test", text);
        let mut diagnostics = Diagnostics::default();
        match parse_expr(&sources, id, &mut diagnostics) {
            Some((ast, expr)) => grouped(&ast, &sources, expr),
            None => diagnostics.into_sorted()[0].to_string(),
        }
    }

    fn grouped(ast: &Ast, sources: &Sources, id: ExprId) -> String {
        let show = |id: &ExprId| grouped(ast, sources, *id);
        if let Expr::Binary(op, a, b) = ast.expr(id) {
            format!("({} {} {})", show(a), op.symbol(), show(b))
        } else if let Expr::Unary(op, a) = ast.expr(id) {
            format!("({} {})", op.symbol(), show(a))
        } else if let Expr::If { condition, then, otherwise } = ast.expr(id) {
            format!("(if {} then {} else {})", show(condition), show(then), show(otherwise))
        } else if let Expr::Reduce { kind, body, .. } = ast.expr(id) {
            format!("({}: {})", kind.name, show(body))
        } else {
            sources.text(ast.span(id)).to_owned()
        }
    }

    fn check(text: &str, expect: &str) {
        assert_eq!(shape(text), expect, "{text}");
    }

    #[test]
    fn operators_bind_as_the_language_says() {
        check("2 ** -x ** 2", "(2 ** ((- x) ** 2))");
        check("-a ** 2", "((- a) ** 2)");
        check("-a.f()[x]", "(- a.f()[x])");
        check("a - b - c", "((a - b) - c)");
        check("a + b * c ** d", "(a + (b * (c ** d)))");
        check("a // b % c / d", "(((a // b) % c) / d)");
        check("a << b + c >> d", "((a << (b + c)) >> d)");
        check("a | b ^ c & d << e", "(a | (b ^ (c & (d << e))))");
        check("a & b == c | d", "((a & b) == (c | d))");
        check("a or b and c == d", "(a or (b and (c == d)))");
        check("not a == b", "((not a) == b)");
        check("not not a and b", "((not (not a)) and b)");
    }

    #[test]
    fn choices_and_reductions_reach_far_right() {
        check("if a then b else c + d", "(if a then b else (c + d))");
        check("if a then if b then c else d else e", "(if a then (if b then c else d) else e)");
        check("sum(i in 0..3) i / n", "(sum: (i / n))");
        check("(sum(i in 0..3) i) / n", "((sum(i in 0..3) i) / n)");
        check("max(i in 0..3, j in a..=b,) if i then j else 0", "(max: (if i then j else 0))");
    }

    #[test]
    fn spans_cover_what_was_written() {
        check(" f( x )[ 0 : 1 ] ", "f( x )[ 0 : 1 ]");
        check(" { let a = 1 ; a } ", "{ let a = 1 ; a }");
        check("[ 1 .. 2 , ]", "[ 1 .. 2 , ]");
        check("{ }", "{ }");
    }

    #[test]
    fn one_expression_and_no_more() {
        check("", "error[E0102]: expected an expression, found the end");
        check("a b", "error[E0102]: expected an operator, found `b`");
        check("param a = 1", "error[E0102]: expected an expression, found `param`");
    }
}
