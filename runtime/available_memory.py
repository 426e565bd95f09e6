"""How much memory this process can still take, and errors for what needs more."""

from __future__ import annotations

import os
from pathlib import Path

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def require_memory(size: int, what: str) -> None:
    """Raises MemoryError, which begins with `what`, if `size` bytes are not available.

    An allocation that is too large may succeed at first, and end the process when the
    memory is written to.
    """
    available = available_memory()
    if available is not None and size > available:
        raise MemoryError(
            f"{what}, which takes {size_text(size)} of memory, but only "
            f"{size_text(available)} are available; give smaller extents"
        )


def size_text(size: int) -> str:
    """A number of bytes for people."""
    number, unit = float(size), 0
    while number >= 1024 and unit < len(_UNITS) - 1:
        number, unit = number / 1024, unit + 1
    return f"{size} {_UNITS[0]}" if unit == 0 else f"{number:.1f} {_UNITS[unit]}"


def available_memory() -> int | None:
    """The bytes that can be allocated without swapping, or None if nothing says so.

    The least of what the machine has free, what the process's control group leaves, and
    what the limit of its address space leaves.
    """
    found = [_machine(), _control_group(), _address_space()]
    return min((limit for limit in found if limit is not None), default=None)


def _machine() -> int | None:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _control_group() -> int | None:
    for line in _lines("/proc/self/cgroup"):
        if line.startswith("0::"):
            folder = f"/sys/fs/cgroup{line[3:].rstrip('/')}"
            limit, used = (
                next(iter(_lines(f"{folder}/memory.{name}")), "")
                for name in ("max", "current")
            )
            if limit.isdecimal() and used.isdecimal():
                return max(int(limit) - int(used), 0)
    return None


def _address_space() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    for line in _lines("/proc/self/statm"):
        return max(limit - int(line.split()[0]) * resource.getpagesize(), 0)
    return limit


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
