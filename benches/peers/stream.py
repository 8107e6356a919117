"""Frames into a zarr array: `itp stream` beside acquire-zarr and TensorStore, on one disk, in turns.

    python stream.py --itp ../../target/release/itp --folder /tmp/streams

u16 (256, 1024, 1024) in chunks of (32, 256, 256), not compressed. Every array is compared with the frames before any time
counts. What is the same for all:

- the source, a file that the system holds in memory: `itp stream` reads it as standard input, the others map it, which is
  faster for them than reading it into memory of their own. Rows that say `memory` are handed frames that are in memory;
- the processor: rows of one thread run on one core. TensorStore copies and writes on threads of their own whatever it is told,
  and would have two. Its start and that of acquire-zarr are not counted, that of `itp` is;
- what was before: the files of the run before are emptied, and removed when all is over: for minutes ext4 looks at every
  file that was removed whenever one is made, which took 0.08 of 0.18 s (`--remove` does so nevertheless). The disk has
  nothing left to write, and the memory that the system hands out next has been used just now. A virtual machine gives back what is free for a while, and taking it again can take
  ten times as long as the run itself;
- waiting for the disk: nobody does (TensorStore is told not to; `--sync` lets it), except for acquire-zarr, which cannot be
  told. A library in LD_PRELOAD whose `fsync` does nothing makes it the same.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import time
from pathlib import Path

import numpy as np

SHAPE, CHUNK = (256, 1024, 1024), (32, 256, 256)
CORES = sorted(os.sched_getaffinity(0))


def frames():
    rng = np.random.default_rng(7)
    one = rng.integers(0, 65536, SHAPE[1:], dtype=np.uint16)
    return np.stack([np.roll(one, at * 17) for at in range(SHAPE[0])])


def mapped(raw):
    return np.memmap(raw, dtype=np.uint16, mode="r", shape=SHAPE)


def itp(args, out, raw, pipe=False, threads=1):
    words = [args.itp, "stream", "--shape", "0,1024,1024", "--type", "u16", "--tile", "32,256,256"]
    words += ["--out", str(out), "--threads", str(threads), "--quiet"]
    start = time.perf_counter()
    with open(raw, "rb") as file:
        if pipe:
            cat = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
            subprocess.run(words, stdin=cat.stdout, check=True)
            cat.wait()
        else:
            subprocess.run(words, stdin=file, check=True)
    return time.perf_counter() - start


def acquire(out, source, threads):
    import acquire_zarr as aqz

    kinds = [("t", aqz.DimensionType.TIME, 0), ("y", aqz.DimensionType.SPACE, 1024), ("x", aqz.DimensionType.SPACE, 1024)]
    dims = [
        aqz.Dimension(name=name, kind=kind, array_size_px=size, chunk_size_px=chunk, shard_size_chunks=1)
        for (name, kind, size), chunk in zip(kinds, CHUNK)
    ]
    array = aqz.ArraySettings(dimensions=dims, data_type=aqz.DataType.UINT16)
    settings = aqz.StreamSettings(arrays=[array], store_path=str(out), max_threads=threads, overwrite=True)
    start = time.perf_counter()
    stream = aqz.ZarrStream(settings)
    for frame in source():
        stream.append(frame)
    stream.close()
    return time.perf_counter() - start


def tensorstore(out, source, threads, sync):
    import tensorstore as ts

    spec = {
        "driver": "zarr3",
        "kvstore": {"driver": "file", "path": str(out)},
        "context": {
            "data_copy_concurrency": {"limit": threads},
            "file_io_concurrency": {"limit": threads},
            "file_io_sync": sync,
        },
        "metadata": {
            "shape": list(SHAPE),
            "data_type": "uint16",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(CHUNK)}},
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        },
    }
    start = time.perf_counter()
    data = source()
    store = ts.open(spec, create=True).result()
    for at in range(0, SHAPE[0], CHUNK[0]):
        store[at : at + CHUNK[0]].write(data[at : at + CHUNK[0]]).result()
    return time.perf_counter() - start


def right(out, data):
    import tensorstore as ts

    folders = [out] + [path for path in out.iterdir() if path.is_dir() and (path / "zarr.json").exists()]
    for folder in folders:
        if json.loads((folder / "zarr.json").read_text()).get("node_type") == "array":
            read = ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": str(folder)}}).result().read().result()
            return np.array_equal(read, data)
    return False


def prepare(folder, out, remove):
    """Puts away what the run before left, and makes the system use the memory that it will hand out next."""
    if remove:
        shutil.rmtree(out, ignore_errors=True)
    elif out.exists():
        for path in out.rglob("*"):
            if path.is_file():
                os.truncate(path, 0)
        old = folder / "old"
        old.mkdir(exist_ok=True)
        out.rename(old / str(len(os.listdir(old))))
    os.sync()
    block, used = b"\1" * (4 << 20), folder / "used"
    with open(used, "wb", buffering=0) as file:
        for _ in range(300):
            file.write(block)
    used.unlink()


def pin(cores):
    """Leaves all threads that there are, and those that they start, these cores."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), cores)


def measured(run, cores):
    """Wall and processor seconds of a run, children included."""
    pin(cores)
    before = os.times()
    wall = run()
    after = os.times()
    pin(CORES)
    return wall, sum(after[:4]) - sum(before[:4])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--itp", required=True)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/itp-streams"))
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--sync", action="store_true")
    parser.add_argument("--remove", action="store_true")
    parser.add_argument("--only", default="", help="rows whose names have one of these, apart by `;`")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    data, raw = frames(), args.folder / "frames.raw"
    data.tofile(raw)
    file, memory = lambda: mapped(raw), lambda: data
    runs = {}
    for threads in (1, 2):
        cores = CORES[-threads:]
        row = lambda name, run, threads=threads, cores=cores: runs.update({f"{name}, {threads}": (cores, run)})
        row("itp, file", lambda out, n=threads: itp(args, out, raw, threads=n))
        row("itp, pipe", lambda out, n=threads: itp(args, out, raw, pipe=True, threads=n))
        for name, source in (("file", file), ("memory", memory)):
            row(f"acquire-zarr, {name}", lambda out, n=threads, s=source: acquire(out, s, n))
            row(f"tensorstore, {name}", lambda out, n=threads, s=source: tensorstore(out, s, n, args.sync))
    runs = {name: run for name, run in runs.items() if any(word in name for word in args.only.split(";"))}
    times = {name: [] for name in runs}
    for rep in range(args.reps + 1):
        for name, (cores, run) in runs.items():
            out = args.folder / "out.zarr"
            prepare(args.folder, out, args.remove)
            took = measured(lambda: run(out), cores)
            if rep == 0:
                assert right(out, data), name
            else:
                times[name].append(took)
    print(f"{'source, cores and threads':26}{'min s':>8}{'median':>8}{'cpu s':>7}{'GB/s':>7}{'/ itp':>7}")
    for name, took in times.items():
        best, cpu = min(wall for wall, _ in took), min(cpu for _, cpu in took)
        base = min(wall for wall, _ in times[f"itp, file, {name[-1]}"])
        median = statistics.median(wall for wall, _ in took)
        print(f"{name:26}{best:8.3f}{median:8.3f}{cpu:7.2f}{data.nbytes / best / 1e9:7.2f}{best / base:7.2f}")
    shutil.rmtree(args.folder)


if __name__ == "__main__":
    main()
