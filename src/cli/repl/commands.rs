//! `:command argument` -> what the session shows or does.
//!
//! ```text
//! :type height[0, :]     f32[x: inf]
//! :set seed = 8          the parameter has another value
//! :tiles                 what is kept, and who needs it
//! ```

use super::draw::{Picture, draw};
use super::inspect;
use super::pieces::{Piece, pieces, script};
use super::plot::plot;
use super::state::{Session, Told};
use crate::cli::{files, numbers, values};
use crate::diagnostic::{Code, Diagnostic, closest, counted, quoted};
use crate::graph::COLORMAPS;
use crate::io::scalar_at;
use std::path::Path;
use std::time::Instant;

/// A command.
pub struct Command {
    /// What is typed after the colon.
    pub name: &'static str,
    /// What follows it.
    pub argument: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    run: fn(&mut Session, &str) -> Told,
}

/// Every command, as `:help` lists them.
pub const COMMANDS: [Command; 19] = [
    Command { name: "help", argument: "[COMMAND]", about: "this list", run: help },
    Command {
        name: "type",
        argument: "EXPR",
        about: "type and domain, nothing is computed",
        run: inspect::type_of,
    },
    Command {
        name: "doc",
        argument: "NAME",
        about: "how a name is declared, and its documentation",
        run: inspect::doc,
    },
    Command {
        name: "show",
        argument: "SLICE [MAP] [lo..hi]",
        about: "draw a slice, in a colour map",
        run: show,
    },
    Command {
        name: "plot",
        argument: "SLICE",
        about: "draw a slice of one dimension as a curve",
        run: plotted,
    },
    Command { name: "time", argument: "EXPR", about: "evaluate, and say what it took", run: time },
    Command {
        name: "set",
        argument: "[NAME = VALUE]",
        about: "give a parameter another value; threads and memory too",
        run: set,
    },
    Command { name: "plan", argument: "SLICE", about: "what a read would do", run: inspect::plan },
    Command {
        name: "graph",
        argument: "[FILE]",
        about: "who reads whom, as text, .svg, .dot or .mmd",
        run: inspect::graph,
    },
    Command {
        name: "views",
        argument: "[NAME]",
        about: "views as shape, strides and offset",
        run: inspect::views,
    },
    Command {
        name: "ir",
        argument: "STAGE [NAME | SLICE]",
        about: "any stage of the compilation as text",
        run: inspect::ir,
    },
    Command { name: "tiles", argument: "", about: "what is kept, and who needs it", run: inspect::tiles },
    Command { name: "free", argument: "NAME", about: "forget what is kept of a tensor", run: free },
    Command {
        name: "tree",
        argument: "SLICE",
        about: "the levels that a slice is stored as",
        run: inspect::tree,
    },
    Command { name: "run", argument: "", about: "write every output", run: outputs },
    Command { name: "load", argument: "FILE", about: "take in the items of a script", run: load },
    Command { name: "save", argument: "FILE", about: "write the session as a script", run: save },
    Command { name: "list", argument: "", about: "the session as a script", run: list },
    Command { name: "quit", argument: "", about: "leave", run: quit },
];

/// Does what a command says. A part of its name is enough when no other starts like it.
pub(super) fn perform(session: &mut Session, input: &str) -> Told {
    let text = input.trim().trim_start_matches(':').trim_start();
    let (name, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    match find(name) {
        Some(command) => (command.run)(session, argument.trim()),
        None => Err(unknown(session, name)),
    }
}

/// Whether a command is called that, in full.
pub(super) fn is_name(word: &str) -> bool {
    word == "exit" || COMMANDS.iter().any(|command| command.name == word)
}

/// Whether a command ends the session.
pub(super) fn is_quit(input: &str) -> bool {
    let name = input.trim().trim_start_matches(':');
    name == "exit" || find(name).is_some_and(|command| command.name == "quit")
}

fn find(name: &str) -> Option<&'static Command> {
    let exact = COMMANDS.iter().find(|command| command.name == name);
    let mut like = COMMANDS.iter().filter(|command| !name.is_empty() && command.name.starts_with(name));
    let only = like.next().filter(|_| like.next().is_none());
    exact.or(only)
}

