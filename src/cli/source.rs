//! Where a stream comes from: standard input, a file, or one connection to 127.0.0.1 -> blocks of bytes.
//!
//! A blocking read of a pipe cannot be ended by Ctrl-C, so a thread does it, two blocks ahead at the most. A file is not
//! read that way: a block that another core has read is not in the cache of the one that cuts it. A pipe is made larger:
//! it holds 64 kB by itself, and programs at its ends would have to take turns 16 times as often.

use super::Outcome;
use super::files::{shown, why};
use super::report::Report;
use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::io::IoError;
use crate::io::disk::File;
use std::io::{self, ErrorKind, Read};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Bytes of a block, which should still be in the cache when it is cut.
const BLOCK: usize = 512 << 10;
/// Bytes that a pipe is asked to hold.
#[cfg(target_os = "linux")]
const PIPE: i32 = 1 << 20;
/// Blocks of a thread that wait for somebody who takes them.
const AHEAD: usize = 1;
/// Bytes of blocks that are in memory, at the most: those that wait, one in the hands of either side, and one on its way back.
pub(super) const BUFFERED: u64 = ((AHEAD + 3) * BLOCK) as u64;
/// How long nothing may come until it is asked whether to stop.
const LOOK: Duration = Duration::from_millis(50);

/// A stream of bytes.
pub(super) struct Source {
    name: String,
    from: From,
    block: Vec<u8>,
}

enum From {
    File(File),
    /// A port that nothing has connected to yet.
    Port(TcpListener),
    Socket(TcpStream),
    /// Standard input, of which nothing was asked yet.
    Stdin,
    /// Blocks of a thread, and the way back for the memory of each.
    Thread(Receiver<io::Result<Filled>>, SyncSender<Vec<u8>>),
}

/// A block, and how many bytes of it have come.
struct Filled {
    block: Vec<u8>,
    size: usize,
}

/// What a stream is to come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin<'a> {
    File(&'a Path),
    /// One connection to this port of 127.0.0.1.
    Port(u16),
    Stdin,
}

impl<'a> Origin<'a> {
    /// What `--bind cam=…` means for a stream: `tcp:9000` is a port, anything else a file.
    pub(super) fn bound(text: &'a str) -> Origin<'a> {
        match text.strip_prefix("tcp:").and_then(|port| port.parse().ok()) {
            Some(port) => Origin::Port(port),
            None => Origin::File(Path::new(text)),
        }
    }
}

impl Source {
    /// Opens a file, listens at a port, or takes standard input; nothing is read or waited for.
    pub(super) fn open(origin: Origin<'_>, report: &mut Report) -> Result<Source, Outcome> {
        let name = match origin {
            Origin::File(path) => quoted(&shown(path)),
            Origin::Port(port) => format!("port {port} of 127.0.0.1"),
            Origin::Stdin => "standard input".to_owned(),
        };
        let from = match origin {
            Origin::File(path) => File::open(path).map(From::File),
            Origin::Port(port) => listen(port, report).map(From::Port),
            Origin::Stdin => Ok(From::Stdin),
        };
        let from = from.map_err(|error| {
            let message = format!("{name} cannot be read: {}", why(&error));
            report.fail("the stream", Diagnostic::new(Code::E0001, message))
        })?;
        Ok(Source { name, from, block: vec![0; BLOCK] })
    }

    /// Waits for a connection, where there is to be one, and starts to read; false when it is to stop.
    fn begin(&mut self, stopped: &AtomicBool) -> io::Result<bool> {
        match &self.from {
            From::Stdin => {
                self.from = match File::standard_input()? {
                    Some(file) => From::File(file),
                    None => on_thread(widen(io::stdin()))?,
                }
            }
            From::Port(listener) => match accept(listener, stopped)? {
                Some(socket) => self.from = From::Socket(socket),
                None => return Ok(false),
            },
            From::File(_) | From::Socket(_) | From::Thread(..) => {}
        }
        Ok(true)
    }

