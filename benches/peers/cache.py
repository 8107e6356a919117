"""Inputs and references are made once and kept as files in `.cache/`, named by what they were made with.

    w1-4096-5f3c91d2-input.npy   w1-4096-5f3c91d2-reference.npy
"""
import hashlib
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
FOLDER = HERE / ".cache"
VERSION = hashlib.sha256((HERE / "workloads.py").read_bytes()).hexdigest()[:8]


def path(work, n, kind):
    FOLDER.mkdir(exist_ok=True)
    return FOLDER / f"{work.key}-{n}-{VERSION}-{kind}.npy"


def saved(file, make):
    """The array in the file, which is made first where it is missing."""
    if not file.exists():
        part = file.with_suffix(".part.npy")
        np.save(part, make())
        part.rename(file)
    return file


def input_file(work, n):
    """Where the input is, None for a workload without one."""
    return None if not has_input(work) else saved(path(work, n, "input"), lambda: work.input(n))


def has_input(work):
    return work.input.__qualname__ != "Workload.<lambda>"


def input_of(work, n):
    return np.load(input_file(work, n)) if has_input(work) else None


def reference_of(work, n):
    make = lambda: work.reference(input_of(work, n), n)
    return np.load(saved(path(work, n, "reference"), make), mmap_mode="r")
