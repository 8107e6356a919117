#!/bin/sh
# Mutation testing of the accounts: tiles, readers, lives, peaks and bytes. Does a test fail when one is counted wrong?
#
#     tests/mutants_accounts.sh FOLDER
#
# They need most of the crate, so FOLDER gets a copy of it without what stands above the engine, where the tests that look at
# accounts are part of the library. tests/mutants_at_once.py makes one program of all mutants, and tries one after the other:
# MUTANTS_OF=src/plan those of files whose path has that in it, MUTANTS_SHARE=0/4 a quarter of them, MUTANTS_JOBS=2 two at a time,
# ITP_DIFF_SEEDS=0..150 with the plans of fewer random scripts.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$1
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
sed -i '/^\[profile.dev\]/,/^$/s/^debug = 1/debug = false/' Cargo.toml
# What runs for ever is ended by its processor time, and what waits for ever by the clock.
cat > limited.sh <<'END'
export INSTA_UPDATE=no PROPTEST_DISABLE_FAILURE_PERSISTENCE=1
ulimit -t 120; ulimit -v 8000000
exec timeout 400 "$@"
END
python3 "$root/tests/mutants_at_once.py" . \
    'tiles:: kept::' 'src/tiles.rs src/tiles/boxes.rs src/tiles/memory.rs' \
    'run:: tiles:: model kept:: faulty::workers counts::' \
    'src/run/board.rs src/run/gate.rs src/tiles/flights.rs' \
    'run:: shown::trace library:: faulty::memory faulty::workers counts::' \
    'src/run/ledger.rs src/run/meter.rs src/run/schedule.rs src/run/spare.rs' \
    'plan:: shown::plan differential::planned counts:: moved::' \
    'src/plan/grid.rs src/plan/held.rs src/plan/lives.rs src/plan/peak.rs src/plan/readers.rs src/plan/reuse.rs'
