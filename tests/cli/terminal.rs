//! `itp repl` on a terminal: a pseudo-terminal stands for it, and everything is over after some seconds.

#![allow(unsafe_code, reason = "a pseudo-terminal is made by calls of the system")]

use crate::folder::Folder;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Child;
use std::time::{Duration, Instant};

/// A step that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(60);

struct Terminal {
    child: Child,
    screen: File,
    /// All that was shown, and how much of it was waited for already.
    shown: String,
    seen: usize,
}

impl Terminal {
    /// Runs the binary on a terminal of its own.
    fn run(folder: &Folder, args: &[&str]) -> Terminal {
        let (mut ours, mut theirs) = (0, 0);
        let size = libc::winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        let none = std::ptr::null_mut();
        // SAFETY: the pointers are those of two integers and of a size that outlives the call.
        let made =
            unsafe { libc::openpty(&mut ours, &mut theirs, none, none.cast(), (&raw const size).cast_mut()) };
        assert_eq!(made, 0, "a pseudo-terminal can be made");
        // SAFETY: both were made just now, and nobody else owns them.
        let (ours, theirs) = unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
        let end = || theirs.try_clone().expect("ends of a terminal can be shared");
        let mut command = folder.command(args);
        command.stdin(end()).stdout(end()).stderr(end());
        command.env("TERM", "xterm-256color").env("ITP_HISTORY", folder.path("history")).env_remove("TMUX");
        // SAFETY: both calls may be made between fork and exec; the terminal becomes that of the child.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            });
        }
        let child = command.spawn().expect("the binary runs");
        Terminal { child, screen: File::from(ours), shown: String::new(), seen: 0 }
    }

    fn press(&mut self, keys: &str) {
        self.screen.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Types once the line editor listens.
    #[track_caller]
    fn line(&mut self, keys: &str) {
        self.shows(READY);
        self.press(keys);
    }

    /// Waits until `text` is shown after everything that was waited for before.
    #[track_caller]
    fn shows(&mut self, text: &str) {
        let start = Instant::now();
        loop {
            if let Some(at) = self.shown[self.seen..].find(text) {
                self.seen += at + text.len();
                return;
            }
            assert!(start.elapsed() < PATIENCE, "no {text:?} in {:?}", &self.shown[self.seen..]);
            self.read();
        }
    }

    /// Takes in what is there, after a moment at the most.
    fn read(&mut self) {
        let mut wait = libc::pollfd { fd: self.screen.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry is given, and it is one.
        if unsafe { libc::poll(&mut wait, 1, 100) } <= 0 {
            return;
        }
        let mut bytes = [0; 4096];
        let count = self.screen.read(&mut bytes).unwrap_or(0);
        self.shown += &String::from_utf8_lossy(&bytes[..count]);
    }

    /// Waits for the end, and gives the exit code.
    fn ends(mut self) -> Option<i32> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                return status.code();
            }
            self.read();
        }
        panic!("it goes on after {:?}", &self.shown[self.seen..]);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// What the line editor sends when it listens; keys that come earlier are those of whatever runs.
const READY: &str = "\x1b[?2004h";

#[test]
fn a_session_on_a_terminal() {
    let folder = Folder::with("hills.itp", "tensor height: f32[y: inf, x: inf] = y + x / 4\n");
    let mut terminal = Terminal::run(&folder, &["repl", "hills.itp"]);
    terminal.line("height[0:2, 0:2]\r");
    terminal.shows("0.25");
    // A name is completed, and brackets that are open go on in the next line.
    terminal.line("hei\t[0:1,\r0:2]\r");
    terminal.shows("f32[y: 1, x: 2]");
    // Below an item that is not over stands how it ends; no key takes that for a part of it.
    terminal.line("tensor open: f32[x: inf] =\r");
    terminal.shows("goes on; an empty line ends it");
    terminal.press("\x1b[C x / 4 + 0.125\r");
    terminal.line("open[0:2]\r");
    terminal.shows("0.375");
    terminal.line(":show height[0:8, 0:8]\r");
    terminal.shows("\x1b[38;5;");
    terminal.shows("▀");
    // Ctrl-C ends a computation and not the session; on a line it gives up the line.
    terminal.line("tensor slow: f64[x: inf] = sum(i in 0..100000000) sin(f64(x + i))\r");
    terminal.line("slow[0:1000]\r");
    std::thread::sleep(Duration::from_secs(2));
    terminal.press("\x03");
    terminal.shows("the run was cancelled");
    terminal.line("1 + (2\x03");
    terminal.line("6 * 7\r");
    terminal.shows("42");
    terminal.line("\x04");
    assert_eq!(terminal.ends(), Some(0));
    assert!(folder.read("history").contains("6 * 7"));
}

#[test]
fn lines_outlive_a_session_that_is_killed() {
    let folder = Folder::with("hills.itp", "tensor height: f32[y: inf, x: inf] = y + x / 4\n");
    folder.write("history", "#V2\nheight[0, 0]\n");
    let mut terminal = Terminal::run(&folder, &["repl", "hills.itp"]);
    terminal.line("6 * 7\r");
    terminal.shows("42");
    terminal.shows(READY);
    terminal.child.kill().expect("a child can be killed");
    let lines = folder.read("history");
    assert!(lines.contains("height[0, 0]") && lines.contains("6 * 7"), "{lines}");
}

#[test]
fn keys_that_come_early_are_not_lost() {
    let folder = Folder::with("hills.itp", "tensor height: f32[y: inf, x: inf] = y + x / 4\n");
    let mut terminal = Terminal::run(&folder, &["repl", "hills.itp"]);
    // Several lines at a time, as a terminal pastes them that does not say so.
    terminal.line("tensor q: f32[x: inf] = x / 2\rq[0:3]\rq[30:33]\r");
    terminal.shows("0.5");
    terminal.shows("15.5");
    terminal.line("\x04");
    assert_eq!(terminal.ends(), Some(0));
}
