//! Arguments -> [`Cli`]: every command and option, with the texts that `--help` shows.
//!
//! ```text
//! itp run hills.itp --set seed=8      Cli { command: Run(RunArgs { file: "hills.itp", … }), … }
//! itp run hills.itp --out x.npy       an error and exit code 2: there is no `--read` to go with it
//! ```

#[cfg(feature = "zarr")]
pub use super::store::StoreArgs;
pub use super::stream_args::StreamArgs;
use super::values::{self, FILE_ENDINGS, PictureKind, Tile};
use crate::compile::Stage;
use crate::diagnostic::Code;
use crate::graph::FileKind;
use crate::loops::passes::Pass;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  itp new hills                                 write a starter script, hills.itp
  itp run hills.itp                             write every output of the script
  itp run hills.itp --read 'height[0:4, 0:4]'   print a few values
  itp check hills.itp                           say what is wrong with it, if anything
  itp graph hills.itp --out hills.svg           draw the pipeline
  itp emit hills.itp --stage graph              look inside the compiler
  itp explain E0304                             what an error means and how to mend it

A FILE of `-` is read from standard input.
Exit codes: 0 done, 1 the script, its data or the run failed, 2 the command line is wrong";

/// Infinite tensor pipelines: a language, a compiler and a tiled runtime for arrays without end
#[derive(Debug, Parser)]
#[command(name = "itp", version, after_help = EXAMPLES, max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    /// Colour what is told on stderr; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, display_order = 900, value_name = "WHEN", default_value = "auto")]
    #[arg(hide_default_value = true)]
    pub color: ColorChoice,

    /// Say nothing but errors
    #[arg(short, long, global = true, display_order = 901)]
    pub quiet: bool,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write the outputs of a script, or compute slices of its tensors
    Run(RunArgs),
    /// Say what a run would do, without computing anything
    Plan(PlanArgs),
    /// Say what is wrong with scripts
    Check(CheckArgs),
    /// Bring scripts into canonical layout, in place; comments stay
    Fmt(FmtArgs),
    /// Print any stage of the compilation as text
    Emit(EmitArgs),
    /// Draw the pipeline: SVG, DOT or Mermaid
    Graph(GraphArgs),
    /// Explain an error or warning, or list all of them
    Explain(ExplainArgs),
    /// Compile once, run several times on an empty tile store, give min and median
    Bench(BenchArgs),
    /// Print slices as the levels they are stored as
    Tree(TreeArgs),
    /// Explore: type items and expressions, look at what they are
    Repl(ReplArgs),
    /// Pan and zoom in a browser; tiles, slices and zarr for other programs
    #[cfg_attr(not(feature = "serve"), command(hide = true))]
    Serve(ServeArgs),
    /// List, check or shrink tiles that were kept on the disk
    #[cfg(feature = "zarr")]
    Store(StoreArgs),
    /// Cut a row-major stream into tiles as it comes
    Stream(StreamArgs),
    /// Answer an editor on stdin and stdout: diagnostics, hovers, completion (LSP)
    #[cfg(feature = "lsp")]
    Lsp(LspArgs),
    /// Write a starter script
    New(NewArgs),
    /// Print shell completions
    Completions {
        /// The shell they are for
        shell: Shell,
    },
}

/// What the script is compiled with.
#[derive(Debug, Args)]
#[command(next_help_heading = "Script")]
pub struct ScriptOptions {
    /// Give a parameter another value; repeatable
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = values::setting)]
    pub settings: Vec<(String, String)>,

    /// Read an input from this file; repeatable
    #[arg(long = "bind", value_name = "NAME=PATH", value_parser = values::binding)]
    pub bindings: Vec<(String, String)>,
}

/// How it runs.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Execution")]
pub struct RunOptions {
    /// Use that many threads instead of all cores
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// Refuse a plan that needs more bytes than this; takes K, M and G
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub memory: Option<u64>,

    /// Compile to machine code or interpret, instead of the fastest there is; the results are the same bits
    #[arg(long, value_name = "jit|interp", hide_possible_values = true)]
    pub engine: Option<EngineKind>,

