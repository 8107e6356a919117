//! Help texts as they are shown.

use crate::folder::Folder;
use insta::assert_snapshot;

#[test]
fn help_of_every_command() {
    let folder = Folder::new();
    assert_snapshot!("help", folder.itp(&["--help"]).transcript());
    let commands = [
        "run",
        "plan",
        "check",
        "fmt",
        "emit",
        "graph",
        "explain",
        "bench",
        "tree",
        "repl",
        "new",
        "completions",
    ];
    for command in commands {
        assert_snapshot!(format!("help_{command}"), folder.itp(&[command, "--help"]).transcript());
    }
}

#[test]
fn short_and_long_help_are_one() {
    let folder = Folder::new();
    for command in ["run", "emit", "graph"] {
        assert_eq!(folder.itp(&[command, "-h"]).stdout, folder.itp(&[command, "--help"]).stdout);
    }
}

#[test]
fn without_a_command_the_help_is_told() {
    Folder::new().itp(&[]).ends(2).tells("Usage: itp [OPTIONS] <COMMAND>");
}

#[test]
fn the_version_is_a_result() {
    let ran = Folder::new().itp(&["--version"]);
    assert_eq!(ran.ends(0).stdout, concat!("itp ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn commands_that_do_not_exist_are_refused() {
    let folder = Folder::new();
    folder.itp(&["learn"]).ends(2).tells("unrecognized subcommand");
    folder.itp(&["hills.itp"]).ends(2).tells("write `itp run hills.itp`");
    folder.itp(&["version"]).ends(2).tells("write `itp --version`");
    folder.itp(&["view"]).ends(2).tells("write `itp serve FILE`");
}

#[test]
fn help_is_a_command_too() {
    let folder = Folder::new();
    assert_eq!(folder.itp(&["help"]).ends(0).stdout, folder.itp(&["--help"]).stdout);
    folder.itp(&["help", "run"]).ends(0).prints("Usage: itp run");
}

#[test]
fn completions_name_the_commands() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        Folder::new().itp(&["completions", shell]).ends(0).prints("explain").prints("stats-json");
    }
    Folder::new().itp(&["completions", "tcsh"]).ends(2).tells("possible values");
}
