"""numba: loops as a careful user writes them, over strips of rows with rings of rows that stay in the cache.

Rows are bound to names before the inner loops (`d = ring[r % 3]`): LLVM vectorises one-dimensional contiguous views.
"""
import numba as nb
import numpy as np
from numba import prange

import workloads as w

f32, u32, i32 = np.float32, np.uint32, np.int32
HASH_X, HASH_Y, HASH_SEED, HASH_MIX = (u32(v) for v in (w.HASH_X, w.HASH_Y, w.HASH_SEED, w.HASH_MIX))
G5, G7 = tuple(f32(v) for v in w.GAUSS5), tuple(f32(v) for v in w.GAUSS7)
TOP, LEFT = w.WINDOWS_AT
STRIP = 64

parallel = nb.njit(fastmath=True, parallel=True, boundscheck=False)
inner = nb.njit(fastmath=True)
inlined = nb.njit(fastmath=True, inline="always")


def caller(function, threads, *arguments):
    """Calls the function, whose last argument is the result, again and again."""
    nb.set_num_threads(threads)

    def run():
        function(*arguments)
        return arguments[-1]
    return run


def empty(*shape):
    return np.empty(shape, f32)


@parallel
def blur(a, out):
    n, third = out.shape[0], f32(1 / 3)
    for s in prange(n // STRIP):
        ring = np.empty((3, n), f32)
        for r in range(s * STRIP, s * STRIP + STRIP + 2):
            d, p = ring[r % 3], a[r]
            for x in range(n):
                d[x] = (p[x] + p[x + 1] + p[x + 2]) * third
            if r >= s * STRIP + 2:
                o, r0, r1, r2 = out[r - 2], ring[0], ring[1], ring[2]
                for x in range(n):
                    o[x] = (r0[x] + r1[x] + r2[x]) * third


def w1(a, n, threads):
    return caller(blur, threads, a, empty(n, n))


@inner
def binomial(a, ay, ax, out, oy, ox, ring, high, wide):
    """The part of `a` at (ay, ax), smaller by 2 along both, into `out` at (oy, ox)."""
    for r in range(high + 2):
        p, d = a[ay + r][ax:], ring[r % 3]
        for x in range(wide):
            d[x] = f32(.25) * p[x] + f32(.5) * p[x + 1] + f32(.25) * p[x + 2]
        if r >= 2:
            r0, r1, r2, o = ring[(r - 2) % 3], ring[(r - 1) % 3], ring[r % 3], out[oy + r - 2][ox:]
            for x in range(wide):
                o[x] = f32(.25) * r0[x] + f32(.5) * r1[x] + f32(.25) * r2[x]


@parallel
def chain(a, out):
    n, high, wide = out.shape[0], 64, 512
    for t in prange((n // high) * (n // wide)):
        y, x = t // (n // wide) * high, t % (n // wide) * wide
        one, two = np.empty((high + 8, wide + 8), f32), np.empty((high + 8, wide + 8), f32)
        ring = np.empty((3, wide + 8), f32)
        binomial(a, y, x, one, 0, 0, ring, high + 8, wide + 8)
        binomial(one, 0, 0, two, 0, 0, ring, high + 6, wide + 6)
        binomial(two, 0, 0, one, 0, 0, ring, high + 4, wide + 4)
        binomial(one, 0, 0, two, 0, 0, ring, high + 2, wide + 2)
        binomial(two, 0, 0, out, y, x, ring, high, wide)


def w2(a, n, threads):
    return caller(chain, threads, a, empty(n, n))


@inlined
def mixed(h):
    h = u32(u32(h ^ (h >> u32(13))) * HASH_MIX)
    return u32(h ^ (h >> u32(15)))


@inner
def noise(out, y0, x0, high, wide, seed):
    for r in range(high):
        d, start = out[r], u32(u32(y0 + r) * HASH_Y + u32(seed) * HASH_SEED)
        for x in range(wide):
            d[x] = f32(i32(mixed(u32(u32(x0 + x) * HASH_X + start)) >> u32(8))) * f32(2.0**-24)


@inner
def gauss(a, out, oy, ox, ring, high, wide):
    k0, k1, k2 = G5[0], G5[1], G5[2]
    for r in range(high + 4):
        p, d = a[r], ring[r % 5]
        for x in range(wide):
            d[x] = k0 * (p[x] + p[x + 4]) + k1 * (p[x + 1] + p[x + 3]) + k2 * p[x + 2]
        if r >= 4:
            r0, r1, r2, r3, r4 = ring[(r - 4) % 5], ring[(r - 3) % 5], ring[(r - 2) % 5], ring[(r - 1) % 5], ring[r % 5]
            o = out[oy + r - 4][ox:]
            for x in range(wide):
                o[x] = k0 * (r0[x] + r4[x]) + k1 * (r1[x] + r3[x]) + k2 * r2[x]


@parallel
def windows(out):
    n, high, wide = out.shape[1], 64, 512
    count = (n // high) * (n // wide)
    for t in prange(3 * count):
        c, y, x = t // count, t % count // (n // wide) * high, t % (n // wide) * wide
        base, once = np.empty((high + 8, wide + 8), f32), np.empty((high + 4, wide + 4), f32)
        ring = np.empty((5, wide + 8), f32)
        noise(base, TOP + y - 4, LEFT + x - 4, high + 8, wide + 8, 30 + c)
        gauss(base, once, 0, 0, ring, high + 4, wide + 4)
        gauss(once, out[c], y, x, ring, high, wide)


def w3(a, n, threads):
    return caller(windows, threads, empty(3, n, n))


@parallel
def unsharp(a, out):
    n, k0, k1, k2, k3 = out.shape[1], G7[0], G7[1], G7[2], G7[3]
    for s in prange(n // STRIP):
        grey, sums = np.empty((7, n + 6), f32), np.empty(n + 6, f32)
        for r in range(s * STRIP, s * STRIP + STRIP + 6):
            d, p, q, b = grey[r % 7], a[0, r], a[1, r], a[2, r]
            for x in range(n + 6):
                d[x] = f32(.299) * p[x] + f32(.587) * q[x] + f32(.114) * b[x]
            if r < s * STRIP + 6:
                continue
            r0, r1, r2, r3 = grey[(r - 6) % 7], grey[(r - 5) % 7], grey[(r - 4) % 7], grey[(r - 3) % 7]
            r4, r5, r6 = grey[(r - 2) % 7], grey[(r - 1) % 7], grey[r % 7]
            for x in range(n + 6):
                sums[x] = k0 * (r0[x] + r6[x]) + k1 * (r1[x] + r5[x]) + k2 * (r2[x] + r4[x]) + k3 * r3[x]
            y = r - 6
            o0, o1, o2, p, q, b = out[0, y], out[1, y], out[2, y], a[0, y + 3], a[1, y + 3], a[2, y + 3]
            for x in range(n):
                soft = (k0 * (sums[x] + sums[x + 6]) + k1 * (sums[x + 1] + sums[x + 5])
                        + k2 * (sums[x + 2] + sums[x + 4]) + k3 * sums[x + 3])
                gain = (f32(2) * r3[x + 3] - soft) / r3[x + 3]
                o0[x] = gain * p[x + 3]
                o1[x] = gain * q[x + 3]
                o2[x] = gain * b[x + 3]


def w4(a, n, threads):
    return caller(unsharp, threads, a, empty(3, n, n))


@parallel
def harris(a, out):
    n, k1, k2 = out.shape[0], f32(1 / 12), f32(1 / 6)
    for s in prange(n // STRIP):
        ix, iy, columns = np.empty((3, n + 2), f32), np.empty((3, n + 2), f32), np.empty((3, n + 2), f32)
        cxx, cyy, cxy = columns[0], columns[1], columns[2]
        for r in range(s * STRIP, s * STRIP + STRIP + 2):
            p, c, q, dx, dy = a[r], a[r + 1], a[r + 2], ix[r % 3], iy[r % 3]
            for x in range(n + 2):
                dx[x] = k1 * (p[x + 2] - p[x]) + k2 * (c[x + 2] - c[x]) + k1 * (q[x + 2] - q[x])
                dy[x] = k1 * (q[x] - p[x]) + k2 * (q[x + 1] - p[x + 1]) + k1 * (q[x + 2] - p[x + 2])
            if r < s * STRIP + 2:
                continue
            a0, a1, a2, b0, b1, b2, o = ix[0], ix[1], ix[2], iy[0], iy[1], iy[2], out[r - 2]
            for x in range(n + 2):
                cxx[x] = a0[x] * a0[x] + a1[x] * a1[x] + a2[x] * a2[x]
                cyy[x] = b0[x] * b0[x] + b1[x] * b1[x] + b2[x] * b2[x]
                cxy[x] = a0[x] * b0[x] + a1[x] * b1[x] + a2[x] * b2[x]
            for x in range(n):
                xx, yy = cxx[x] + cxx[x + 1] + cxx[x + 2], cyy[x] + cyy[x + 1] + cyy[x + 2]
                xy, trace = cxy[x] + cxy[x + 1] + cxy[x + 2], xx + yy
                o[x] = xx * yy - xy * xy - f32(.04) * trace * trace


def w5(a, n, threads):
    return caller(harris, threads, a, empty(n, n))


@inlined
def fade(t):
    return t * t * t * (t * (t * f32(6) - f32(15)) + f32(10))


@inlined
def corner(h, fx, fy):
    gx = f32(i32(h & u32(0xFFFF))) * f32(2.0**-15) - f32(1)
    gy = f32(i32(h >> u32(16))) * f32(2.0**-15) - f32(1)
    return gx * fx + gy * fy


@inner
def heights(d, y, x0, n):
    """One row; coordinates of octave o are in units of 1/256 of its cells."""
    for o in range(6):
        amplitude, at = f32(1) / f32(1 << o), i32(y) << i32(o)
        fy = f32(at & 255) * f32(2.0**-8)
        v, above = fade(fy), u32(u32(at >> 8) * HASH_Y + u32(100 + o) * HASH_SEED)
        below = u32(above + HASH_Y)
        for i in range(n):
            px = i32(x0 + i) << i32(o)
            fx, left = f32(i32(px & 255)) * f32(2.0**-8), u32(u32(px >> 8) * HASH_X)
            right, u = u32(left + HASH_X), fade(fx)
            n00, n10 = corner(mixed(u32(left + above)), fx, fy), corner(mixed(u32(right + above)), fx - f32(1), fy)
            n01 = corner(mixed(u32(left + below)), fx, fy - f32(1))
            n11 = corner(mixed(u32(right + below)), fx - f32(1), fy - f32(1))
            p, q = n00 + u * (n10 - n00), n01 + u * (n11 - n01)
            t = amplitude * (p + v * (q - p))
            d[i] = t if o == 0 else d[i] + t


@parallel
def terrain(out):
    n = out.shape[1]
    for s in prange(n // STRIP):
        ring = np.empty((3, n + 2), f32)
        for r in range(s * STRIP, s * STRIP + STRIP + 2):
            heights(ring[r % 3], r - 1, -1, n + 2)
            if r < s * STRIP + 2:
                continue
            y, p, c, q = r - 2, ring[(r - 2) % 3], ring[(r - 1) % 3], ring[r % 3]
            o0, o1, o2 = out[0, y], out[1, y], out[2, y]
            for x in range(n):
                dx, dy = f32(20) * (c[x + 2] - c[x]), f32(20) * (q[x + 1] - p[x + 1])
                d = dx * dx + dy * dy
                o0[x] = c[x + 1]
                o1[x] = np.sqrt(d)
                o2[x] = max(f32(0), (f32(.70710678) + f32(.5) * dx + f32(.5) * dy) / np.sqrt(f32(1) + d))


def w6(a, n, threads):
    return caller(terrain, threads, empty(3, n, n))


@parallel
def blend(a, ramp, gain, out):
    n, count = out.shape[0], gain.shape[0]
    for k in prange(count):
        for j in range(count):
            total = f32(0)
            for i in range(256):
                p, part = a[k * 192 + i, j * 192:j * 192 + 256], f32(0)
                for x in range(256):
                    part += p[x]
                total += part
            gain[k, j] = f32(.5 * 65536) / total
    for k in prange((n + 191) // 192):
        for y in range(k * 192, min(n, k * 192 + 192)):
            i, p, o = y - k * 192, a[y + 192], out[y]
            new, old = ramp[i], ramp[i + 192] if i < 64 else f32(0)
            both = new + old
            for j in range((n + 191) // 192):
                own, left = new * gain[k + 1, j + 1] + old * gain[k, j + 1], new * gain[k + 1, j] + old * gain[k, j]
                b = j * 192
                for x in range(64):
                    r0, r1 = ramp[x], ramp[x + 192]
                    o[b + x] = p[192 + b + x] * (r0 * own + r1 * left) / ((r0 + r1) * both)
                scale = own / both
                for x in range(64, min(192, n - b)):
                    o[b + x] = p[192 + b + x] * scale


def w7(a, n, threads):
    count = (n - 64) // 192 + 2
    return caller(blend, threads, a, w.RAMP, empty(count, count), empty(n, n))


@parallel
def halve(a, skip, out):
    n = out.shape[0]
    for s in prange((n + 15) // 16):
        t = np.empty(2 * n + 4, f32)
        for y in range(s * 16, min(n, s * 16 + 16)):
            at, o = skip + 2 * y, out[y]
            a0, a1, a2, a3 = a[at][skip:], a[at + 1][skip:], a[at + 2][skip:], a[at + 3][skip:]
            for x in range(2 * n + 2):
                t[x] = f32(.125) * (a0[x] + a3[x]) + f32(.375) * (a1[x] + a2[x])
            for x in range(n):
                o[x] = f32(.125) * (t[2 * x] + t[2 * x + 3]) + f32(.375) * (t[2 * x + 1] + t[2 * x + 2])


@parallel
def grow(up, down, skip, odd, out):
    """Two results per pair of sources; with `odd` the first of them is the second of a pair."""
    n, half, k0, k1 = out.shape[0], f32(.5), f32(.375), f32(.125)
    for s in prange((n + 15) // 16):
        t = np.empty(up.shape[1], f32)
        for y in range(s * 16, min(n, s * 16 + 16)):
            j, d, o = y + odd, down[y + skip][skip:], out[y]
            near, far = up[j // 2 + j % 2], up[j // 2 + 1 - j % 2]
            for x in range(up.shape[1]):
                t[x] = f32(.75) * near[x] + f32(.25) * far[x]
            if odd == 0:
                for x in range(n // 2):
                    o[2 * x] = half * d[2 * x] + k0 * t[x] + k1 * t[x + 1]
                    o[2 * x + 1] = half * d[2 * x + 1] + k0 * t[x + 1] + k1 * t[x]
            else:
                for x in range(n // 2):
                    o[2 * x] = half * d[2 * x] + k0 * t[x + 1] + k1 * t[x]
                    o[2 * x + 1] = half * d[2 * x + 1] + k0 * t[x + 1] + k1 * t[x + 2]


def w8(a, n, threads):
    nb.set_num_threads(threads)
    downs, lows, skips = [a], [-32], []
    for _ in range(w.LEVELS):
        low, size = lows[-1], len(downs[-1])
        first, last = -((-low - 1) // 2), (low + size - 3) // 2
        skips.append(2 * first - 1 - low)
        lows.append(first)
        downs.append(empty(last - first + 1, last - first + 1))
    ups = [empty(n, n)] + [empty((n >> level) + 2, (n >> level) + 2) for level in range(1, w.LEVELS)]

    def run():
        for level, skip in enumerate(skips):
            halve(downs[level], skip, downs[level + 1])
        up = downs[-1]
        for level in range(w.LEVELS - 1, 0, -1):
            grow(up, downs[level], -1 - lows[level], 0, ups[level])
            up = ups[level]
        grow(up, a, 32, 1, ups[0])
        return ups[0]
    return run


@inlined
def beyond(d, t):
    """d - clamp(d, -t, t) without min and max, which LLVM does not vectorise here."""
    return d - f32(.5) * (abs(d + t) - abs(d - t))


@inner
def erode_row(p, c, q, o, n):
    axis, diagonal = f32(.5), f32(.70710678)
    for x in range(n):
        h = c[x + 1]
        above = beyond(p[x] - h, diagonal) + beyond(p[x + 1] - h, axis) + beyond(p[x + 2] - h, diagonal)
        below = beyond(q[x] - h, diagonal) + beyond(q[x + 1] - h, axis) + beyond(q[x + 2] - h, diagonal)
        o[x] = h + f32(.05) * (above + beyond(c[x] - h, axis) + beyond(c[x + 2] - h, axis) + below)


@parallel
def erode(a, out):
    for y in prange(out.shape[0]):
        erode_row(a[y], a[y + 1], a[y + 2], out[y], out.shape[1])


def w9(a, n, threads):
    nb.set_num_threads(threads)
    rooms, images = [empty(a.size), empty(a.size)], [a]
    for halo in reversed(range(w.STEPS)):
        size = n + 2 * halo
        images.append(rooms[halo % 2][:size * size].reshape(size, size))  # contiguous, unlike a corner of an array

    def run():
        for before, after in zip(images, images[1:]):
            erode(before, after)
        return images[-1]
    return run


@parallel
def moves(a, out):
    planes, block = a.shape[0] - 16, 16
    for j in prange(planes):
        p = a[j + 8]
        for zb in range(0, 490, block):
            for xb in range(0, 500, block):
                for z in range(zb, min(490, zb + block)):
                    o = out[z * planes + j]
                    for x in range(xb, min(500, xb + block)):
                        o[x] = p[505 - x, 501 - z]


def w10(a, n, threads):
    return caller(moves, threads, a, empty(490 * (n - 16), 500))


@parallel
def to_tiles(frame, t, out):
    for k in prange(16):
        for y in range(64):
            p = frame[k * 64 + y]
            for j in range(16):
                o, b = out[k, j, t, y], j * 64
                for x in range(64):
                    o[x] = p[b + x]


def w11(a, n, threads):
    nb.set_num_threads(threads)
    out = empty(n // 32, 16, 16, 32, 64, 64)

    def run():
        for t in range(n):
            to_tiles(a[t], t % 32, out[t // 32])
        return out
    return run


@inner
def slope(p, c, q, o, n):
    for x in range(n):
        gx, gy = f32(.5) * (c[x + 2] - c[x]), f32(.5) * (q[x + 1] - p[x + 1])
        o[x] = np.sqrt(gx * gx + gy * gy)


@parallel
def far(y0, x0, out):
    n, strip = out.shape[0], 128
    for s in prange((n + strip - 1) // strip):
        high = min(strip, n - s * strip)
        base, soft, ring = np.empty((high + 6, n + 6), f32), np.empty((high + 2, n + 2), f32), np.empty((5, n + 6), f32)
        noise(base, y0 + s * strip - 3, x0 - 3, high + 6, n + 6, 12)
        gauss(base, soft, 0, 0, ring, high + 2, n + 2)
        for r in range(high):
            slope(soft[r], soft[r + 1], soft[r + 2], out[s * strip + r], n)


def w12(threads):
    nb.set_num_threads(threads)

    def read(y, x, n):
        out = empty(n, n)
        far(y, x, out)
        return out
    return read
