//! A temporary folder to run the binary in, and what came of a run.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Two tensors, a view and two outputs; nothing is wrong with it.
pub(crate) const BLUR: &str = r#"
## What the camera saw.
input photo: f32[y: 64, x: 64] from "photo.npy"
param gain = 2
tensor bright: f32[y: 64, x: 64] = photo[y, x] * gain
tensor blur: f32[y: inf, x: inf] = (sum(i in -1..=1, j in -1..=1) bright.clamp()[y + i, x + j]) / 9
view turned = blur.permute([x, y])
output "blur.png" = blur[0:64, 0:64] colormap viridis
output "turned.npy" = turned[0:8, 0:16]
"#;

/// A folder that is gone when the test is over.
pub(crate) struct Folder {
    path: PathBuf,
}

/// What a run of the binary left.
#[derive(Debug)]
pub(crate) struct Ran {
    /// As it would be typed.
    line: String,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

impl Folder {
    pub(crate) fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("itp-cli-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("the temporary folder can be made");
        Folder { path }
    }

    /// A folder with one file.
    pub(crate) fn with(name: &str, text: &str) -> Folder {
        let folder = Folder::new();
        folder.write(name, text);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).expect("folders can be made");
        fs::write(path, bytes).expect("the file can be written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("the file is there")
    }

    /// The names of the files in it.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.path).expect("the folder is there");
        let names = entries
            .map(|entry| entry.expect("entries can be read").file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// The binary, ready to run in the folder without what the environment of the test brings along.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_itp"));
        command.args(args).current_dir(&self.path).env("COLUMNS", "100");
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "RUST_BACKTRACE"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn itp(&self, args: &[&str]) -> Ran {
        let output = self.command(args).output().expect("the binary runs");
        Ran::new(args, output)
    }

    /// Runs it with `input` on standard input.
    pub(crate) fn itp_fed(&self, args: &[&str], input: impl AsRef<[u8]>) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().expect("the binary runs");
        let mut stdin = child.stdin.take().expect("standard input is a pipe");
        stdin.write_all(input.as_ref()).expect("the binary reads its input");
        drop(stdin);
        Ran::new(args, child.wait_with_output().expect("the binary ends"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

impl Ran {
    pub(crate) fn new(args: &[&str], output: Output) -> Ran {
        let text = |bytes| String::from_utf8(bytes).expect("the binary writes UTF-8");
        let words: Vec<String> = args.iter().map(|word| shell_word(word)).collect();
        let line = format!("itp {}", words.join(" "));
        Ran { line, stdout: text(output.stdout), stderr: text(output.stderr), code: output.status.code() }
    }

    /// The whole run as a text for snapshots.
    pub(crate) fn transcript(&self) -> String {
        let code = self.code.map_or("killed".to_owned(), |code| format!("exit {code}"));
        let part = |name: &str, text: &str| {
            if text.is_empty() { String::new() } else { format!("--- {name}\n{text}") }
        };
        format!(
            "$ {}\n{}{}--- {code}\n",
            self.line,
            part("stdout", &self.stdout),
            part("stderr", &self.stderr)
        )
    }

    /// Asserts how it ended.
    #[track_caller]
    pub(crate) fn ends(&self, code: i32) -> &Ran {
        assert_eq!(self.code, Some(code), "{}", self.transcript());
        self
    }

    /// Asserts that stderr has a part.
    #[track_caller]
    pub(crate) fn tells(&self, part: &str) -> &Ran {
        assert!(self.stderr.contains(part), "no {part:?} in\n{}", self.transcript());
        self
    }

    /// Asserts that stdout has a part.
    #[track_caller]
    pub(crate) fn prints(&self, part: &str) -> &Ran {
        assert!(self.stdout.contains(part), "no {part:?} in\n{}", self.transcript());
        self
    }

    /// Asserts that nothing was told.
    #[track_caller]
    pub(crate) fn silent(&self) -> &Ran {
        assert_eq!((self.stdout.as_str(), self.stderr.as_str()), ("", ""), "{}", self.transcript());
        self
    }
}

fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{word}'") }
}
