"""Measurements -> lines on the terminal and tables in Markdown.

    w1   two-pass 3×3 blur  n=4096  itp 12.1 ms | c 0.61 (7.4) | halide 0.79 (9.6)
"""
import datetime
import os
import platform
import shlex
import sys
from dataclasses import dataclass

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


@dataclass
class Row:
    """A workload and those who took part."""
    work: object
    n: int
    tools: list

    def times(self):
        return {tool.name: tool.seconds() for tool in self.tools}

    def ratios(self):
        times = self.times()
        return {name: seconds / times["itp"] for name, seconds in times.items() if name != "itp"}


def bar(key, name):
    """The ratio that itp is meant to reach, None where there is none."""
    if key == "w13":
        return None if name in ("numpy", "opencv", "tensorstore", "dask") else 5.0
    if name == "c":
        return 0.6
    if name == "halide":
        return {"w2": 1.3, "w6": 0.9, "w10": 1.5, "w11": None, "w12": None}.get(key, 1.0)
    return 10.0 if name == "infinite_tensor" else 1.5


def milliseconds(seconds):
    return f"{seconds * 1e3:.3g}" if seconds < 0.1 else f"{seconds * 1e3:.0f}"


def text(row):
    times, ratios = row.times(), row.ratios()
    peers = [f"{name} {ratio:.2f} ({milliseconds(times[name])})" for name, ratio in ratios.items()]
    error = max(tool.error for tool in row.tools)
    itp = row.tools[0]
    setup = f", first {milliseconds(itp.setup)}" if itp.setup else ""
    head = f"{row.work.key:4}{row.work.title}  n={row.n}  itp {milliseconds(times['itp'])} ms{setup}"
    return " | ".join([head, *peers]) + f"  error {error:.1e} of {row.work.bound:.0e}"


def processor():
    lines = open("/proc/cpuinfo").read().splitlines() if os.path.exists("/proc/cpuinfo") else []
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.processor())


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def ratio_cell(row, name):
    ratio = row.ratios().get(name)
    if ratio is None:
        return "–"
    goal, shown = bar(row.work.key, name), f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
    return shown if goal is None or ratio >= goal else f"**{shown}**"


def markdown(rows, args, before):
    names = [name for name in args.peers if any(name in row.times() for row in rows)]
    titles = [name.replace("_", "-") for name in names]
    ratios = [[f"{row.work.key} {row.work.title}", milliseconds(row.times()["itp"]),
               *(ratio_cell(row, name) for name in names)] for row in rows]
    times = [[f"{row.work.key}", str(row.n), *(milliseconds(row.times()[name]) if name in row.times() else "–"
             for name in ["itp", *names]), f"{max(tool.error for tool in row.tools):.1e} / {row.work.bound:.0e}"]
             for row in rows]
    loads = " and ".join(" ".join(f"{load:.2f}" for load in loads) for loads in (before, os.getloadavg()))
    command = " ".join(["python", "run.py", *map(shlex.quote, sys.argv[1:])])
    return "\n\n".join([
        f"{datetime.date.today()}, {processor()}, {args.threads} thread{'s' * (args.threads > 1)}, load average {loads} "
        f"before and after, `{command}` in benches/peers.",
        "Time of the other tool divided by that of itp; bold where the bar is missed.",
        table(["workload", "itp, ms", *titles], ratios),
        "Milliseconds, and the largest error of all tools with its bound.",
        table(["", "n", "itp", *titles, "error / bound"], times),
    ])


def write(path, rows, args, before):
    """Replaces what stands between the markers of a file, or makes a new file."""
    body = f"{BEGIN}\n\n{markdown(rows, args, before)}\n\n{END}"
    old = path.read_text() if path.exists() else ""
    if BEGIN in old and END in old:
        body = old[:old.index(BEGIN)] + body + old[old.index(END) + len(END):]
    else:
        body += "\n"
    path.write_text(body)