fn unknown(session: &Session, name: &str) -> String {
    let close = closest(name, COMMANDS.iter().map(|command| command.name));
    let help = close.map_or("write `:help` for a list".to_owned(), |close| format!("write `:{close}`"));
    let message = format!("unknown command {}", quoted(&format!(":{name}")));
    session.fault(Diagnostic::new(Code::E0102, message).help(help))
}

/// An error for a command that needs something to work on.
pub(super) fn needs(session: &Session, what: &str, example: &str) -> String {
    session.fault(
        Diagnostic::new(Code::E0102, format!("the command needs {what}")).help(format!("write `{example}`")),
    )
}

fn help(session: &mut Session, argument: &str) -> Told {
    let name = argument.trim_start_matches(':');
    if name.is_empty() {
        let lines = COMMANDS.iter().map(|command| {
            let call = format!(":{} {}", command.name, command.argument);
            format!("{:<30} {}\n", call.trim_end(), command.about)
        });
        let rest =
            "Anything else is an item (`tensor …`, `param …`), or an expression, such as `height[0:8, 0:8]`.";
        return Ok(lines.collect::<String>() + rest);
    }
    let command = find(name).ok_or_else(|| unknown(session, name))?;
    Ok(format!(":{} {}\n{}", command.name, command.argument, command.about))
}

fn quit(_: &mut Session, _: &str) -> Told {
    Ok(String::new())
}

/// Pixels that are drawn; nobody sees more of them.
const MOST_PIXELS: u128 = 1 << 26;

fn show(session: &mut Session, argument: &str) -> Told {
    if argument.is_empty() {
        return Err(needs(session, "a slice", ":show height[0:256, 0:256]"));
    }
    let (slice, options) = options_of(argument);
    let (mut map, mut range) = (None, None);
    for word in options {
        match (COLORMAPS.contains(&word), bounds(word)) {
            (true, _) => map = Some(word),
            (false, Some(given)) => range = Some(given),
            (false, None) => {
                let message = format!("{} is neither a colour map nor a range", quoted(word));
                let help = format!("choose one of {}, or write a range such as `0..1`", COLORMAPS.join(", "));
                return Err(session.fault(Diagnostic::new(Code::E0102, message).help(help)));
            }
        }
    }
    let view = session.slice(slice)?;
    let shape = view.domain().shape().unwrap_or_default();
    let pixels: u128 = shape.iter().map(|len| *len as u128).product();
    if pixels > MOST_PIXELS {
        let message = format!("{pixels} elements are too many to draw, {MOST_PIXELS} is the most");
        let help = "draw fewer of them with a step: `height[0:65536:64, 0:65536:64]`";
        return Err(session.fault(Diagnostic::new(Code::E0102, message).help(help)));
    }
    let (array, _) = session.elements(slice, &view)?;
    let (own_map, own_range) = session.engine.program().graph.looks(&view.name);
    let picture = Picture::of(&array, map.or(own_map.as_deref()), range.or(own_range)).map_err(|why| {
        session.fault(Diagnostic::new(Code::E0102, why).help("drop dimensions: `height[0, 0:256, 0:256]`"))
    })?;
    Ok(format!(
        "{}{}  {}\n{}",
        view.element,
        view.domain(),
        picture.range_text(),
        draw(&picture, &session.screen)
    ))
}

/// A slice, and the words after it.
fn options_of(argument: &str) -> (&str, Vec<&str>) {
    let end =
        argument.rfind([']', ')']).map_or_else(|| argument.find(' ').unwrap_or(argument.len()), |at| at + 1);
    (&argument[..end], argument[end..].split_whitespace().collect())
}

