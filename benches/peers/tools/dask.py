"""dask.array: chunks with halos (`map_overlap`) and numpy inside."""
import dask.array as da
import numpy as np

import workloads as w

CHUNK = 1024
PLANE = np.empty((0, 0), np.float32)


def scheduler(threads):
    return {"scheduler": "synchronous"} if threads == 1 else {"scheduler": "threads", "num_workers": threads}


def overlapped(x, function, halo):
    """Applies a function that takes away the halo to every chunk with its halo."""
    padded = lambda block: np.pad(function(block), halo)
    return x.map_overlap(padded, depth=halo, boundary="none", trim=True, meta=PLANE)


def inner(x, halo, threads):
    return lambda: x[halo:-halo, halo:-halo].compute(**scheduler(threads))


def chunked(a, size=CHUNK):
    return da.from_array(a, chunks=(size, size))


def w1(a, n, threads):
    return inner(overlapped(chunked(a), lambda b: w.blur(b, n), 1), 1, threads)


def w2(a, n, threads):
    x = chunked(a)
    for _ in range(w.STAGES):
        x = overlapped(x, lambda b: w.separable(b, w.BINOMIAL), 1)
    return inner(x, w.STAGES, threads)


def w3(a, n, threads):
    top, left = w.WINDOWS_AT
    sizes = (*(CHUNK,) * (n // CHUNK), 8)

    def channel(c):
        def noise(block_info=None):
            (y0, y1), (x0, x1) = block_info[None]["array-location"]
            return w.field(30 + c, top - 4 + y0, top - 4 + y1, left - 4 + x0, left - 4 + x1)
        x = da.map_blocks(noise, chunks=(sizes, sizes), dtype=np.float32, meta=PLANE)
        for _ in range(2):
            x = overlapped(x, lambda b: w.separable(b, w.GAUSS5), 2)
        return x[4:-4, 4:-4]
    out = da.stack([channel(c) for c in range(3)])
    return lambda: out.compute(**scheduler(threads))


def w5(a, n, threads):
    return inner(overlapped(chunked(a), lambda b: w.harris(b, n), 2), 2, threads)


def w6(a, n, threads):
    def block(block_info=None):
        _, (y0, y1), (x0, x1) = block_info[None]["array-location"]
        return w.shaded(w.heights(y0 - 1, y1 + 1, x0 - 1, x1 + 1))
    sizes = (512,) * (n // 512)
    out = da.map_blocks(block, chunks=((3,), sizes, sizes), dtype=np.float32, meta=PLANE[None])
    return lambda: out.compute(**scheduler(threads))


def w9(a, n, threads):
    return inner(overlapped(chunked(a, len(a) // 2), lambda b: w.erosion(b, n), w.STEPS), w.STEPS, threads)


def w10(a, n, threads):
    x = da.from_array(a, chunks=(64, 128, 128)).transpose(2, 0, 1)[::-1, :, ::-1]
    out = x[10:500, 8:n - 8, 6:506].reshape(490 * (n - 16), 500)
    return lambda: out.compute(**scheduler(threads))


def w11(a, n, threads):
    x = da.from_array(a, chunks=(1, 1024, 1024)).reshape(n // 32, 32, 16, 64, 16, 64).transpose(0, 2, 4, 1, 3, 5)
    return lambda: np.ascontiguousarray(x.compute(**scheduler(threads)))
