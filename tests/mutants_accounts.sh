#!/bin/sh
# Mutation testing of the accounts: tiles, readers, lives, peaks and bytes. Does a test fail when one is counted wrong?
#
#     tests/mutants_accounts.sh tiles|run|waits|plan FOLDER [options of cargo-mutants, such as --shard 0/4]
#
# They need most of the crate, so FOLDER gets a copy of it without what stands above the engine, not optimised, where the tests that
# look at accounts are part of the library: one program to compile and to link, some seconds per mutant. They go in stages, the quick ones
# first, and the first that fails ends it. Needs cargo-mutants. `FOLDER/mutants.out` lists what was caught and what was missed.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
what=$1
folder=$2
shift 2
# Files, the stages of tests for them, and programs beside the library that are run.
programs=--cargo-arg=--lib
case $what in
    tiles)
        files='src/tiles.rs src/tiles/boxes.rs src/tiles/memory.rs'
        stages='tiles:: / kept::' ;;
    run)
        files='src/run/ledger.rs src/run/meter.rs src/run/schedule.rs src/run/spare.rs'
        stages='run:: / counts::tiles counts::rows counts::sets counts::slabs_hold / library:: / faulty::memory faulty::workers / counts::' ;;
    waits)
        files='src/run/board.rs src/run/gate.rs src/tiles/flights.rs'
        stages='run:: tiles:: / kept:: / faulty::workers / counts::tiles counts::cancelling'
        programs="--cargo-arg=--lib --cargo-arg=--test --cargo-arg=model" ;;
    plan)
        files='src/plan/grid.rs src/plan/held.rs src/plan/lives.rs src/plan/peak.rs src/plan/readers.rs src/plan/reuse.rs'
        stages='plan:: shown::plan / differential::planned / counts::tiles counts::rows counts::boxes counts::readers counts::slabs_hold / moved:: / counts::' ;;
esac
mkdir -p "$folder"
cd "$folder"
rm -rf src tests
cp -rp "$root/src" "$root/tests" "$root/grammar" "$root/std" "$root/errors" "$root/examples" "$root/build.rs" "$root/Cargo.toml" "$root/Cargo.lock" .
rm -r src/cli* src/main.rs src/serve* src/lsp* src/picture*
sed -i '/feature = "lsp"\|feature = "serve"\|mod cli;\|mod lsp;\|mod serve;\|mod picture;/d' src/lib.rs
sed -i 's/\bcrate::/crate::differential::/g' tests/differential/*.rs
sed -i 's/\bcrate::/crate::faulty::/g' tests/faults/*.rs
cat >> src/lib.rs <<'END'
#[cfg(test)]
extern crate self as itp;
#[cfg(test)]
#[path = "../tests/counts.rs"]
mod counts;
#[cfg(test)]
#[path = "../tests/differential/main.rs"]
mod differential;
#[cfg(test)]
#[path = "../tests/faults/main.rs"]
mod faulty;
#[cfg(test)]
#[path = "../tests/kept.rs"]
mod kept;
#[cfg(test)]
#[path = "../tests/engine.rs"]
mod library;
#[cfg(test)]
#[path = "../tests/moved.rs"]
mod moved;
#[cfg(test)]
#[path = "../tests/snapshots.rs"]
mod shown;
END
sed -i '/^\[\[bench\]\]/,/^$/d; /^default-run/d; s/^default = .*/default = ["jit"]/; /^edition/a autotests = false' Cargo.toml
sed -i '/^\[profile.dev\]/,/^$/{s/^opt-level = 1/opt-level = 0/; s/^debug = 1/debug = false/}' Cargo.toml
# What runs for ever is ended by its processor time, and what waits for ever by the clock.
mkdir -p .cargo
echo "[target.'cfg(all())']
runner = [\"sh\", \"$PWD/stages.sh\"]" > .cargo/config.toml
cat > stages.sh <<END
program=\$1
export INSTA_UPDATE=no; ulimit -t 120; ulimit -v 8000000
case \$program in */model-*) exec timeout 400 "\$program" ;; esac
echo '$stages' | tr / '\n' | while read -r stage; do
    timeout 400 "\$program" \$stage || { echo "exit code \$?"; exit 1; }
done
END
for file in $files; do set -- --file "$file" "$@"; done
cargo mutants --in-place --timeout 1500 $programs "$@"
