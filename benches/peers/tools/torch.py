"""PyTorch on the processor: weighted sums of slices, which is faster than conv2d for one channel."""
import torch

import workloads as w

torch.set_grad_enabled(False)


def signed(value):
    """The 32 bits of an unsigned constant as a signed one: torch wraps int32."""
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


HASH_X, HASH_Y, HASH_MIX = (signed(v) for v in (w.HASH_X, w.HASH_Y, w.HASH_MIX))


def along(a, taps, axis):
    size, total = a.shape[axis] - len(taps) + 1, None
    for i, k in enumerate(taps):
        if k:
            part = a.narrow(axis, i, size)
            total = part * k if total is None else total.add_(part, alpha=k)
    return total


def separable(a, taps_x, taps_y=None):
    taps_x, taps_y = (None if t is None else [float(k) for k in t] for t in (taps_x, taps_y))
    return along(along(a, taps_x, -1), taps_y or taps_x, -2)


def hashed(y, x, seed):
    h = x * HASH_X + (y * HASH_Y + signed(seed * w.HASH_SEED))
    h = (h ^ (h >> 13 & 0x7FFFF)) * HASH_MIX
    return h ^ (h >> 15 & 0x1FFFF)


def field(seed, y0, y1, x0, x1):
    y, x = torch.arange(y0, y1, dtype=torch.int32)[:, None], torch.arange(x0, x1, dtype=torch.int32)[None, :]
    return (hashed(y, x, seed) >> 8 & 0xFFFFFF).float() * 2.0**-24


def binomial(a):
    return separable(a, w.BINOMIAL)


def gauss(a):
    return separable(a, w.GAUSS5)


def unsharp(a):
    grey = sum(k * plane for k, plane in zip(w.GREY, a))
    inner = grey[3:-3, 3:-3]
    return (2 * inner - separable(grey, w.GAUSS7)) / inner * a[:, 3:-3, 3:-3]


def gradients(a):
    return separable(a, w.SOBEL, w.SMOOTH), separable(a, w.SMOOTH, w.SOBEL)


def response(ix, iy):
    xx, yy, xy = (separable(p, [1, 1, 1]) for p in (ix * ix, iy * iy, ix * iy))
    trace = xx + yy
    return xx * yy - xy * xy - 0.04 * trace * trace


def octave(y, x, number):
    yi, xi = y.floor(), x.floor()
    fy, fx = y - yi, x - xi
    yi, xi = yi.int(), xi.int()

    def corner(dy, dx):
        h = hashed(yi + dy, xi + dx, 100 + number)
        gx, gy = ((bits & 0xFFFF).float() * 2.0**-15 - 1 for bits in (h, h >> 16))
        return gx * (fx - dx) + gy * (fy - dy)

    def fade(t):
        return t * t * t * (t * (t * 6 - 15) + 10)
    u = fade(fx)
    return torch.lerp(torch.lerp(corner(0, 0), corner(0, 1), u), torch.lerp(corner(1, 0), corner(1, 1), u), fade(fy))


def heights(y0, y1, x0, x1):
    y, x = torch.arange(y0, y1, dtype=torch.float32)[:, None], torch.arange(x0, x1, dtype=torch.float32)[None, :]
    return sum(0.5**o * octave(y * (2.0**o / 256), x * (2.0**o / 256), o) for o in range(w.OCTAVES))


def shaded(h):
    dx, dy = 20 * (h[1:-1, 2:] - h[1:-1, :-2]), 20 * (h[2:, 1:-1] - h[:-2, 1:-1])
    q = dx * dx + dy * dy
    return torch.stack([h[1:-1, 1:-1], q.sqrt(), ((0.70710678 + 0.5 * dx + 0.5 * dy) / (1 + q).sqrt()).clamp(min=0)])


def terrain(n):
    """In blocks of rows: temporaries of the whole image are ten times slower."""
    out = torch.empty((3, n, n))
    for y in range(0, n, 64):
        out[:, y:y + 64] = shaded(heights(y - 1, y + 65, -1, n + 1))
    return out


def blend(a, n):
    ramp = torch.from_numpy(w.RAMP)
    ramp = ramp[:, None] * ramp
    total, weights = torch.zeros_like(a), torch.zeros_like(a)
    starts = range(0, a.shape[0] - w.WINDOW + 1, w.STEP)
    for y in starts:
        for x in starts:
            part, at = a[y:y + w.WINDOW, x:x + w.WINDOW], (slice(y, y + w.WINDOW), slice(x, x + w.WINDOW))
            total[at] += part * (0.5 / part.mean()) * ramp
            weights[at] += ramp
    return (total / weights)[w.STEP:w.STEP + n, w.STEP:w.STEP + n]


