"""OpenCV: the filters of the library on the image with its halo, of which the inner part is taken."""
import cv2
import numpy as np

import workloads as w

EDGE = cv2.BORDER_REPLICATE
BINOMIAL = np.array(w.BINOMIAL, np.float32)
DOWN = np.array(w.DOWN, np.float32)


def filtered(a, taps, anchor=(-1, -1)):
    return cv2.sepFilter2D(a, -1, taps, taps, anchor=anchor, borderType=EDGE)


def w1(a, n, threads):
    cv2.setNumThreads(threads)
    return lambda: cv2.blur(a, (3, 3), borderType=EDGE)[1:-1, 1:-1]


def w2(a, n, threads):
    cv2.setNumThreads(threads)

    def run():
        t = a
        for _ in range(w.STAGES):
            t = filtered(t, BINOMIAL)
        return t[5:-5, 5:-5]
    return run


def w3(a, n, threads):
    """The noise comes from numpy: OpenCV has no integer hash."""
    cv2.setNumThreads(threads)
    y, x = w.WINDOWS_AT

    def channel(c):
        noise = w.field(30 + c, y - 4, y + n + 4, x - 4, x + n + 4)
        return filtered(filtered(noise, w.GAUSS5), w.GAUSS5)[4:-4, 4:-4]
    return lambda: np.stack([channel(c) for c in range(3)])


def w4(a, n, threads):
    cv2.setNumThreads(threads)

    def run():
        grey = cv2.scaleAdd(a[2], w.GREY[2], cv2.addWeighted(a[0], w.GREY[0], a[1], w.GREY[1], 0))
        gain = cv2.divide(cv2.addWeighted(grey, 2, filtered(grey, w.GAUSS7), -1, 0), grey)
        return np.stack([cv2.multiply(plane, gain)[3:-3, 3:-3] for plane in a])
    return run


def w5(a, n, threads):
    cv2.setNumThreads(threads)
    return lambda: cv2.cornerHarris(a, 3, 3, 0.04, borderType=EDGE)[2:-2, 2:-2]


def w8(a, n, threads):
    """Down: filter and take every second; up: `resize` by 2 has exactly the weights .75 and .25."""
    cv2.setNumThreads(threads)

    def halved(a, low):
        first, last = -((-low - 1) // 2), (low + a.shape[0] - 3) // 2
        skip, count = 2 * first - low, 2 * (last - first) + 1
        part = filtered(a, DOWN, (1, 1))[skip:skip + count:2, skip:skip + count:2]
        return np.ascontiguousarray(part), first

    def run():
        downs = [(a, -32)]
        for _ in range(w.LEVELS):
            downs.append(halved(*downs[-1]))
        up, low = downs.pop()
        while downs:
            down, start = downs.pop()
            up, low = cv2.resize(up, None, fx=2, fy=2, interpolation=cv2.INTER_LINEAR)[1:-1, 1:-1], 2 * low + 1
            skip = low - start
            up = cv2.addWeighted(down[skip:skip + len(up), skip:skip + len(up)], 0.5, up, 0.5, 0)
        return up[-low:-low + n, -low:-low + n]
    return run


def w12(threads):
    cv2.setNumThreads(threads)
    across, one = np.array([-0.5, 0, 0.5], np.float32), np.ones(1, np.float32)

    def read(y, x, n):
        soft = cv2.sepFilter2D(w.field(12, y - 3, y + n + 3, x - 3, x + n + 3), -1, w.GAUSS5, w.GAUSS5)
        gx, gy = cv2.sepFilter2D(soft, -1, across, one), cv2.sepFilter2D(soft, -1, one, across)
        return cv2.magnitude(gx, gy)[3:-3, 3:-3]
    return read
