"""Seeds of random inputs, as values of options."""

from __future__ import annotations

import argparse


def seed(text: str) -> int:
    """The seed that an option names; numpy's generators accept no negative ones."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a seed; pass 0 or more")
    return int(text)
