"""Those who compete: itp through its command line, the others through worker.py. All have start, check, turn, stop.

    tool = Peer("halide", WORKLOADS["w1"], 4096, 1)
    tool.start() and tool.check()       # one run, and the largest difference from the reference
    tool.turn()                         # three repetitions
    tool.seconds()                      # the fastest so far
"""
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import cache
from worker import difference
from workloads import CHECKED_PLACES, far_places, square

HERE = Path(__file__).parent
REPETITIONS = 3
FAR_READS = 48


class Wrong(Exception):
    """A result that is not that of the reference, or none at all."""


class Tool:
    """What every competitor counts."""

    def __init__(self, name, work, n, threads):
        self.name, self.work, self.n, self.threads = name, work, n, threads
        self.wall, self.cpu, self.spent, self.setup, self.error = [], [], 0.0, None, None

    def check(self):
        self.error = self.largest_error()
        if not self.error <= self.work.bound:
            raise Wrong(f"{self.name} differs by {self.error:.2g}, the bound is {self.work.bound:.2g}")

    def turn(self):
        start = time.perf_counter()
        wall, cpu = self.cold() if self.work.key == "w13" else self.repeat()
        self.wall += wall
        self.cpu += cpu
        self.spent += time.perf_counter() - start

    def seconds(self):
        """What counts."""
        if self.work.key == "w12":
            return statistics.median(self.wall)
        return min(self.cpu if self.threads == 1 and self.cpu and self.work.key != "w13" else self.wall)

    def cold(self):
        """The time of a new process that makes its first result."""
        start = time.perf_counter()
        self.first_result()
        return [time.perf_counter() - start], []


class Peer(Tool):
    """A module of tools/ in a process of its own."""

    def command(self, *options):
        words = [HERE / "worker.py", *options, self.work.key, self.name, self.n, self.threads]
        return [sys.executable, *map(str, words)]

    def start(self):
        self.process = None
        if self.work.key == "w13":
            source = (HERE / f"tools/{self.name}.py").read_text()
            return self.name != "c" and "def w12(" in source
        self.process = subprocess.Popen(self.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        answer = self.answer()
        self.setup = answer.get("ready")
        return "ready" in answer

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Wrong(f"{self.name} ended with {self.process.wait()}")
        return json.loads(line)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def largest_error(self):
        if self.work.key == "w13":
            return difference(self.first_result(), cache.reference_of(self.work, self.n))
        return self.ask(check=True)["error"]

    def repeat(self):
        answer = self.ask(passes=1 if self.spent > 1 else REPETITIONS)
        return answer["wall"], answer["cpu"]

    def first_result(self):
        with tempfile.TemporaryFile() as file:
            subprocess.run(self.command("--cold"), stdout=file, check=True)
            file.seek(0)
            return np.load(file)

    def stop(self):
        if self.process:
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.wait()


class Itp(Tool):
    """The binary: `itp bench` for the times, `itp run` for the values."""

    def __init__(self, binary, work, n, threads):
        super().__init__("itp", work, n, threads)
        self.binary = binary
        self.places = far_places()

    def start(self):
        return True

    def stop(self):
        pass

    def itp(self, command, reads, *options):
        """What the command prints."""
        words = [self.binary, command, HERE / f"itp/{self.work.script}.itp", "--threads", self.threads, *options]
        for read in reads:
            words += ["--read", read]
        if self.work.setting:
            words += ["--set", f"{self.work.setting}={self.n}"]
        if cache.has_input(self.work):
            words += ["--bind", f"a={cache.input_file(self.work, self.n)}"]
        ran = subprocess.run([str(word) for word in words], capture_output=True, text=True)
        if ran.returncode:
            raise Wrong(f"itp {command}: {ran.stderr.strip()[-600:]}")
        return ran.stdout

    def values(self, reads):
        """The arrays that `itp run` writes."""
        with tempfile.TemporaryDirectory(dir=cache.FOLDER) as folder:
            files = [Path(folder) / f"{i}.npy" for i in range(len(reads))]
            self.itp("run", reads, "--quiet", *(word for file in files for word in ("--out", file)))
            return [np.load(file) for file in files]

    def largest_error(self):
        checked = self.places[:CHECKED_PLACES]
        far = self.work.key == "w12"
        reads = [square(y, x, self.n) for y, x in checked] if far else [self.work.read(self.n)]
        expected = cache.reference_of(self.work, self.n)
        values = self.values(reads)
        return difference(np.stack(values) if far else values[0], expected)

    def repeat(self):
        far = self.work.key == "w12"
        reads = self.far_reads() if far else [self.work.read(self.n)]
        repetitions = 1 if far or self.spent > 1 else REPETITIONS
        told = json.loads(self.itp("bench", reads, "--json", "--reps", repetitions))
        seconds = told["seconds"]
        self.setup = seconds["compile"] + seconds["first"]
        if far:
            # The first read compiles; those after it are what a read costs: its plan and its run, with memory from the allocator.
            return [read["plan"] + read["first"] for read in told["reads"][1:]], []
        return seconds["runs"], seconds["cpus"]

    def far_reads(self):
        self.places, reads = self.places[FAR_READS:] or far_places(), self.places[:FAR_READS]
        return [square(y, x, self.n) for y, x in reads]

    def first_result(self):
        return self.values([self.work.read(self.n)])[0]
