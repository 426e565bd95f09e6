"""Lists of passes that run on the functions of the host, or on those of devices."""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from xdsl_tvm.analysis.tir.function_target import is_host
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass, Sequential
from xdsl_tvm.passes.infra.sequential import find_pass_class


class Finalization(CompilerPass, runs_passes=True):
    """A list of passes that sees one side of a module; of the other only signatures."""

    pass_names: ClassVar[tuple[str, ...]]
    """TVM's names of the passes, in order."""
    on_device: ClassVar[bool]
    """Whether they run on functions whose target is known, and no CPU; else on others."""

    def passes(self) -> tuple[ModulePass, ...]:
        """The passes of the list."""
        found = [find_pass_class("tir", name) for name in self.pass_names]
        return tuple(each() for each in found if each is not None)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bodies = _detached_bodies(op, on_device=not self.on_device)
        try:
            Sequential(self.passes()).apply(ctx, op)
        finally:
            for name, func in _functions(op).items():
                if name in bodies:
                    func.body.add_block(bodies[name])


def _functions(module: ModuleOp) -> dict[str, tir.FuncOp]:
    return {op.sym_name.data: op for op in module.ops if isinstance(op, tir.FuncOp)}


def _detached_bodies(module: ModuleOp, *, on_device: bool) -> dict[str, Block]:
    """Make declarations of the functions of one side; their bodies by name."""
    found: dict[str, Block] = {}
    for name, func in _functions(module).items():
        runs_on_device = is_host(func) is False
        if runs_on_device is on_device and not func.is_declaration:
            found[name] = func.body.detach_block(0)
    return found
