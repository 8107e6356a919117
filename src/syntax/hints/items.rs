//! Slips in items, clauses and types.

use super::brackets::open_before;
use crate::diagnostic::{Code, Diagnostic, closest, quoted};
use crate::syntax::explain::{Failure, unexpected};
use crate::syntax::token::{ITEM_WORDS, Kind};

/// `// text`
pub(super) fn comment_with_slashes(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let slashes = (0..=2).filter_map(|back| failure.index_before(back)).find(|at| {
        let first_words = failure.at - at < 2 || failure.kind(at + 1) == Some(Kind::Ident);
        failure.kind(*at) == Some(Kind::SlashSlash) && first_words
    })?;
    let is_word = |at| failure.kind(at).is_some_and(|kind| kind == Kind::Ident || kind.is_keyword());
    let text_follows = failure.at == slashes + 2 && is_word(failure.at);
    (failure.starts_line(slashes) || text_follows).then(|| {
        Diagnostic::new(Code::E0114, "`//` does not start a comment")
            .at(failure.span(slashes), "floor division")
            .help("write `#` to start a comment")
    })
}

/// `param a = 1;`, `{ let a = 1; a; }`
pub(super) fn semicolon(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    if failure.kind(failure.at)? != Kind::Semicolon || failure.at_end() {
        return None;
    }
    let (message, label) = if failure.expects("tensor") {
        ("items do not end in `;`", "nothing stands between items")
    } else if failure.expects("}") {
        ("a block ends in its value, without `;`", "after the block's value")
    } else {
        return None;
    };
    Some(Diagnostic::new(Code::E0114, message).at(failure.span(failure.at), label).help("remove the `;`"))
}

/// `let a := 1`
pub(super) fn foreign_assignment(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let colon =
        failure.index_before(1).filter(|at| failure.kind(*at) == Some(Kind::Colon) && failure.adjacent(*at));
    let colon = colon.or_else(|| {
        let at = (failure.kind(failure.at) == Some(Kind::Colon)).then_some(failure.at);
        at.filter(|at| failure.kind(at + 1) == Some(Kind::Equals) && failure.adjacent(*at))
    })?;
    (failure.kind(colon + 1)? == Kind::Equals).then(|| {
        Diagnostic::new(Code::E0114, "`:=` is not a sign of the language")
            .at(failure.span(colon).to(failure.span(colon + 1)), "not part of the language")
            .help("write `=`")
    })
}

/// `tensr a: …`, `def f(x)`, `height = …`
pub(super) fn unknown_item(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let line = (failure.all().start..=failure.at)
        .rev()
        .find(|at| failure.starts_line(*at) || *at == failure.all().start)?;
    if failure.kind(line)? != Kind::Ident || !open_before(failure, line).is_empty() {
        return None;
    }
    let next = failure.kind(line + 1).filter(|_| !failure.starts_line(line + 1));
    let starts_item = matches!(next, Some(Kind::Ident | Kind::Str));
    let assigns = line == failure.at && next == Some(Kind::Equals) && failure.expects("tensor");
    let diagnostic = Diagnostic::new(Code::E0110, format!("{} does not start an item", failure.name(line)))
        .at(failure.span(line), "unknown item");
    let loops = matches!(failure.text(line), "for" | "while" | "foreach" | "loop");
    match item_word(failure.text(line)) {
        None if loops && line == failure.at => Some(diagnostic.help(
            "say what one element is, and every element is: `tensor a: f32[x: 512] = …`; reduce with `sum(i in 0..3) …`",
        )),
        Some(word) if starts_item => {
            Some(diagnostic.fix(failure.span(line), word).help(format!("write `{word}`")))
        }
        None if starts_item && failure.expects("tensor") && line == failure.at => {
            Some(diagnostic.help(format!("start the item with one of `{}`", ITEM_WORDS.join(" "))))
        }
        _ if assigns => {
            Some(diagnostic.help(format!("write `let {} = …` for a constant", failure.text(line))))
        }
        _ => None,
    }
}

/// The word that was probably meant.
fn item_word(word: &str) -> Option<&'static str> {
    match word {
        "def" | "func" | "function" | "fun" => Some("fn"),
        "import" | "include" | "require" => Some("use"),
        "const" | "val" | "auto" => Some("let"),
        _ => closest(word, ITEM_WORDS.iter().copied()),
    }
}

/// `from noise import fbm`
pub(super) fn import_from(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let from = failure.kind(failure.at)? == Kind::From && failure.kind(failure.at + 1)? == Kind::Ident;
    (from && failure.expects("tensor")).then(|| {
        let import = quoted(&format!("use {}", failure.text(failure.at + 1)));
        unexpected(failure).help(format!("write {import}, which brings in all its names"))
    })
}

