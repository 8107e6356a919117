//! `itp explain`: a code -> its page, or the list of all codes.
//!
//! ```text
//! # E0304: too few sizes          E0304: too few sizes
//! ```itp wrong                    wrong:
//! take h = height window [3]          take h = height window [3]
//! ```
//! ```

use super::Outcome;
use super::args::ExplainArgs;
use super::report::Report;
use crate::diagnostic::Code;

/// Prints the page or the list.
pub(super) fn explain(args: &ExplainArgs, report: &mut Report) -> Outcome {
    match args.code {
        Some(code) => report.print(&readable(code.page())),
        None => report.print(&list()),
    }
}

fn list() -> String {
    Code::ALL.iter().map(|code| format!("{code}  {}\n", code.title())).collect()
}

/// A page without its Markdown: headings bare, fenced text indented under what the fence says.
fn readable(page: &str) -> String {
    let mut text = String::new();
    let mut fenced = false;
    for line in page.lines() {
        if let Some(fence) = line.strip_prefix("```") {
            fenced = !fenced;
            if let Some((_, word)) = fence.split_once(' ').filter(|_| fenced) {
                text.push_str(&format!("{word}:\n"));
            }
        } else if fenced && !line.is_empty() {
            text.push_str(&format!("    {line}\n"));
        } else {
            text.push_str(&format!("{}\n", line.trim_start_matches('#').trim_start()));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_read_well_without_markdown() {
        let page =
            "# E1: a title\n\nSome `text`.\n\n```itp wrong\nlet a =\n\n# note\n```\n\n```text\n$ itp\n```\n";
        let expect = "E1: a title\n\nSome `text`.\n\nwrong:\n    let a =\n\n    # note\n\n    $ itp\n";
        assert_eq!(readable(page), expect);
    }
}
