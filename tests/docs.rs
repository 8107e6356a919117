//! The pages keep their word: every script in README.md and docs/ compiles, or is refused where it says so, and the
//! references name all that there is.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use itp::Engine;
use itp::compile::{Options, Program, compile};
use itp::diagnostic::{Diagnostics, Style, render};
use itp::graph::meanings::{self, FUNCTIONS, OPTIONS, REDUCTIONS, VIEW_OPS};
use itp::graph::modules::{NoFiles, STANDARD};
use itp::graph::scalar::hash;
use itp::graph::types::Element;
use itp::graph::{BUILTIN_NAMES, COLORMAPS, TensorKind, WindowBody};
use itp::source::Sources;
use itp::syntax::format;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "docs/editors.rs"]
mod editors;
#[path = "docs/limits.rs"]
mod limits;
#[path = "docs/pictures.rs"]
mod pictures;

/// A script on a page.
struct Block {
    /// Page and line, for messages.
    place: String,
    /// What stands after `itp` on its first line.
    mark: String,
    text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn pages() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("docs")).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.push(root().join("README.md"));
    pages.sort();
    pages
}

/// Every fenced block whose language is `itp`.
fn blocks(page: &Path) -> Vec<Block> {
    let (text, mut found) = (fs::read_to_string(page).unwrap(), Vec::new());
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(fence) = line.strip_prefix("```") else { continue };
        let inside: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        let (language, mark) = fence.split_once(' ').unwrap_or((fence, ""));
        if language == "itp" {
            let place = format!("{}:{}", page.strip_prefix(root()).unwrap().display(), at + 1);
            found.push(Block { place, mark: mark.to_owned(), text: inside.join("\n") + "\n" });
        }
    }
    found
}

/// The program, or what is wrong with the script.
fn compiled(block: &Block) -> Result<Program, String> {
    let mut sources = Sources::default();
    let root = sources.add(block.place.as_str(), block.text.as_str());
    let mut diagnostics = Diagnostics::default();
    let program = compile(&mut sources, root, &NoFiles, &Options::default(), &mut diagnostics);
    program.ok_or_else(|| {
        let errors = diagnostics.into_sorted();
        errors.iter().map(|error| render(error, &sources, Style::Plain)).collect::<Vec<_>>().join("\n")
    })
}

#[track_caller]
fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn scripts_on_pages_compile_or_are_refused() {
    let blocks: Vec<Block> = pages().iter().flat_map(|page| blocks(page)).collect();
    assert!(blocks.len() > 15, "only {} scripts were found", blocks.len());
    let wrong = blocks.iter().filter_map(|block| match (block.mark.as_str(), compiled(block)) {
        ("", Ok(_)) | ("refused", Err(_)) => None,
        ("", Err(errors)) => Some(format!("{}: does not compile\n{errors}", block.place)),
        ("refused", Ok(_)) => Some(format!("{}: should be refused, but compiles", block.place)),
        (mark, _) => {
            Some(format!("{}: a script is marked `refused` or not at all, not `{mark}`", block.place))
        }
    });
    none(&wrong.collect::<Vec<_>>());
}

/// The workloads that are measured beside other tools (benches/peers) are right and in canonical layout.
#[test]
fn measured_scripts_compile() {
    let entries = fs::read_dir(root().join("benches/peers/itp")).unwrap();
    let paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    assert!(paths.len() > 12, "only {} scripts were found", paths.len());
    let mut wrong = Vec::new();
    for path in paths {
        if let Err(error) = Engine::builder().open(&path) {
            wrong.push(format!("{}: {error}", path.display()));
        }
        let mut sources = Sources::default();
        let text = fs::read_to_string(&path).unwrap();
        let id = sources.add(path.to_string_lossy(), text.as_str());
        if format(&sources, id, &mut Diagnostics::default()) != Some(text) {
            wrong.push(format!("{}: run `itp fmt`", path.display()));
        }
    }
    none(&wrong);
}