/// `param map = 3`
pub(super) fn keyword_as_name(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let word = failure.kind(failure.at).filter(|kind| kind.is_keyword() && *kind != Kind::If)?;
    let wanted = failure.expects("ID") && !failure.at_end();
    // After an operand a keyword is a clause in the wrong place, and after `,` or `(` in a call a missing operand.
    let operand = failure.expects("INT");
    let item = word.starts_item() && failure.starts_line(failure.at);
    let read = failure.kind(failure.at + 1) == Some(Kind::LBracket) && failure.adjacent(failure.at);
    let clause =
        operand && !read && matches!(word, Kind::Then | Kind::Else | Kind::In | Kind::And | Kind::Or);
    (wanted && !item && !clause && !failure.expects("tensor")).then(|| {
        let name = failure.name(failure.at);
        Diagnostic::new(Code::E0109, format!("{name} is a keyword, not a name"))
            .at(failure.span(failure.at), "expected a name")
            .help(format!("choose another name, for example `{}_`", failure.text(failure.at)))
    })
}

/// `take b = height` without a window, `stride […]` without one
pub(super) fn missing_window(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let part = failure.kind(failure.at).filter(|kind| (Kind::Stride..=Kind::As).contains(kind));
    let last = last_clause(failure);
    match (last, part) {
        (Some(take), _) if failure.kind(take)? == Kind::Take && failure.expects("window") => Some(
            Diagnostic::new(Code::E0120, "`take` needs a window")
                .at(failure.span(take), "says no window")
                .help("add the window through which the source is seen: `take b = height window [3, 3]`"),
        ),
        (_, Some(_)) if failure.expects("window") && failure.expects("blend") => {
            let name = failure.name(failure.at);
            let diagnostic = Diagnostic::new(Code::E0120, format!("{name} is part of a window"));
            Some(diagnostic.at(failure.span(failure.at), "no window before it").help(format!(
                "add the window's size first: `window [3, 3] {} […]`",
                failure.text(failure.at)
            )))
        }
        _ => None,
    }
}

/// The last word of a clause, or of a part of one, outside all brackets.
fn last_clause(failure: &Failure<'_, '_>) -> Option<usize> {
    let mut depth = 0_usize;
    let mut last = None;
    for at in failure.parsed() {
        match failure.kind(at)? {
            kind if kind.closer().is_some() => depth += 1,
            kind if kind.closes() => depth = depth.saturating_sub(1),
            kind if depth == 0 && kind.is_clause_word() => last = Some(at),
            _ => {}
        }
    }
    last
}

/// `f32[3, inf]`, `f32[n, m]`
pub(super) fn unlabelled_dimension(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let open = *open_before(failure, failure.at).last()?;
    let before = |back| open.checked_sub(back).and_then(|at| failure.kind(at));
    let in_type = failure.kind(open)? == Kind::LBracket
        && before(1) == Some(Kind::Ident)
        && before(2) == Some(Kind::Colon);
    let number = failure.expects("ID") && !failure.expects("INT");
    let name = failure.expects(":") && !failure.expects("INT");
    let extent = if number { failure.at } else { failure.index_before(1)? };
    let starts = matches!(failure.kind(extent)?, Kind::Int | Kind::Inf | Kind::Minus | Kind::Ident);
    let follows = matches!(failure.kind(extent.checked_sub(1)?)?, Kind::LBracket | Kind::Comma);
    (in_type && (number || name) && starts && follows && !failure.at_end()).then(|| {
        let sign = if failure.kind(extent) == Some(Kind::Minus) { "-" } else { "" };
        let written = format!("{sign}{}", failure.text(extent + sign.len()));
        let is_name = failure.kind(extent) == Some(Kind::Ident);
        let lacks = if is_name && !is_declared(failure, &written) { "extent" } else { "label" };
        let diagnostic = Diagnostic::new(Code::E0115, format!("the dimension has no {lacks}"))
            .at(failure.span(extent), "expected `label: extent`");
        if is_name && failure.kind(extent + 1) == Some(Kind::Equals) {
            return diagnostic.help(format!("write `:`: `{written}: {}`", failure.text(extent + 2)));
        }
        if is_name && !is_declared(failure, &written) {
            return diagnostic.help(format!("add an extent: `{written}: inf`, or `{written}: 512`"));
        }
        diagnostic.help(format!("add a label, or `_` for none: `_: {written}`"))
    })
}

/// Whether the file has a `let` or `param` with that name.
fn is_declared(failure: &Failure<'_, '_>, name: &str) -> bool {
    let declares = |at: &usize| matches!(failure.kind(*at), Some(Kind::Let | Kind::Param));
    (0..).take_while(|at| failure.kind(*at).is_some()).filter(declares).any(|at| failure.text(at + 1) == name)
}

/// `tensor height f32[…]`
pub(super) fn missing_colon(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let item = failure
        .before(2)
        .filter(|kind| matches!(kind, Kind::Tensor | Kind::Input | Kind::Var | Kind::Param))?;
    let typed = failure.kind(failure.at)? == Kind::Ident && failure.expects(":") && item.is_keyword();
    let name = failure.text(failure.at - 1);
    typed.then(|| {
        unexpected(failure).help(format!("add `:` before the type: `{name}: {}`", failure.text(failure.at)))
    })
}
