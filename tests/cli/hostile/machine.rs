//! A run of the binary with 2 MiB of stack, measured: processor time and memory, and how it ended.

#![allow(unsafe_code, reason = "limits of a process and what it used are known to the system alone")]

use crate::folder::Folder;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Bytes of the main thread's stack, and of every thread that does not say how much it needs.
const STACK: u64 = 2 << 20;
/// A run that takes longer, in real time, hangs.
const HANGS: Duration = Duration::from_secs(60);

/// How a run ended, and what it took.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// None after a signal.
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// Of all processors together.
    pub(super) seconds: f64,
    /// In memory at the most.
    pub(super) bytes: u64,
}

/// The binary under test: the one that cargo has built, or the one that somebody names.
fn binary() -> PathBuf {
    match std::env::var_os("ITP_HOSTILE_BIN") {
        Some(path) => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path),
        None => PathBuf::from(env!("CARGO_BIN_EXE_itp")),
    }
}

/// Seconds and bytes that a run may take: what is promised of the release binary. Without optimisation, and with the laws
/// of every stage checked after every pass, it takes several times as long, and JIT code twice the memory.
fn bounds() -> (f64, u64) {
    let release = std::env::var_os("ITP_HOSTILE_BIN").is_some() || !cfg!(debug_assertions);
    if release { (1.0, 256 << 20) } else { (10.0, 512 << 20) }
}

impl Ended {
    /// What is wrong, whatever was expected: it took too much, it panicked, or a failure has no code.
    pub(super) fn unbounded(&self) -> Option<String> {
        let (seconds, bytes) = bounds();
        let failed = self.code == Some(1) && !self.stderr.contains("error[E");
        [
            (self.seconds > seconds, format!("more than {seconds} s")),
            (self.bytes > bytes, format!("more than {bytes} bytes")),
            (["panicked", "internal error"].iter().any(|word| self.stderr.contains(word)), "a panic".into()),
            (failed, "a failure without a code".into()),
        ]
        .into_iter()
        .find_map(|(wrong, what)| wrong.then_some(what))
    }
}

fn command(folder: &Folder, words: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.args(words).current_dir(folder.path(".")).env_clear();
    command.env("RUST_MIN_STACK", STACK.to_string()).env("COLUMNS", "100");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let small_stack = || {
        let limit = libc::rlimit { rlim_cur: STACK, rlim_max: STACK };
        // SAFETY: `limit` lives through the call, which only reads it.
        match unsafe { libc::setrlimit(libc::RLIMIT_STACK, &limit) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec one system call is made, which may be made there; nothing is allocated.
    unsafe { command.pre_exec(small_stack) };
    command
}

/// Runs the binary in a folder.
#[expect(clippy::zombie_processes, reason = "`ended` waits for it, with what it used")]
pub(super) fn run(folder: &Folder, words: &[&str]) -> Ended {
    let mut child = command(folder, words).spawn().expect("the binary runs");
    let (out, err) = (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
    let text = |mut pipe: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let (out, err) = (text(Box::new(out)), text(Box::new(err)));
    let (status, used, bytes) = ended(child.id() as i32);
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ended {
        code: status.code(),
        stdout: out.join().expect("it is read"),
        stderr: err.join().expect("it is read"),
        seconds: seconds(used.ru_utime) + seconds(used.ru_stime),
        bytes,
    }
}

/// Bytes of a process that were in memory at the most, as long as it runs. (What `wait4` says counts the memory of this
/// process, too, of which the other is a copy for a moment.)
fn most_bytes(process: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

/// Waits for a process, and ends it when it hangs; how it ended, the time it took, and the memory.
fn ended(process: i32) -> (ExitStatus, libc::rusage, u64) {
    let (start, own, mut most) = (Instant::now(), most_bytes(std::process::id() as i32), 0);
    loop {
        // Before it is the other program, it has the memory of this one.
        if let Some(bytes) = most_bytes(process).filter(|bytes| Some(*bytes) != own) {
            most = bytes;
        }
        let (mut status, mut used) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
        // SAFETY: both places live through the call, which fills them; zeroes are a valid `rusage`.
        let (found, used) = unsafe {
            let found = libc::wait4(process, &mut status, libc::WNOHANG, used.as_mut_ptr());
            (found, used.assume_init())
        };
        assert!(found >= 0, "the process is a child of this one");
        if found == process {
            return (ExitStatus::from_raw(status), used, most);
        }
        if start.elapsed() > HANGS {
            // SAFETY: the process has not been waited for, so the number is still its own.
            unsafe { libc::kill(process, libc::SIGKILL) };
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
