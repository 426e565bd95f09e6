"""A benchmark's second process, with a number of threads and as many cores."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence


def run_worker(program: str, arguments: Sequence[str], threads: int) -> list[str]:
    """The lines that a program prints, run without the cache of objects.

    It is bound to as many cores as numpy, TVM and our code have threads.
    """
    environment = {**os.environ, "XDSL_TVM_CACHE": "off"}
    for variable in ("OPENBLAS", "XDSL_TVM", "TVM"):
        environment[f"{variable}_NUM_THREADS"] = str(threads)
    cores = sorted(os.sched_getaffinity(0))[:threads]
    process = subprocess.run(
        [sys.executable, program, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    return process.stdout.splitlines()