    /// Use tiles of this shape; the results never change
    #[arg(long, value_name = "H,W", value_parser = values::tile)]
    pub tile: Option<Tile>,

    /// Keep tiles in this folder between runs
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,

    /// Print a table of what was computed to stderr
    #[arg(long)]
    pub stats: bool,

    /// Write what was computed as a JSON object; `-` prints it
    #[arg(long, value_name = "PATH")]
    pub stats_json: Option<PathBuf>,

    /// Write a trace of the run for a Chrome trace viewer; `-` prints it
    #[arg(long, value_name = "PATH")]
    pub trace: Option<PathBuf>,

    /// Print the time of every stage to stderr
    #[arg(long)]
    pub time: bool,
}

/// What runs the loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineKind {
    /// Machine code
    Jit,
    /// The slow and obvious reference
    Interp,
}

/// `itp run`
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The script
    pub file: PathBuf,

    /// Compute this slice instead of the script's outputs; repeatable
    #[arg(long, value_name = "SLICE")]
    pub read: Vec<String>,

    /// Write it here instead of printing it; one for each --read, in the same order
    #[arg(short, long, value_name = "PATH")]
    pub out: Vec<PathBuf>,

    /// `--set`, `--bind`.
    #[command(flatten)]
    pub script: ScriptOptions,

    /// `--threads` and the rest.
    #[command(flatten)]
    pub options: RunOptions,
}

/// `itp plan`
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// The script
    pub file: PathBuf,

    /// The slice that would be computed, instead of the script's outputs; repeatable
    #[arg(long, value_name = "SLICE")]
    pub read: Vec<String>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,

    /// Draw when tiles are made and freed, as SVG; one read only
    #[arg(short, long, value_name = "PATH", value_parser = values::svg, conflicts_with = "json")]
    pub out: Option<PathBuf>,

    /// `--set`, `--bind`.
    #[command(flatten)]
    pub script: ScriptOptions,

    /// `--threads` and the rest.
    #[command(flatten)]
    pub options: RunOptions,
}

/// `itp bench`
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// The script
    pub file: PathBuf,

    /// The slice that is computed; repeatable
    #[arg(long, value_name = "SLICE", required = true)]
    pub read: Vec<String>,

    /// How many runs
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..))]
    pub reps: u32,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,

    /// `--set`, `--bind`.
    #[command(flatten)]
    pub script: ScriptOptions,

    /// `--threads` and the rest.
    #[command(flatten)]
    pub options: RunOptions,
}

/// `itp tree`
#[derive(Debug, Args)]
pub struct TreeArgs {
    /// The script
    pub file: PathBuf,

    /// The slice that is printed; repeatable
    #[arg(long, value_name = "SLICE", required = true)]
    pub read: Vec<String>,

    /// `--set`, `--bind`.
    #[command(flatten)]
    pub script: ScriptOptions,

    /// `--threads` and the rest.
    #[command(flatten)]
    pub options: RunOptions,
}

/// `itp check`
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The scripts
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Print one JSON object per diagnostic, each on a line of stdout
    #[arg(long)]
    pub json: bool,
}

/// `itp fmt`
#[derive(Debug, Args)]
pub struct FmtArgs {
    /// The scripts
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// List the files that would change, change none, and exit with 1 if there is one
    #[arg(long)]
    pub check: bool,

    /// Print the result instead of changing the file
    #[arg(long, conflicts_with = "check")]
    pub stdout: bool,
}

/// `itp emit`
#[derive(Debug, Args)]
#[command(after_help = about_stages())]
pub struct EmitArgs {
    /// The script
    pub file: PathBuf,

    /// Which stage to print, see below
    #[arg(long, value_name = "STAGE", value_parser = stage_parser(), hide_possible_values = true)]
    pub stage: Stage,

    /// Print this tensor only
    #[arg(long, value_name = "NAME")]
    pub tensor: Option<String>,

