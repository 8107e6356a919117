#!/usr/bin/env python3
"""itp beside other tools: every workload checked against numpy, then timed in turns.

    run.py --workloads w1,w5 --peers halide,c --quick     seconds
    run.py --markdown ../../docs/performance.md           everything, about twenty minutes

A ratio is the time of the other tool divided by that of itp, from the same run: above 1 itp is faster. One thread on one
core unless `--threads` says otherwise; the tools take turns (A B C A B C …) in processes of their own that wait in
between, and the fastest repetition counts. With one thread that is processor time, with several wall time; w12 is the
median wall time of a read, w13 the wall time of a whole process.
"""
import argparse
import os
import sys
from pathlib import Path

import report
from competitors import Itp, Peer, Wrong
from workloads import WORKLOADS

HERE = Path(__file__).parent
PEERS = ["c", "halide", "numba", "torch", "opencv", "tensorstore", "dask", "infinite_tensor", "numpy"]


def some_of(known):
    """A list such as w1,w5 of which every word is known."""
    def parse(text):
        words = text.split(",")
        unknown = [word for word in words if word not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown[0]} is none of {', '.join(known)}")
        return words
    return parse


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", type=some_of(WORKLOADS), default=list(WORKLOADS),
                        help="such as w1,w5 (default: all)")
    parser.add_argument("--peers", type=some_of(PEERS), default=PEERS, help="such as halide,c (default: all)")
    parser.add_argument("--quick", action="store_true", help="small sizes and few rounds")
    parser.add_argument("--size", type=int, help="another size than the workload's own, such as 4096")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--core", type=int, default=os.cpu_count() - 1, help="the core for one thread (default: the last)")
    parser.add_argument("--rounds", type=int, help="turns of every tool (default: 5, quick: 4)")
    parser.add_argument("--budget", type=float,
                        help="seconds after which a tool gets no further turn (default: 8, quick: 2)")
    parser.add_argument("--itp", type=Path, default=HERE / "../../target/release/itp", help="the binary to measure")
    parser.add_argument("--markdown", type=Path, help="write the tables there, between its markers if it has them")
    args = parser.parse_args()
    if not args.itp.exists():
        parser.error(f"there is no {args.itp}; build it with `cargo build --release`, or name another with --itp")
    args.rounds = args.rounds or (4 if args.quick else 5)
    args.budget = args.budget or (2 if args.quick else 8)
    return args


def isolate(args):
    """This process and all it starts: so many threads, and one core for one thread."""
    for name in ("OMP", "MKL", "OPENBLAS", "NUMBA", "HL", "NUMEXPR"):
        os.environ[f"{name}_NUM_THREADS"] = str(args.threads)
    os.environ["OMP_WAIT_POLICY"] = "passive"
    os.environ["NUMBA_CACHE_DIR"] = str(HERE / ".cache/numba")
    if args.threads == 1:
        os.sched_setaffinity(0, {args.core})


def take_turns(tools, rounds, budget):
    """Lets every tool repeat its work in turns, until it has used up its budget."""
    for _ in range(rounds):
        for tool in tools:
            if tool.spent < budget:
                tool.turn()


def ready(name, work, n, args):
    """The tool, checked; None if it does not know the workload."""
    tool = Itp(args.itp.resolve(), work, n, args.threads) if name == "itp" else Peer(name, work, n, args.threads)
    try:
        if tool.start():
            tool.check()
            return tool
    except Wrong:
        tool.stop()
        raise
    tool.stop()
    return None


def measure(work, n, args):
    """The tools that know the workload and are right, timed; and whether one was wrong."""
    tools, wrong = [], False
    try:
        for name in ["itp", *args.peers]:
            try:
                tools.append(ready(name, work, n, args))
            except Wrong as error:
                print(f"{work.key}: {error}", file=sys.stderr, flush=True)
                wrong = True
        tools = [tool for tool in tools if tool]
        take_turns(tools, args.rounds, args.budget)
    finally:
        for tool in filter(None, tools):
            tool.stop()
    return tools, wrong


def main():
    args = arguments()
    isolate(args)
    before, rows, any_wrong = os.getloadavg(), [], False
    for key in args.workloads:
        work = WORKLOADS[key]
        n = args.size or (work.quick if args.quick else work.full)
        tools, wrong = measure(work, n, args)
        any_wrong |= wrong
        if tools and tools[0].name == "itp":
            rows.append(report.Row(work, n, tools))
            print(report.text(rows[-1]), flush=True)
    if args.markdown:
        report.write(args.markdown, rows, args, before)
    sys.exit(any_wrong)


if __name__ == "__main__":
    main()
