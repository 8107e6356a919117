"""The workloads: what is computed, how large, and a numpy reference for each.

    >>> work = WORKLOADS["w1"]
    >>> a = work.input(64)                # what every tool is given: the image with its halo
    >>> a.shape, work.reference(a, 64).shape
    ((66, 66), (64, 64))

Everything is float32. Inputs are the field N(seed; y, x) in [0, 1), a hash of the coordinates:

    h  = x * 0x8DA6B343 + y * 0xD8163841 + seed * 0xCB1AB31F     (mod 2^32)
    h ^= h >> 13;  h *= 0x5BD1E995;  h ^= h >> 15;  N = (h >> 8) / 2^24

Tools may fuse, tile and compute anew; they may not fold several stages into one larger kernel by algebra.
"""
from dataclasses import dataclass
from typing import Callable

import numpy as np

f32, u32 = np.float32, np.uint32
HASH_X, HASH_Y, HASH_SEED, HASH_MIX = 0x8DA6B343, 0xD8163841, 0xCB1AB31F, 0x5BD1E995


def gauss(radius, sigma):
    """Normalised Gaussian taps."""
    taps = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    return (taps / taps.sum()).astype(f32)


GAUSS5, GAUSS7 = gauss(2, 1.0), gauss(3, 1.5)


def hashed(y, x, seed):
    """The hash of integer coordinates, broadcast."""
    y, x = (np.asarray(v).astype(np.int64).astype(u32) for v in (y, x))
    with np.errstate(over="ignore"):
        h = x * u32(HASH_X) + (y * u32(HASH_Y) + u32(seed * HASH_SEED & 0xFFFFFFFF))
        h = (h ^ (h >> u32(13))) * u32(HASH_MIX)
    return h ^ (h >> u32(15))


def field(seed, y0, y1, x0, x1):
    """N(seed) on [y0, y1) x [x0, x1), in blocks of rows that stay in the cache."""
    out = np.empty((y1 - y0, x1 - x0), f32)
    x = np.arange(x0, x1)[None, :]
    for top in range(y0, y1, 64):
        y = np.arange(top, min(top + 64, y1))[:, None]
        out[top - y0:top - y0 + 64] = (hashed(y, x, seed) >> u32(8)).astype(f32) * f32(2.0**-24)
    return out


def haloed(seed, n, halo):
    """N(seed) on a square of n with a border of `halo` all around."""
    return field(seed, -halo, n + halo, -halo, n + halo)


def along_x(a, taps):
    n = a.shape[-1] - len(taps) + 1
    return sum(f32(k) * a[..., i:i + n] for i, k in enumerate(taps))


def along_y(a, taps):
    n = a.shape[-2] - len(taps) + 1
    return sum(f32(k) * a[..., i:i + n, :] for i, k in enumerate(taps))


def separable(a, taps_x, taps_y=None):
    """Weighted sums along x, then along y; the result is smaller by the halo."""
    return along_y(along_x(a, taps_x), taps_x if taps_y is None else taps_y)


# w1: out = mean of 3 along y of mean of 3 along x
def blur(a, n):
    return separable(a, [1 / 3] * 3)


# w2: five times [1 2 1]/4 along x and along y
BINOMIAL = [0.25, 0.5, 0.25]
STAGES = 5


def chain(a, n):
    for _ in range(STAGES):
        a = separable(a, BINOMIAL)
    return a


# w3: the README of infinite-tensor: three channels of noise, twice a 5x5 Gaussian in windows of 512, read off the grid
WINDOWS_AT = (-1000, 3000)


def windows(a, n):
    y, x = WINDOWS_AT
    noise = (field(30 + c, y - 4, y + n + 4, x - 4, x + n + 4) for c in range(3))
    return np.stack([separable(separable(one, GAUSS5), GAUSS5) for one in noise])


# w4: grey = .299 R + .587 G + .114 B;  out[c] = in[c] * (2 grey - gauss7(grey)) / grey
GREY = (0.299, 0.587, 0.114)


def unsharp_input(n):
    return np.stack([f32(0.1) + f32(0.9) * haloed(40 + c, n, 3) for c in range(3)])


def unsharp(a, n):
    grey = sum(f32(k) * plane for k, plane in zip(GREY, a))
    inner = grey[3:-3, 3:-3]
    return (2 * inner - separable(grey, GAUSS7)) / inner * a[:, 3:-3, 3:-3]


# w5: Sobel/12 gradients, 3x3 sums of their products, xx yy - xy^2 - .04 (xx + yy)^2
SOBEL, SMOOTH = [-1 / 12, 0, 1 / 12], [1, 2, 1]


def harris(a, n):
    ix, iy = separable(a, SOBEL, SMOOTH), separable(a, SMOOTH, SOBEL)
    xx, yy, xy = (separable(p, [1, 1, 1]) for p in (ix * ix, iy * iy, ix * iy))
    return xx * yy - xy * xy - f32(0.04) * (xx + yy) ** 2


