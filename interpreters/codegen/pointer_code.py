"""What the code knows of the pointers that builtins take: element type and scope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.derivation import chain
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.types import PtrType, element_of, is_handle
from xdsl_tvm.interpreters.data.numbers import Number, memory_number, number
from xdsl_tvm.interpreters.errors import unsupported
from xdsl_tvm.interpreters.gpu.raw_access import Access

if TYPE_CHECKING:
    from xdsl_tvm.interpreters.codegen.emitter import Emitter


def is_watched(scope: str) -> bool:
    """Whether threads share the memory of a storage scope."""
    return scope.startswith(("global", "shared", "warp"))


def is_private(scope: str) -> bool:
    """Whether each thread has its own memory of a storage scope."""
    return scope.startswith(("local", "wmma", "metal.simdgroup", "m16n8k8"))


@dataclass(frozen=True)
class Pointee:
    """What is at a pointer."""

    dtype: Attribute | None
    scope: str

    @property
    def element(self) -> Number:
        """The scalars, where the dtype is known."""
        assert self.dtype is not None
        return memory_number(element_of(self.dtype))


def trace(value: SSAValue) -> Pointee:
    """What a pointer points to, as far as its type and its origin tell."""
    *_, value = chain(value, _without_type)
    if isinstance(value.type, PtrType):
        return Pointee(value.type.element_type, value.type.scope.data)
    owner = value.owner
    if isinstance(owner, tir.AddressOfOp | tir.DataOp):
        buffer = owner.buffer.type
        assert isinstance(buffer, tir.BufferType)
        return Pointee(buffer.element_type, buffer.scope.data)
    return Pointee(None, "global")


def _without_type(value: SSAValue) -> SSAValue | None:
    """What a handle that does not say what it points to is another name of."""
    owner = value.owner
    if isinstance(value.type, PtrType) or not isinstance(owner, tir.LetOp | tir.CastOp):
        return None
    return owner.value


def pointee(op: tir.CallOp, position: int) -> Pointee:
    """What operand `position` points to; the dtype of the call where nothing tells it."""
    found = trace(op.args[position])
    if found.dtype is None and op.result is not None and not is_handle(op.result.type):
        found = Pointee(op.result.type, found.scope)
    if found.dtype is None:
        raise unsupported(
            op,
            f"operand {position} is a pointer to an unknown type",
            "give it a !tir.ptr type, or make it by tvm_access_ptr",
        )
    return found


def access_of(
    e: Emitter, op: tir.CallOp, position: int, *, writes: bool | None = None
) -> Access:
    """How a builtin reaches the memory after operand `position`.

    `writes` says of accesses whose bank conflicts are counted what they do.
    """
    found = pointee(op, position)
    grid, pointer = e.settings.grid, op.args[position]
    banks = None
    if writes is not None and found.scope.startswith("shared"):
        banks = grid.bank_site(op, pointer, writes=writes)
    return Access(
        found.element,
        grid.site(op, pointer),
        is_watched(found.scope),
        found.scope.startswith("global"),
        banks,
    )


def behind(e: Emitter, op: tir.CallOp, position: int, offset: str | None = None) -> str:
    """The text of a pointer, `offset` elements after the operand at `position`."""
    text = e[op.args[position]]
    if offset is None or offset == "0":
        return text
    dtype = pointee(op, position).dtype
    assert dtype is not None
    return f"{text}.at({offset}, {number(element_of(dtype)).size * e.lanes(dtype)})"


def constant_operand(op: tir.CallOp, position: int) -> int:
    """The value of an operand that has to be an integer constant."""
    value = tir.constant_value(op.args[position])
    if not isinstance(value, int):
        raise unsupported(op, f"operand {position} is no constant", "use a tir.const")
    return value


def string_operand(op: tir.CallOp, position: int) -> str:
    """The text of an operand that has to be a string."""
    owner = op.args[position].owner
    if not isinstance(owner, tir.StringOp):
        raise unsupported(op, f"operand {position} is no string", "use a tir.string")
    return owner.value.data


def require_operands(op: tir.CallOp, *counts: int) -> None:
    """Refuse a call that has another number of operands."""
    if len(op.args) not in counts:
        wanted = " or ".join(map(str, counts))
        raise unsupported(
            op, f"it has {len(op.args)} operands, not {wanted}", "give it all of them"
        )


def integer_attribute(value: Attribute | None) -> int | None:
    """The integer in an attribute, None if it is another one."""
    return value.value.data if isinstance(value, IntegerAttr) else None
