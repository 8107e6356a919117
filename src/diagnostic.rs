//! What the user is told: one type for every error and warning, and its rendering.
//!
//! ```text
//! error[E0304]: window of `blur` has 2 dimensions, but `height` has 3
//!  --> terrain.itp:4:41
//!   |
//! 4 |     take h = height window [3, 3]
//!   |              ------        ^^^^^^ 2 dimensions
//!   = help: add a size for the leading dimension: `window [1, 3, 3]`
//! ```
//!
//! Wording: lower case, no full stop, names in backticks, both numbers given, the help begins with a verb.

mod codes;
mod render;

pub use codes::{Code, Severity};
pub use render::{Style, render, to_json};

use crate::source::Span;
use std::collections::HashSet;
use std::fmt;

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its number in the registry; says whether it is an error or a warning.
    pub code: Code,
    /// One line: what is wrong, with both numbers.
    pub message: String,
    /// Where; the first primary label is *the* place.
    pub labels: Vec<Label>,
    /// What to do about it, each a line that begins with a verb.
    pub help: Vec<String>,
    /// Facts that explain it, each a line.
    pub notes: Vec<String>,
    /// The help as an edit, where it is as certain as a help can be: for editors.
    pub fix: Option<Box<Fix>>,
}

/// An edit that puts a mistake right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What is replaced; empty: the text is put in there.
    pub span: Span,
    /// What stands there instead.
    pub text: String,
}

/// A place in a source and what is to be seen there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What is there; may be empty.
    pub text: String,
    /// Underlined with `^` rather than `-`.
    pub primary: bool,
}

/// A function call on the way to a place in the function's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function.
    pub name: std::sync::Arc<str>,
    /// Where it is called.
    pub span: Span,
}

/// The common result: a value, or one diagnostic.
pub type Result<T> = std::result::Result<T, Box<Diagnostic>>;

impl Diagnostic {
    /// A diagnostic with that code and message.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            message: message.into(),
            labels: Vec::new(),
            help: Vec::new(),
            notes: Vec::new(),
            fix: None,
        }
    }

    /// Adds a place that is wrong.
    pub fn at(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into(), primary: true });
        self
    }

    /// Adds a place that explains.
    pub fn with(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into(), primary: false });
        self
    }

    /// Adds a line that says what to write instead.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    /// Says which edit puts it right: `text` in the place of `span`.
    pub fn fix(mut self, span: Span, text: impl Into<String>) -> Self {
        self.fix = Some(Box::new(Fix { span, text: text.into() }));
        self
    }

    /// The same, if there is something to put there.
    pub fn fix_if(self, span: Span, text: Option<impl Into<String>>) -> Self {
        match text {
            Some(text) => self.fix(span, text),
            None => self,
        }
    }

    /// Adds a line of explanation.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Adds the calls that lead to the place, outermost first: the first one and the last two are shown.
    pub fn through(mut self, calls: &[Call]) -> Self {
        let Some((first, rest)) = calls.split_first() else { return self };
        let shown = &rest[rest.len().saturating_sub(2)..];
        for call in std::iter::once(first).chain(shown) {
            self = self.with(call.span, format!("{} is called here", quoted(&call.name)));
        }
        if shown.len() == rest.len() {
            return self;
        }
        let names: Vec<_> = calls.iter().map(|call| &*call.name).collect();
        self.note(format!("the calls are {}", names.join(" -> ")))
    }

    /// As an `Err`.
    pub fn err<T>(self) -> Result<T> {
        Err(Box::new(self))
    }

    /// The place that is wrong, if it is in a source.
    pub fn primary(&self) -> Option<&Label> {
        self.labels.iter().find(|label| label.primary).or(self.labels.first())
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: {}", self.code.severity(), self.code, self.message)
    }
}

impl std::error::Error for Diagnostic {}

/// What a stage collects while it goes on after an error.
#[derive(Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    /// Code, place and message of each.
    known: HashSet<(Code, Option<Span>, String)>,
    /// Whether there was an error, also one that is not kept.
    failed: bool,
}

/// Diagnostics that are kept; a text can have a million mistakes.
const MOST_KEPT: usize = 10_000;

/// Diagnostics that are worth a search for what was meant: nobody reads more.
const MANY: usize = 100;

impl Diagnostics {
    /// Takes one in; the same mistake at the same place is kept once, however many calls lead there.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let place = diagnostic.primary().map(|label| label.span);
        let error = diagnostic.code.severity() == Severity::Error;
        // However many warnings there are, the first error is kept.
        let room = self.list.len() < MOST_KEPT || error && !self.failed;
        self.failed |= error;
        if room && self.known.insert((diagnostic.code, place, diagnostic.message.clone())) {
            self.list.push(diagnostic);
        }
    }

    /// Whether there are so many that it is not worth looking for what further ones could suggest.
    pub fn is_full(&self) -> bool {
        self.list.len() >= MANY
    }

    /// Keeps the value or the diagnostic.
    pub fn take<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|diagnostic| self.push(*diagnostic)).ok()
    }

    /// True when one of them is an error.
    pub fn has_errors(&self) -> bool {
        self.failed
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All of them by file and place, those without a place first.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|d| d.primary().map(|label| label.span));
        self.list
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<T: IntoIterator<Item = Diagnostic>>(&mut self, diagnostics: T) {
        diagnostics.into_iter().for_each(|diagnostic| self.push(diagnostic));
    }
}

