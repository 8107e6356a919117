//! A port -> connections: a bounded number of them, and none that stands still for ever.
//!
//! ```text
//! 129th connection      503 at once, and closed
//! 75 s for a request    closed, also when its bytes come one by one
//! 75 s for an answer    closed, and a second more for every 16 KiB that were taken, so not when it is read byte by byte
//! ```

use axum::serve::Listener;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

/// Connections that are open at the same time, at the most.
const MOST: usize = 128;
/// A connection is closed this long after it began to ask, unless it is answered; computing and waiting take less. An
/// answer may take as long, and longer as far as it is read.
const STILL: Duration = Duration::from_secs(75);
/// Bytes of an answer that a client takes in a second, at the least, after that time.
const RATE: u32 = 16 << 10;
/// After a failed accept, most often for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n\
    content-type: text/plain; charset=utf-8\r\ncontent-length: 26\r\n\r\ntoo many open connections\n";

/// The port, and how many may still come in.
pub(super) struct Door {
    listener: TcpListener,
    places: Arc<Semaphore>,
}

impl Door {
    /// Takes the port.
    pub(super) async fn open(address: SocketAddr) -> io::Result<Door> {
        let listener = TcpListener::bind(address).await?;
        Ok(Door { listener, places: Arc::new(Semaphore::new(MOST)) })
    }

    /// Where it is.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Listener for Door {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            let Ok((stream, address)) = self.listener.accept().await else {
                sleep(PAUSE).await;
                continue;
            };
            match self.places.clone().try_acquire_owned() {
                Ok(place) => {
                    let _ = stream.set_nodelay(true);
                    let patience = Patience::new(Instant::now());
                    let still = Box::pin(sleep(STILL));
                    return (Connection { stream, still, patience, _place: place }, address);
                }
                // A fresh connection has room for a line, so this does not wait.
                Err(_) => _ = stream.try_write(FULL),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.address()
    }
}

/// A connection that ends when nothing moves.
pub(super) struct Connection {
    stream: TcpStream,
    still: Pin<Box<Sleep>>,
    patience: Patience,
    _place: OwnedSemaphorePermit,
}

/// How long a connection is waited for.
struct Patience {
    /// What moved last.
    last: Way,
    /// When it ends.
    end: Instant,
}

impl Patience {
    /// For a connection that is to ask.
    fn new(now: Instant) -> Patience {
        Patience { last: Way::Out, end: now + STILL }
    }

    /// Takes note that bytes moved. The first of a request start the clock anew, and so do the first of an answer; more
    /// of a request earn nothing, and more of an answer as much time as they may take.
    fn moved(&mut self, way: Way, bytes: usize, now: Instant) {
        if way != self.last {
            self.end = now + STILL;
        }
        if way == Way::Out {
            let earned = Duration::from_secs(1) * u32::try_from(bytes).unwrap_or(u32::MAX) / RATE;
            self.end = (self.end + earned).min(now + STILL);
        }
        self.last = way;
    }
}

/// Where bytes go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

impl Connection {
    /// What came of an attempt to move bytes.
    fn moved(
        &mut self,
        way: Way,
        polled: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(done) = polled {
            let bytes = done?;
            self.patience.moved(way, bytes, Instant::now());
            self.still.as_mut().reset(self.patience.end);
            return Poll::Ready(Ok(bytes));
        }
        ready!(self.still.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let polled = polled.map_ok(|()| buffer.filled().len() - before);
        self.moved(Way::In, polled, context).map_ok(|_| ())
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.moved(Way::Out, polled, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.moved(Way::Out, polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long a connection lives whose bytes move `every` second, `bytes` at a time, up to an hour.
    fn lives(way: Way, bytes: usize) -> u64 {
        let start = Instant::now();
        let mut patience = Patience::new(start);
        // What it was before: an answer before a request, a request before an answer.
        patience.moved(if way == Way::In { Way::Out } else { Way::In }, 100, start);
        let second = |at: u64| start + Duration::from_secs(at);
        let ends = (1..3600).find(|at| {
            let over = patience.end <= second(*at);
            patience.moved(way, bytes, second(*at));
            over
        });
        ends.unwrap_or(3600)
    }

    #[test]
    fn who_asks_or_reads_byte_by_byte_is_not_waited_for() {
        assert_eq!(lives(Way::In, 1), 76);
        assert_eq!(lives(Way::In, 1 << 20), 76, "a request has no rate: it is small");
        assert_eq!(lives(Way::Out, 1), 77, "each byte earns a moment");
        assert_eq!(lives(Way::Out, 1 << 12), 101, "a quarter of the rate earns a quarter of the time");
        assert_eq!(lives(Way::Out, RATE as usize), 3600, "a client who reads may take its time");
    }

    #[test]
    fn a_connection_that_asks_again_starts_anew() {
        let start = Instant::now();
        let mut patience = Patience::new(start);
        let later = start + Duration::from_secs(60);
        patience.moved(Way::In, 1, later);
        assert_eq!(patience.end, later + STILL);
        patience.moved(Way::In, 1, later + Duration::from_secs(9));
        assert_eq!(patience.end, later + STILL);
        patience.moved(Way::Out, 1, later + Duration::from_secs(10));
        assert_eq!(patience.end, later + Duration::from_secs(10) + STILL);
    }
}
