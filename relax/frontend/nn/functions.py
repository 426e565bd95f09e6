"""Functions that a model adds to the module it is exported to: TIR, subroutines."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from weakref import WeakKeyDictionary

from xdsl.ir import Operation

from xdsl_tvm.analysis.structural_equal import structural_equal
from xdsl_tvm.dialects.global_var import GlobalVar
from xdsl_tvm.relax.block_builder import BlockBuilder

_ROOT: ContextVar[BlockBuilder | None] = ContextVar("nn_root_builder", default=None)
_ADDED: WeakKeyDictionary[BlockBuilder, list[tuple[str, Operation, GlobalVar]]] = (
    WeakKeyDictionary()
)
"""What was added to each builder: the name that was asked for, the function, its name."""


def root_builder(what: str) -> BlockBuilder:
    """The builder of the module; subroutines have builders of their own.

    Raises RuntimeError, which names `what` needs it, if no function is open.
    """
    root = _ROOT.get() or BlockBuilder.current()
    if root is None:
        raise RuntimeError(
            f"nn: {what} adds a function to the module; use it while a model is "
            "exported, or in `with bb.function(…):`"
        )
    return root


@contextmanager
def subroutine_of(root: BlockBuilder) -> Generator[BlockBuilder]:
    """A builder of one function, which is then added to that of the module."""
    token = _ROOT.set(root)
    try:
        yield BlockBuilder()
    finally:
        _ROOT.reset(token)


def add_function(root: BlockBuilder, func: Operation, name_hint: str) -> GlobalVar:
    """Add a function of TIR or Relax under a free name, an equal one only once.

    Raises VerifyException for what is no function.
    """
    added = _ADDED.setdefault(root, [])
    for name, known, var in added:
        if name == name_hint and (known is func or structural_equal(known, func)):
            return var
    var = root.add_func(func, name_hint)
    added.append((name_hint, func, var))
    return var
