"""The narrow floats that the legalizations concern, and the targets that have them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from xdsl.dialects.builtin import BFloat16Type, Float8E4M3FNType, Float8E5M2Type
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops, ops_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.quick_accessors import types_in
from xdsl_tvm.passes.tir.rewriting.statements import describe

_ARCH = re.compile(r"sm_(?P<major>\d+)(?P<minor>\d)[af]?\Z")


@dataclass(frozen=True)
class NarrowFloats:
    """Float dtypes that a target may lack.

    `native_since` is the compute capability of the first CUDA device that has them.
    """

    types: tuple[type[Attribute], ...]
    native_since: tuple[int, int]
    compute_pass: str
    """The pass after which nothing computes in them."""

    def is_native(self, target: tir.Target) -> bool:
        """Whether the target computes in these dtypes."""
        if target.kind.name != "cuda":
            return False
        arch = _ARCH.match(str(target.attr("arch", "")))
        if arch is None:
            return False
        return (int(arch["major"]), int(arch["minor"])) >= self.native_since

    def has(self, dtype: Attribute) -> bool:
        """Whether a scalar, or what a vector has as lanes, is one of them."""
        return isinstance(tir.element_of(dtype), self.types)

    def concerns(self, type_: Attribute) -> bool:
        """Whether a type is one of them, a pointer to one, or a buffer of one."""
        if isinstance(type_, tir.PtrType | tir.BufferType):
            type_ = type_.element_type
        return self.has(type_)


BFLOAT16: Final = NarrowFloats((BFloat16Type,), (8, 0), "tir-bf16-compute-legalize")
FLOAT8: Final = NarrowFloats(
    (Float8E4M3FNType, Float8E5M2Type), (8, 9), "tir-fp8-compute-legalize"
)


class TypeQuestion:
    """A predicate of types, asked once for each type object."""

    def __init__(self, predicate: Callable[[Attribute], bool]) -> None:
        self._predicate = predicate
        # The type is kept, so that no other one has its identity.
        self._known: dict[int, tuple[Attribute, bool]] = {}

    def __call__(self, type_: Attribute) -> bool:
        found = self._known.get(id(type_))
        if found is None:
            found = self._known[id(type_)] = type_, self._predicate(type_)
        return found[1]


def functions_to_legalize(
    module: Operation, floats: NarrowFloats, pass_name: str
) -> Iterator[tuple[tir.FuncOp, list[Operation]]]:
    """The functions with narrow floats that their targets lack, with the ops in them.

    Raises PassFailedException for one that has no target.
    """
    for func in ops_of(module, tir.FuncOp):
        ops = all_ops(func.body)
        types = (*func.function_type.inputs, *func.function_type.outputs)
        if not any(map(floats.concerns, (*types, *types_in(ops)))):
            continue
        target = func.attributes.get("target")
        if not isinstance(target, tir.Target):
            raise PassFailedException(
                f"{func.name} @{func.sym_name.data}: {pass_name} goes by the target of "
                "the function, which has none; run tir-bind-target first"
            )
        if not floats.is_native(target):
            yield func, ops


def fail(op: Operation, reason: str) -> PassFailedException:
    """The error that `op` is refused with; `reason` says what to do."""
    return PassFailedException(f"{describe(op)}: {reason}")


def element_name(type_: Attribute) -> str:
    """TVM's name of the scalar dtype in a type, for messages."""
    if isinstance(type_, tir.PtrType | tir.BufferType):
        type_ = type_.element_type
    return tir.dtype_name(tir.element_of(type_))
