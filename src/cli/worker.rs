//! The thread that does the work: room for every recursion that the limits of the language allow, and panics that
//! end in one line.
//!
//! ```text
//! error: internal error, please report: index out of bounds … (src/graph/order.rs:42:7)
//! ```

use signal_hook::consts::{SIGABRT, SIGXFSZ};
use std::io::Write;
use std::panic::PanicHookInfo;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Address space, not memory: pages are used when they are touched. Walkers nest at most 256 brackets and 2000
/// inlined functions deep, a few hundred bytes to a few kilobytes each.
const STACK_BYTES: usize = 256 << 20;

/// Runs `job` on a thread with a big stack; `None` when it panicked, which has been told by then.
pub(super) fn on_big_stack<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let thread = std::thread::Builder::new().name("itp".to_owned()).stack_size(STACK_BYTES);
    match thread.spawn(job) {
        Ok(handle) => handle.join().ok(),
        Err(_) => {
            let room = STACK_BYTES >> 20;
            let _ = writeln!(
                std::io::stderr(),
                "error[E1005]: no thread with a stack of {room} MiB can be started\n  = help: allow more address space \
                 or more threads: `ulimit -v unlimited`, `ulimit -u unlimited`"
            );
            None
        }
    }
}

/// From here on a process that gets no memory for something small ends with exit code 1, after one line that says so,
/// instead of by a signal. What is large is asked for, and its failure is an error like any other.
pub(super) fn end_without_memory() {
    let always = Arc::new(AtomicBool::new(true));
    let registered = signal_hook::flag::register_conditional_shutdown(SIGABRT, 1, always);
    // Without it, the line is the same and the exit code another.
    let _ = registered;
}

/// From here on a write beyond the limit on the size of files is an error like any other, instead of a signal that ends
/// the process.
pub(super) fn fail_on_large_files() {
    // Nobody looks at the flag: that somebody listens is all that it takes.
    let registered = signal_hook::flag::register(SIGXFSZ, Arc::default());
    // Without it, such a write ends the process; outputs are whole or old even then.
    let _ = registered;
}

/// Arms the fault that the environment names, in debug builds only.
#[cfg(debug_assertions)]
pub(super) fn fail_on_demand() -> Result<(), String> {
    let Some(text) = std::env::var_os("ITP_FAULT") else { return Ok(()) };
    crate::faults::arm(Some(text.to_string_lossy().parse()?));
    Ok(())
}

/// Says that the environment makes no sense.
#[cfg(debug_assertions)]
pub(super) fn refuse(message: &str) -> std::process::ExitCode {
    let _ = writeln!(std::io::stderr(), "error: `ITP_FAULT`: {message}");
    std::process::ExitCode::from(2)
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