    /// Plan or trace this slice instead of the script's outputs; repeatable
    #[arg(long, value_name = "SLICE")]
    pub read: Vec<String>,

    /// Print kernels as they are after this pass
    #[arg(long, value_name = "PASS", value_parser = pass_parser())]
    pub after: Option<Pass>,

    /// `--set`, `--bind`.
    #[command(flatten)]
    pub script: ScriptOptions,

    /// `--threads` and the rest.
    #[command(flatten)]
    pub options: RunOptions,
}

/// `itp serve`
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The script; it is read again whenever it is saved
    pub file: PathBuf,

    /// Listen on this port of 127.0.0.1; 0 takes any that is free
    #[arg(long, value_name = "N", default_value = "8017")]
    pub port: u16,

    /// Compute that many requests at a time instead of one per core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,

    /// Refuse a request that needs more bytes than this; takes K, M and G
    #[arg(long, value_name = "SIZE", value_parser = values::size, default_value = "256M")]
    pub memory: u64,

    /// `--set`, `--bind`.
    #[command(flatten)]
    pub script: ScriptOptions,
}

/// `itp lsp`
#[cfg(feature = "lsp")]
#[derive(Debug, Args)]
pub struct LspArgs {
    /// Taken because editors give it: stdin and stdout are the only way
    #[arg(long, hide = true)]
    pub stdio: bool,
}

/// `itp graph`
#[derive(Debug, Args)]
pub struct GraphArgs {
    /// The script
    pub file: PathBuf,

    /// Write it here, as SVG, DOT or Mermaid by the ending .svg, .dot or .mmd, instead of DOT to stdout
    #[arg(short, long, value_name = "PATH", value_parser = values::picture)]
    pub out: Option<(PathBuf, PictureKind)>,
}

/// `itp repl`
#[derive(Debug, Args)]
pub struct ReplArgs {
    /// A script to begin with
    pub file: Option<PathBuf>,
}

/// `itp explain`
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Its number, such as E0304; without it, all are listed
    #[arg(value_parser = values::code)]
    pub code: Option<Code>,
}

/// `itp new`
#[derive(Debug, Args)]
pub struct NewArgs {
    /// What it is called; `hills` is written to hills.itp
    #[arg(value_parser = values::script_path)]
    pub name: PathBuf,
}

/// Reads the arguments, the name of the program first; the error is also how `--help` and `--version` end.
pub fn parse(arguments: Vec<OsString>) -> Result<Cli, clap::Error> {
    let mut command = Cli::command().color(colour_of(&arguments));
    let matches = match command.try_get_matches_from_mut(&arguments) {
        Ok(matches) => matches,
        Err(error) => return Err(meant(&error, &arguments, &mut command).unwrap_or(error)),
    };
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    match misuse(&cli.command) {
        None => Ok(cli),
        Some((name, problem)) => {
            let command = command.find_subcommand_mut(name).expect("commands are found by their names");
            Err(command.error(ErrorKind::ValueValidation, problem))
        }
    }
}

/// What to write instead of a command that is none, where clap cannot know: `itp hills.itp`, `itp version`.
fn meant(error: &clap::Error, arguments: &[OsString], command: &mut clap::Command) -> Option<clap::Error> {
    let first =
        arguments.iter().skip(1).filter_map(|word| word.to_str()).find(|word| !word.starts_with('-'))?;
    let write = match first {
        _ if error.kind() != ErrorKind::InvalidSubcommand => return None,
        "version" => "itp --version".to_owned(),
        "view" | "show" | "open" => "itp serve FILE".to_owned(),
        script if script.ends_with(".itp") => format!("itp run {script}"),
        _ => return None,
    };
    Some(command.error(ErrorKind::InvalidSubcommand, format!("'{first}' is no command: write `{write}`")))
}

