"""Operations on user-defined dtypes become what the user registered for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops, ops_of
from xdsl_tvm.analysis.arith.expr import Expr, Value
from xdsl_tvm.analysis.tir.function_target import functions_of, target_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._legalize_floats.kinds import TypeQuestion, fail
from xdsl_tvm.passes.tir._legalize_floats.storage import MOVING, integer_type_of
from xdsl_tvm.passes.tir.datatype.lowering import CustomOperation
from xdsl_tvm.passes.tir.datatype.registry import (
    call_function_name,
    cast_function_name,
    function_name,
    get_type_code,
    kind_of,
    lowering_function,
)
from xdsl_tvm.passes.tir.rewriting.memory_views import take_after
from xdsl_tvm.passes.tir.rewriting.rule_code import apply_rule
from xdsl_tvm.passes.tir.rewriting.statements import erase_if_unused


@dataclass(frozen=True)
class LowerCustomDatatypes(CompilerPass):
    """Summary: Replaces operations on user-defined dtypes by what is registered for them,
        on unsigned integers of their width.

    TVM name: tir.LowerCustomDatatypes (v0.20)
    Input form: flat or later; functions have the attribute `target`
    Output form: the same; values, allocations and buffers of custom dtypes are those of
        unsigned integers, parameters aside
    Options: none
    Rewrites: before, with a registered `tiny` whose `Add` for `llvm` calls `TinyAdd`

            %A = tir.decl_buffer %a : !tir.buffer<8x!tir.custom<"tiny", 16>>
            %x = tir.load %A[%i] : !tir.custom<"tiny", 16>
            %y = tir.add %x, %x : !tir.custom<"tiny", 16>

        after

            %A = tir.decl_buffer %a : !tir.buffer<8xui16>
            %x = tir.load %A[%i] : ui16
            %s = tir.string "TinyAdd"
            %y = tir.call "call_pure_extern"(%s, %x, %x)
                : (!tir.handle, ui16, ui16) -> ui16

        Constants, conversions, arithmetic, comparisons and calls of builtins are replaced
        by what the lowering functions of `xdsl_tvm.passes.tir.datatype` return, operands
        first. What only moves values changes its type: accesses, choices, lets,
        broadcasts, shuffles, `reinterpret`. Buffers of parameters stay, and are viewed as
        integers. Time is linear in the size of the module.
    Leaves alone: functions without custom dtypes; the types of parameters
    Errors: a function with a body and without `target`; a dtype that is not registered;
        an operation without a lowering function for the target; values of custom dtypes
        that are passed to functions of the module, to ops of other dialects, or reduced
    Attributes: read: `target`; created: none; removed: none
    Differs from TVM: comparisons are lowered, by the dtype of their operands, where TVM
        compares the integers. So are builtins with operands of custom dtypes and another
        result. Memory keeps its scope, and lanes. Choices need no lowering function.
        Floor divisions, which TVM leaves to the integers, need one.
    """

    name = "tir-lower-custom-datatypes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lowered = False
        for func in functions_of(op):
            if func.is_declaration:
                continue
            target = target_of(func)
            if target is None:
                raise PassFailedException(
                    f"tir.func @{func.sym_name.data}: LowerCustomDatatypes requires the "
                    "attribute target; run tir-bind-target first"
                )
            lowered |= _Lowering(func, target).run()
        if lowered:
            for each in ops_of(op, tir.CallFuncOp):
                _fit_call(each)


_BINARY: dict[type[Operation], str] = {
    tir.AddOp: "Add",
    tir.SubOp: "Sub",
    tir.MulOp: "Mul",
    tir.DivOp: "Div",
    tir.ModOp: "Mod",
    tir.FloorDivOp: "FloorDiv",
    tir.FloorModOp: "FloorMod",
    tir.MinOp: "Min",
    tir.MaxOp: "Max",
}
_MOVING_CALLS = frozenset(
    (
        *("reinterpret", "type_annotation", "undef", "tvm_thread_invariant"),
        *("vectorlow", "vectorhigh", "vectorcombine"),
        *("tvm_warp_shuffle", "tvm_warp_shuffle_up", "tvm_warp_shuffle_down"),
    )
)
"""Builtins for which only the bits of values count."""


def _element(type_: Attribute) -> Attribute:
    """The dtype of a value, or of what a pointer or a buffer holds."""
    held = isinstance(type_, tir.PtrType | tir.BufferType)
    return tir.element_of(type_.element_type if held else type_)


class _Lowering:
    """One function."""

    def __init__(self, func: tir.FuncOp, target: Target) -> None:
        self._func = func
        self._target = target
        self._concerns = TypeQuestion(lambda type_: tir.is_custom(_element(type_)))
        self._dropped: list[SSAValue] = []

    def run(self) -> bool:
        """Lower the function; whether it has custom dtypes."""
        found = [op for op in all_ops(self._func) if self._is_concerned(op)]
        parameters = [arg for arg in self._func.args if tir.is_custom(arg.type)]
        if not found and not parameters:
            return False
        types = {op: (tuple(op.operand_types), tuple(op.result_types)) for op in found}
        for type_ in {t for both in types.values() for part in both for t in part}:
            self._require_registered(type_)
        for op in found:
            self._check(op)
        for argument in parameters:
            self._require_registered(argument.type)
            self._reinterpret(argument)
        for op in found:
            self._lower(op, *types[op])
        outputs = map(self._integer, self._func.function_type.outputs)
        self._func.function_type = FunctionType.from_lists(
            list(self._func.function_type.inputs), list(outputs)
        )
        erase_if_unused(self._dropped)
        return True

    def _is_concerned(self, op: Operation) -> bool:
        if op is self._func:
            return False
        if any(map(self._concerns, (*op.operand_types, *op.result_types))):
            return True
        return any(
            self._concerns(argument.type)
            for region in op.regions
            for block in region.blocks
            for argument in block.args
        )

    def _require_registered(self, type_: Attribute) -> None:
        element = _element(type_)
        if isinstance(element, tir.CustomType):
            try:
                get_type_code(element.type_name.data)
            except KeyError as error:
                raise PassFailedException(
                    f"tir.func @{self._func.sym_name.data}: {error.args[0]}"
                ) from None

    def _integer(self, type_: Attribute) -> Attribute:
        return integer_type_of(type_) if tir.is_custom(type_) else type_

    # ---- what there may be ----

    def _check(self, op: Operation) -> None:
        """Refuse what is neither lowered nor changed in type."""
        values = [*op.operand_types, *op.result_types]
        match op:
            case tir.CallFuncOp():
                if any(map(tir.is_custom, values)):
                    raise fail(
                        op,
                        "Lowering non-intrinsic Calls not implemented; pass values of "
                        "custom dtypes in memory, or inline the function",
                    )
            case tir.YieldOp() if isinstance(op.parent_op(), tir.IfThenElseOp):
                pass
            case tir.CastOp() | tir.CmpOp() | tir.CallOp() | tir.MatchBufferOp():
                pass
            case tir.AllocateConstOp():
                raise fail(op, "constants of custom dtypes cannot be lowered; store them")
            case _ if type(op) in _BINARY or isinstance(op, MOVING):
                pass
            case _:
                raise fail(
                    op,
                    "it has no lowering for custom dtypes; write it in terms of "
                    "arithmetic, loads and stores",
                )

    # ---- ops ----

    def _lower(
        self,
        op: Operation,
        operands: tuple[Attribute, ...],
        results: tuple[Attribute, ...],
    ) -> None:
        match op:
            case tir.CastOp():
                source, dest = kind_of(operands[0]), kind_of(results[0])
                name = cast_function_name(self._kind, dest, source)
                missing = (
                    f"Cast lowering function for target {self._kind} destination type "
                    f"{dest} source type {source} not found"
                )
                self._apply("Cast", name, missing, op, operands, results)
            case tir.ConstOp():
                self._apply_by_type("FloatImm", op, results[0], operands, results)
            case tir.CmpOp():
                kind = op.predicate.data.name
                self._apply_by_type(kind, op, operands[0], operands, results)
            case tir.CallOp() if any(map(tir.is_custom, (*operands, *results))):
                self._call(op, operands, results)
            case tir.MatchBufferOp():
                self._view(op)
            case _ if type(op) in _BINARY:
                kind = _BINARY[type(op)]
                self._apply_by_type(kind, op, results[0], operands, results)
            case _:
                self._retype(op)

    @property
    def _kind(self) -> str:
        return self._target.kind.name

    def _apply_by_type(
        self,
        kind: str,
        op: Operation,
        dtype: Attribute,
        operands: tuple[Attribute, ...],
        results: tuple[Attribute, ...],
    ) -> None:
        type_name = kind_of(dtype)
        missing = (
            f"{kind} lowering function for target {self._kind} type {type_name} not found"
        )
        name = function_name(self._kind, kind, type_name)
        self._apply(kind, name, missing, op, operands, results)

    def _call(
        self,
        op: tir.CallOp,
        operands: tuple[Attribute, ...],
        results: tuple[Attribute, ...],
    ) -> None:
        """A call is lowered by its function, unless its callee works on the bits."""
        dtype = next(filter(tir.is_custom, (*results, *operands)))
        intrinsic, type_name = f"tir.{op.callee.data}", kind_of(dtype)
        name = call_function_name(self._kind, intrinsic, type_name)
        if lowering_function(name) is None and self._works_on_bits(op, results):
            self._retype(op)
            return
        missing = (
            f"Intrinsic lowering function for target {self._kind}, intrinsic name "
            f"{intrinsic}, type {type_name} not found"
        )
        self._apply("Call", name, missing, op, operands, results)

    def _works_on_bits(self, op: tir.CallOp, results: Iterable[Attribute]) -> bool:
        name = op.callee.data
        if name in _MOVING_CALLS:
            return True
        if any(map(tir.is_custom, results)):
            return False
        known = tir.INTRINSICS.get(name)
        effect = None if known is None else known.effect
        return effect != tir.CallEffect.PURE or name == "call_pure_extern"

    def _apply(
        self,
        kind: str,
        name: str,
        missing: str,
        op: Operation,
        operands: tuple[Attribute, ...],
        results: tuple[Attribute, ...],
    ) -> None:
        """Replace an op by what a lowering function returns."""
        function = lowering_function(name)
        if function is None:
            raise fail(
                op, f"{missing}; register one with datatype.register_op, as '{name}'"
            )
        args = tuple[Expr, ...](map(Value, op.operands))
        dtype = results[0]
        both, target = (dtype, self._integer(dtype)), self._target
        try:
            written = apply_rule(
                lambda code: CustomOperation(
                    kind, op, args, operands, both, target, code
                ),
                function,
                f"the function '{name}'",
            )
        except RuntimeError as error:
            raise fail(op, f"the function '{name}' failed: {error}") from error
        assert written is not None
        assert written.value is not None
        self._dropped += op.operands
        Rewriter.replace_op(op, [], [written.value])

    # ---- types ----

    def _retype(self, op: Operation) -> None:
        """Give the results of an op integers, as what they are made of has."""
        if isinstance(op, tir.LetOp | tir.AccessPtrOp) and any(
            map(self._concerns, op.operand_types)
        ):
            # A pointer that is a parameter keeps its type.
            return
        is_let_of_handle = isinstance(op, tir.LetOp) and op.value.type != op.result.type
        for result in op.results:
            if not self._concerns(result.type):
                continue
            if is_let_of_handle and isinstance(op.operands[0].type, tir.HandleType):
                continue
            Rewriter.replace_value_with_new_type(result, integer_type_of(result.type))

    def _reinterpret(self, argument: SSAValue) -> None:
        """Use the bits of a parameter in its place."""
        bits = tir.CallOp("reinterpret", [argument], integer_type_of(argument.type))
        argument.replace_uses_with_if(
            bits.results[0], lambda use: use.operation is not bits
        )
        Rewriter.insert_op(bits, InsertPoint.at_start(self._func.body.block))

    def _view(self, match: tir.MatchBufferOp) -> None:
        """Use a view of integers in the place of the buffer of a parameter."""
        data = tir.DataOp(match.buffer)
        data.location = match.location
        element = integer_type_of(match.type.element_type)
        view = tir.DeclBufferOp(
            data,
            tir.BufferType(match.type.shape, element, match.type.scope),
            match.extents,
            strides=match.layout_strides,
            elem_offset=match.elem_offset,
        )
        take_after(view, match, "operandSegmentSizes")
        match.buffer.replace_uses_with_if(
            view.buffer, lambda use: use.operation is not data
        )
        Rewriter.insert_op((data, view), InsertPoint.after(match))


def _fit_call(op: tir.CallFuncOp) -> None:
    """Pass pointers of the types that the callee has."""
    callee = SymbolTable.lookup_symbol(op, op.callee)
    if not isinstance(callee, tir.FuncOp):
        return
    for index, needed in enumerate(callee.function_type.inputs):
        given = op.operands[index]
        if given.type == needed or not isinstance(needed, tir.PtrType):
            continue
        pointer = tir.CallOp("reinterpret", [given], needed)
        pointer.location = op.location
        Rewriter.insert_op(pointer, InsertPoint.before(op))
        op.operands[index] = pointer.results[0]
