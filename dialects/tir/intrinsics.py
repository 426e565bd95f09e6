"""Calls: TIR's builtins by name, and functions of the module.

The table of builtins says what each may do; those whose operands are no plain values, or
that passes match much, are ops of their own (`NAMED_OPS`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_result_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    SymbolTable,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.quick_operation import value_of
from xdsl_tvm.dialects.tir.builtin_rules import CallEffect
from xdsl_tvm.dialects.tir.builtins_table import (
    INTRINSICS,
    NAMED_OPS,
    builtin,
)
from xdsl_tvm.dialects.tir.constants import StringOp
from xdsl_tvm.dialects.tir.dtype_checks import require_expression
from xdsl_tvm.dialects.tir.effects import MARKER, PURE, READ, UPDATE, UpdateEffect
from xdsl_tvm.dialects.tir.folders import FoldedValue, fold_values
from xdsl_tvm.dialects.tir.folding import FOLDED_BUILTINS
from xdsl_tvm.dialects.tir.functions import FuncOp

_EFFECTS: Mapping[CallEffect, AbstractSet[EffectInstance]] = {
    CallEffect.EXPR_ANNOTATION: PURE,
    CallEffect.PURE: PURE,
    CallEffect.READ_STATE: READ,
    CallEffect.UPDATE_STATE: UPDATE,
    CallEffect.SPECIAL_CALL_ARG: MARKER,
    CallEffect.EMBED_INFO: MARKER,
    CallEffect.CONTROL_JUMP: UPDATE,
}


class IntrinsicEffect(MemoryEffect):
    """The effect that the table gives to the builtin a `tir.call` names."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        assert isinstance(op, CallOp)
        known = INTRINSICS.get(op.callee.data)
        return UPDATE if known is None else _EFFECTS[known.effect]


@irdl_op_definition
class CallOp(IRDLOperation, HasFolderInterface):
    """A call of a builtin, `Call`, named without TVM's `tir.` prefix.

    Operands and result are those of the table of builtins (`INTRINSICS`). The result type
    is the call's dtype; a call of dtype void has no result, and one that is made for its
    effect may go without. String operands are `tir.string` values. A name that the table
    does not list is taken to read and write memory.

    ```mlir
    // @f(0.0) = 1.0
    tir.func @f(%x: f32) -> f32 {
      %y = tir.call "exp"(%x) : (f32) -> f32
      tir.ret %y : f32
    }
    ```
    """

    name = "tir.call"

    callee = prop_def(StringAttr)
    args = var_operand_def()
    result = opt_result_def()

    assembly_format = (
        "$callee `(` $args `)` attr-dict `:` functional-type($args, results)"
    )

    traits = traits_def(IntrinsicEffect())

    def __init__(
        self,
        callee: str | StringAttr,
        args: Sequence[SSAValue | Operation],
        result_type: Attribute | None = None,
    ) -> None:
        super().__init__(
            operands=[args],
            properties={
                "callee": StringAttr(callee) if isinstance(callee, str) else callee
            },
            result_types=[result_type],
        )

    @staticmethod
    def of(callee: str, args: Sequence[SSAValue | Operation]) -> CallOp:
        """A call of a builtin with the result type that follows from its operands.

        Raises UnknownBuiltinError for no builtin, and ValueError where the number or the
        types of operands do not fit, the dtype has to be said, or another op stands for
        the builtin.
        """
        known = builtin(callee)
        if known.op is not None:
            raise ValueError(_use_op(known.name, known.op))
        values = [value_of(arg) for arg in args]
        result_type = known.result_type([value.type for value in values])
        call = CallOp(known.name, values, result_type)
        if error := known.error(values, result_type):
            raise ValueError(f'tir.call "{known.name}": {error}')
        return call

    def arg(self, name: str) -> SSAValue:
        """The operand of a known builtin by its name in the table.

        Raises KeyError where there is none of this name, or it has been left out.
        """
        found = self.args_of(name)
        if len(found) != 1:
            raise KeyError(
                f'this call of "{self.callee.data}" has {len(found)} operands {name}'
            )
        return found[0]

    def args_of(self, name: str) -> tuple[SSAValue, ...]:
        """The operands of a known builtin that go by one name: several for a list of
        operands, none where it has been left out.

        Raises KeyError where the builtin is unknown or has no operand of this name.
        """
        positions = builtin(self.callee.data).positions(name, len(self.args))
        return tuple(self.args[position] for position in positions)

    def fold(self) -> FoldedValue:
        if self.callee.data not in FOLDED_BUILTINS or self.result is None:
            return None
        lhs, rhs = self.args
        return fold_values(self.callee.data, lhs, rhs, self.result.type)

    def verify_(self) -> None:
        name = self.callee.data
        if not name or name.startswith("tir."):
            raise VerifyException(
                'tir.call: name the builtin without the prefix, as in "exp", got '
                f"{self.callee}"
            )
        result = None if self.result is None else self.result.type
        if result is not None:
            require_expression(self, result)
        known = INTRINSICS.get(name)
        if known is None:
            return
        if known.op is not None:
            raise VerifyException(_use_op(name, known.op))
        if error := known.error(self.args, result):
            raise VerifyException(f'tir.call "{name}": {error}')


