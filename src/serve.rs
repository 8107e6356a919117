//! `itp serve`: a script -> a page in the browser, and arrays over HTTP for other programs, on this machine only.
//!
//! ```text
//! GET /                                      the page: pan, zoom, turn parameters, see errors
//! GET /tiles/height/-3/5/-2.png              256×256 pixels of every eighth element
//! GET /slice.npy?read=height[0:512, -9:9]    any slice
//! GET /zarr/height/c/4/7                     a chunk of an array that goes on
//! ```
//!
//! - [`listen`] takes connections, few and not for ever; [`guard`] refuses what does not come from this machine's page;
//! - [`routes`] knows the addresses, [`query`] what stands in them, [`answer`] what goes back;
//! - [`pool`] computes: a few threads, a queue that ends, and work that is stopped when nobody waits for it;
//! - [`shelf`] holds the script, compiled once for every set of parameters that is in use, and again when it is saved;
//! - [`layers`] are what can be seen, [`opening`] what is seen first, [`tile`] cuts them, [`paint`] colours them, [`chunks`] shows them as zarr arrays.
//!
//! Whatever is asked, the answer is 200, 304, 4xx or 503.

mod answer;
mod chunks;
mod guard;
mod layers;
mod listen;
mod opening;
mod paint;
mod pool;
mod query;
mod routes;
mod shelf;
mod tile;

use crate::compile::Program;
use crate::engine::Error;
use listen::Door;
use pool::Pool;
use shelf::Shelf;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;

/// What is served, and how much it may take.
#[derive(Clone, Debug)]
pub struct Options {
    /// The script.
    pub file: PathBuf,
    /// Port on 127.0.0.1; 0 takes any that is free.
    pub port: u16,
    /// Parameters with other values than the script gives them.
    pub settings: Vec<(String, String)>,
    /// Files in the place of inputs.
    pub bindings: Vec<(String, String)>,
    /// Reads that run at the same time, each on one core.
    pub threads: usize,
    /// Bytes that one request may take at its peak.
    pub memory: u64,
    /// Requests that may wait for a free thread.
    pub queue: usize,
    /// Draws the pipeline of a script, as SVG.
    pub draw: fn(&Program) -> String,
}

/// What all requests share.
struct Server {
    shelf: Shelf,
    pool: Pool,
    /// Room for answers that are on their way, in pieces of [`answer::PIECE`].
    room: Arc<Semaphore>,
    port: u16,
    draw: fn(&Program) -> String,
}

/// How often a saved file and the wish to end are looked for.
const LOOK: Duration = Duration::from_millis(100);

/// Serves until `stop` is true; `ready` is told the address once there is an answer to be had there.
///
/// A script that does not compile is served, too: the page shows what is wrong, and the picture once it is mended.
pub fn serve(options: Options, stop: Arc<AtomicBool>, ready: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("itp-serve")
        .enable_io()
        .enable_time()
        .build()?;
    let door = runtime.block_on(Door::open(SocketAddr::from((Ipv4Addr::LOCALHOST, options.port))))?;
    let address = door.address()?;
    let server = Arc::new(Server {
        port: address.port(),
        draw: options.draw,
        pool: Pool::new(options.threads, options.queue)?,
        room: Arc::new(Semaphore::new(answer::PIECES)),
        shelf: Shelf::open(options),
    });
    let router = routes::router(server.clone());
    runtime.spawn(async move { axum::serve(door, router).await });
    ready(address);
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
        server.shelf.look();
    }
    server.pool.close();
    runtime.shutdown_timeout(LOOK);
    Ok(())
}

/// Compiles the script once, so that the command line can tell what is wrong before anything is served.
pub fn check(options: &Options) -> Result<crate::Engine, Error> {
    shelf::compile(options, &options.settings)
}
