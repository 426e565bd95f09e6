"""A command as a process: what is said when it is ended, and when nobody reads on."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import signal
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from xdsl_tvm.passes.infra.error_lines import UserError

INTERRUPTED = 128 + signal.SIGINT
"""The exit status of a command that Ctrl-C has ended, as shells have it."""

_CAUSES = {
    "SIGABRT": "LLVM or the C library gave up",
    "SIGBUS": "an access outside of a buffer?",
    "SIGFPE": "an integer division by zero, or of the least integer by -1?",
    "SIGILL": "code that must not be reached?",
    "SIGKILL": "out of memory?",
    "SIGSEGV": "an access outside of a buffer, or a stack that is full?",
}
_PR_SET_PDEATHSIG = 1
_SIZE = 1024
_UNWRITABLE = (errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC, errno.EPIPE)


class _Note:
    """A short text in memory that a parent and its child share."""

    memory: mmap.mmap | None = None


def working_on(what: str, advice: str = "") -> None:
    """Say what the command does from now on, for the error if a signal ends it.

    The error is `what`, `ended by SIGFPE` with its cause, and `advice`.
    """
    if _Note.memory is not None:
        fields = (_encoded(what), _encoded(advice), b"")
        data = b"\0".join(fields)
        _Note.memory[: len(data)] = data


def _encoded(text: str) -> bytes:
    return text.replace("\0", "?").encode(errors="replace")[: _SIZE // 2 - 1]


def supervised(command: Callable[[], int]) -> int:
    """Runs `command` in a child process, and says in one line what signal ended it.

    Returns its exit status, in both processes: the child goes on and exits as it would by
    itself. Compiled code may divide by zero, or run until Ctrl-C, which Python sees only
    when the code returns; so the child takes the default action of signals. Without
    `os.fork`, the command runs in this process.
    """
    if not hasattr(os, "fork"):
        return command()
    _Note.memory = mmap.mmap(-1, _SIZE)
    children: list[int] = []

    def forward(number: int, frame: FrameType | None) -> None:
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, number)

    forwarded = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, forward) for number in forwarded}
    parent = os.getpid()
    try:
        child = os.fork()
    except OSError:
        # There are too many processes, or there is too little memory for one more.
        _restore(before)
        return command()
    if child == 0:
        for number, action in before.items():
            signal.signal(number, signal.SIG_DFL if action != signal.SIG_IGN else action)
        _end_with(parent)
        return command()
    children.append(child)
    _, status = os.waitpid(child, 0)
    children.clear()
    _restore(before)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else _report(-code)


def _restore(actions: Mapping[signal.Signals, Any]) -> None:
    for number, action in actions.items():
        signal.signal(number, action)


def _end_with(parent: int) -> None:
    """Lets this process end when its parent is killed, where the system can do that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def _report(number: int) -> int:
    """Says which signal has ended the child; returns the exit status."""
    # What a terminal shows of a progress bar, or of Ctrl-C, is on the line.
    start = "\n" if sys.stderr.isatty() else ""
    say(f"{start}error: {_message(number)}")
    return 128 + number


def _message(number: int) -> str:
    if number == signal.SIGINT:
        return "interrupted"
    name = _name(number)
    what, advice = _noted()
    text = f"{what or 'the command was'} ended by {name}"
    if number in (signal.SIGTERM, signal.SIGHUP):
        return text
    cause = f" ({_CAUSES[name]})" if name in _CAUSES else ""
    return f"{text}{cause}{advice}"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _noted() -> list[str]:
    """What `working_on` was told last, and its advice."""
    memory = b"\0\0" if _Note.memory is None else bytes(_Note.memory)
    return [field.decode(errors="replace") for field in memory.split(b"\0")[:2]]


def say(line: str) -> None:
    """Writes a line to standard error, if anybody reads it."""
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr)


def flush_output() -> None:
    """Writes what is left of standard output.

    Raises OSError if that fails, and UserError if the process was started without one.
    """
    if sys.stdout is None:
        raise UserError("standard output is closed")
    sys.stdout.flush()


def give_up_output(error: OSError) -> UserError | None:
    """Forgets what is left of standard output if `error` says it cannot be written.

    Python would try it again, and complain, when it ends. Returns the error to show. An
    error of a file names it, see `_files.writing`; one without a name is of the output.
    """
    if error.filename is not None or error.errno not in _UNWRITABLE:
        return None
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    return UserError(f"standard output: {error.strerror}")
