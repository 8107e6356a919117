"""TensorStore: index transforms (w10), a chunked array in memory (w11), virtual chunks with numpy inside (w12)."""
import numpy as np
import tensorstore as ts

import workloads as w


def context(threads, cache=0):
    return ts.Context({"cache_pool": {"total_bytes_limit": cache}, "data_copy_concurrency": {"limit": threads}})


def w10(a, n, threads):
    x = ts.array(a, context=context(threads))[ts.d[2, 0, 1].transpose[:]][ts.d[0][::-1]][ts.d[2][::-1]]
    x = x.translate_to[0, 0, 0][10:500, 8:n - 8, 6:506]
    return lambda: x.read().result().reshape(490 * (n - 16), 500)


class Stored:
    """What was written, in the order of the reference; read only when it is looked at."""

    def __init__(self, store, n):
        self.store, self.n = store, n

    def __array__(self, dtype=None, copy=None):
        return w.tiles(self.store.read().result(), self.n)


def w11(a, n, threads):
    metadata = {"shape": [n, 1024, 1024], "chunks": [32, 64, 64], "dtype": "<f4", "compressor": None, "order": "C"}
    spec = {"driver": "zarr", "kvstore": {"driver": "memory"}, "metadata": metadata}

    def run():
        store = ts.open(spec, context=context(threads, 1 << 30), create=True).result()
        for first in range(0, n, 32):
            with ts.Transaction() as transaction:
                for t in range(first, first + 32):
                    store.with_transaction(transaction)[t] = a[t]
        return Stored(store, n)
    return run


def w12(threads):
    domain = ts.IndexDomain(inclusive_min=[-2**31] * 2, exclusive_max=[2**31] * 2)

    def virtual(make):
        """Chunks of 256 that a function of their corners makes. A context per stage: a shared one deadlocks."""
        def read(part, out, _):
            out[...] = make(*part.inclusive_min, *part.exclusive_max)
        layout = ts.ChunkLayout(read_chunk_shape=[256, 256])
        return ts.virtual_chunked(read, None, context=context(threads, 256 << 20), dtype=ts.float32, domain=domain,
                                  chunk_layout=layout)

    def slope(b):
        gx, gy = np.float32(0.5) * (b[1:-1, 2:] - b[1:-1, :-2]), np.float32(0.5) * (b[2:, 1:-1] - b[:-2, 1:-1])
        return np.sqrt(gx * gx + gy * gy)
    base = virtual(lambda y0, x0, y1, x1: w.field(12, y0, y1, x0, x1))
    soft = virtual(lambda y0, x0, y1, x1: w.separable(base[y0 - 2:y1 + 2, x0 - 2:x1 + 2].read().result(), w.GAUSS5))
    out = virtual(lambda y0, x0, y1, x1: slope(soft[y0 - 1:y1 + 1, x0 - 1:x1 + 1].read().result()))
    return lambda y, x, n: out[y:y + n, x:x + n].read().result()
