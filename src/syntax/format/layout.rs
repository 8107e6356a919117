//! Tokens with groups of possible line breaks -> lines of at most [`WIDTH`] columns.
//!
//! ```text
//! f ( Open Soft a , Line b Comma Soft Close )      f(a, b)      or      f(
//!                                                                           a,
//!                                                                           b,
//!                                                                       )
//! ```
//!
//! A group is written flat when it and what clings to it fit on the line. Else its own breaks become new lines, all of
//! them or only those that are needed, as each says; groups in it decide for themselves. Lines of a group are moved in
//! from the line on which the group starts. Everything is a flat list and two passes over it, so neither long nor
//! deep scripts cost stack.

use super::page::Page;
use crate::syntax::lexer::Comment;
use crate::syntax::token::Token;

/// Lines are broken above this many columns.
const WIDTH: usize = 100;

/// Lines start no further to the right, so that deep nesting leaves room for the text.
const MAX_INDENT: usize = 60;

/// A text, its tokens and the comments to write with them.
pub(super) struct Script<'s> {
    pub(super) text: &'s str,
    pub(super) tokens: &'s [Token],
    pub(super) comments: &'s [Comment],
}

impl<'s> Script<'s> {
    /// Token number `at` as written.
    fn token(&self, at: usize) -> &'s str {
        &self.text[self.tokens[at].range()]
    }

    /// The comments between token number `at` and the one before.
    fn comments_before(&self, at: usize) -> &'s [Comment] {
        let from = at.checked_sub(1).map_or(0, |before| self.tokens[before].end);
        let upto = |byte| self.comments.partition_point(|comment| comment.start < byte);
        &self.comments[upto(from)..upto(self.tokens[at].start)]
    }

    /// Whether the user broke the line before token number `at`.
    pub(super) fn breaks_before(&self, at: usize) -> bool {
        at.checked_sub(1).is_none_or(|before| self.breaks_between(before, at))
    }

    /// Whether the user left a line empty between token number `at`, with its comments, and what is before.
    pub(super) fn blank_before(&self, at: usize) -> bool {
        let comments = self.comments_before(at);
        let ends_line = comments.first().filter(|comment| !comment.own_line);
        let starts_line = comments.iter().find(|comment| comment.own_line);
        let from = ends_line.map(|comment| comment.end).or(at.checked_sub(1).map(|at| self.tokens[at].end));
        let upto = starts_line.map_or(self.tokens[at].start, |comment| comment.start);
        self.text[from.unwrap_or(0) as usize..upto as usize].matches('\n').count() > 1
    }

    /// Whether the user broke the line somewhere between two tokens.
    pub(super) fn breaks_between(&self, first: usize, last: usize) -> bool {
        self.text[self.tokens[first].end as usize..self.tokens[last].start as usize].contains('\n')
    }
}

/// One step of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Writes a token of the script.
    Token(usize),
    /// Writes a space.
    Space,
    /// A space, or a new line when the group is broken.
    Line(When),
    /// Nothing, or a new line when the group is broken.
    Soft(When),
    /// A comma when the group is broken; the token, if there is one.
    Comma(Option<usize>),
    /// Starts a group whose lines are moved in that many columns.
    Open(usize, Break),
    /// Ends the group.
    Close,
    /// An empty line before the line that is about to start, if one is.
    Blank,
}

/// When a break of a broken group becomes a new line. What follows is the group that opens right after the break, and
/// the first part of that is the innermost group that opens with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// Always.
    Broken,
    /// If what follows, or its first part, fits on the new line but not here: lines are filled.
    Needed,
    /// If the new line has more room and the first part of what follows fits there: breaks in it do better if not.
    Fits,
}

/// Whether a group is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Break {
    /// When it does not fit.
    IfTooLong,
    /// Always.
    Always,
}

/// Too long for every line.
const NEVER_FITS: usize = usize::MAX / 4;

/// Writes a layout; it starts with its first token, without the comments before that.
pub(super) fn lay_out(ops: &[Op], script: &Script<'_>, page: &mut Page) {
    let widths = Widths::measure(ops, script);
    let mut writer = Writer {
        script,
        page,
        column: 0,
        indent: 0,
        started: false,
        pending: Pending::Nothing,
        line_indent: 0,
        comment_indent: 0,
        blank: false,
        groups: Vec::new(),
    };
    for (at, op) in ops.iter().enumerate() {
        writer.step(*op, at, &widths);
    }
}