# w6: six octaves of gradient noise (cells of 256, 128, …), slope and hillshade: three planes
OCTAVES = 6


def octave(y, x, number):
    """Gradient noise at float coordinates that are already scaled."""
    yi, xi = np.floor(y), np.floor(x)
    fy, fx = y - yi, x - xi

    def corner(dy, dx):
        h = hashed(yi + dy, xi + dx, 100 + number)
        gx = (h & u32(0xFFFF)).astype(f32) * f32(2.0**-15) - f32(1)
        gy = (h >> u32(16)).astype(f32) * f32(2.0**-15) - f32(1)
        return gx * (fx - f32(dx)) + gy * (fy - f32(dy))

    def fade(t):
        return t * t * t * (t * (t * f32(6) - f32(15)) + f32(10))

    def lerp(a, b, t):
        return a + t * (b - a)

    u, v = fade(fx), fade(fy)
    return lerp(lerp(corner(0, 0), corner(0, 1), u), lerp(corner(1, 0), corner(1, 1), u), v)


def heights(y0, y1, x0, x1):
    y, x = np.arange(y0, y1).astype(f32)[:, None], np.arange(x0, x1).astype(f32)[None, :]
    scales = [f32(2.0**o / 256) for o in range(OCTAVES)]
    return sum(f32(0.5**o) * octave(y * s, x * s, o) for o, s in enumerate(scales))


def shaded(h):
    """Height, slope and light of the inner part."""
    dx, dy = f32(20) * (h[1:-1, 2:] - h[1:-1, :-2]), f32(20) * (h[2:, 1:-1] - h[:-2, 1:-1])
    q = dx * dx + dy * dy
    light = (f32(0.70710678) + f32(0.5) * dx + f32(0.5) * dy) / np.sqrt(f32(1) + q)
    return np.stack([h[1:-1, 1:-1], np.sqrt(q), np.maximum(f32(0), light)])


def terrain(a, n):
    blocks = [shaded(heights(y - 1, min(y + 256, n) + 1, -1, n + 1)) for y in range(0, n, 256)]
    return np.concatenate(blocks, axis=1)


# w7: windows of 256 every 192, each scaled to the mean .5, blended with ramps that fall towards the edges of the window
WINDOW, STEP = 256, 192
RAMP = (1 - (1 - 1e-3) * np.abs(np.arange(WINDOW) - 127.5) / 127.5).astype(f32)


def blend_input(n):
    return f32(0.1) + haloed(7, n, STEP)


def blend(a, n):
    total, weights, ramp = np.zeros_like(a), np.zeros_like(a), RAMP[:, None] * RAMP[None, :]
    starts = range(0, a.shape[0] - WINDOW + 1, STEP)
    for y in starts:
        for x in starts:
            at = np.s_[y:y + WINDOW, x:x + WINDOW]
            total[at] += a[at] * f32(0.5 / a[at].mean(dtype=np.float64)) * ramp
            weights[at] += ramp
    return (total / weights)[STEP:STEP + n, STEP:STEP + n]


# w8: four levels down by [1 3 3 1]/8, and up again: U = .5 D + .5 up(U'), up = .75 and .25 of the two nearest
LEVELS, DOWN = 4, [0.125, 0.375, 0.375, 0.125]