    /// The next bytes; none at the end, or when it is to stop.
    pub(super) fn next(&mut self, stopped: &AtomicBool) -> Result<Option<&[u8]>, IoError> {
        if !self.begin(stopped).map_err(|error| self.unread(&error))? {
            return Ok(None);
        }
        let size = match &mut self.from {
            From::Stdin | From::Port(_) => Ok(0),
            From::File(file) => read(file, &mut self.block, stopped),
            From::Socket(socket) => read(socket, &mut self.block, stopped),
            From::Thread(blocks, back) => receive(blocks, back, &mut self.block, stopped),
        };
        match size {
            Ok(0) => Ok(None),
            Ok(size) => Ok(Some(&self.block[..size])),
            Err(error) => Err(self.unread(&error)),
        }
    }
}

impl Source {
    fn unread(&self, error: &io::Error) -> IoError {
        IoError::new(format!("{} cannot be read: {}", self.name, why(error)))
    }
}

/// A source as a reader, which is at its end once it is to stop.
pub(super) struct Stopping {
    source: Source,
    stop: Arc<AtomicBool>,
    /// Bytes of the block that have been read.
    done: usize,
    size: usize,
}

impl Source {
    /// Itself as a reader.
    pub(super) fn stopping(self, stop: Arc<AtomicBool>) -> Stopping {
        Stopping { source: self, stop, done: 0, size: 0 }
    }
}

impl Read for Stopping {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.done == self.size {
            let next = self.source.next(&self.stop).map_err(|error| io::Error::other(error.message))?;
            (self.done, self.size) = (0, next.map_or(0, <[u8]>::len));
        }
        let size = to.len().min(self.size - self.done);
        to[..size].copy_from_slice(&self.source.block[self.done..][..size]);
        self.done += size;
        Ok(size)
    }
}

fn read(from: &mut impl Read, block: &mut [u8], stopped: &AtomicBool) -> io::Result<usize> {
    loop {
        match from.read(block) {
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) =>
            {
                if stopped.load(Ordering::Relaxed) {
                    return Ok(0);
                }
            }
            size => return size,
        }
    }
}

fn receive(
    blocks: &Receiver<io::Result<Filled>>,
    back: &SyncSender<Vec<u8>>,
    block: &mut Vec<u8>,
    stopped: &AtomicBool,
) -> io::Result<usize> {
    loop {
        match blocks.recv_timeout(LOOK) {
            Ok(next) => {
                let next = next?;
                let _ = back.try_send(std::mem::replace(block, next.block));
                return Ok(next.size);
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(0),
            Err(RecvTimeoutError::Timeout) if stopped.load(Ordering::Relaxed) => return Ok(0),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Listens at a port for programs of this machine.
fn listen(port: u16, report: &Report) -> io::Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    // A wait without end could not be ended by Ctrl-C.
    listener.set_nonblocking(true)?;
    report.say(&format!("waiting for a connection to {}", listener.local_addr()?));
    Ok(listener)
}

/// Waits for one connection; none when it is to stop.
fn accept(listener: &TcpListener, stopped: &AtomicBool) -> io::Result<Option<TcpStream>> {
    while !stopped.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((socket, _)) => {
                socket.set_nonblocking(false)?;
                socket.set_read_timeout(Some(LOOK))?;
                return Ok(Some(socket));
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                std::thread::sleep(LOOK);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Makes a pipe hold more, where standard input is one; that may be refused, and is no matter then.
fn widen(stdin: io::Stdin) -> io::Stdin {
    #[cfg(target_os = "linux")]
    let _ = nix::fcntl::fcntl(&stdin, nix::fcntl::FcntlArg::F_SETPIPE_SZ(PIPE));
    stdin
}

/// Reads on a thread of its own, until the source ends or nobody takes more.
fn on_thread(mut from: impl Read + Send + 'static) -> io::Result<From> {
    let (send, blocks) = sync_channel(AHEAD);
    let (back, free) = sync_channel::<Vec<u8>>(AHEAD + 2);
    std::thread::Builder::new().name("itp reader".to_owned()).spawn(move || {
        let mut block = vec![0; BLOCK];
        loop {
            let next = match from.read(&mut block) {
                Ok(0) => return,
                Ok(size) => Ok(Filled { block, size }),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let failed = next.is_err();
            if send.send(next).is_err() || failed {
                return;
            }
            block = free.try_recv().unwrap_or_else(|_| vec![0; BLOCK]);
        }
    })?;
    Ok(From::Thread(blocks, back))
}
