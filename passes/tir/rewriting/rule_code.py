"""What a user-defined rule writes in the place of an op."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeVar

from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.arith.expr import Const, Expr, Value
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode
from xdsl_tvm.passes.tir.rewriting.statements import describe

UINT32: Final = IntegerType(32, Signedness.UNSIGNED)
VOID: Final = tir.parse_dtype("void")


class RuleCode:
    """An op that a rule replaces.

    Trees are written when the rule returns them; calls that the methods make, when they
    are made. Both are before the op.
    """

    def __init__(
        self, op: Operation, dtype: Attribute, target: Target, code: LoopCode
    ) -> None:
        self.op = op
        self.dtype = dtype
        """The dtype of what replaces the result; `none` for an op without one."""
        self.target = target
        self._code = code

    def call(self, name: str, *args: Expr, dtype: Attribute | None = None) -> Expr:
        """A call of a builtin, with the dtype of the op unless it is given.

        A dtype `none` makes a call without a result, whose value is the constant 0.
        """
        wanted = self.dtype if dtype is None else dtype
        if wanted != VOID:
            return self._code.call(name, args, wanted)
        values = [self._code.value(argument) for argument in args]
        self._code.insert(tir.CallOp(name, values, None))
        return Const(0, UINT32)

    def extern(self, symbol: str, *args: Expr, dtype: Attribute | None = None) -> Expr:
        """A call of a C symbol that has no effects."""
        return self.call("call_pure_extern", self._string(symbol), *args, dtype=dtype)

    def llvm(
        self,
        intrinsic: str,
        signature: int,
        *args: Expr,
        dtype: Attribute | None = None,
        pure: bool = True,
    ) -> Expr:
        """A call of an intrinsic of LLVM; `signature` operands select its overload."""
        name = "call_llvm_pure_intrin" if pure else "call_llvm_intrin"
        symbol, count = self._string(intrinsic), Const(signature, UINT32)
        return self.call(name, symbol, count, *args, dtype=dtype)

    def glsl(self, number: int, *args: Expr, dtype: Attribute | None = None) -> Expr:
        """A call of an instruction of GLSL.std.450 by its number."""
        identifier = Const(number, UINT32)
        return self.call("call_spirv_pure_glsl450", identifier, *args, dtype=dtype)

    def error(self, reason: str) -> PassFailedException:
        """The error to raise where the target cannot compute the op."""
        return PassFailedException(f"{describe(self.op)}: {reason}")

    def _string(self, text: str) -> Expr:
        op = tir.StringOp(text)
        self._code.insert(op)
        return Value(op.result)


class Written(NamedTuple):
    """What replaces an op."""

    ops: list[Operation]
    value: SSAValue | None
    """The new result, None for an op without one."""


_CodeT = TypeVar("_CodeT", bound=RuleCode)


def apply_rule(
    make: Callable[[LoopCode], _CodeT],
    rule: Callable[[_CodeT], object],
    what: str,
    known: Mapping[Expr, SSAValue] | None = None,
) -> Written | None:
    """What a rule writes for an op, before it; None where it returns what it was given.

    `known` are values that are available, by their trees.

    Raises PassFailedException, in which `what` names the rule, for a rule that returns no
    expression, or one of another dtype.
    """
    block = Block()
    code = LoopCode(InsertPoint.at_end(block), known)
    given = make(code)
    found = rule(given)
    if found is given:
        return None
    op = given.op
    if not isinstance(found, Expr):
        raise PassFailedException(
            f"{describe(op)}: {what} returned {found!r}; a rule must always return a "
            "valid expression, or what it was given where it does not apply"
        )
    if given.dtype != VOID and found.dtype != given.dtype:
        raise PassFailedException(
            f"{describe(op)}: {what} returned an expression of type {found.dtype} for "
            f"{given.dtype}; cast it"
        )
    value = None if given.dtype == VOID else code.value(found)
    written = list(block.ops)
    for new in written:
        new.detach()
        new.location = op.location
        Rewriter.insert_op(new, InsertPoint.before(op))
    return Written(written, value)
