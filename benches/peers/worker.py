"""One tool on one workload in a process of its own: lines of JSON on stdin and stdout.

    $ python worker.py w1 halide 4096 1
    {"ready": 0.61}                                   seconds to import, build and run once
    {"check": true}   ->  {"error": 1.2e-07}          the largest difference from the reference
    {"passes": 3}     ->  {"wall": […], "cpu": […]}   seconds of each repetition
    $ python worker.py --cold w13 halide 256 1 > x.npy        no more than the first result of a new process
"""
import importlib
import json
import sys
import time

import numpy as np

import cache
from workloads import CHECKED_PLACES, COLD_AT, WORKLOADS, far_places


def difference(result, expected):
    """The largest absolute difference, in slices so that no second array of that size is made; NaN where one is."""
    result = np.asarray(result).reshape(expected.shape)
    return float(np.max([np.max(np.abs(a - b)) for a, b in zip(result, expected)]))


def timed(call):
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return result, time.perf_counter() - wall, time.process_time() - cpu


class Repeated:
    """A tool that computes the same result again and again."""

    def __init__(self, tool, work, n, threads):
        self.input = cache.input_of(work, n)  # kept here: not every tool keeps what it points to
        self.run = getattr(tool, work.key)(self.input, n, threads)
        self.result = self.run()

    def check(self):
        return self.result

    def pass_(self, count):
        times = []
        for _ in range(count):
            self.result = None
            self.result, wall, cpu = timed(self.run)
            times.append((wall, cpu))
        return times


class Places:
    """A tool that reads squares at places it has not seen yet."""

    def __init__(self, tool, work, n, threads):
        self.read, self.n = tool.w12(threads), n
        self.checked, *self.rest = far_places()[:CHECKED_PLACES], *far_places()[CHECKED_PLACES:]
        self.check()

    def check(self):
        return np.stack([np.array(self.read(y, x, self.n)) for y, x in self.checked])

    def pass_(self, count):
        places, self.rest = self.rest[:16 * count], self.rest[16 * count:]
        return [timed(lambda: np.asarray(self.read(y, x, self.n)))[1:] for y, x in places]


def serve(key, name, n, threads):
    start, work = time.perf_counter(), WORKLOADS[key]
    tool = importlib.import_module(f"tools.{name}")
    if not hasattr(tool, key):
        return print(json.dumps({"missing": True}), flush=True)
    job = (Places if key == "w12" else Repeated)(tool, work, n, threads)
    print(json.dumps({"ready": time.perf_counter() - start}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if "check" in request:
            answer = {"error": difference(job.check(), cache.reference_of(work, n))}
        else:
            wall, cpu = zip(*job.pass_(request["passes"]))
            answer = {"wall": wall, "cpu": cpu}
        print(json.dumps(answer), flush=True)


def cold(name, n):
    """Writes the first result of this process as a .npy file to stdout."""
    tool = importlib.import_module(f"tools.{name}")
    np.save(sys.stdout.buffer, np.asarray(tool.w12(1)(*COLD_AT, n)))


if __name__ == "__main__":
    if sys.argv[1] == "--cold":
        cold(sys.argv[3], int(sys.argv[4]))
    else:
        serve(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
