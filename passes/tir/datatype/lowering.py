"""What a lowering function is given, and functions that lower to calls of C symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Operation

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Const, Expr
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode
from xdsl_tvm.passes.tir.rewriting.rule_code import RuleCode


class CustomOperation(RuleCode):
    """An operation on a custom dtype, as a lowering function sees it.

    `dtype` is that of the expression to return: an unsigned integer of the width for a
    custom dtype.
    """

    def __init__(
        self,
        kind: str,
        op: Operation,
        args: tuple[Expr, ...],
        types: tuple[Attribute, ...],
        result: tuple[Attribute, Attribute],
        target: Target,
        code: LoopCode,
    ) -> None:
        super().__init__(op, result[1], target, code)
        self.kind = kind
        """TVM's name: `Add`, `Cast`, `FloatImm`, `EQ`, or `Call`."""
        self.args = args
        """The operands, those of custom dtypes as unsigned integers."""
        self.operand_types = types
        """The dtypes of the operands in the program."""
        self.custom_dtype = result[0]
        """The dtype of the result in the program."""

    @property
    def intrinsic(self) -> str | None:
        """The full name of the builtin that a `Call` calls."""
        return f"tir.{self.op.callee.data}" if isinstance(self.op, tir.CallOp) else None

    @property
    def value(self) -> float:
        """The number of a `FloatImm`.

        Raises ValueError for any other operation.
        """
        if not isinstance(self.op, tir.ConstOp):
            raise ValueError(f"{self.kind} has no number, only FloatImm has")
        return float(self.op.literal)


LowerFunc: TypeAlias = Callable[[CustomOperation], Expr]
"""From an operation, the expression that computes it on unsigned integers."""
WidthKey: TypeAlias = "int | tuple[int, int]"
_LowerMinimum: TypeAlias = "Callable[[int], tuple[Operation, ...]]"

_minima: dict[str, _LowerMinimum] = {}


def create_lower_func(extern_func_map: Mapping[WidthKey, str]) -> LowerFunc:
    """A lowering function that calls a C symbol by the width of the dtype.

    For casts the keys are pairs of the widths of source and destination. A `FloatImm` is
    passed as `float32`. The function raises RuntimeError for a width that is no key.
    """

    def lower(operation: CustomOperation) -> Expr:
        args = operation.args
        width = tir.bits_of_lane(operation.custom_dtype)
        key: WidthKey = width
        if operation.kind == "Cast":
            key = tir.bits_of_lane(operation.operand_types[0]), width
        elif tir.is_bool(operation.custom_dtype):
            key = tir.bits_of_lane(operation.operand_types[0])
        if key not in extern_func_map:
            known = ", ".join(map(str, extern_func_map))
            raise RuntimeError(
                f"missing key {key} in extern_func_map for {operation.kind} of "
                f"{tir.dtype_name(operation.custom_dtype)}; it has {known}"
            )
        if operation.kind == "FloatImm":
            args = (Const(operation.value, f32),)
        return operation.extern(extern_func_map[key], *args)

    return lower


def lower_ite(operation: CustomOperation) -> Expr:
    """Lower a choice to one of unsigned integers.

    `LowerCustomDatatypes` does so by itself.
    """
    return smart.if_then_else(*operation.args)


def lower_call_pure_extern(operation: CustomOperation) -> Expr:
    """Lower a pure call of a C symbol to one on unsigned integers."""
    return operation.call("call_pure_extern", *operation.args)


def register_min_func(func: _LowerMinimum, type_name: str) -> None:
    """Register what computes the least value of a custom dtype from its width."""
    _minima[type_name] = func


def create_min_lower_func(
    extern_func_map: Mapping[int, str], type_name: str
) -> _LowerMinimum:
    """A function from a width to ops that call a C symbol for the least value.

    It raises RuntimeError for a width that is no key. The call has the custom dtype:
    register `lower_call_pure_extern` as lowering of the intrinsic `tir.call_pure_extern`.
    """

    def lower(num_bits: int) -> tuple[Operation, ...]:
        dtype = tir.parse_dtype(f"custom[{type_name}]{num_bits}")
        if num_bits not in extern_func_map:
            raise RuntimeError(
                f"missing minimum function for {tir.dtype_name(dtype)}; the map has "
                f"{', '.join(map(str, extern_func_map))}"
            )
        symbol = tir.StringOp(extern_func_map[num_bits])
        return symbol, tir.CallOp("call_pure_extern", [symbol], dtype)

    return lower


def minimum_of(dtype: Attribute) -> tuple[Operation, ...]:
    """Ops the last of which computes the least value of a custom dtype.

    Raises KeyError where no function is registered for it.
    """
    element = tir.element_of(dtype)
    if not isinstance(element, tir.CustomType):
        raise KeyError(f"{dtype} is no custom dtype")
    name = element.type_name.data
    if name not in _minima:
        raise KeyError(
            f"the custom dtype '{name}' has no function for its least value; call "
            "register_min_func"
        )
    return _minima[name](element.bits.data)
