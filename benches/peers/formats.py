"""Sparse tensors beside numpy and scipy: masked sums, products, matrix times vector.

    v/bin/python formats.py --itp ../../target/release/itp [--small] [--reps 20]

Every result is compared before it is timed; the fastest repetition counts, data is in memory, one thread each.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import scipy.sparse as sp

SCRIPTS = pathlib.Path(__file__).parent / "itp"


def blobs(n, part, rng):
    """A mask of discs that covers about `part` of the square."""
    mask = np.zeros((n, n), bool)
    y, x = np.ogrid[:n, :n]
    while mask.mean() < part:
        r = int(rng.integers(n // 100 + 2, n // 40 + 4))
        cy, cx = rng.integers(0, n, 2)
        lo, hi = max(0, cy - r), min(n, cy + r + 1)
        left, right = max(0, cx - r), min(n, cx + r + 1)
        mask[lo:hi, left:right] |= (y[lo:hi] - cy) ** 2 + (x[:, left:right] - cx) ** 2 <= r * r
    return mask


def random_csr(n, per_row, dtype, rng):
    """`per_row` elements in every row, but for places met twice."""
    indices = rng.integers(0, n, (n, per_row), dtype=np.int32)
    data = rng.uniform(0.5, 1.5, n * per_row).astype(dtype)
    matrix = sp.csr_array((data, indices.ravel(), np.arange(0, n * per_row + 1, per_row)), shape=(n, n))
    matrix.sum_duplicates()
    return matrix


def best(reps, work):
    times = []
    for _ in range(reps):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


class Itp:
    def __init__(self, program, folder, n):
        self.program, self.folder, self.n = program, pathlib.Path(folder), n

    def save(self, name, array):
        path = self.folder / f"{name}.{'npz' if sp.issparse(array) else 'npy'}"
        sp.save_npz(path, array, compressed=False) if sp.issparse(array) else np.save(path, array)
        return path

    def run(self, script, slice, data, reps):
        """The result, the time, and the bytes of what has a format."""
        binds = [word for name, path in data.items() for word in ("--bind", f"{name}={path}")]
        common = [SCRIPTS / script, "--read", slice, "--set", f"n={self.n}", *binds, "--threads", "1"]
        out = self.folder / "result.npy"
        subprocess.run([self.program, "run", *common, "--out", out, "--quiet"], check=True)
        told = subprocess.run([self.program, "bench", *common, "--reps", str(reps), "--json"],
                              check=True, capture_output=True, text=True)
        stats = json.loads(told.stdout)
        return np.load(out), stats["seconds"]["run_min"], stats["formats"]


def tell(name, ours, theirs, peer, found, expected, more=""):
    error = np.max(np.abs(found - expected)) / max(1e-30, np.max(np.abs(expected)))
    assert error < 1e-3, (name, error)
    print(f"{name:<34} itp {ours * 1e3:9.3f} ms   {peer} {theirs * 1e3:9.3f} ms   {theirs / ours:7.2f} x"
          f"   error {error:.0e}{more}", flush=True)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--itp", required=True)
    args.add_argument("--small", action="store_true")
    args.add_argument("--reps", type=int, default=20)
    args = args.parse_args()
    rng = np.random.default_rng(7)
    n, rows = (512, 10_000) if args.small else (4096, 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        itp = Itp(args.itp, folder, n)
        photo = rng.uniform(0, 1, (n, n)).astype(np.float32)
        mask = blobs(n, 0.01, rng)
        saved = {"mask": itp.save("mask", mask), "photo": itp.save("photo", photo)}
        found, ours, formats = itp.run("sparse_masked_sum.itp", "total[:]", saved, args.reps)
        theirs = best(args.reps, lambda: (mask * photo).sum())
        stored = formats["mask"]
        more = f"   {stored['bytes']} bytes, 1/{stored['dense'] / stored['bytes']:.0f} of dense"
        tell("masked sum, 1 % blobs", ours, theirs, "numpy", found, (mask * photo).sum(dtype=np.float64), more)

        a, b = (random_csr(n, n // 100, np.float32, rng) for _ in range(2))
        saved = {"a": itp.save("a", a), "b": itp.save("b", b), "photo": saved["photo"]}
        found, ours, _ = itp.run("sparse_product.itp", "lit[:]", saved, args.reps)
        theirs = best(args.reps, lambda: a.multiply(photo).sum(axis=1))
        tell("1 % random times picture", ours, theirs, "scipy", found, a.multiply(photo).sum(axis=1))
        found, ours, _ = itp.run("sparse_product.itp", "both[:]", saved, args.reps)
        theirs = best(args.reps, lambda: a.multiply(b).sum(axis=1))
        tell("1 % random times 1 % random", ours, theirs, "scipy", found, a.multiply(b).sum(axis=1))

        itp.n = rows
        a, v = random_csr(rows, 10, np.float64, rng), rng.uniform(0.5, 1.5, rows)
        saved = {"a": itp.save("m", a), "v": itp.save("v", v)}
        found, ours, _ = itp.run("sparse_spmv.itp", "r[:]", saved, args.reps)
        theirs = best(args.reps, lambda: a @ v)
        tell(f"matrix times vector, {a.nnz} stored", ours, theirs, "scipy", found, a @ v)


if __name__ == "__main__":
    main()
