//! Every picture on a page is what the tool makes of the script above it.
//!
//! ```text
//! ![hills](pictures/hills.png "smooth[0:256, 0:384] colormap terrain")
//! ```
//!
//! The title says what is drawn. The script is the last one before the picture: a block, or a link to a file of
//! examples/. `ITP_DOCS=write cargo test --test docs` draws all of them again, and writes the pages that are generated.

use super::{none, pages, read, root};
use itp::Engine;
use itp::diagnostic::Code;
use itp::engine::Prepared;
use itp::graph::{FileKind, OutputOptions};
use std::fs;
use std::path::{Path, PathBuf};

/// No picture on a page is larger.
const LARGEST: u64 = 100_000;

struct Picture {
    /// Page and line, for messages.
    place: String,
    file: PathBuf,
    script: Script,
    /// `smooth[0:256, 0:384] colormap terrain`
    title: String,
}

#[derive(Clone)]
enum Script {
    Block(String),
    Example(PathBuf),
}

/// Whether the pages are to be written instead of compared.
fn writing() -> bool {
    std::env::var_os("ITP_DOCS").is_some_and(|value| value == "write")
}

/// `text` between `before` and `after` on a line.
fn between<'l>(line: &'l str, before: &str, after: &str) -> Option<&'l str> {
    let (_, rest) = line.split_once(before)?;
    rest.split_once(after).map(|(inside, _)| inside)
}

fn pictures(page: &Path) -> Vec<Picture> {
    let text = fs::read_to_string(page).unwrap();
    let folder = page.parent().unwrap();
    let (mut found, mut script, mut block) = (Vec::new(), None, None::<String>);
    for (at, line) in text.lines().enumerate() {
        match (&mut block, line) {
            (Some(inside), "```") => script = Some(Script::Block(std::mem::take(inside))),
            (Some(inside), line) => *inside += &format!("{line}\n"),
            (None, "```itp") => {}
            (None, line) => {
                if let Some(name) = between(line, "examples/", ".itp)") {
                    script = Some(Script::Example(root().join(format!("examples/{name}.itp"))));
                }
                let inside = line.strip_prefix("![").and_then(|rest| between(rest, "](", ")"));
                let Some((file, title)) = inside.and_then(|inside| inside.split_once(' ')) else { continue };
                let place = format!("{}:{}", page.strip_prefix(root()).unwrap().display(), at + 1);
                let script = script.clone().unwrap_or_else(|| panic!("{place}: no script above"));
                let title = title.trim_matches('"').to_owned();
                found.push(Picture { place, file: folder.join(file), script, title });
            }
        }
        block = match line {
            "```itp" => Some(String::new()),
            "```" => None,
            _ => block,
        };
    }
    found
}

/// What follows the slice, as an output takes it.
fn options(text: &str) -> OutputOptions {
    let mut options = OutputOptions::default();
    let words: Vec<&str> = text.split_whitespace().collect();
    for pair in words.chunks(2) {
        match pair {
            ["colormap", name] => options.colormap = Some((*name).into()),
            ["range", range] => {
                let (lo, hi) = range.split_once("..").unwrap();
                options.range = Some((lo.parse().unwrap(), hi.parse().unwrap()));
            }
            other => panic!("a picture has no option {other:?}"),
        }
    }
    options
}

/// The bytes of a picture, drawn now.
fn drawn(picture: &Picture, at: &Path) -> Result<Vec<u8>, itp::engine::Error> {
    let engine = match &picture.script {
        Script::Block(text) => Engine::compile(text)?,
        Script::Example(path) => Engine::open(path)?,
    };
    let (slice, rest) = picture.title.split_at(picture.title.rfind(']').unwrap() + 1);
    let prepared: Prepared<'_> = engine.prepare(slice)?;
    prepared.save(at, FileKind::Png, &options(rest))?;
    Ok(fs::read(at).unwrap())
}

#[test]
fn pictures_are_what_the_tool_draws() {
    let all: Vec<Picture> = pages().iter().flat_map(|page| pictures(page)).collect();
    assert!(all.len() > 20, "only {} pictures were found", all.len());
    let scratch = std::env::temp_dir().join(format!("itp-docs-{}.png", std::process::id()));
    let mut wrong = Vec::new();
    for picture in &all {
        let bytes = match drawn(picture, &scratch) {
            Ok(bytes) => bytes,
            Err(error) => {
                wrong.push(format!("{}: {error}", picture.place));
                continue;
            }
        };
        if bytes.len() as u64 > LARGEST {
            wrong.push(format!("{}: {} bytes, at most {LARGEST}", picture.place, bytes.len()));
        }
        if writing() {
            fs::create_dir_all(picture.file.parent().unwrap()).unwrap();
            fs::write(&picture.file, bytes).unwrap();
        } else if fs::read(&picture.file).ok() != Some(bytes) {
            wrong.push(format!("{}: is another picture; ITP_DOCS=write draws it again", picture.place));
        }
    }
    fs::remove_file(&scratch).unwrap();
    none(&wrong);
}