/// `0..1.5`
fn bounds(word: &str) -> Option<(f64, f64)> {
    let (lo, hi) = word.split_once("..")?;
    Some((lo.parse().ok()?, hi.parse().ok()?))
}

/// Elements of a curve; nobody sees more of them.
const MOST_POINTS: i64 = 1 << 24;

fn plotted(session: &mut Session, argument: &str) -> Told {
    if argument.is_empty() {
        return Err(needs(session, "a slice of one dimension", ":plot height[0, 0:512]"));
    }
    let view = session.slice(argument)?;
    let [dim] = view.domain().dims() else {
        let message = format!("a curve has one dimension, but this has {}", view.rank());
        let help = "drop the others with a coordinate: `height[0, 0:512]`";
        return Err(session.fault(Diagnostic::new(Code::E0102, message).help(help)));
    };
    let range = dim.interval;
    if range.len().is_none_or(|len| len > MOST_POINTS) {
        let message = format!("a curve of more than {MOST_POINTS} elements cannot be drawn");
        return Err(
            session.fault(Diagnostic::new(Code::E0102, message).help("draw fewer of them with a step"))
        );
    }
    let (array, _) = session.elements(argument, &view)?;
    let bytes = array.element.bytes() as usize;
    let values = array.data.chunks_exact(bytes).map(|bytes| scalar_at(array.element, bytes).to_f64());
    let values: Vec<f64> = values.collect();
    let drawn = plot(&values, range.first(), &session.screen);
    Ok(format!("{}{}\n{drawn}", view.element, view.domain()))
}

fn time(session: &mut Session, argument: &str) -> Told {
    if argument.is_empty() {
        return Err(needs(session, "an expression", ":time height[0:512, 0:512]"));
    }
    let start = Instant::now();
    // Of a single element the value is shown, too.
    if let Ok(view) = session.slice(argument)
        && view.rank() > 0
    {
        let (_, stats) = session.elements(argument, &view)?;
        let (elements, store) = (stats.elements, stats.store);
        return Ok(format!(
            "{} in {}, {} of them were kept; {} at the peak",
            counted(elements as usize, "element"),
            seconds(start),
            store.reused,
            numbers::bytes(stats.bytes.peak),
        ));
    }
    let value = session.evaluate(argument)?;
    Ok(format!("{value}\nin {}", seconds(start)))
}

