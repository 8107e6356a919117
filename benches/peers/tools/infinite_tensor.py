"""infinite-tensor, as its README shows: a tensor per stage that takes padded windows of the one before, torch inside.

Every run starts with an empty store of tiles. Where the README advises it (w9), one function does all steps.
"""
import torch
from infinite_tensor import InfiniteTensor, MemoryTileStore, TensorWindow

import workloads as w
from tools import torch as kernels

WINDOW = 512


def square(n, channels=()):
    return (*channels, n, n)


def source(make, store, channels=(), n=WINDOW):
    """A tensor whose windows a function of their numbers makes."""
    return InfiniteTensor((*channels, None, None), make, TensorWindow(square(n, channels)), tile_store=store)


def image(a, halo, store, channels=()):
    """An array as a tensor without end, zero outside."""
    size = a.shape[-1]

    def make(ctx):
        y, x = (k * WINDOW + halo for k in ctx[-2:])
        y0, y1, x0, x1 = max(y, 0), min(y + WINDOW, size), max(x, 0), min(x + WINDOW, size)
        if (y1 - y0, x1 - x0) == (WINDOW, WINDOW):
            return a[..., y0:y1, x0:x1].clone().reshape(square(WINDOW, channels))
        out = torch.zeros((*a.shape[:-2], WINDOW, WINDOW))
        if y1 > y0 and x1 > x0:
            out[..., y0 - y:y1 - y, x0 - x:x1 - x] = a[..., y0:y1, x0:x1]
        return out.reshape(square(WINDOW, channels))
    return source(make, store, channels)


def stage(before, function, halo, store, channels_in=(), channels=(), n=WINDOW, step=None):
    """Windows of n, each made of a window of the tensor before with a halo around it."""
    step = step or n
    offset = (*(0 for _ in channels_in), -halo, -halo)
    taken = TensorWindow(square(step + 2 * halo, channels_in), square(step, channels_in), offset)
    return InfiniteTensor((*channels, None, None), lambda ctx, a: function(a), TensorWindow(square(n, channels)),
                          args=(before,), args_windows=(taken,), tile_store=store)


def runner(threads, pipeline, read):
    """Builds the pipeline on an empty store and reads it."""
    torch.set_num_threads(threads)
    return lambda: read(pipeline(MemoryTileStore())).numpy()


def corner(n):
    return lambda t: t[0:n, 0:n]


def w1(a, n, threads):
    a = torch.from_numpy(a)
    blur = lambda t: kernels.separable(t, [1 / 3] * 3)
    return runner(threads, lambda store: stage(image(a, 1, store), blur, 1, store), corner(n))


def w2(a, n, threads):
    a = torch.from_numpy(a)

    def pipeline(store):
        t = image(a, w.STAGES, store)
        for _ in range(w.STAGES):
            t = stage(t, kernels.binomial, 1, store)
        return t
    return runner(threads, pipeline, corner(n))


def w3(a, n, threads):
    def noise(ctx):
        y, x = (k * WINDOW for k in ctx[-2:])
        return torch.stack([kernels.field(30 + c, y, y + WINDOW, x, x + WINDOW) for c in range(3)])

    def pipeline(store):
        once = stage(source(noise, store, (3,)), kernels.gauss, 2, store, (3,), (3,))
        return stage(once, kernels.gauss, 2, store, (3,), (3,))
    y, x = w.WINDOWS_AT
    return runner(threads, pipeline, lambda t: t[:, y:y + n, x:x + n])


def w4(a, n, threads):
    a = torch.from_numpy(a)
    pipeline = lambda store: stage(image(a, 3, store, (3,)), kernels.unsharp, 3, store, (3,), (3,))
    return runner(threads, pipeline, lambda t: t[:, 0:n, 0:n])


def w5(a, n, threads):
    a = torch.from_numpy(a)

    def pipeline(store):
        gradients = lambda t: torch.stack(kernels.gradients(t[0]))
        response = lambda g: kernels.response(*g)[None]
        both = stage(image(a, 2, store, (1,)), gradients, 1, store, (1,), (2,))
        return stage(both, response, 1, store, (2,), (1,))
    return runner(threads, pipeline, lambda t: t[0, 0:n, 0:n])


def w6(a, n, threads):
    def heights(ctx):
        y, x = (k * WINDOW for k in ctx[-2:])
        return kernels.heights(y, y + WINDOW, x, x + WINDOW)[None]
    pipeline = lambda store: stage(source(heights, store, (1,)), lambda h: kernels.shaded(h[0]), 1, store, (1,), (3,))
    return runner(threads, pipeline, lambda t: t[:, 0:n, 0:n])


def w7(a, n, threads):
    a, ramp = torch.from_numpy(a), torch.from_numpy(w.RAMP)
    ramp = ramp[:, None] * ramp

    def weighted(ctx, t):
        return torch.stack([t[0] * (0.5 / t[0].mean()) * ramp, ramp])

    def pipeline(store):
        window = lambda c: TensorWindow((c, w.WINDOW, w.WINDOW), (c, w.STEP, w.STEP))
        return InfiniteTensor((2, None, None), weighted, window(2), args=(image(a, w.STEP, store, (1,)),),
                              args_windows=(window(1),), tile_store=store)

    def read(t):
        total, weights = t[:, 0:n, 0:n]
        return total / weights
    return runner(threads, pipeline, read)


def w8(a, n, threads):
    """Windows of 1024, 512, … from level to level; the same size everywhere took four times as long."""
    a = torch.from_numpy(a)

    def mixed(ctx, down, up):
        return 0.5 * down + 0.5 * kernels.doubled(up)[1:-1, 1:-1]

    def pipeline(store):
        downs = [image(a, 32, store)]
        for level in range(1, w.LEVELS + 1):
            size = 1024 >> level
            downs.append(stage(downs[-1], kernels.halved_part, 1, store, n=size, step=2 * size))
        up = downs.pop()
        while downs:
            size = 1024 >> len(downs) - 1
            half = TensorWindow((size // 2 + 2,) * 2, (size // 2,) * 2, (-1, -1))
            whole = TensorWindow((size, size))
            up = InfiniteTensor((None, None), mixed, whole, args=(downs.pop(), up), args_windows=(whole, half),
                                tile_store=store)
        return up
    return runner(threads, pipeline, corner(n))


def w9(a, n, threads):
    a = torch.from_numpy(a)
    return runner(threads, lambda store: stage(image(a, w.STEPS, store), kernels.erosion, w.STEPS, store), corner(n))


def w12(threads):
    torch.set_num_threads(threads)
    store, size = MemoryTileStore(cache_size_bytes=256 << 20), 256

    def noise(ctx):
        y, x = (k * size for k in ctx)
        return kernels.field(12, y, y + size, x, x + size)
    soft = stage(source(noise, store, n=size), kernels.gauss, 2, store, n=size)
    out = stage(soft, kernels.slope, 1, store, n=size)
    return lambda y, x, n: out[y:y + n, x:x + n].numpy()
