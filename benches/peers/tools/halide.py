"""Halide, scheduled by hand: the fastest of the schedules that were tried on an AVX-512 machine with 1.25 MB of L2 cache.

    blur.tile(x, y, xo, yo, xi, yi, 16, 8).vectorize(xi, 16).unroll(yi)      register tiles
    rows.compute_at(blur, xo).vectorize(x, 16).unroll(y)

Two kinds won: tiles that live in registers, for short pipelines (a sliding window over rows took 1.5 times as long for
w1), and rings of rows (`store_at` outside, `compute_at` inside), for long ones.
"""
import halide as hl
import numpy as np

import workloads as w

x, y, c, xi, yi, xo, yo = (hl.Var(name) for name in "x y c xi yi xo yo".split())
LANES = 16
F32 = hl.Float(32)


def const(value):
    return hl.f32(float(value))


def image(a, halo=0):
    """An array whose first two dimensions (x and y) start at -halo."""
    buffer = hl.Buffer(a)
    buffer.translate([-halo, -halo] + [0] * (a.ndim - 2))
    return buffer


def func(name, body, *dims):
    made = hl.Func(name)
    made[dims or (x, y)] = body
    return made


def weighted(tap, weights):
    """The sum of weights times taps around 0."""
    radius = len(weights) // 2
    terms = [const(k) * tap(i - radius) for i, k in enumerate(weights) if k]
    return sum(terms[1:], terms[0])


def realizer(out, shape):
    """Compiles, and computes into one buffer again and again."""
    out.compile_jit()
    buffer = hl.Buffer(F32, shape)

    def run():
        out.realize(buffer)
        return np.asarray(buffer)
    return run


def register_tiles(out, inner, threads):
    out.tile(x, y, xo, yo, xi, yi, LANES, 8).vectorize(xi, LANES).unroll(yi)
    for stage in inner:
        stage.compute_at(out, xo).vectorize(x, LANES).unroll(y)
    if threads > 1:
        out.parallel(yo, 8)


def row_rings(out, inner, tile, threads):
    out.tile(x, y, xo, yo, xi, yi, *tile).vectorize(xi, LANES)
    for stage in inner:
        stage.store_at(out, xo).compute_at(out, yi).vectorize(x, LANES)
    if threads > 1:
        out.parallel(yo)


def hashed(yy, xx, seed):
    h = hl.u32(xx) * hl.u32(w.HASH_X) + (hl.u32(yy) * hl.u32(w.HASH_Y) + hl.u32(seed) * hl.u32(w.HASH_SEED))
    h = (h ^ (h >> hl.u32(13))) * hl.u32(w.HASH_MIX)
    return h ^ (h >> hl.u32(15))


def noise(yy, xx, seed):
    return hl.f32(hl.i32(hashed(yy, xx, seed) >> hl.u32(8))) * const(2.0**-24)


def w1(a, n, threads):
    a, third = image(a, 1), const(1 / 3)
    rows = func("rows", (a[x - 1, y] + a[x, y] + a[x + 1, y]) * third)
    out = func("out", (rows[x, y - 1] + rows[x, y] + rows[x, y + 1]) * third)
    register_tiles(out, [rows], threads)
    return realizer(out, [n, n])


def w2(a, n, threads):
    stages, last = [], image(a, w.STAGES)
    for _ in range(w.STAGES):
        source = last
        rows = func("rows", weighted(lambda i: source[x + i, y], w.BINOMIAL))
        last = func("out", weighted(lambda i: rows[x, y + i], w.BINOMIAL))
        stages += [rows, last]
    row_rings(last, stages[:-1], (256, 128), threads)
    return realizer(last, [n, n])


def w3(a, n, threads):
    dims = (x, y, c)
    stages = [func("base", noise(y, x, c + 30), *dims)]
    for _ in range(2):
        base = stages[-1]
        rows = func("rows", weighted(lambda i: base[x + i, y, c], w.GAUSS5), *dims)
        stages += [rows, func("soft", weighted(lambda i: rows[x, y + i, c], w.GAUSS5), *dims)]
    top, left = w.WINDOWS_AT
    out = func("out", stages[-1][x + left, y + top, c], *dims)
    row_rings(out, stages[:-1], (1024, 256), threads)
    return realizer(out, [n, n, 3])


def w4(a, n, threads):
    a = image(a, 3)
    red, green, blue = (const(k) * a[x, y, i] for i, k in enumerate(w.GREY))
    grey = func("grey", red + green + blue)
    rows = func("rows", weighted(lambda i: grey[x, y + i], w.GAUSS7))
    gain = func("gain", (const(2) * grey[x, y] - weighted(lambda i: rows[x + i, y], w.GAUSS7)) / grey[x, y])
    out = func("out", gain[x, y] * a[x, y, c], x, y, c)
    out.split(y, yo, yi, 64).reorder(c, x, yi, yo).bound(c, 0, 3).unroll(c).vectorize(x, LANES)
    rows.compute_at(out, yi).vectorize(x, LANES)
    grey.store_at(out, yo).compute_at(out, yi).vectorize(x, LANES)
    if threads > 1:
        out.parallel(yo)
    return realizer(out, [n, n, 3])


