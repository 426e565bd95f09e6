"""Scripts that the printer wrote, for tests that read them back."""

from __future__ import annotations


def unchecked(text: str) -> str:
    """The script, to be read whether it is well-formed or not."""
    text = text.replace("@T.prim_func\n", "@T.prim_func(check_well_formed=False)\n")
    return text.replace("(private=True)", "(private=True, check_well_formed=False)")
