"""Ops of expressions: trees of TVMScript as values, for `to_ssa`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from xdsl.dialects.builtin import (
    LocationAttr,
    NoneType,
    StringAttr,
    UnknownLoc,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.dialects.quick_operation import segments
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes import statements as st
from xdsl_tvm.tvmscript.nodes.expressions import Expr, ScriptTypeError, Var, operands
from xdsl_tvm.tvmscript.nodes.statements import Buffer


@dataclass(frozen=True, slots=True)
class _Build:
    """Makes the op of an expression whose operands have been made."""

    expr: Expr
    count: int


@dataclass(frozen=True, slots=True)
class _Choose:
    """Makes the lazy choice whose condition has been made."""

    call: ex.Call


@dataclass(frozen=True, slots=True)
class _Enter:
    """Goes on in a block of its own, for a lazy operand."""

    block: Block


@dataclass(frozen=True, slots=True)
class _Yield:
    """Ends the block of a lazy operand, and goes on in the one around."""

    around: Block


@dataclass(frozen=True, slots=True)
class _Bind:
    """Binds the variable of a `Let` to the value that has been made."""

    let: ex.Let


@dataclass(frozen=True, slots=True)
class _Unbind:
    """Ends the scope of a `Let`."""


@dataclass(frozen=True, slots=True)
class _Push:
    """The value of an expression that has been made with its regions."""

    expr: Expr
    value: SSAValue


_Task: TypeAlias = "Expr | _Build | _Choose | _Enter | _Yield | _Bind | _Unbind | _Push"

_BINARY: Mapping[str, type[tir.BinaryOp]] = {
    "add": tir.AddOp,
    "sub": tir.SubOp,
    "mul": tir.MulOp,
    "div": tir.DivOp,
    "mod": tir.ModOp,
    "floordiv": tir.FloorDivOp,
    "floormod": tir.FloorModOp,
    "min": tir.MinOp,
    "max": tir.MaxOp,
    "and": tir.AndOp,
    "or": tir.OrOp,
}
_PREDICATES = {each: tir.CmpPredicateAttr(each) for each in tir.CmpPredicate}


class ExpressionOps:
    """Makes the values of expressions at the end of a block.

    It knows what variables, buffers and data pointers are in scope. Deep expressions do
    not recurse.
    """

    def __init__(self, functions: Mapping[str, st.PrimFunc]) -> None:
        self.functions = functions
        """The functions that calls may name."""
        self.block = Block()
        """Ops are added at its end."""
        self.values: dict[Var, SSAValue] = {}
        self.pointers: dict[Var, SSAValue] = {}
        """The buffers whose data pointers variables are."""
        self.buffers: dict[Buffer, SSAValue] = {}
        self.trail: list[Callable[[], object]] = []
        """What to undo at the ends of scopes."""
        # Of the statement that is being made: values of expressions without effects.
        self._memo: dict[int, SSAValue] = {}
        self._inside: list[list[int]] = []
        """What of them was made in each of the open blocks of lazy operands."""
        self._effects: set[int] = set()
        self.constants: dict[tuple[Attribute, str], tir.ConstOp] = {}
        """One op for each constant, to be at the beginning of the function."""
        self.location: LocationAttr = UnknownLoc()
        """The location of the operations that are added."""

    def add(self, op: Operation) -> None:
        """Add an op, at the location of the statement."""
        op.location = self.location
        self.block.add_op(op)

    def start(self) -> None:
        """Begin a statement: values of expressions may have changed since the last."""
        self._memo = {}
        self._effects = set()

    def undo(self, mark: int) -> None:
        while len(self.trail) > mark:
            self.trail.pop()()

    def bind(self, var: Var, value: SSAValue) -> None:
        before = self.values.get(var)
        self.values[var] = value
        if before is None:
            self.trail.append(lambda: self.values.pop(var))
        else:
            self.trail.append(lambda: self.values.__setitem__(var, before))

    def bind_result(self, var: Var, value: SSAValue) -> None:
        set_name_hint(value, var.name)
        self.bind(var, value)

    def buffer(self, buffer: Buffer) -> SSAValue:
        """The value of a buffer. Raises ScriptTypeError where it is not in scope."""
        found = self.buffers.get(buffer)
        if found is None:
            raise ScriptTypeError(
                f"buffer '{buffer.name}' is used outside of the scope that declares it"
            )
        return found

    # ---- expressions ----

    def values_in(self, block: Block, roots: Sequence[Expr]) -> list[SSAValue]:
        """The values of expressions that are evaluated in a block of their own."""
        around, self.block = self.block, block
        self._inside.append([])
        made = [self.value(root) for root in roots]
        self._leave(around)
        return made

    def value(self, root: Expr) -> SSAValue:
        """The value of an expression, made before the statement that needs it.

        Raises ScriptTypeError for a variable that is not in scope.
        """
        return value_of(self.emitted(root))

    def emitted(self, root: Expr) -> SSAValue | None:
        """Make an expression; None for a call without a result."""
        stack: list[_Task] = [root]
        made: list[SSAValue | None] = []
        marks: list[int] = []
        while stack:
            task = stack.pop()
            match task:
                case _Build():
                    parts = made[len(made) - task.count :]
                    del made[len(made) - task.count :]
                    made.append(self._build(task.expr, _all_values(parts)))
                case _Choose():
                    stack += self._choice(task.call, value_of(made.pop()))
                case _Enter():
                    self.block = task.block
                    self._inside.append([])
                case _Yield():
                    self.add(tir.YieldOp(value_of(made.pop())))
                    self._leave(task.around)
                case _Bind():
                    marks.append(len(self.trail))
                    self._bind_let(task.let, value_of(made.pop()))
                case _Unbind():
                    self.undo(marks.pop())
                case _Push():
                    self._remember(task.expr, task.value)
                    made.append(task.value)
                case _:
                    self._visit(task, stack, made)
        return made[0]

    def _leave(self, around: Block) -> None:
        """End the block of a lazy operand, whose values are seen inside of it only."""
        self.block = around
        for key in self._inside.pop():
            del self._memo[key]

    def _remember(self, expr: Expr, value: SSAValue | None) -> None:
        """Use the value wherever the expression is in the statement, unless
        evaluating it has an effect."""
        has_effect = acts(expr) or any(id(o) in self._effects for o in operands(expr))
        if has_effect:
            self._effects.add(id(expr))
        elif value is not None:
            self._memo[id(expr)] = value
            if self._inside:
                self._inside[-1].append(id(expr))

    def _visit(self, expr: Expr, stack: list[_Task], made: list[SSAValue | None]) -> None:
        known = self._memo.get(id(expr))
        if known is not None:
            made.append(known)
            return
        match expr:
            case ex.Let():
                stack += [_Unbind(), expr.body, _Bind(expr), expr.value]
                return
            case ex.Call(name="if_then_else"):
                condition = expr.args[0]
                assert isinstance(condition, Expr)
                stack += [_Choose(expr), condition]
                return
            case ex.Call(name="address_of"):
                parts = place_of(expr.args[0]).indices
            case ex.Call(name="tvm_access_ptr"):
                parts = operands(expr)[1:4]
            case _:
                parts = operands(expr)
        stack.append(_Build(expr, len(parts)))
        stack += reversed(parts)

    def _choice(self, call: ex.Call, condition: SSAValue) -> list[_Task]:
        op = tir.IfThenElseOp(condition, call.type)
        self.add(op)
        _, true_value, false_value = operands(call)
        around = self.block
        return [
            _Push(call, op.result),
            _Yield(around),
            false_value,
            _Enter(op.false_region.block),
            _Yield(around),
            true_value,
            _Enter(op.true_region.block),
        ]

    def _bind_let(self, let: ex.Let, value: SSAValue) -> None:
        is_pointer = isinstance(let.var.type, tir.PtrType)
        op = tir.LetOp(
            value,
            name=let.var.name or "x",
            kind=tir.LetKind.EXPR,
            result_type=let.var.type if is_pointer else value.type,
        )
        self.add(op)
        self.bind_result(let.var, op.result)

    def _build(self, expr: Expr, parts: Sequence[SSAValue]) -> SSAValue | None:
        """Make the op of an expression on operands that have been made."""
        if isinstance(expr, Var):
            return self._variable(expr)
        if isinstance(expr, ex.IntImm | ex.FloatImm):
            return self._constant(expr)
        op = self._op(expr, parts)
        self.add(op)
        result = op.results[0] if op.results else None
        self._remember(expr, result)
        return result

    def _variable(self, var: Var) -> SSAValue:
        value = self.values.get(var)
        if value is not None:
            return value
        buffer = self.pointers.get(var)
        if buffer is None:
            raise ScriptTypeError(
                f"variable '{var.name}' is not defined here; bind it by a loop, a "
                "parameter, a let or a matched buffer around"
            )
        op = tir.DataOp(buffer)
        self.add(op)
        self._remember(var, op.result)
        return op.result

    def _op(self, expr: Expr, parts: Sequence[SSAValue]) -> Operation:
        match expr:
            case ex.StringImm():
                return tir.StringOp(expr.value)
            case ex.Binary():
                return _BINARY[expr.op].create(operands=parts, result_types=[expr.type])
            case ex.Compare():
                return tir.CmpOp.create(
                    operands=parts,
                    result_types=[expr.type],
                    properties={"predicate": _PREDICATES[expr.predicate]},
                )
            case ex.Not():
                return tir.NotOp(parts[0])
            case ex.Select():
                return tir.SelectOp(parts[0], parts[1], parts[2])
            case ex.Cast():
                return tir.CastOp.create(operands=parts, result_types=[expr.type])
            case ex.Ramp():
                return tir.RampOp(parts[0], parts[1], expr.type)
            case ex.Broadcast():
                return tir.BroadcastOp(parts[0], expr.type)
            case ex.Shuffle():
                count = len(expr.vectors)
                return tir.ShuffleOp(parts[:count], parts[count:], expr.type)
            case ex.BufferLoad():
                return tir.LoadOp.create(
                    operands=[self.buffer(expr.buffer), *parts],
                    properties=_load_segments(len(expr.indices), len(parts)),
                    result_types=[expr.type],
                )
            case ex.Call():
                return self._call(expr, parts)
            case ex.CallFunc():
                return self._call_func(expr, parts)
            case _:
                raise ScriptTypeError(f"{type(expr).__name__} has no op")

    def _constant(self, expr: ex.IntImm | ex.FloatImm) -> SSAValue:
        key = (expr.type, repr(expr.value))
        op = self.constants.get(key)
        if op is None:
            op = tir.ConstOp.create(
                properties={"value": immediate(expr)}, result_types=[expr.type]
            )
            set_name_hint(op.result, _constant_name(expr))
            self.constants[key] = op
        return op.result

    def _call(self, call: ex.Call, parts: Sequence[SSAValue]) -> Operation:
        if len(operands(call)) != len(call.args):
            raise ScriptTypeError(f"T.{call.name} takes no reducer")
        if call.name == "address_of":
            return tir.AddressOfOp(self.buffer(place_of(call.args[0]).buffer), parts)
        if call.name == "tvm_access_ptr":
            return _access_ptr(call, parts)
        if call.name in ("ret", "tvm_thread_allreduce"):
            raise ScriptTypeError(f"T.{call.name} is a statement, not a value")
        is_void = isinstance(call.type, NoneType)
        return tir.CallOp(call.name, parts, None if is_void else call.type)

    def _call_func(self, call: ex.CallFunc, parts: Sequence[SSAValue]) -> Operation:
        callee = self.functions.get(call.symbol)
        args = list(parts)
        if callee is not None and len(callee.params) == len(args):
            # A handle stands for a typed pointer in TVM, but is another type here.
            for index, param in enumerate(callee.params):
                if args[index].type != param.type and tir.is_handle(args[index].type):
                    cast_op = tir.CallOp("reinterpret", [args[index]], param.type)
                    self.add(cast_op)
                    args[index] = cast_op.results[0]
        is_void = isinstance(call.type, NoneType)
        return tir.CallFuncOp(call.symbol, args, None if is_void else call.type)


@cache
def _constant_name(expr: ex.IntImm | ex.FloatImm) -> str:
    """As MLIR names constants: `c16`, `c16_i64`, `true`, `cst`."""
    if isinstance(expr, ex.FloatImm):
        return "cst"
    if expr.type == i1:
        return "true" if expr.value else "false"
    name = f"c{expr.value}".replace("-", "m")
    return name if expr.type == i32 else f"{name}_{expr.type}"


def _load_segments(rank: int, count: int) -> dict[str, Attribute]:
    """The property that says where the indices of a load end, and the predicate."""
    return {"operandSegmentSizes": segments(1, rank, count - rank)}


def value_of(value: SSAValue | None) -> SSAValue:
    if value is None:
        raise ScriptTypeError("a call without a result is no value")
    return value


def _all_values(values: Sequence[SSAValue | None]) -> list[SSAValue]:
    return [value_of(value) for value in values]


def place_of(arg: object) -> ex.BufferLoad:
    """The element of a buffer that an operand names rather than reads."""
    if not isinstance(arg, ex.BufferLoad) or arg.predicate is not None:
        raise ScriptTypeError("expected an element of a buffer, such as A[0]")
    return arg


_BARE_EFFECTS = (
    tir.CallEffect.UPDATE_STATE,
    tir.CallEffect.EMBED_INFO,
    tir.CallEffect.CONTROL_JUMP,
)


def acts(expr: Expr) -> bool:
    """Whether evaluating the node itself does something, so that it stands alone."""
    if isinstance(expr, ex.CallFunc):
        return True
    if not isinstance(expr, ex.Call):
        return False
    known = tir.INTRINSICS.get(expr.name)
    return known is None or known.effect in _BARE_EFFECTS


def _access_ptr(call: ex.Call, parts: Sequence[SSAValue]) -> Operation:
    annotation, _, _, _, mask = operands(call)
    number = ex.literal(mask)
    try:
        mode = tir.AccessMode.of(-1 if number is None else int(number))
    except ValueError as error:
        raise ScriptTypeError(f"T.tvm_access_ptr: {error}") from None
    data = parts[0].type
    scope = data.scope if isinstance(data, tir.PtrType) else "global"
    pointer, offset, extent = parts
    result = tir.PtrType(annotation.type, scope)
    return tir.AccessPtrOp(pointer, offset, extent, mode, result)


def immediate(value: ex.IntImm | ex.FloatImm | ex.StringImm) -> Attribute:
    if isinstance(value, ex.StringImm):
        return StringAttr(value.value)
    return tir.ConstOp.of(value.value, value.type).value
