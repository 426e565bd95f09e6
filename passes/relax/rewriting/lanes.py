"""The option `lanes` of passes that work for convolutions in blocks of channels."""

from __future__ import annotations

from xdsl.utils.exceptions import PassFailedException


def check_lanes(pass_name: str, lanes: int) -> None:
    """Raise PassFailedException unless a block can have so many channels."""
    if lanes < 1:
        raise PassFailedException(f"{pass_name}: lanes must be positive, got {lanes}")
