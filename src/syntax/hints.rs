//! The common slips, each with a message of its own.
//!
//! ```text
//! 0 < x < 10        comparisons do not chain; help: write `a < b and b < c`
//! f32[3, inf]       dimension without a label; help: add a label: `_: 3`
//! ```
//!
//! Each rule looks at the tokens around the place where the parser stopped. The first that fits wins, so the sure ones
//! come first.

mod brackets;
mod expressions;
mod forms;
mod habits;
mod items;
mod missing;

use super::explain::Failure;
use crate::diagnostic::Diagnostic;

/// A slip: recognises itself and says what to do.
type Rule = fn(&Failure<'_, '_>) -> Option<Diagnostic>;

const RULES: &[Rule] = &[
    items::comment_with_slashes,
    habits::comment_with_stars,
    items::semicolon,
    items::foreign_assignment,
    expressions::bare_point,
    items::unknown_item,
    items::import_from,
    items::unlabelled_dimension,
    items::keyword_as_name,
    habits::missing_let,
    habits::binder_with_equals,
    habits::word_of_another_language,
    habits::braces,
    habits::colon,
    habits::open_range,
    habits::method_without_call,
    habits::lists_without_brackets,
    forms::clause,
    forms::slice,
    forms::reduction_without_range,
    forms::write_without_set,
    forms::string_as_value,
    expressions::foreign_operator,
    expressions::chained_comparison,
    expressions::choice_as_operand,
    expressions::reduction_as_operand,
    expressions::missing_else,
    items::missing_window,
    brackets::mismatched,
    brackets::unclosed,
    expressions::single_equals,
    expressions::call_of_value,
    items::missing_colon,
    missing::missing_type,
    missing::missing_range,
    missing::misspelt_keyword,
    missing::foreign_sign,
    missing::missing_sign,
    forms::missing_value,
];

/// The message of the first slip that fits, if one does.
pub(super) fn common_slip(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    RULES.iter().find_map(|rule| rule(failure))
}