def halved_part(a):
    """[1 3 3 1]/8 along both at every second place."""
    count = (a.shape[0] - 2) // 2
    t = sum(k * a[:, i:i + 2 * count - 1:2] for i, k in enumerate(w.DOWN))
    return sum(k * t[i:i + 2 * count - 1:2] for i, k in enumerate(w.DOWN))


def halved(a, low):
    first, last = -((-low - 1) // 2), (low + a.shape[0] - 3) // 2
    skip, count = 2 * first - 1 - low, last - first + 1
    return halved_part(a[skip:skip + 2 * count + 2, skip:skip + 2 * count + 2]), first


def doubled(a):
    for axis in (0, 1):
        size, shape = a.shape[axis] - 1, list(a.shape)
        shape[axis] = 2 * size
        lo, hi = a.narrow(axis, 0, size), a.narrow(axis, 1, size)
        a = torch.stack([0.75 * lo + 0.25 * hi, 0.25 * lo + 0.75 * hi], axis + 1).reshape(shape)
    return a


def pyramid(a, n):
    downs = [(a, -32)]
    for _ in range(w.LEVELS):
        downs.append(halved(*downs[-1]))
    up, low = downs.pop()
    while downs:
        (down, start), up, low = downs.pop(), doubled(up), 2 * low + 1
        skip = low - start
        up = 0.5 * down[skip:skip + len(up), skip:skip + len(up)] + 0.5 * up
    return up[-low:-low + n, -low:-low + n]


def erosion(a):
    for _ in range(w.STEPS):
        high, wide = a.shape
        centre, flow = a[1:-1, 1:-1], 0
        for dy, dx, t in w.NEIGHBOURS:
            d = a[1 + dy:high - 1 + dy, 1 + dx:wide - 1 + dx] - centre
            flow = flow + torch.nn.functional.softshrink(d, t)
        a = centre + 0.05 * flow
    return a


def slope(b):
    gx, gy = 0.5 * (b[1:-1, 2:] - b[1:-1, :-2]), 0.5 * (b[2:, 1:-1] - b[:-2, 1:-1])
    return (gx * gx + gy * gy).sqrt()


def caller(threads, function, *arguments):
    torch.set_num_threads(threads)
    return lambda: function(*arguments).numpy()


def w1(a, n, threads):
    return caller(threads, lambda a: separable(a, [1 / 3] * 3), torch.from_numpy(a))


def w2(a, n, threads):
    return caller(threads, lambda a: binomial(binomial(binomial(binomial(binomial(a))))), torch.from_numpy(a))


def w3(a, n, threads):
    y, x = w.WINDOWS_AT
    at = (y - 4, y + n + 4, x - 4, x + n + 4)
    return caller(threads, lambda: torch.stack([gauss(gauss(field(30 + c, *at))) for c in range(3)]))


def w4(a, n, threads):
    return caller(threads, unsharp, torch.from_numpy(a))


def w5(a, n, threads):
    return caller(threads, lambda a: response(*gradients(a)), torch.from_numpy(a))


def w6(a, n, threads):
    return caller(threads, terrain, n)


def w7(a, n, threads):
    return caller(threads, blend, torch.from_numpy(a), n)


def w8(a, n, threads):
    return caller(threads, pyramid, torch.from_numpy(a), n)


def w9(a, n, threads):
    return caller(threads, erosion, torch.from_numpy(a))


def w10(a, n, threads):
    def moved(a):
        return a.permute(2, 0, 1).flip(0, 2)[10:500, 8:n - 8, 6:506].reshape(490 * (n - 16), 500)
    return caller(threads, moved, torch.from_numpy(a))


def w11(a, n, threads):
    out = torch.empty((n // 32, 16, 16, 32, 64, 64))

    def frames(a):
        for t in range(n):
            out[t // 32, :, :, t % 32].copy_(a[t].view(16, 64, 16, 64).permute(0, 2, 1, 3))
        return out
    return caller(threads, frames, torch.from_numpy(a))


def w12(threads):
    torch.set_num_threads(threads)
    return lambda y, x, n: slope(gauss(field(12, y - 3, y + n + 3, x - 3, x + n + 3))).numpy()