fn seconds(start: Instant) -> String {
    let seconds = start.elapsed().as_secs_f64();
    if seconds < 1.0 { format!("{:.2} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}

fn set(session: &mut Session, argument: &str) -> Told {
    if argument.is_empty() {
        return Ok(settings(session));
    }
    let parts = argument.split_once('=').or_else(|| argument.split_once(char::is_whitespace));
    let Some((name, value)) = parts.map(|(name, value)| (name.trim(), value.trim())) else {
        return Err(needs(session, "a name and a value", ":set seed = 8"));
    };
    let is_param = session.engine.program().graph.params.iter().any(|param| &*param.name == name);
    match name {
        "threads" if !is_param => {
            let threads = value.parse::<u16>().ok().filter(|threads| *threads > 0);
            session.threads =
                Some(threads.ok_or_else(|| needs(session, "a count from 1", ":set threads = 2"))?.into());
        }
        "memory" if !is_param => {
            let bytes = values::size(value);
            session.memory = Some(bytes.map_err(|_| needs(session, "a size", ":set memory = 512M"))?);
        }
        _ => {
            let before = session.settings.insert(name.to_owned(), value.to_owned());
            return session.rebuild().inspect_err(|_| {
                match before {
                    Some(before) => _ = session.settings.insert(name.to_owned(), before),
                    None => _ = session.settings.remove(name),
                };
            });
        }
    }
    session.rebuild()
}

/// Parameters and options, as `:set` takes them.
fn settings(session: &Session) -> String {
    let params = session.engine.program().graph.params.iter();
    let mut lines: Vec<String> = params.map(|param| format!("{} = {}", param.name, param.value)).collect();
    lines.push(
        session.threads.map_or("threads: all cores".to_owned(), |threads| format!("threads = {threads}")),
    );
    lines.push(match session.memory {
        Some(memory) => format!("memory = {}", numbers::bytes(memory)),
        None => "memory: most of what is free".to_owned(),
    });
    lines.join("\n")
}

/// That no tensor is called `name`, and what to write after `command`, if that is known; else which command lists them.
pub(super) fn no_tensor(session: &Session, name: &str, command: &str, list: &str) -> String {
    let tensors = &session.engine.program().graph.tensors;
    let names: Vec<&str> = tensors.iter().map(|tensor| &*tensor.name).collect();
    let diagnostic = Diagnostic::new(Code::E0201, format!("there is no tensor {}", quoted(name)));
    session.fault(match closest(name, names.iter().copied()) {
        Some(close) => diagnostic.help(format!("write `{command}{close}`")),
        None => diagnostic.help(list),
    })
}

fn free(session: &mut Session, argument: &str) -> Told {
    if argument.is_empty() {
        return Err(needs(session, "the name of a tensor", ":free height"));
    }
    let graph = &session.engine.program().graph;
    let found = graph.iter().find(|(_, tensor)| &*tensor.name == argument).map(|(id, _)| id);
    let view = graph.views.iter().find(|named| &*named.view.name == argument).map(|named| named.view.base);
    let Some(id) = found.or(view) else {
        return Err(no_tensor(session, argument, ":free ", "write `:tiles` for what is kept"));
    };
    let bytes = |session: &Session| session.engine.kept().iter().map(|series| series.bytes).sum::<u64>();
    let before = bytes(session);
    session.engine.free(id);
    Ok(format!("{} freed", numbers::bytes(before.saturating_sub(bytes(session)))))
}

fn outputs(session: &mut Session, _: &str) -> Told {
    let outputs = session.engine.program().graph.outputs.len();
    if outputs == 0 {
        return Err(needs(session, "an output", "output \"a.png\" = height[0:512, 0:512]"));
    }
    let stats = session.watched("outputs", || session.engine.save_outputs())?;
    let paths: Vec<&str> =
        session.engine.program().graph.outputs.iter().map(|output| &*output.path).collect();
    Ok(format!("wrote {} in {:.2} s", paths.join(", "), stats.seconds.run))
}

fn load(session: &mut Session, argument: &str) -> Told {
    if argument.is_empty() {
        return Err(needs(session, "a file", ":load hills.itp"));
    }
    let path = Path::new(argument);
    let text = crate::engine::files::read_script(path).map_err(|diagnostic| session.fault(*diagnostic))?;
    session.load(&text, path)
}

impl Session {
    /// Takes in the items of a script. The first one says where the files are that items name.
    pub fn load(&mut self, text: &str, path: &Path) -> Told {
        let new: Vec<Piece> =
            pieces(text).map_err(|(sources, diagnostics)| self.several(diagnostics, &sources))?;
        let before = self.folder.clone();
        if self.pieces.is_empty() {
            self.folder = files::Folder::of(path).path;
        }
        let count = new.len();
        let told = self.define(new).inspect_err(|_| self.folder = before)?;
        Ok(format!("{told}{count} items from {}", files::shown(path)))
    }
}

fn save(session: &mut Session, argument: &str) -> Told {
    if argument.is_empty() {
        return Err(needs(session, "a file", ":save mine.itp"));
    }
    let path = Path::new(argument);
    let text = whole(session);
    files::write(path, &text).map_err(|diagnostic| session.fault(*diagnostic))?;
    Ok(format!("wrote {}", files::shown(path)))
}

fn list(session: &mut Session, _: &str) -> Told {
    Ok(whole(session))
}

/// The session as a script; parameters have the values that they were declared with.
fn whole(session: &Session) -> String {
    script(&session.pieces) + &script(&session.waiting)
}
