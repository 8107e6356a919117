#!/bin/sh
# Mutation testing of the index core and of the tiles of streams: does a test fail when a line is wrong?
#
#     tests/mutants.sh FOLDER [options of cargo-mutants, such as --shard 0/4]
#
# Both use next to nothing of the rest of the crate, so they are made a small crate in FOLDER with their own tests, the properties
# and the recorded answers in one program, where a mutant takes two seconds and not minutes. Needs cargo-mutants.
# `FOLDER/mutants.out` lists what was caught and what was missed.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$1
shift
mkdir -p "$folder/src" "$folder/tests"
cd "$folder"
cp -r "$root/src/index.rs" "$root/src/index" "$root/src/stream.rs" "$root/src/stream" "$root/src/pages.rs" src/
cp -r "$root/tests/index_properties.rs" "$root/tests/conformance" tests/
sed -i 's/^use crate::/use crate::conformance::/' tests/conformance/*.rs
# The recorded answers about the rest of the crate stand at the end, and are left out.
sed -E '/^#\[path = "conformance\/sparse/,/^mod sparse/d; /^fn levels_like_finch/,$d' "$root/tests/conformance.rs" |
    sed '$d' > tests/conformance.rs
cat > src/lib.rs <<'END'
//! A part of itp.
pub mod index;
pub mod pages;
pub mod stream;
#[cfg(test)]
extern crate self as itp;
#[cfg(test)]
#[path = "../tests/conformance.rs"]
mod conformance;
#[cfg(test)]
#[path = "../tests/index_properties.rs"]
mod index_properties;
END
cat > Cargo.toml <<'END'
[package]
name = "itp"
version = "0.0.0"
edition = "2024"
autotests = false
[dependencies]
libc = "0.2"
serde_json = { version = "1", features = ["preserve_order"] }
[dev-dependencies]
proptest = { version = "1.12", default-features = false, features = ["std"] }
[profile.dev]
debug = false
[workspace]
END
cp "$root/Cargo.lock" .
# What runs for ever is ended by its processor time, and what asks for memory without end gets none: both are caught.
mkdir -p .cargo
cat > .cargo/config.toml <<'END'
[target.'cfg(all())']
runner = ["sh", "-c", 'ulimit -t 20; ulimit -v 4000000; exec "$0" "$@"']
END
# A mutant does not meet what another one failed with.
PROPTEST_DISABLE_FAILURE_PERSISTENCE=1 cargo mutants --in-place --timeout 300 --cargo-arg=--lib "$@"