/// How much room everything takes when it is not broken.
struct Widths {
    /// Per `Open`: the group's columns when flat.
    flat: Vec<usize>,
    /// Per op: columns from there to the next possible break.
    cling: Vec<usize>,
    /// Per op: whether comments stand before the next token.
    commented: Vec<bool>,
    /// Per `Open`: the op after its `Close`.
    after: Vec<usize>,
    /// Per `Open`: the last `Open` before the next other op.
    first: Vec<usize>,
}

/// Columns and lines that must be broken, up to some op.
#[derive(Clone, Copy, Default)]
struct Size {
    columns: usize,
    breaks: usize,
}

impl Size {
    /// The columns since `before`, if nothing has to break.
    fn since(self, before: Size) -> usize {
        if self.breaks > before.breaks { NEVER_FITS } else { self.columns - before.columns }
    }
}

impl Widths {
    fn measure(ops: &[Op], script: &Script<'_>) -> Widths {
        let count = ops.len();
        let mut widths = Widths {
            flat: vec![0; count],
            cling: vec![0; count + 1],
            commented: vec![false; count + 1],
            after: vec![0; count],
            first: vec![0; count],
        };
        widths.measure_groups(ops, script);
        for (at, op) in ops.iter().enumerate().rev() {
            let comments = has_comments(*op, at, script);
            let stops = matches!(op, Op::Line(_) | Op::Soft(_)) || comments;
            widths.cling[at] = if stops { 0 } else { flat_width(*op, script) + widths.cling[at + 1] };
            let opens_next = matches!(ops.get(at + 1), Some(Op::Open(..)));
            widths.first[at] = if opens_next { widths.first[at + 1] } else { at };
            widths.commented[at] = comments || (!matches!(op, Op::Token(_)) && widths.commented[at + 1]);
        }
        widths
    }

    fn measure_groups(&mut self, ops: &[Op], script: &Script<'_>) {
        let mut total = Size::default();
        let mut open: Vec<(usize, Size)> = Vec::new();
        // How many of the open groups have something in them; comments before a group's first token are not in it.
        let mut started = 0;
        for (at, op) in ops.iter().enumerate() {
            total.breaks += usize::from(has_comments(*op, at, script));
            if let Op::Open(_, breaks) = op {
                open.push((at, total));
                total.breaks += usize::from(*breaks == Break::Always);
                continue;
            }
            if started < open.len() && has_comments(*op, at, script) {
                open[started..].iter_mut().for_each(|(_, before)| before.breaks += 1);
            }
            started = open.len();
            total.columns += flat_width(*op, script);
            if *op == Op::Close {
                let (start, before) = open.pop().expect("every Close has its Open");
                self.flat[start] = total.since(before);
                self.after[start] = at + 1;
                started = open.len();
            }
        }
    }

    /// Whether the group that op `at` opens fits, with what clings to it, after `column`.
    fn fits(&self, at: usize, column: usize) -> bool {
        column + self.flat[at] + self.cling[self.after[at]] <= WIDTH
    }
}

/// The columns of one op in a group that is not broken.
fn flat_width(op: Op, script: &Script<'_>) -> usize {
    match op {
        Op::Token(at) => script.token(at).chars().count(),
        Op::Space | Op::Line(_) => 1,
        Op::Soft(_) | Op::Comma(_) | Op::Open(..) | Op::Close | Op::Blank => 0,
    }
}

/// Whether comments stand before the op's token; those before the very first token are not written.
fn has_comments(op: Op, at: usize, script: &Script<'_>) -> bool {
    match op {
        Op::Token(token) | Op::Comma(Some(token)) => at > 0 && !script.comments_before(token).is_empty(),
        Op::Comma(None) | Op::Open(..) => false,
        Op::Space | Op::Line(_) | Op::Soft(_) | Op::Close | Op::Blank => false,
    }
}

/// What comes before the next token, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pending {
    Nothing,
    Space,
    Line,
}

/// An open group.
#[derive(Clone, Copy)]
struct Group {
    /// Where the line starts that the group starts on.
    base: usize,
    /// Where its lines start.
    indent: usize,
    broken: bool,
}

struct Writer<'s> {
    script: &'s Script<'s>,
    page: &'s mut Page,
    /// Of the end of what is written.
    column: usize,
    /// Where the last line started.
    indent: usize,
    /// Whether a token was written.
    started: bool,
    pending: Pending,
    /// Where the line starts when a line is pending.
    line_indent: usize,
    /// Where comments of their own line start when a line is pending.
    comment_indent: usize,
    /// Whether an empty line comes before the next one.
    blank: bool,
    groups: Vec<Group>,
}

