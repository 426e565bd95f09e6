"""Seeds of random inputs, as options have them."""

from __future__ import annotations

import argparse


def seed(text: str) -> int:
    """The number of an option; numpy's generators have no negative seeds."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is no seed; give a number from 0 on")
    return int(text)
