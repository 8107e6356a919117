//! Compiled programs give their memory back. A process of its own, so that nobody else allocates meanwhile.
//!
//! Everyday: 2,000 times. `ITP_LONG=1`: 20,000 times.
#![cfg(all(feature = "jit", target_os = "linux"))]

use itp::jit::{JitOptions, compile};
use itp::loops::parse::parse;

/// Bytes of this process that are in memory, and those that are mapped.
fn memory() -> [i64; 2] {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux tells");
    let pages: Vec<i64> = text.split_whitespace().map(|count| count.parse().expect("a number")).collect();
    [pages[1] * 4096, pages[0] * 4096]
}

#[test]
fn compiling_and_dropping_does_not_grow() {
    let text = "kernel a(n)
  b0: f32 out
  t0: f32 = 1 2 3
  v0: i64 = const 0
  v1: i64 = arg 0
  row v2 in v0..v1
    v3: f32 = table t0 v0
    store b0 v2 v3
";
    let kernels = [parse(text).unwrap()];
    let compile_many = |count| {
        for _ in 0..count {
            compile(&kernels, &JitOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        }
    };
    let count = if std::env::var_os("ITP_LONG").is_some() { 20_000 } else { 2_000 };
    compile_many(200);
    let before = memory();
    compile_many(count);
    let after = memory();
    let growth = [after[0] - before[0], after[1] - before[1]];
    println!("{count} compiles: {growth:?} bytes more");
    // A page of code and one of tables, leaked each time, would be 16 MB after 2,000.
    let most = if count > 2_000 { 4 << 20 } else { 1 << 20 };
    assert!(growth.iter().all(|bytes| *bytes <= most), "{growth:?}");
}
