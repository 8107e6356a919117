//! `itp serve`: a script -> a page in the browser, until Ctrl-C.
//!
//! ```text
//! $ itp serve terrain.itp
//! terrain.itp: http://127.0.0.1:8017/ (Ctrl-C ends it)
//! ```

use super::Outcome;
use super::args::ServeArgs;
use super::files;
use super::picture::picture;
use super::report::Report;
use super::session;
use super::values::is_stdin;
use crate::compile::Program;
use crate::diagnostic::{Code, Diagnostic};
use crate::picture::to_svg;
use crate::serve::{Options, check, serve as listen};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Requests that may wait: some browsers full of tiles.
const QUEUE: usize = 64;

/// Serves the script.
pub(super) fn serve(args: &ServeArgs, report: &mut Report) -> Outcome {
    served(args, report).unwrap_or_else(|outcome| outcome)
}

fn served(args: &ServeArgs, report: &mut Report) -> Result<Outcome, Outcome> {
    let name = files::shown(&args.file);
    if is_stdin(&args.file) {
        let diagnostic = Diagnostic::new(
            Code::E0903,
            "standard input cannot be served: it is read again when it is saved",
        );
        return Err(report.fail(&name, diagnostic.help("save the script, and name its file")));
    }
    let options = options(args);
    tell_what_is_wrong(&options, &name, report)?;
    let stop = Arc::new(AtomicBool::new(false));
    session::stop_on_signals(stop.clone(), session::Ending::Orderly, &name, report)?;
    let tell = |address| report.say(&format!("{name}: http://{address}/ (Ctrl-C ends it)"));
    match listen(options, stop, tell) {
        Ok(()) => Ok(Outcome::Done),
        Err(error) => Err(report.fail(&name, unserved(args.port, &error))),
    }
}

fn options(args: &ServeArgs) -> Options {
    let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get());
    Options {
        file: args.file.clone(),
        port: args.port,
        settings: args.script.settings.clone(),
        bindings: args.script.bindings.clone(),
        threads: args.threads.map_or_else(cores, usize::from),
        memory: args.memory,
        queue: QUEUE,
        draw,
    }
}

fn draw(program: &Program) -> String {
    to_svg(&picture(program))
}

/// A mistake in the script is told, and shown on the page; only a file that cannot be read is a reason not to start.
fn tell_what_is_wrong(options: &Options, name: &str, report: &mut Report) -> Result<(), Outcome> {
    match check(options) {
        Ok(engine) => {
            session::tell_warnings(name, engine.warnings_for_reads(), &engine, report);
            Ok(())
        }
        Err(error) => {
            let unreadable = matches!(error.code(), Some(Code::E0001 | Code::E0002));
            let outcome = session::failed(name, error, report);
            if unreadable { Err(outcome) } else { Ok(()) }
        }
    }
}

fn unserved(port: u16, error: &std::io::Error) -> Diagnostic {
    let message = format!("port {port} of 127.0.0.1 cannot be listened on: {}", files::why(error));
    Diagnostic::new(Code::E1009, message).help("choose another port with `--port`, or 0 for any that is free")
}
