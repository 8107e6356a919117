//! A line and a place in it -> how a word can end there, and what a call wants next.
//!
//! ```text
//! fb|               fbm(
//! height.fl|        flip(, flatten()
//! :sh|              :show
//! height[y=|        the labels of height stand before `=`
//! fbm(|             hint: y, x, seed, octaves
//! ```

use super::commands::COMMANDS;
use super::highlight::words_of;
use super::state::Session;
use crate::compile::Stage;
use crate::graph::vocabulary::{built_in, view_ops};
use crate::syntax::{KEYWORDS, Word, WordKind};
use std::collections::BTreeSet;

/// Everything that can be typed in a session, as it is now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vocabulary {
    /// Names with how they are declared.
    names: Vec<(String, String)>,
    /// Names that are called.
    functions: BTreeSet<String>,
    /// Labels of dimensions.
    labels: BTreeSet<String>,
}

impl Session {
    /// What can be typed now.
    pub fn vocabulary(&self) -> Vocabulary {
        let graph = &self.engine.program().graph;
        let meanings = graph.names.meanings(self.engine.sources());
        let functions =
            meanings.iter().filter(|meaning| meaning.called).map(|meaning| meaning.name.to_string());
        let builtins = built_in();
        let own = meanings.iter().map(|meaning| (meaning.name.to_string(), meaning.head.clone()));
        let functions = functions.chain(built_in().map(|(name, _)| name.to_owned())).collect();
        let domains = graph.tensors.iter().map(|tensor| &tensor.domain);
        let domains = domains.chain(graph.views.iter().map(|named| named.view.domain()));
        let labels = domains.flat_map(|domain| domain.dims()).map(|dim| dim.label.clone());
        let labels = labels.filter(|label| !label.is_empty()).collect();
        let names = own.chain(builtins.map(|(name, call)| (name.to_owned(), call))).collect();
        Vocabulary { names, functions, labels }
    }
}

/// Where the word at `end` begins, and the words that it can become.
pub fn complete(vocabulary: &Vocabulary, line: &str, end: usize) -> (usize, Vec<String>) {
    let before = line.get(..end).unwrap_or(line);
    let start = before
        .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let (head, word) = before.split_at(start);
    let begun = |name: &str| name.starts_with(word);
    let found: BTreeSet<String> = if head.trim() == ":" {
        COMMANDS.iter().map(|command| command.name).filter(|name| begun(name)).map(str::to_owned).collect()
    } else if head.trim() == ":ir" {
        Stage::ALL.iter().map(|stage| stage.name()).filter(|name| begun(name)).map(str::to_owned).collect()
    } else if head.ends_with('.') && !head.ends_with("..") {
        let ops = view_ops().filter(|(name, _)| begun(name));
        ops.map(|(name, call)| if call.ends_with("()") { call.to_owned() } else { format!("{name}(") })
            .collect()
    } else if word.is_empty() {
        BTreeSet::new()
    } else {
        vocabulary.words(word)
    };
    (start, found.into_iter().collect())
}

impl Vocabulary {
    /// The names, labels and keywords that start like this.
    fn words(&self, word: &str) -> BTreeSet<String> {
        let called = |name: &String| {
            if self.functions.contains(name) { format!("{name}(") } else { name.clone() }
        };
        let names = self.names.iter().map(|(name, _)| name).filter(|name| name.starts_with(word)).map(called);
        let labels = self.labels.iter().filter(|label| label.starts_with(word)).cloned();
        let keywords = KEYWORDS.iter().filter(|name| name.starts_with(word)).map(ToString::to_string);
        names.chain(labels).chain(keywords).collect()
    }
}

/// What stands dimly behind the end of a line: the rest of a call's arguments, or of a command.
pub fn hint(vocabulary: &Vocabulary, line: &str) -> Option<String> {
    if let Some(name) = line.strip_prefix(':') {
        let command = COMMANDS.iter().find(|command| command.name == name.trim_end())?;
        return (!command.argument.is_empty() && name.ends_with(' ')).then(|| command.argument.to_owned());
    }
    let words = words_of(line);
    let open = last_open(&words, line)?;
    let name = words[..open].last().filter(|word| word.kind == WordKind::Name)?;
    let name = &line[name.range.clone()];
    let (_, head) = vocabulary.names.iter().find(|(known, _)| known == name)?;
    let arguments = head.split_once('(')?.1;
    let arguments = arguments.rsplit_once(')').map_or(arguments, |(arguments, _)| arguments);
    let given = commas(&words[open + 1..], line);
    let rest: Vec<&str> = arguments.split(", ").skip(given).collect();
    let at_start = line.trim_end().ends_with(['(', ',']);
    (at_start && !rest.is_empty()).then(|| rest.join(", ") + ")")
}

/// The parenthesis that is open at the end of a line.
fn last_open(words: &[Word], line: &str) -> Option<usize> {
    let mut open = Vec::new();
    for (at, word) in words.iter().enumerate().filter(|(_, word)| word.kind == WordKind::Sign) {
        match &line[word.range.clone()] {
            "(" | "[" | "{" => open.push(at),
            ")" | "]" | "}" => _ = open.pop(),
            _ => {}
        }
    }
    open.pop().filter(|at| &line[words[*at].range.clone()] == "(")
}

/// Arguments that were given already.
fn commas(words: &[Word], line: &str) -> usize {
    let mut depth = 0_i32;
    let mut count = 0;
    for word in words {
        match &line[word.range.clone()] {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            "," if depth == 0 => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::repl::screen::Screen;
    use crate::diagnostic::Style;

    fn vocabulary() -> Vocabulary {
        let mut session = Session::new(".".into(), Screen::plain(), Style::Plain).expect("a session");
        session.enter("fn mix(a, b, t = 1) = a + (b - a) * t\ntensor height: f32[row: inf, x: inf] = x");
        session.vocabulary()
    }

    #[test]
    fn words_are_completed_where_they_stand() {
        let known = vocabulary();
        let check = |line: &str, start: usize, expect: &[&str]| {
            assert_eq!(
                complete(&known, line, line.len()),
                (start, expect.iter().map(ToString::to_string).collect()),
                "{line}"
            );
        };
        check("hei", 0, &["height"]);
        check("1 + mi", 4, &["min(", "mix("]);
        check("height.fl", 7, &["flatten()", "flip("]);
        check("height[ro", 7, &["round(", "row"]);
        check(":sh", 1, &["show"]);
        check(":ir lo", 4, &["loops"]);
        check(":show hei", 6, &["height"]);
        check("ten", 0, &["tensor"]);
        check("0..", 3, &[]);
        check("", 0, &[]);
    }

    #[test]
    fn calls_say_what_they_want_next() {
        let known = vocabulary();
        let check =
            |line: &str, expect: Option<&str>| assert_eq!(hint(&known, line).as_deref(), expect, "{line}");
        check("mix(", Some("a, b, t = 1)"));
        check("mix(1, ", Some("b, t = 1)"));
        check("mix((1, 2), ", Some("b, t = 1)"));
        check("mix(1, 2", None);
        check("clamp(", Some("x, lo, hi)"));
        check("height[", None);
        check(":show ", Some("SLICE [MAP] [lo..hi]"));
        check(":tiles ", None);
    }
}