def _use_op(name: str, op: str) -> str:
    return f'tir.call "{name}": the op {op} stands for this builtin; use it instead'


BuiltinCall: TypeAlias = Operation | SSAValue
"""An op, or the value of one."""


def builtin_name(item: BuiltinCall) -> str | None:
    """The TVM name of the builtin that an op calls, or that gives a value.

    None for what is no call of a builtin. The names of ops that stand for a builtin are
    its own: `ret` for a `tir.ret`.
    """
    op = item if _is_operation(item) else value_of(item).owner
    if _is_call(op):
        return op.callee.data
    return NAMED_OPS.get(op.name) if _is_operation(op) else None


_is_operation = of_classes(Operation)
_is_call = of_classes(CallOp)


class _CalleeExists(SymbolUserOpInterface):
    def verify(self, op: Operation) -> None:
        assert isinstance(op, CallFuncOp)
        callee = SymbolTable.lookup_symbol(op, op.callee)
        if callee is None:
            raise VerifyException(f"tir.call_func: no function {op.callee} in the module")
        if not isinstance(callee, FuncOp):
            return
        inputs = tuple(arg.type for arg in op.args)
        outputs = tuple(result.type for result in op.results)
        expected = callee.function_type
        if inputs != expected.inputs.data or outputs != expected.outputs.data:
            raise VerifyException(
                f"tir.call_func: {op.callee} has type {expected}, called with "
                f"({', '.join(map(str, inputs))}) -> ({', '.join(map(str, outputs))})"
            )


PROFILE_NAME = "tir.profile_name"
"""What the call of a profile intrinsic marks: an attribute, a function or a loop."""
ASSERT_MESSAGE = "tvm_assert_message"
"""The function whose call is the message of an assertion with numbers in it."""


def assert_message(value: SSAValue | Operation) -> tuple[str, Sequence[SSAValue]] | None:
    """The text and the integers of a call of `tvm_assert_message`, which is described at
    `tir.assert`; None for anything else."""
    call = value.owner if isinstance(value, SSAValue) else value
    if not isinstance(call, CallOp) or call.callee.data != "call_pure_extern":
        return None
    name, *rest = (arg.owner for arg in call.args[:2])
    if not isinstance(name, StringOp) or name.value.data != ASSERT_MESSAGE:
        return None
    if len(rest) != 1 or not isinstance(rest[0], StringOp):
        return None
    return rest[0].value.data, call.args[2:]


def format_message(text: str, values: Iterable[object]) -> str:
    """The text with each `{}` replaced by the next value, as long as there are any."""
    left = iter(values)
    return re.sub(r"\{\}", lambda _: str(next(left, "{}")), text)


@irdl_op_definition
class CallFuncOp(IRDLOperation):
    """A call of a function of the module: a `Call` whose op is a `GlobalVar`.

    Operands and result have the types of the function, which any dialect may define.

    ```mlir
    // @f(3) = 9
    tir.func private @square(%x: i32) -> i32 {
      %y = tir.mul %x, %x : i32
      tir.ret %y : i32
    }
    tir.func @f(%x: i32) -> i32 {
      %y = tir.call_func @square(%x) : (i32) -> i32
      tir.ret %y : i32
    }
    ```
    """

    name = "tir.call_func"

    callee = prop_def(SymbolRefAttr)
    args = var_operand_def()
    result = opt_result_def()

    assembly_format = (
        "$callee `(` $args `)` attr-dict `:` functional-type($args, results)"
    )

    traits = traits_def(UpdateEffect(), _CalleeExists())

    def __init__(
        self,
        callee: str | SymbolRefAttr,
        args: Sequence[SSAValue | Operation],
        result_type: Attribute | None = None,
    ) -> None:
        super().__init__(
            operands=[args],
            properties={
                "callee": SymbolRefAttr(callee) if isinstance(callee, str) else callee
            },
            result_types=[result_type],
        )
