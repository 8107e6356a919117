"""Frames into a zarr array: `itp stream` beside acquire-zarr and TensorStore, on one disk, in turns.

    python stream.py --itp ../../target/release/itp --folder /tmp/streams

u16 (256, 1024, 1024) in chunks of (32, 256, 256), not compressed. Every array is compared with the frames before any time
counts. The others are handed frames that are in memory; `itp stream` reads them from a file, or from a pipe. Nobody waits
for the disk itself (TensorStore is told not to; `--sync` lets it).
"""
import argparse
import json
import shutil
import statistics
import subprocess
import time
from pathlib import Path

import numpy as np

SHAPE, CHUNK = (256, 1024, 1024), (32, 256, 256)


def frames():
    rng = np.random.default_rng(7)
    one = rng.integers(0, 65536, SHAPE[1:], dtype=np.uint16)
    return np.stack([np.roll(one, at * 17) for at in range(SHAPE[0])])


def itp(args, out, raw, pipe=False, threads=1):
    words = [args.itp, "stream", "--shape", "0,1024,1024", "--type", "u16", "--tile", "32,256,256"]
    words += ["--out", str(out), "--threads", str(threads), "--quiet"]
    start = time.perf_counter()
    if pipe:
        with open(raw, "rb") as file:
            cat = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
            subprocess.run(words, stdin=cat.stdout, check=True)
            cat.wait()
    else:
        subprocess.run(words + ["--in", str(raw)], check=True)
    return time.perf_counter() - start


def acquire(out, data, threads):
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
    for frame in data:
        stream.append(frame)
    stream.close()
    return time.perf_counter() - start


def tensorstore(out, data, threads, sync):
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--itp", required=True)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/itp-streams"))
    parser.add_argument("--reps", type=int, default=7)
    parser.add_argument("--sync", action="store_true")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    data, raw = frames(), args.folder / "frames.raw"
    data.tofile(raw)
    runs = {
        "itp, file, 1 thread": lambda out: itp(args, out, raw),
        "itp, file, 2 threads": lambda out: itp(args, out, raw, threads=2),
        "itp, pipe, 1 thread": lambda out: itp(args, out, raw, pipe=True),
        "acquire-zarr, 1 thread": lambda out: acquire(out, data, 1),
        "acquire-zarr, 2 threads": lambda out: acquire(out, data, 2),
        "tensorstore, 1 thread": lambda out: tensorstore(out, data, 1, args.sync),
        "tensorstore, 2 threads": lambda out: tensorstore(out, data, 2, args.sync),
    }
    seconds = {name: [] for name in runs}
    for rep in range(args.reps + 1):
        for name, run in runs.items():
            out = args.folder / "out.zarr"
            shutil.rmtree(out, ignore_errors=True)
            took = run(out)
            if rep == 0:
                assert right(out, data), name
            else:
                seconds[name].append(took)
    base = min(seconds["itp, file, 1 thread"])
    print(f"{'':26}{'min s':>8}{'median':>8}{'GB/s':>7}{'/ itp':>7}")
    for name, times in seconds.items():
        best = min(times)
        print(f"{name:26}{best:8.3f}{statistics.median(times):8.3f}{data.nbytes / best / 1e9:7.2f}{best / base:7.2f}")
    shutil.rmtree(args.folder)


if __name__ == "__main__":
    main()
