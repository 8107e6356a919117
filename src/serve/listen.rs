//! A port -> connections: a bounded number of them, and none that stands still for ever.
//!
//! ```text
//! 129th connection      503 at once, and closed
//! 75 s for a request    closed, also when its bytes come one by one
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
/// A connection is closed this long after it began to ask, unless it is answered; computing and waiting take less.
const STILL: Duration = Duration::from_secs(75);
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
                    let still = Box::pin(sleep(STILL));
                    return (Connection { stream, still, last: Way::Out, _place: place }, address);
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
    /// What moved last.
    last: Way,
    _place: OwnedSemaphorePermit,
}

/// Where bytes go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

impl Connection {
    /// What came of an attempt to move bytes. What goes out starts the clock anew, what comes in only once per request.
    fn moved<T>(
        &mut self,
        way: Way,
        polled: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            if way == Way::Out || self.last == Way::Out {
                self.still.as_mut().reset(Instant::now() + STILL);
            }
            self.last = way;
            return polled;
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
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.moved(Way::In, polled, context)
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