/// The completions of a shell as text.
pub fn completions(shell: Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "itp", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// `--color`, found before the arguments are parsed, for the colours of wrong arguments and of help.
fn colour_of(arguments: &[OsString]) -> ColorChoice {
    let mut words = arguments.iter().filter_map(|word| word.to_str());
    let value = words.by_ref().find_map(|word| word.strip_prefix("--color"));
    let value = value.and_then(|rest| rest.strip_prefix('=').or_else(|| words.next()));
    value.and_then(|value| ColorChoice::from_str(value, false).ok()).unwrap_or(ColorChoice::Auto)
}

fn stage_parser() -> impl TypedValueParser<Value = Stage> {
    PossibleValuesParser::new(Stage::ALL.map(Stage::name))
        .map(|name| Stage::parse(&name).expect("only the names of stages are possible values"))
}

fn pass_parser() -> impl TypedValueParser<Value = Pass> {
    PossibleValuesParser::new(Pass::ALL.map(Pass::name))
        .map(|name| Pass::parse(&name).expect("only the names of passes are possible values"))
}

fn about_stages() -> String {
    let lines = Stage::ALL.map(|stage| format!("\n  {:<8}{}", stage.name(), about_stage(stage)));
    format!("Stages:{}", lines.concat())
}

fn about_stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Tokens => "text as tokens, each with its place",
        Stage::Ast => "the syntax tree as canonical source",
        Stage::Graph => "the checked graph of tensors and their bodies",
        Stage::Access => "one index map per read, with windows and halos",
        Stage::Views => "views as shape, strides and offset, or why they are not",
        Stage::Loops => "one kernel of loops per tensor and view",
        Stage::Clif => "the kernels as the code generator gets them",
        Stage::Asm => "the kernels as instructions of this machine",
        Stage::Plan => "what a read would do: groups, order, last readers, peak",
        Stage::Trace => "what a read did: tiles computed, reused and freed",
    }
}

/// What no single argument shows: the command that is used wrongly, and how.
fn misuse(command: &Command) -> Option<(&'static str, String)> {
    match command {
        Command::Run(args) => {
            let wrong = unpaired(args).or_else(|| unwritable(&args.out)).or_else(|| twice(&args.script));
            wrong.map(|why| ("run", why))
        }
        Command::Check(args) => stdin_twice(&args.files).map(|why| ("check", why)),
        Command::Fmt(args) => stdin_twice(&args.files).map(|why| ("fmt", why)),
        Command::Emit(args) => {
            let wrong =
                without_tensors(args).or_else(|| without_passes(args)).or_else(|| without_reads(args));
            wrong.or_else(|| twice(&args.script)).map(|why| ("emit", why))
        }
        Command::Plan(args) => twice(&args.script).map(|why| ("plan", why)),
        Command::Bench(args) => twice(&args.script).map(|why| ("bench", why)),
        Command::Tree(_) | Command::Graph(_) | Command::Explain(_) => None,
        #[cfg(feature = "zarr")]
        Command::Store(_) => None,
        Command::Stream(args) => super::stream::misuse(args).map(|why| ("stream", why)),
        Command::Repl(_) | Command::Serve(_) => None,
        #[cfg(feature = "lsp")]
        Command::Lsp(_) => None,
        Command::New(_) | Command::Completions { .. } => None,
    }
}

fn unpaired(args: &RunArgs) -> Option<String> {
    let (reads, outs) = (args.read.len(), args.out.len());
    let paired = outs == 0 || outs == reads;
    (!paired).then(|| match reads {
        0 => "--out is for a --read: the outputs of a script have their own files".to_owned(),
        _ => format!("there must be one --out for each --read, but there are {outs} for {reads}"),
    })
}

fn unwritable(outs: &[PathBuf]) -> Option<String> {
    let kind = |path: &Path| FileKind::of(&path.to_string_lossy());
    if let Some(path) = outs.iter().find(|path| kind(path).is_none()) {
        return Some(format!("--out '{}' must end in one of {FILE_ENDINGS}", path.display()));
    }
    let again = outs.iter().enumerate().find(|(at, path)| outs[..*at].contains(path));
    again.map(|(_, path)| format!("--out '{}' is given twice", path.display()))
}