#[test]
fn every_picture_in_the_folder_is_on_a_page() {
    let shown: Vec<PathBuf> =
        pages().iter().flat_map(|page| pictures(page)).map(|picture| picture.file).collect();
    let entries = fs::read_dir(root().join("docs/pictures")).unwrap().map(|entry| entry.unwrap().path());
    let unused =
        entries.filter(|path| !shown.contains(path)).map(|path| format!("{}: on no page", path.display()));
    none(&unused.collect::<Vec<_>>());
}

/// Compares a page that is generated, or writes it.
fn generated(path: &str, text: &str) {
    if writing() {
        fs::write(root().join(path), text).unwrap();
    }
    assert!(read(path) == text, "{path} is not what it is generated from; ITP_DOCS=write writes it again");
}

/// What the first two digits of a code say.
const GROUPS: [(&str, &str); 11] = [
    ("E00", "Files and the command line"),
    ("E01", "Syntax"),
    ("E02", "Names, constants, functions"),
    ("E03", "Shapes and windows"),
    ("E04", "Types"),
    ("E05", "Reads"),
    ("E06", "Views"),
    ("E07", "Cycles and recurrences"),
    ("E08", "Inputs, outputs, formats, writes"),
    ("E09", "Limits"),
    ("E10", "Data and runs"),
];

/// A page of the registry as a part of the page of all.
fn part(code: Code) -> String {
    let mut text = String::new();
    for line in code.page().lines() {
        text += &match (
            line.strip_prefix("# "),
            line.strip_prefix("```").and_then(|fence| fence.split_once(' ')),
        ) {
            (Some(title), _) => format!("### {title}\n"),
            (None, Some((_, "wrong"))) => "Wrong:\n\n```text\n".to_owned(),
            (None, Some((_, "right"))) => "Right:\n\n```text\n".to_owned(),
            (None, _) => format!("{line}\n"),
        };
    }
    text
}

#[test]
fn the_page_of_errors_is_the_registry() {
    let mut text = "# Errors and warnings\n\nEvery diagnostic has a number, and each number a page, which \
        `itp explain E0304` prints.\nNumbers are never used again. This page is made from [errors/](../errors) by a \
        test, which also tries the scripts.\n"
        .to_owned();
    let warnings = [("W", "Warnings")];
    let mut listed = 0;
    for (group, title) in GROUPS.iter().chain(&warnings) {
        text += &format!("\n## {title}\n");
        for code in Code::ALL.iter().filter(|code| code.id().starts_with(group)) {
            text += &format!("\n{}", part(*code));
            listed += 1;
        }
    }
    assert_eq!(listed, Code::ALL.len(), "a group of codes is missing");
    generated("docs/errors.md", &text);
}

/// The scripts of the cookbook are those of examples/.
#[test]
fn the_cookbook_shows_the_examples() {
    let page = read("docs/cookbook.md");
    let mut text = String::new();
    let mut parts = page.split("\n```itp\n");
    text += parts.next().unwrap();
    let mut shown = Vec::new();
    for part in parts {
        let name =
            text.rmatches("(../examples/").next().map(|_| text.rsplit("(../examples/").next().unwrap());
        let name = name.and_then(|rest| rest.split_once(".itp)")).map(|(name, _)| name.to_owned());
        let name = name.expect("a link to the example stands before its script");
        let (_, after) = part.split_once("\n```\n").unwrap();
        text += &format!("\n```itp\n{}```\n{after}", read(format!("examples/{name}.itp")));
        shown.push(format!("{name}.itp"));
    }
    generated("docs/cookbook.md", &text);
    let entries = fs::read_dir(root().join("examples")).unwrap().map(|entry| entry.unwrap().path());
    let scripts = entries.filter(|path| path.extension().is_some_and(|end| end == "itp"));
    let names = scripts.map(|path| path.file_name().unwrap().to_string_lossy().into_owned());
    let missing: Vec<String> = names.filter(|name| !shown.contains(name)).collect();
    assert!(missing.is_empty(), "docs/cookbook.md does not show {}", missing.join(", "));
}
