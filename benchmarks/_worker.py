"""A benchmark's other processes, with a number of threads and as many cores."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Self


def run_worker(program: str, arguments: Sequence[str], threads: int) -> list[str]:
    """The lines that a program prints, run without the cache of objects.

    It is bound to as many cores as numpy, TVM and our code have threads.
    """
    return Worker(program, arguments, threads).rest()


class Worker:
    """A program that runs without the cache of objects, and answers line by line.

    It is bound to as many cores as numpy, TVM and our code have threads.
    """

    def __init__(self, program: str, arguments: Sequence[str], threads: int) -> None:
        environment = {**os.environ, "XDSL_TVM_CACHE": "off"}
        for variable in ("OPENBLAS", "XDSL_TVM", "TVM"):
            environment[f"{variable}_NUM_THREADS"] = str(threads)
        # Its threads wait for work by spinning, by default for 0.1 s, which takes the
        # cores from who is measured next. This is 0.4 ms, enough between two calls.
        environment["OPENBLAS_THREAD_TIMEOUT"] = "20"
        cores = sorted(os.sched_getaffinity(0))[:threads]
        self._process = subprocess.Popen(
            [sys.executable, program, *arguments],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.rest()

    def read(self) -> str:
        """The next line. Raises CalledProcessError if there is none."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise subprocess.CalledProcessError(self._process.wait(), "the worker")
        return line

    def ask(self, line: str) -> str:
        """The answer to a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self.read()

    def rest(self) -> list[str]:
        """What is left to read when there is nothing more to answer.

        Raises CalledProcessError if the program has failed.
        """
        output, _ = self._process.communicate()
        if self._process.returncode:
            raise subprocess.CalledProcessError(self._process.returncode, "the worker")
        return output.splitlines()