/// A parameter or input that is given two values.
fn twice(options: &ScriptOptions) -> Option<String> {
    let again = |list: &[(String, String)]| {
        let repeated =
            list.iter().enumerate().find(|(at, (name, _))| list[..*at].iter().any(|(own, _)| own == name));
        repeated.map(|(_, (name, _))| name.clone())
    };
    let given = |option: &str, name: String| format!("--{option} gives '{name}' a value twice");
    let set = again(&options.settings).map(|name| given("set", name));
    set.or_else(|| again(&options.bindings).map(|name| given("bind", name)))
}

fn stdin_twice(files: &[PathBuf]) -> Option<String> {
    let count = files.iter().filter(|file| values::is_stdin(file)).count();
    (count > 1).then(|| format!("'-' is standard input and can be read once, but it is given {count} times"))
}

fn without_tensors(args: &EmitArgs) -> Option<String> {
    let without = matches!(args.stage, Stage::Tokens | Stage::Ast) || args.stage.is_of_a_read();
    let whole = without && args.tensor.is_some();
    whole.then(|| {
        format!("--tensor cannot be used with '--stage {}', which has no tensors", args.stage.name())
    })
}

fn without_reads(args: &EmitArgs) -> Option<String> {
    let given = !args.read.is_empty() && !args.stage.is_of_a_read();
    given.then(|| format!("--read cannot be used with '--stage {}', which reads nothing", args.stage.name()))
}

fn without_passes(args: &EmitArgs) -> Option<String> {
    let kernels = matches!(args.stage, Stage::Loops | Stage::Clif | Stage::Asm);
    (args.after.is_some() && !kernels)
        .then(|| format!("--after cannot be used with '--stage {}', which has no passes", args.stage.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Cli, clap::Error> {
        parse(line.split(' ').map(OsString::from).collect())
    }

    #[test]
    fn clap_finds_no_fault_with_the_commands() {
        Cli::command().debug_assert();
    }

    #[test]
    fn reads_pair_up_with_outs() {
        let check = |line: &str, expect: Option<&str>| {
            let error = parsed(line).err().map(|error| error.to_string());
            match expect {
                None => assert_eq!(error, None, "{line}"),
                Some(part) => assert!(error.clone().unwrap_or_default().contains(part), "{line}: {error:?}"),
            }
        };
        check("itp run a.itp", None);
        check("itp run a.itp --read a[0] --read a[1]", None);
        check("itp run a.itp --read a[0] --out x.npy", None);
        check("itp run a.itp --out x.npy", Some("--out is for a --read"));
        check("itp run a.itp --read a[0] --read a[1] --out x.npy", Some("1 for 2"));
        check("itp run a.itp --read a[0] --out x.doc", Some("must end in one of .npy"));
        check("itp run a.itp --read a[0] --out x.npy --read a[1] --out x.npy", Some("is given twice"));
        check("itp plan a.itp", None);
        check("itp bench a.itp", Some("--read <SLICE>"));
        check("itp emit a.itp --stage ast --tensor t", Some("which has no tensors"));
        check("itp emit a.itp --stage graph --tensor t", None);
        check("itp emit a.itp --stage graph --read a[0]", Some("which reads nothing"));
        check("itp emit a.itp --stage plan --read a[0] --read a[1]", None);
        check("itp emit a.itp --stage trace --tensor t", Some("which has no tensors"));
        check("itp check - -", Some("given 2 times"));
        check("itp fmt --check --stdout a.itp", Some("cannot be used with"));
        check("itp bench a.itp --read a[0] --reps 0", Some("invalid value '0'"));
    }

    #[test]
    fn the_colour_is_found_before_the_rest() {
        let check = |line: &str, expect: ColorChoice| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(colour_of(&words), expect, "{line}");
        };
        check("itp --color never --help", ColorChoice::Never);
        check("itp run --color=always", ColorChoice::Always);
        check("itp --color", ColorChoice::Auto);
        check("itp --color=blue", ColorChoice::Auto);
        check("itp run", ColorChoice::Auto);
    }
}
