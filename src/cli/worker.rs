//! The thread that does the work: room for every recursion that the limits of the language allow, and panics that
//! end in one line.
//!
//! ```text
//! error: internal error, please report: index out of bounds … (src/graph/order.rs:42:7)
//! ```

use std::io::Write;
use std::panic::PanicHookInfo;

/// Address space, not memory: pages are used when they are touched. Walkers nest at most 256 brackets and 2000
/// inlined functions deep, a few hundred bytes to a few kilobytes each.
const STACK_BYTES: usize = 256 << 20;

/// Runs `job` on a thread with a big stack; `None` when it panicked, which has been told by then.
pub(super) fn on_big_stack<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let thread = std::thread::Builder::new().name("itp".to_owned()).stack_size(STACK_BYTES);
    match thread.spawn(job) {
        Ok(handle) => handle.join().ok(),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: cannot start a thread: {error}");
            None
        }
    }
}

/// From here on a panic of any thread is one line; with `RUST_BACKTRACE` the usual text follows.
pub(super) fn tell_panics_in_one_line() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let _ = writeln!(std::io::stderr(), "{}", one_line(info));
        if std::env::var_os("RUST_BACKTRACE").is_some() {
            usual(info);
        }
    }));
}

fn one_line(info: &PanicHookInfo<'_>) -> String {
    let what = info.payload_as_str().unwrap_or("no message").replace('\n', " ");
    let place = info.location().map(|place| format!(" ({place})")).unwrap_or_default();
    format!("error: internal error, please report: {what}{place}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses at least `depth` kilobytes of stack.
    fn deep(depth: usize) -> usize {
        let room = std::hint::black_box([1_u8; 1024]);
        if depth == 0 { 0 } else { deep(depth - 1) + usize::from(room[depth % 1024]) }
    }

    #[test]
    fn a_worker_has_room_for_deep_recursion() {
        assert_eq!(on_big_stack(|| deep(100_000)), Some(100_000));
    }

    #[test]
    fn a_panic_of_a_worker_is_caught() {
        assert_eq!(on_big_stack(|| -> u32 { panic!("on purpose") }), None);
    }
}
