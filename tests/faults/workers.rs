//! Workers that panic, at every task: an error, everything is given back, and the engine goes on.

use crate::memory::SCRIPT;
use crate::{one_by_one, read, turn};
use itp::Engine;
use itp::faults::{Place, Then};
use std::panic::{set_hook, take_hook};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Does a job while panics say nothing.
fn quietly<T>(job: impl FnOnce() -> T) -> T {
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let done = job();
    set_hook(hook);
    done
}

#[test]
fn a_worker_that_panics_ends_its_run_and_nothing_else() {
    let _turn = turn();
    let mut panics = 0;
    for (threads, slice) in [(1, "softer[0:20, 0:20]"), (3, "softer[0:20, 0:20]"), (3, "heat[3:5, :, :]")] {
        let engine = Engine::builder().threads(threads).tile([16, 16]).store(0).compile(SCRIPT).unwrap();
        let whole = read(&engine, slice).unwrap().0;
        panics += quietly(|| {
            one_by_one(
                Place::Worker,
                Then::Well,
                || read(&engine, slice),
                |done| {
                    match done {
                        Ok((data, _)) => assert!(data == whole, "{slice}: other bits"),
                        Err(message) => {
                            assert!(message.contains("error[E1009]: a worker failed"), "{message}")
                        }
                    }
                    assert!(read(&engine, slice).is_ok_and(|(data, _)| data == whole), "{slice}: it goes on");
                },
            )
        });
    }
    println!("{panics} panics");
    assert!(panics > 10, "{panics}");
}

#[test]
fn a_host_function_that_panics_is_an_error() {
    let _turn = turn();
    let script = "tensor a: f32[x: inf] = x
        tensor b: f32[x: inf] window [8] take s = a window [8] = extern \"f\"(s)";
    let mut engine = Engine::builder().threads(2).compile(script).unwrap();
    let calls = Arc::new(AtomicU64::new(0));
    engine.register("f", move |call| {
        assert_ne!(calls.fetch_add(1, Ordering::SeqCst), 3, "the fourth window is too much");
        Ok(call.take::<f32>(0)? * 2.0)
    });
    let failed = quietly(|| engine.read::<f32>("b[0:64]")).err().map(|error| error.to_string());
    assert!(failed.is_some_and(|message| message.contains("the fourth window is too much")));
    assert_eq!(engine.read::<f32>("b[0:64]").unwrap()[9], 18.0);
}