/// `view row = a[2, :]   # [x: 6]` says what domain `row` has.
#[test]
fn views_on_pages_have_the_domains_that_their_comments_say() {
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for block in pages().iter().flat_map(|page| blocks(page)).filter(|block| block.mark.is_empty()) {
        let Ok(program) = compiled(&block) else { continue };
        for view in &program.graph.views {
            let start = format!("view {} = ", view.view.name);
            let line = block.text.lines().find(|line| line.starts_with(&start));
            let Some((_, said)) = line.and_then(|line| line.split_once("# [")) else { continue };
            compared += 1;
            let domain = view.view.domain().to_string();
            if format!("[{said}") != domain {
                wrong.push(format!("{}: `{}` has the domain {domain}", block.place, view.view.name));
            }
        }
    }
    none(&wrong);
    assert!(compared > 30, "only {compared} views were compared");
}

/// Signatures of the functions with a `##` line above them, `ramp(i, n)`.
fn documented(module: &str) -> Vec<&str> {
    let lines: Vec<&str> = module.lines().collect();
    let pairs = lines.windows(2).filter(|pair| pair[0].starts_with("##"));
    let functions = pairs.filter_map(|pair| pair[1].strip_prefix("fn "));
    functions.map(|text| &text[..=text.find(')').unwrap()]).collect()
}

#[test]
fn the_library_page_names_every_function() {
    let page = read("docs/std.md");
    let mut wrong = Vec::new();
    // `math` is what the built-in functions are made of; nobody calls it.
    for (name, text) in STANDARD.iter().filter(|(name, _)| *name != "math") {
        let (_, section) = page.split_once(&format!("\n## {name}\n")).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let functions = documented(text);
        assert!(functions.len() > 5, "{name}");
        let missing = functions.iter().filter(|function| !section.contains(&format!("| `{function}` |")));
        wrong.extend(missing.map(|function| format!("docs/std.md, {name}: `{function}` is missing")));
    }
    none(&wrong);
}

/// The strings in the table `name` of a file of src: the first on each line.
fn listed(path: &str, name: &str) -> Vec<String> {
    let text = read(path);
    let (_, table) =
        text.split_once(&format!("const {name}: ")).unwrap_or_else(|| panic!("{path}: no {name}"));
    let (table, _) = table.split_once("];").unwrap();
    let quoted = |line: &str| Some(line.split('"').nth(1)?.to_owned());
    let found: Vec<String> = table.lines().filter_map(quoted).collect();
    assert!(found.len() > 5, "{path}: {name} has only {found:?}");
    found
}

#[test]
fn the_reference_names_every_builtin_view_op_and_option() {
    let page = read("docs/language.md");
    let words: Vec<&str> = page.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let builtins = listed("src/graph/elaborate/builtins.rs", "BUILTIN_NAMES");
    let levels = listed("src/graph/formats.rs", "LEVELS");
    let endings = listed("src/graph/outputs.rs", "KINDS");
    let colours = COLORMAPS.iter().map(|name| (*name).to_owned());
    let names = builtins.into_iter().chain(levels).chain(colours);
    let mut missing: Vec<String> = names.filter(|name| !words.contains(&name.as_str())).collect();
    missing.extend(endings.into_iter().filter(|ending| !page.contains(&format!("`{ending}`"))));
    assert!(missing.is_empty(), "docs/language.md does not name {}", missing.join(", "));
}

/// The lines that editors show are those of the reference.
#[test]
fn the_reference_and_the_editors_say_the_same() {
    let page = read("docs/language.md").replace("\\|", "|");
    let row = |word: &str, meaning: &str| format!("| `{word}` | {meaning} |");
    let mut lines = Vec::new();
    for words in [FUNCTIONS, REDUCTIONS, OPTIONS] {
        lines.extend(words.iter().map(|(_, usage, meaning)| row(usage, meaning)));
    }
    lines.extend(VIEW_OPS.iter().map(|(name, _, meaning)| row(&format!(".{name}"), meaning)));
    let missing: Vec<String> = lines.into_iter().filter(|line| !page.contains(line.as_str())).collect();
    assert!(missing.is_empty(), "docs/language.md does not have {}", missing.join("\n"));
    let known = |name: &str| {
        let words = [FUNCTIONS, REDUCTIONS];
        words.iter().any(|words| meanings::of(words, name).is_some()) || Element::parse(name).is_some()
    };
    let unexplained: Vec<&&str> = BUILTIN_NAMES.iter().filter(|name| !known(name)).collect();
    assert!(unexplained.is_empty(), "nothing says what these are: {unexplained:?}");
}

