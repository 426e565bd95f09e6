"""Tests in child processes, which may hang, crash or lose the GPU without the others."""

from __future__ import annotations

import functools
import os
import select
import signal
import time
import traceback
from collections.abc import Callable
from typing import ParamSpec

import pytest

P = ParamSpec("P")
_PASSED, _SKIPPED, _FAILED = b"0", b"1", b"2"


def apart(seconds: float) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Runs a test in a fork, and fails if it takes longer, or ends the process.

    What the fork does with the GPU ends with it. The process itself must not have
    used the GPU before.
    """

    def decorate(test: Callable[P, None]) -> Callable[P, None]:
        @functools.wraps(test)
        def run(*args: P.args, **kwargs: P.kwargs) -> None:
            kind, text = _outcome(lambda: test(*args, **kwargs), seconds)
            if kind == _SKIPPED:
                pytest.skip(text)
            if kind == _FAILED:
                pytest.fail(text, pytrace=False)

        return run

    return decorate


def _outcome(test: Callable[[], None], seconds: float) -> tuple[bytes, str]:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _write(writer, test)
        os._exit(0)
    os.close(writer)
    data = b""
    end = time.monotonic() + seconds
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        while select.select([pipe], [], [], max(end - time.monotonic(), 0))[0]:
            part = pipe.read(1 << 16)
            if not part:
                break
            data += part
        else:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return _FAILED, f"the test did not end in {seconds:g} seconds"
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not data:
        return _FAILED, f"the process of the test ended with status {status}"
    return data[:1], data[1:].decode()


def _write(writer: int, test: Callable[[], None]) -> None:
    """Write what comes of a test."""
    kind, text = _PASSED, ""
    try:
        test()
    except pytest.skip.Exception as skipped:
        kind, text = _SKIPPED, str(skipped)
    except BaseException:
        kind, text = _FAILED, traceback.format_exc()
    with os.fdopen(writer, "wb") as pipe:
        pipe.write(kind + text.encode())