/// `name` in backticks, control characters escaped, long names cut.
pub fn quoted(name: &str) -> String {
    const LONGEST: usize = 60;
    let mut text: String = name.chars().take(LONGEST).flat_map(escape).collect();
    if name.chars().nth(LONGEST).is_some() {
        text.push('…');
    }
    format!("`{text}`")
}

/// `1 dimension`, `3 dimensions`
pub fn counted(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// `1 size is given`, `3 sizes are given`
pub fn given(n: usize, noun: &str) -> String {
    format!("{} {} given", counted(n, noun), if n == 1 { "is" } else { "are" })
}

/// `512 B`, `3.1 MB`: powers of 1000, as disks count.
pub fn bytes(count: u64) -> String {
    if count < 1000 {
        return format!("{count} B");
    }
    let mut value = count as f64;
    let mut unit = "B";
    for next in ["kB", "MB", "GB", "TB", "PB", "EB"] {
        // 999.95 would be shown as 1000.0.
        if value < 999.95 {
            break;
        }
        (value, unit) = (value / 1000.0, next);
    }
    format!("{value:.1} {unit}")
}

/// All names in backticks: `` `y` ``, or `` `y`, `x` or `c` ``.
pub fn any_of<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.into_iter().map(quoted).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

fn escape(c: char) -> Vec<char> {
    if c.is_control() || is_bidi(c) { c.escape_unicode().collect() } else { vec![c] }
}

/// Characters that reorder the text around them, so that a terminal shows what is not there.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Names that are compared with one that is not known.
const MOST_NAMES: usize = 5000;

/// The closest of `known` to `name`, if it is close enough to be a slip of the fingers, or goes on where `name` stops.
///
/// Any two names of one letter are one slip apart, so those only match in the other case; names of up to four letters
/// are mostly two slips apart.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    let limit = match length {
        0 | 1 => 0,
        2..=4 => 1,
        _ => length.div_ceil(3).min(3),
    };
    let continues = |candidate: &str| length >= 4 && candidate.starts_with(name);
    known
        .into_iter()
        .take(MOST_NAMES)
        .map(|candidate| (edit_distance(name, candidate, limit), candidate))
        .filter(|(distance, candidate)| *distance <= limit || continues(candidate))
        .min()
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`; more than `limit` is `limit + 1`.
fn edit_distance(a: &str, b: &str, limit: usize) -> usize {
    let [a, b] = [a, b].map(|name| name.chars().take(64).flat_map(char::to_lowercase).collect::<Vec<_>>());
    if a.len().abs_diff(b.len()) > limit {
        return limit + 1;
    }
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_are_found_and_far_ones_are_not() {
        let known = ["height", "smooth", "seed"];
        assert_eq!(closest("heihgt", known), Some("height"));
        assert_eq!(closest("Smoth", known), Some("smooth"));
        assert_eq!(closest("terrain", known), None);
        assert_eq!(closest("smoo", known), Some("smooth"));
        assert_eq!(closest("math", ["max", "match"]), Some("match"));
        assert_eq!(closest("log9", ["floor", "lag"]), None);
        assert_eq!(closest("y", ["x", "a"]), None);
        assert_eq!(closest("Y", ["x", "y"]), Some("y"));
    }

    #[test]
    fn numbers_and_nouns_agree() {
        assert_eq!(given(1, "size"), "1 size is given");
        assert_eq!(given(0, "size"), "0 sizes are given");
        assert_eq!(any_of(["y"]), "`y`");
        assert_eq!(any_of(["c", "y", "x"]), "`c`, `y` or `x`");
    }

    #[test]
    fn a_mistake_is_kept_once_per_place() {
        let at = |start: usize| Span::new(crate::source::SourceId(0), start, start + 1);
        let mut diagnostics = Diagnostics::default();
        for (start, call) in [(3, 10), (3, 20), (4, 10)] {
            diagnostics.push(
                Diagnostic::new(Code::E0201, "unknown name `a`").at(at(start), "").with(at(call), "called"),
            );
        }
        assert_eq!(diagnostics.len(), 2);
    }

    #[test]
    fn control_characters_are_escaped_in_names() {
        assert_eq!(quoted("a\u{1b}[2Jb\u{202e}"), "`a\\u{1b}[2Jb\\u{202e}`");
    }
}