#[test]
fn hashes_on_the_page_are_those_of_the_language() {
    let page = read("docs/language.md").replace('\n', " ");
    let args: [&[i64]; 4] = [&[0], &[1, 2], &[-1], &[1 << 32]];
    for args in args {
        let given: Vec<String> = args.iter().map(ToString::to_string).collect();
        let claim = format!("`hash({})` is `{:#010x}`", given.join(", "), hash(args));
        assert!(page.contains(&claim), "docs/language.md does not say: {claim}");
    }
}

/// The numbers that differ from run to run: seconds, and how much of the planned peak was needed.
fn without_times(text: &str) -> String {
    let mut shown = String::new();
    for line in text.lines() {
        let parts: Vec<&str> = line.split(" · ").collect();
        let head = parts[0]
            .strip_suffix(" s")
            .and_then(|head| head.rsplit_once(' '))
            .map_or(parts[0], |(head, _)| head);
        let rest =
            parts[1..].iter().map(|part| part.split_once(" (planned").map_or(*part, |(_, planned)| planned));
        shown += &std::iter::once(head).chain(rest).collect::<Vec<_>>().join(" · ");
        shown.push('\n');
    }
    shown
}

/// The first screen: a script that is there, the command, and what it really prints; on two cores.
#[test]
fn commands_of_the_readme_print_what_it_shows() {
    let first = blocks(&root().join("README.md")).swap_remove(0);
    assert!(first.text.lines().count() <= 12, "the first script has more than 12 lines");
    let folder = std::env::temp_dir().join(format!("itp-readme-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    assert_eq!(read("country.itp"), first.text, "country.itp is the first script of README.md");
    fs::copy(root().join("country.itp"), folder.join("country.itp")).unwrap();
    fs::create_dir_all(folder.join("examples")).unwrap();
    fs::copy(root().join("examples/hills.itp"), folder.join("examples/hills.itp")).unwrap();
    let page = read("README.md");
    let mut compared = 0;
    for block in page.split("```console\n$ itp ").skip(1) {
        let (block, _) = block.split_once("\n```").unwrap();
        let (line, printed) = block.split_once('\n').unwrap();
        let args: Vec<&str> = line
            .split('\'')
            .flat_map(|part| match part.contains('[') {
                true => vec![part],
                false => part.split_whitespace().collect(),
            })
            .collect();
        let mut command = Command::new(env!("CARGO_BIN_EXE_itp"));
        let ran = command.args(&args).args(["--threads", "2"]).current_dir(&folder).output().unwrap();
        let told = String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap();
        assert_eq!(without_times(told.trim_end()), without_times(printed), "{line}");
        compared += 1;
    }
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(compared, 2, "commands on the page");
}

/// What the first screen promises: a billion cells away the ground is as smooth as here.
#[test]
fn there_is_more_country_a_billion_cells_away() {
    let engine = Engine::compile(&read("country.itp")).unwrap();
    for far in [0_i64, 1_000_000_000, -1_000_000_000_000] {
        let slice = format!("smooth[{far}:{}, {far}:{}]", far + 48, far + 48);
        let array = engine.read_array(&slice).unwrap();
        let mut values: Vec<&[u8]> = array.data.chunks(4).collect();
        values.sort_unstable();
        values.dedup();
        assert!(values.len() > 2000, "{} heights of {} at {far}", values.len(), 48 * 48);
    }
}

/// Reading a little of every tensor on the pages that needs no data fails nowhere.
#[test]
fn scripts_on_pages_run() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for block in pages().iter().flat_map(|page| blocks(page)).filter(|block| block.mark.is_empty()) {
        let Ok(engine) = Engine::compile(&block.text) else { continue };
        let graph = &engine.program().graph;
        let needs_data = graph.tensors.iter().any(|tensor| {
            let host = matches!(&tensor.kind, TensorKind::Windowed(windowed) if matches!(windowed.body, WindowBody::Extern { .. }));
            host || matches!(tensor.kind, TensorKind::Input(_))
        });
        for tensor in graph.tensors.iter().filter(|_| !needs_data) {
            let corner = tensor.domain.dims().iter().map(|dim| dim.interval.lower().unwrap_or(0));
            let slice: Vec<String> = corner.map(|at| format!("{at}:{}", at + 1)).collect();
            count += 1;
            if let Err(error) = engine.read_array(&format!("{}[{}]", tensor.name, slice.join(", "))) {
                wrong.push(format!("{}: {error}", block.place));
            }
        }
    }
    none(&wrong);
    assert!(count > 50, "only {count} tensors were read");
}
