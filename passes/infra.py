"""What every pass of this package is, and how passes are run TVM's way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class CompilerPass(ModulePass):
    """An xDSL module pass that can also be called TVM's way.

    `apply(ctx, module)` edits the module in place, as xDSL's pass managers expect.
    `pass_(module)` leaves its argument alone and returns the new module.
    """

    tvm_name: ClassVar[str | None] = None
    """TVM's name of the pass, where it is not the one derived from the class."""
    opt_level: ClassVar[int] = 0
    """Sequential runs the pass from this optimisation level on."""
    required: ClassVar[tuple[str, ...]] = ()
    """Passes to run first in a Sequential, as `tir.transform.X`."""

    def __call__(self, module: ModuleOp) -> ModuleOp:
        result = module.clone()
        self.apply(Context(), result)
        return result
