"""What the process that runs the tests takes."""

from __future__ import annotations


def memory_in_use() -> int:
    """Bytes of memory of the process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
