"""Times of kernels beside the limits of the machine and a peer, as cells of a table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Result:
    """Seconds, the best of all rounds."""

    ours: float
    peer: float | None
    peak: float
    """Multiply-adds of f32 of as many operations in registers."""
    memory: float
    """A read of the bytes that count; of a convolution, a copy of them."""
    copied: float | None = None
    """A copy that reads and writes as many bytes, where that is another limit."""


def row(
    names: list[str], operations: int, size: int, limit: float, result: Result
) -> str:
    """A row: time, operations and bytes a second, shares of the peak and of a limit in
    seconds, of a copy if it counts, and how many times as long the peer takes."""
    ours = result.ours
    cells = [*names, f"{1e6 * ours:.0f} us", f"{operations / ours / 1e9:.0f}"]
    cells += [f"{result.peak / ours:.0%}", f"{size / ours / 1e9:.0f}"]
    cells.append(f"{limit / ours:.0%}")
    if result.copied is not None:
        cells.append(f"{result.copied / ours:.0%}")
    cells.append("" if result.peer is None else f"{result.peer / ours:.2f}x")
    return f"| {' | '.join(cells)} |"