def w5(a, n, threads):
    a, k1, k2 = image(a, 2), const(1 / 12), const(1 / 6)

    def sobel(at):
        return k1 * (at(1, -1) - at(-1, -1)) + k2 * (at(1, 0) - at(-1, 0)) + k1 * (at(1, 1) - at(-1, 1))
    ix = func("ix", sobel(lambda d, e: a[x + d, y + e]))
    iy = func("iy", sobel(lambda d, e: a[x + e, y + d]))

    def box(u, v):
        column = func("column", weighted(lambda i: u[x, y + i] * v[x, y + i], [1, 1, 1]))
        return column[x - 1, y] + column[x, y] + column[x + 1, y]
    xx, yy, xy = box(ix, ix), box(iy, iy), box(ix, iy)
    trace = xx + yy
    out = func("out", xx * yy - xy * xy - const(0.04) * trace * trace)
    register_tiles(out, [ix, iy], threads)
    return realizer(out, [n, n])


def octave(number):
    scale = const(2.0**number / 256)
    px, py = hl.f32(x) * scale, hl.f32(y) * scale
    cx, cy = hl.i32(hl.floor(px)), hl.i32(hl.floor(py))
    fx, fy = px - hl.floor(px), py - hl.floor(py)

    def corner(dy, dx):
        h = hashed(cy + dy, cx + dx, 100 + number)
        gx = hl.f32(hl.i32(h & hl.u32(0xFFFF))) * const(2.0**-15) - const(1)
        gy = hl.f32(hl.i32(h >> hl.u32(16))) * const(2.0**-15) - const(1)
        return gx * (fx - const(dx)) + gy * (fy - const(dy))

    def fade(t):
        return t * t * t * (t * (t * const(6) - const(15)) + const(10))

    def lerp(a, b, t):
        return a + t * (b - a)
    u = fade(fx)
    return lerp(lerp(corner(0, 0), corner(0, 1), u), lerp(corner(1, 0), corner(1, 1), u), fade(fy))


def w6(a, n, threads):
    octaves = [const(0.5**o) * octave(o) for o in range(w.OCTAVES)]
    height = func("height", sum(octaves[1:], octaves[0]))
    dx, dy = const(20) * (height[x + 1, y] - height[x - 1, y]), const(20) * (height[x, y + 1] - height[x, y - 1])
    q = dx * dx + dy * dy
    light = (const(0.70710678) + const(0.5) * dx + const(0.5) * dy) / hl.sqrt(const(1) + q)
    out = func("out", hl.mux(c, [height[x, y], hl.sqrt(q), hl.max(const(0), light)]), x, y, c)
    out.bound(c, 0, 3).split(y, yo, yi, 64).reorder(c, x, yi, yo).vectorize(x, LANES).unroll(c)
    height.store_at(out, yo).compute_at(out, yi).vectorize(x, LANES)
    if threads > 1:
        out.parallel(yo)
    return realizer(out, [n, n, 3])


