//! The `itp` binary.

fn main() {}
