"""The reference interpreter of the `relax` dialect; see `interpreter.py`."""

from xdsl_tvm.interpreters.relax.interpreter import (
    EVALUATED,
    Frame,
    InterpretedRelax,
    RelaxFunction,
    interpret,
)

__all__ = ["EVALUATED", "Frame", "InterpretedRelax", "RelaxFunction", "interpret"]