impl Writer<'_> {
    fn step(&mut self, op: Op, at: usize, widths: &Widths) {
        match op {
            Op::Token(token) => self.token(token),
            Op::Space => self.pend(Pending::Space),
            Op::Line(when) => self.line(when, Pending::Space, at, widths),
            Op::Soft(when) => self.line(when, Pending::Nothing, at, widths),
            Op::Comma(Some(token)) if self.group().broken => self.token(token),
            Op::Comma(None) if self.group().broken => self.write(","),
            Op::Comma(_) => {}
            Op::Open(columns, breaks) => self.open(columns, breaks, at, widths),
            Op::Close => self.close(),
            Op::Blank => self.blank = self.pending == Pending::Line,
        }
    }

    fn group(&self) -> Group {
        self.groups.last().copied().unwrap_or(Group { base: 0, indent: 0, broken: true })
    }

    /// A line starts where the group says in which it is asked for, not one that opens before its first token.
    fn pend(&mut self, pending: Pending) {
        if pending == Pending::Line && self.pending < Pending::Line {
            self.line_indent = self.group().indent;
            self.comment_indent = self.line_indent;
        }
        self.pending = self.pending.max(pending);
    }

    /// A new line, or `flat`.
    fn line(&mut self, when: When, flat: Pending, at: usize, widths: &Widths) {
        let breaks = self.group().broken && self.is_time(when, flat, at, widths);
        self.pend(if breaks { Pending::Line } else { flat });
    }

    fn is_time(&self, when: When, flat: Pending, at: usize, widths: &Widths) -> bool {
        let here = self.column + usize::from(flat == Pending::Space);
        let below = self.group().indent;
        let (all, first) = (at + 1, widths.first[at + 1]);
        let needs_line = |group| !widths.fits(group, here) && widths.fits(group, below);
        let cannot_start = here + widths.cling[all] > WIDTH;
        match when {
            When::Broken => true,
            When::Needed | When::Fits if widths.commented[at + 1] => true,
            When::Needed if widths.fits(all, here) => false,
            When::Needed => needs_line(all) || needs_line(first) || cannot_start,
            When::Fits => below < here && (widths.fits(first, below) || cannot_start),
        }
    }

    fn open(&mut self, columns: usize, breaks: Break, at: usize, widths: &Widths) {
        let base = if self.pending == Pending::Line { self.line_indent } else { self.indent };
        let fits = breaks == Break::IfTooLong && widths.fits(at, self.next_column());
        let broken = self.group().broken && !fits;
        self.groups.push(Group { base, indent: (base + columns).min(MAX_INDENT), broken });
    }

    /// A bracket that closes stands where the line with the opening one starts.
    fn close(&mut self) {
        let base = self.groups.pop().map_or(0, |group| group.base);
        if self.pending == Pending::Line {
            self.line_indent = base;
        }
    }

    /// Where the next token will start.
    fn next_column(&self) -> usize {
        match self.pending {
            Pending::Nothing => self.column,
            Pending::Space => self.column + 1,
            Pending::Line => self.line_indent,
        }
    }

    fn token(&mut self, token: usize) {
        // The comments before the first token belong to the page, not to the item.
        if self.started {
            self.script.comments_before(token).iter().for_each(|comment| self.comment(*comment));
        }
        self.write(self.script.token(token));
    }

    fn comment(&mut self, comment: Comment) {
        let written = &self.script.text[comment.start as usize..comment.end as usize];
        self.pend(Pending::Line);
        if comment.own_line {
            self.new_line(self.comment_indent);
            self.page.write(written);
        } else {
            self.page.trailing_comment(written);
        }
    }

    fn new_line(&mut self, indent: usize) {
        if std::mem::take(&mut self.blank) {
            self.page.new_line(0);
        }
        self.page.new_line(indent);
    }

    /// Writes what is pending, then `text`.
    fn write(&mut self, text: &str) {
        match self.pending {
            Pending::Nothing => {}
            Pending::Space => self.page.write(" "),
            Pending::Line => {
                self.new_line(self.line_indent);
                self.indent = self.line_indent;
            }
        }
        self.column = self.next_column() + text.chars().count();
        self.pending = Pending::Nothing;
        self.started = true;
        self.page.write(text);
    }
}