def halved(a, low):
    """Every level covers all it can: from an array that starts at `low`, the smaller one and where it starts."""
    first, last = -((-low - 1) // 2), (low + a.shape[0] - 3) // 2
    skip, count = 2 * first - 1 - low, last - first + 1
    part = a[skip:skip + 2 * count + 2, skip:skip + 2 * count + 2]
    t = sum(f32(k) * part[:, i:i + 2 * count - 1:2] for i, k in enumerate(DOWN))
    return sum(f32(k) * t[i:i + 2 * count - 1:2] for i, k in enumerate(DOWN)), first


def doubled(a):
    """An array that starts at `low`, twice as large along both; it starts at 2 low + 1."""
    for axis in (0, 1):
        a = np.moveaxis(a, axis, 0)
        out = np.empty((2 * len(a) - 2, *a.shape[1:]), f32)
        out[0::2] = f32(0.75) * a[:-1] + f32(0.25) * a[1:]
        out[1::2] = f32(0.25) * a[:-1] + f32(0.75) * a[1:]
        a = np.moveaxis(out, 0, axis)
    return a


def pyramid(a, n):
    downs = [(a, -32)]
    for _ in range(LEVELS):
        downs.append(halved(*downs[-1]))
    up, low = downs.pop()
    while downs:
        (down, start), up, low = downs.pop(), doubled(up), 2 * low + 1
        skip = low - start
        up = f32(0.5) * down[skip:skip + len(up), skip:skip + len(up)] + f32(0.5) * up
    return up[-low:-low + n, -low:-low + n]


# w9: fifty steps of thermal erosion: h += .05 * sum over 8 neighbours of soft(difference, threshold)
STEPS, AXIS, DIAGONAL = 50, 0.5, 0.70710678
NEIGHBOURS = [(dy, dx, DIAGONAL if dy and dx else AXIS) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx]


def erosion_input(n):
    return f32(8) * haloed(9, n, STEPS)


def erosion(a, n):
    for _ in range(STEPS):
        h, w = a.shape
        centre, flow = a[1:-1, 1:-1], 0
        for dy, dx, t in NEIGHBOURS:
            d = a[1 + dy:h - 1 + dy, 1 + dx:w - 1 + dx] - centre
            flow = flow + (d - np.clip(d, -f32(t), f32(t)))
        a = centre + f32(0.05) * flow
    return a


# w10: permute, flip, shrink, reshape: a copy against the grain of n planes of 512 x 512
def moves_input(n):
    return field(10, 0, n * 512, 0, 512).reshape(n, 512, 512)


def moves(a, n):
    part = a.transpose(2, 0, 1)[::-1, :, ::-1][10:500, 8:n - 8, 6:506]
    return np.ascontiguousarray(part).reshape(490 * (n - 16), 500)


# w11: n frames of 1024 x 1024, one after the other, into tiles of 32 x 64 x 64
def tiles_input(n):
    return field(11, 0, n * 1024, 0, 1024).reshape(n, 1024, 1024)


def tiles(a, n):
    return np.ascontiguousarray(a.reshape(n // 32, 32, 16, 64, 16, 64).transpose(0, 2, 4, 1, 3, 5))


# w12: noise, 5x5 Gaussian, length of the gradient; squares of n at random places up to 2^30 away
def far_read(y, x, n):
    b = separable(field(12, y - 3, y + n + 3, x - 3, x + n + 3), GAUSS5)
    gx, gy = f32(0.5) * (b[1:-1, 2:] - b[1:-1, :-2]), f32(0.5) * (b[2:, 1:-1] - b[:-2, 1:-1])
    return np.sqrt(gx * gx + gy * gy)


def far_places(count=1000):
    return np.random.default_rng(12).integers(-2**30, 2**30, (count, 2)).tolist()


CHECKED_PLACES = 4


def far(a, n):
    return np.stack([far_read(y, x, n) for y, x in far_places()[:CHECKED_PLACES]])


# w13: from the start of the process to the first square of w12 at this place
COLD_AT = (1000003, -2000003)


def cold(a, n):
    return far_read(*COLD_AT, n)


@dataclass(frozen=True)
class Workload:
    """One row of the table; sizes are what `n` means above."""
    key: str
    title: str
    script: str
    full: int
    quick: int
    bound: float                                       # of the largest absolute error
    reference: Callable                                # (input, n) -> array
    input: Callable = lambda n: None                   # n -> array, None where the tool makes its own
    read: Callable = lambda n: "out[...]"              # n -> the slice that itp reads
    setting: str | None = "n"                          # the parameter of the script that is n


def square(y, x, n):
    return f"out[{y}:{y + n}, {x}:{x + n}]"


WORKLOADS = {work.key: work for work in [
    Workload("w1", "two-pass 3×3 blur", "w1_blur", 4096, 2048, 1e-5, blur, lambda n: haloed(1, n, 1)),
    Workload("w2", "five-stage blur chain", "w2_chain", 4096, 2048, 1e-5, chain, lambda n: haloed(2, n, STAGES)),
    Workload("w3", "infinite-tensor README: 3 channels, 2 Gaussians in windows", "w3_windows", 2048, 1024, 1e-5, windows,
             read=lambda n: f"out[:, {WINDOWS_AT[0]}:{WINDOWS_AT[0] + n}, {WINDOWS_AT[1]}:{WINDOWS_AT[1] + n}]", setting=None),
    Workload("w4", "unsharp mask, 3 channels", "w4_unsharp", 2048, 1024, 2e-5, unsharp, unsharp_input),
    Workload("w5", "Harris corners", "w5_harris", 4096, 2048, 1e-4, harris, lambda n: haloed(5, n, 2)),
    Workload("w6", "6-octave noise, slope, hillshade", "w6_terrain", 4096, 1024, 1e-4, terrain,
             read=lambda n: f"out[:, 0:{n}, 0:{n}]", setting=None),
    Workload("w7", "weighted overlapped windows", "w7_blend", 4096, 1984, 1e-5, blend, blend_input),
    Workload("w8", "pyramid, 4 down and up", "w8_pyramid", 4096, 2048, 1e-5, pyramid, lambda n: haloed(8, n, 32)),
    Workload("w9", "50-step stencil recurrence", "w9_erosion", 1024, 512, 1e-3, erosion, erosion_input),
    Workload("w10", "permute, flip, shrink, reshape copy", "w10_moves", 256, 64, 0, moves, moves_input),
    Workload("w11", "stream to tiles", "w11_tiles", 64, 32, 0, tiles, tiles_input),
    Workload("w12", "random far reads, 3 stages", "w12_far", 512, 256, 1e-5, far, setting=None),
    Workload("w13", "cold start to the first 256²", "w12_far", 256, 256, 1e-5, cold, setting=None,
             read=lambda n: square(*COLD_AT, n)),
]}
