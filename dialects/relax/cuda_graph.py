"""Calls of the virtual machine's functions for CUDA graphs.

`vm.builtin.cuda_graph.get_cached_alloc(allocate, number)` returns the storages that
`allocate` returns, made once. `vm.builtin.cuda_graph.run_or_capture(function, arguments,
number)`, with a shape as last argument if the function has symbols, returns what the
function returns on the arguments and the shape, and may replay a graph to do so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation, SSAValue

from xdsl_tvm.dialects.relax.lambdas import GlobalRefOp
from xdsl_tvm.dialects.relax.packed import CallBuiltinWithCtxOp
from xdsl_tvm.dialects.relax.types import FuncType
from xdsl_tvm.dialects.relax.values import PrimValueOp, TupleOp

GET_CACHED_ALLOC: Final = "vm.builtin.cuda_graph.get_cached_alloc"
RUN_OR_CAPTURE: Final = "vm.builtin.cuda_graph.run_or_capture"


@dataclass(frozen=True)
class CudaGraphCall:
    """What a call for CUDA graphs calls."""

    callee: SymbolRefAttr
    """The function of the module."""
    arguments: tuple[SSAValue, ...]
    """What it is called with: one tuple of arguments, and a shape, or nothing."""

    @property
    def fields(self) -> tuple[SSAValue, ...]:
        """The arguments, where the tuple is made by an operation."""
        if not self.arguments or not isinstance(self.arguments[0].owner, TupleOp):
            return self.arguments
        return (*self.arguments[0].owner.elements, *self.arguments[1:])


def cuda_graph_call(op: Operation) -> CudaGraphCall | None:
    """What an operation calls by a function for CUDA graphs, where it is known."""
    if not isinstance(op, CallBuiltinWithCtxOp) or not op.arguments:
        return None
    function, *rest = op.arguments
    if not isinstance(function.owner, GlobalRefOp):
        return None
    if op.callee.data == GET_CACHED_ALLOC and len(rest) == 1:
        return CudaGraphCall(function.owner.callee, ())
    if op.callee.data == RUN_OR_CAPTURE and len(rest) in (2, 3):
        return CudaGraphCall(function.owner.callee, (rest[0], *rest[2:]))
    return None


def new_cuda_graph_call(
    builtin: str,
    callee: str,
    type_: FuncType,
    number: int,
    arguments: Sequence[SSAValue] = (),
) -> tuple[Operation, ...]:
    """The operations of a call, the call last; `arguments` are as in `CudaGraphCall`."""
    function = GlobalRefOp(callee, type_)
    index = PrimValueOp(number)
    values = [function.result, *arguments[:1], index.result, *arguments[1:]]
    return function, index, CallBuiltinWithCtxOp(builtin, values, type_.ret)
