//! Lines of text with comments at their ends -> the same with the comments of neighbouring lines in one column.
//!
//! ```text
//! param a = 1  # one            param a = 1     # one
//! param long = 2  # two   ->    param long = 2  # two
//! ```

/// A comment at the end of a line starts this far behind the text.
const GAP: usize = 2;

/// Comments are not moved to one column if one of them would then reach beyond this column.
const FARTHEST: usize = 110;

/// Text that grows.
#[derive(Default)]
pub(super) struct Page {
    text: String,
    /// Where comments at the ends of lines start, in bytes; the space before them is not in the text.
    trailing: Vec<usize>,
}

/// A line with a comment at its end.
#[derive(Clone, Copy)]
struct Commented {
    /// Where the comment starts, in bytes.
    at: usize,
    /// Columns before it.
    code: usize,
    /// Columns of the comment.
    comment: usize,
    /// Whether the line before has one too.
    follows: bool,
}

impl Page {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Adds a piece of a line.
    pub(super) fn write(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Starts a line with `indent` spaces.
    pub(super) fn new_line(&mut self, indent: usize) {
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n(' ', indent));
    }

    /// Adds a comment to the end of the line.
    pub(super) fn trailing_comment(&mut self, comment: &str) {
        self.trailing.push(self.text.len());
        self.text.push_str(comment);
    }

    /// The text, with space before the comments at the ends of lines.
    pub(super) fn finish(self) -> String {
        let lines = self.commented_lines();
        let mut out = String::with_capacity(self.text.len() + 8 * lines.len());
        let mut written = 0;
        let mut rest = lines.as_slice();
        while !rest.is_empty() {
            let (run, after) = rest.split_at(run_length(rest));
            let column = run.iter().map(|line| line.code).max().unwrap_or(0) + GAP;
            for line in run {
                out.push_str(&self.text[written..line.at]);
                out.extend(std::iter::repeat_n(' ', column - line.code));
                written = line.at;
            }
            rest = after;
        }
        out + &self.text[written..]
    }

    fn commented_lines(&self) -> Vec<Commented> {
        let mut lines = Vec::new();
        let mut end_before = None;
        for at in &self.trailing {
            let start = self.text[..*at].rfind('\n').map_or(0, |end| end + 1);
            let end = self.text[*at..].find('\n').map_or(self.text.len(), |length| at + length);
            let columns = |from: usize, upto: usize| self.text[from..upto].chars().count();
            let follows = end_before.is_some_and(|before: usize| before + 1 == start);
            lines.push(Commented { at: *at, code: columns(start, *at), comment: columns(*at, end), follows });
            end_before = Some(end);
        }
        lines
    }
}

/// How many of the first lines have their comments in one column: neighbours, as long as none reaches too far.
fn run_length(lines: &[Commented]) -> usize {
    let (mut code, mut comment) = (0, 0);
    let fits = |(place, line): &(usize, &Commented)| {
        code = code.max(line.code);
        comment = comment.max(line.comment);
        *place == 0 || (line.follows && code + GAP + comment <= FARTHEST)
    };
    lines.iter().enumerate().take_while(fits).count()
}