def w7(a, n, threads):
    a, step = image(a, w.STEP), w.STEP
    i, lane, lanes = hl.Var("i"), hl.Var("lane"), 64
    partial, total = hl.Func("partial"), hl.Func("total")
    inside, across = hl.RDom([(0, w.WINDOW // lanes), (0, w.WINDOW)]), hl.RDom([(0, lanes)])
    partial[lane, x, y] = const(0)
    partial[lane, x, y] += a[x * step + inside.x * lanes + lane, y * step + inside.y]
    total[x, y] = const(0)
    total[x, y] += partial[across, x, y]
    gain = func("gain", const(0.5 * w.WINDOW**2) / total[x, y])
    slope = const((1 - 1e-3) / 127.5)
    fall = const(1) - slope * hl.abs(hl.f32(i) - const(127.5))
    ramp = func("ramp", hl.select((i >= 0) & (i < w.WINDOW), fall, const(0)), i)
    new, old = ramp[x % step], ramp[x % step + step]
    column = func("column", (new * gain[x / step, y] + old * gain[x / step - 1, y]) / (new + old))
    new, old = ramp[y % step], ramp[y % step + step]
    mixed = new / (new + old) * column[x, y / step] + old / (new + old) * column[x, y / step - 1]
    out = func("out", a[x, y] * mixed)
    for stage in (ramp, gain, column, total):
        stage.compute_root()
    partial.compute_at(total, x).vectorize(lane, LANES)
    partial.update().reorder(lane, inside.x, inside.y).vectorize(lane, LANES).unroll(inside.x).unroll(lane)
    register_tiles(out, [], threads)
    if threads > 1:
        total.update().parallel(y)
    return realizer(out, [n, n])


def w8(a, n, threads):
    def guarded(stage, lanes):
        return stage.vectorize(x, lanes, hl.TailStrategy.GuardWithIf)

    def scheduled(rows, out, lanes):
        guarded(rows, LANES).compute_at(out, y)
        guarded(out, lanes)
        if threads > 1:
            out.parallel(y, 16)

    def mixed(at, even, odd):
        lo, hi = const(0.25), const(0.75)
        return hl.select(at % 2 == 0, lo * even + hi * odd, hi * even + lo * odd)
    downs = [image(a, 32)]
    for _ in range(w.LEVELS):
        source = downs[-1]
        rows = func("rows", weighted(lambda i: source[x, 2 * y + 1 + i], w.DOWN))
        down = func("down", weighted(lambda i: rows[2 * x + 1 + i, y], w.DOWN))
        scheduled(rows, down.compute_root(), LANES)
        downs.append(down)
    up = downs.pop()
    while downs:
        down, source = downs.pop(), up
        rows = func("rows", mixed(y, source[x, (y - 1) / 2], source[x, (y + 1) / 2]))
        up = func("up", const(0.5) * down[x, y] + const(0.5) * mixed(x, rows[(x - 1) / 2, y], rows[(x + 1) / 2, y]))
        scheduled(rows, up.compute_root() if downs else up, 2 * LANES)
    return realizer(up, [n, n])


def w9(a, n, threads):
    """One step per launch; two to ten steps fused in one launch were slower."""
    source, flow = hl.ImageParam(F32, 2), None
    for dy, dx, t in w.NEIGHBOURS:
        d = source[x + dx, y + dy] - source[x, y]
        beyond = d - hl.clamp(d, const(-t), const(t))
        flow = beyond if flow is None else flow + beyond
    step = func("step", source[x, y] + const(0.05) * flow)
    register_tiles(step, [], threads)
    step.compile_jit()
    images = [image(a, w.STEPS)]
    for halo in reversed(range(w.STEPS)):
        images.append(hl.Buffer(F32, [n + 2 * halo] * 2))
        images[-1].set_min([-halo, -halo])

    def run():
        for before, after in zip(images, images[1:]):
            source.set(before)
            step.realize(after)
        return np.asarray(images[-1])
    return run


def w10(a, n, threads):
    """Blocks of 8 x 8, loaded along the rows of the input and stored along those of the output."""
    a, (z, zi, zo) = hl.Buffer(a), (hl.Var(name) for name in ("z", "zi", "zo"))
    turned = func("turned", a[z, x, y], x, y, z)
    out = func("out", turned[511 - (x + 6), y + 8, 511 - (z + 10)], x, y, z)
    inwards = hl.TailStrategy.ShiftInwards
    out.split(x, xo, xi, 8, inwards).split(z, zo, zi, 8, inwards).reorder(xi, zi, xo, zo, y)
    out.vectorize(xi, 8).unroll(zi)
    turned.compute_at(out, xo).reorder_storage(z, x, y).vectorize(z, 8).unroll(x)
    if threads > 1:
        out.parallel(y)
    run = realizer(out, [500, n - 16, 490])
    return lambda: run().reshape(490 * (n - 16), 500)


def w11(a, n, threads):
    """One launch per frame."""
    frame = hl.ImageParam(F32, 2)
    tx, ty, px, py = (hl.Var(name) for name in ("tx", "ty", "px", "py"))
    out = func("out", frame[tx * 64 + px, ty * 64 + py], px, py, tx, ty)
    out.bound(px, 0, 64).bound(py, 0, 64).vectorize(px, LANES).unroll(px)
    if threads > 1:
        out.parallel(ty)
    out.compile_jit()
    result = np.empty((n // 32, 16, 16, 32, 64, 64), np.float32)
    frames = [hl.Buffer(one) for one in a]
    places = [hl.Buffer(result[t // 32, :, :, t % 32]) for t in range(n)]

    def run():
        for one, place in zip(frames, places):
            frame.set(one)
            out.realize(place)
        return result
    return run


def w12(threads):
    base = func("base", noise(y, x, 12))
    rows = func("rows", weighted(lambda i: base[x + i, y], w.GAUSS5))
    soft = func("soft", weighted(lambda i: rows[x, y + i], w.GAUSS5))
    gx, gy = const(0.5) * (soft[x + 1, y] - soft[x - 1, y]), const(0.5) * (soft[x, y + 1] - soft[x, y - 1])
    out = func("out", hl.sqrt(gx * gx + gy * gy))
    out.split(y, yo, yi, 128, hl.TailStrategy.GuardWithIf).vectorize(x, LANES)
    for stage in (base, rows, soft):
        stage.store_at(out, yo).compute_at(out, yi).vectorize(x, LANES)
    target = hl.get_host_target()
    if threads > 1:
        # Without it offsets of far coordinates overflow in parallel loops.
        target = target.with_feature(hl.TargetFeature.LargeBuffers)
        out.parallel(yo)
    out.compile_jit(target)

    def read(top, left, n):
        result = hl.Buffer(F32, [n, n])
        result.set_min([left, top])
        out.realize(result, target)
        return np.asarray(result)
    return read
