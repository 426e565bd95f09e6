"""Integer expressions computed in fewer bits: what two passes have in common.

A value may be needed in two types, so an expression is made anew per kind of use, and
the old ops go where nothing is left that uses them. Whether a value fits is asked before
anything changes, by its constant bound. All variables have their final type before an
expression over them is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping
from typing import NamedTuple, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, IntegerType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue, Use
from xdsl.rewriter import Rewriter

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.const_int_bound import SHIFTS
from xdsl_tvm.analysis.arith.expr import (
    Expr,
    Value,
    is_expression_class,
    view,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.dialects.integers import Bound, add
from xdsl_tvm.passes.tir.rewriting.statements import erase_if_unused, names_variable

_FOLLOWING = (
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "clz",
    "likely",
    "shift_left",
    "shift_right",
)
_OF_INDICES = (
    tir.AddressOfOp,
    tir.AllocateOp,
    tir.BlockOp,
    tir.BufferDefinition,
    tir.ForOp,
    tir.IfOp,
    tir.IfThenElseOp,
    tir.LaunchThreadOp,
    tir.LoadOp,
    tir.ReadsOp,
    tir.WritesOp,
)
_LOOPS = (tir.ForOp, tir.LaunchThreadOp, tir.BlockOp)


class Mode(NamedTuple):
    """How an expression is made.

    `enabled`: constants and casts in it take the narrow type where they fit. `wide`:
    something around it does not fit, so they do not. `forced`: all fits.
    """

    enabled: bool = False
    wide: bool = False
    forced: bool = False


def is_wide(dtype: Attribute, target: IntegerType) -> bool:
    """Whether a type is a signed integer, or lanes of it, of more bits than `target`."""
    element = tir.element_of(dtype)
    return (
        tir.is_integer_type(element)
        and tir.is_int(element)
        and element.width.data > target.width.data
    )


def is_expression(op: Operation | Block) -> bool:
    """Whether the type of the op follows from that of its operands."""
    if _is_call(op):
        return op.callee.data in _FOLLOWING and op.result is not None
    return not _is_block(op) and is_expression_class(type(op))


_is_block = of_classes(Block)
_is_call = of_classes(tir.CallOp)
_is_loop = of_classes(*_LOOPS)


def variables_of(op: Operation) -> tuple[BlockArgument, ...]:
    """The variables of a loop, a launch of threads or a block."""
    return tuple(op.regions[0].block.args) if _is_loop(op) else ()


def _erase_unused_expressions(func: Operation) -> None:
    """Nothing says of which type a value must be that nothing uses."""
    unused = [
        op.results[0]
        for op in all_ops(func)
        if is_expression(op) and op.results[0].first_use is None
    ]
    erase_if_unused(reversed(unused))


class Ranges:
    """What is known of the values of a function before it changes.

    Loops, launches, domains of blocks and bindings bound variables; conditions do not
    count. So each bound holds wherever its value is in scope.
    """

    def __init__(self, func: Operation, target: IntegerType) -> None:
        self.bounds: dict[SSAValue, Bound] = {}
        self._target = target
        self._limits = Bound(*integer_range(target))
        self._analyzer = Analyzer()
        self._trees: MutableMapping[SSAValue, Expr] = {}
        for op in all_ops(func):
            self._visit(op)

    def fits(self, value: SSAValue) -> bool:
        """Whether the target type has all values of an integer."""
        return self._limits.contains(self.bounds[value])

    def never_fits(self, value: SSAValue) -> bool:
        """Whether the target type has no value of an integer."""
        found = self.bounds[value]
        return found.min > self._limits.max or found.max < self._limits.min

    def loop_fits(self, op: Operation, variable: BlockArgument) -> bool:
        """Whether a variable can have the target type, and what its loop counts too."""
        low, extent = _range_of(op, variable)
        if not self.fits(variable) or not self.fits(extent):
            return False
        if low is None:
            return True
        end = add(self.bounds[low], self.bounds[extent])
        return self.fits(low) and self._limits.contains(end)

    def keeps_bits(self, value: SSAValue) -> bool:
        """Whether an op on bits says the same of the narrow operand."""
        op = value.owner
        if not isinstance(op, tir.CallOp):
            return True
        if op.callee.data in SHIFTS:
            amount = self.bounds[op.args[1]]
            return Bound(0, self._target.width.data - 1).contains(amount)
        if op.callee.data == "clz":
            return self.bounds[op.args[0]].min >= 0 and self._target.width.data == 32
        return True

    def _visit(self, op: Operation) -> None:
        for value in (*op.operands, *op.results):
            self._look_at(value)
        for variable in variables_of(op):
            low, extent = _range_of(op, variable)
            least = Bound(0, 0) if low is None else self.bounds[low]
            high = least.max + self.bounds[extent].max - 1
            self._record(variable, Bound(least.min, max(least.min, high)))
        if isinstance(op, tir.LetOp) and tir.is_integer(op.result.type):
            self._record(op.result, self.bounds[op.value])

    def _record(self, value: SSAValue, bound: Bound) -> None:
        # Nothing has asked for a bound of the variable yet, so no other bound changes.
        self._analyzer.facts.set_bound(Value(value), bound)
        self._analyzer.memo.bounds.pop(Value(value), None)
        self.bounds.pop(value, None)
        self._look_at(value)

    def _look_at(self, value: SSAValue) -> None:
        if value not in self.bounds and tir.is_integer(value.type):
            tree = view(value, self._trees)
            self.bounds[value] = self._analyzer.const_int_bound(tree)


def _range_of(op: Operation, variable: BlockArgument) -> tuple[SSAValue | None, SSAValue]:
    """Minimum and extent of a variable; the minimum of a thread is zero."""
    match op:
        case tir.ForOp():
            return op.min, op.extent
        case tir.BlockOp():
            return op.dom_mins[variable.index], op.dom_extents[variable.index]
        case tir.LaunchThreadOp():
            return None, op.extent
        case _:
            raise AssertionError(f"{op.name} has no variables")


class Uses:
    """How the values of a function are used, in all expressions together.

    `wide` has what is part of something that does not fit, `disabled` what is used as a
    value of its own type, and `enabled` what indices and bounds of loops are made of.
    """

    def __init__(self, func: Operation, ranges: Ranges, target: IntegerType) -> None:
        self.wide: set[SSAValue] = set()
        self.disabled: set[SSAValue] = set()
        self.enabled: set[SSAValue] = set()
        self._ranges = ranges
        self._target = target
        self._seen: set[tuple[SSAValue, Mode]] = set()
        # What uses a binding tells how its value is used, so it comes first.
        for op in reversed(all_ops(func)):
            if not is_expression(op) and not _is_choice_yield(op):
                for position, value in enumerate(op.operands):
                    self._visit(value, self._mode(op, position))

    def _mode(self, op: Operation, position: int) -> Mode:
        if isinstance(op, tir.LetOp):
            return self.mode_of_let(op)
        return Mode(enabled=is_index(op, position))

    def mode_of_let(self, op: tir.LetOp) -> Mode:
        """How the value of a binding is made: as an index if it is used in one."""
        return Mode(enabled=op.result in self.enabled, wide=op.result in self.wide)

    def mode_of_choice(self, op: tir.IfThenElseOp) -> Mode:
        """How the values of a lazy choice are made."""
        enabled = op.result in self.enabled and op.result not in self.disabled
        return Mode(enabled=enabled, wide=op.result in self.wide)

    def _visit(self, value: SSAValue, mode: Mode) -> None:
        stack = [(value, mode)]
        while stack:
            key = stack.pop()
            if key in self._seen:
                continue
            self._seen.add(key)
            current, mode = key
            op = current.owner
            if isinstance(op, Operation) and is_expression(op):
                below = child_mode(current, mode, self._ranges, self._target)
                stack += [(operand, below) for operand in op.operands]
                continue
            if mode.wide:
                self.wide.add(current)
            (self.enabled if mode.enabled else self.disabled).add(current)
            if isinstance(op, tir.IfThenElseOp):
                below = child_mode(current, mode, self._ranges, self._target)
                stack += [(operand, below) for operand in _yielded(op)]


def child_mode(value: SSAValue, mode: Mode, ranges: Ranges, target: IntegerType) -> Mode:
    """How the operands of a value are made, if the value itself is made so."""
    if mode.forced or mode.wide or not is_wide(value.type, target):
        return mode
    return mode if ranges.fits(value) else mode._replace(wide=True)


def _yielded(op: tir.IfThenElseOp) -> Iterator[SSAValue]:
    for region in op.regions:
        last = region.block.last_op
        if isinstance(last, tir.YieldOp):
            yield last.value


def _is_choice_yield(op: Operation) -> bool:
    return isinstance(op, tir.YieldOp) and isinstance(op.parent_op(), tir.IfThenElseOp)


def is_index(op: Operation, position: int) -> bool:
    """Whether an operand is an index, a bound of a loop, or a condition."""
    if _is_store(op):
        return position > 1
    if _is_yield(op):
        return isinstance(op.parent_op(), tir.WhileOp)
    return _is_of_indices(op)


_is_store = of_classes(tir.StoreOp)
_is_yield = of_classes(tir.YieldOp)
_is_of_indices = of_classes(*_OF_INDICES)


class Narrower:
    """Rewrites a function, given which variables take the target type.

    `forced` says that indices take it without a proof, and buffers of parameters take
    part. `check` is told of each value that is forced.
    """

    def __init__(
        self,
        func: tir.FuncOp,
        target: IntegerType,
        *,
        forced: bool = False,
    ) -> None:
        _erase_unused_expressions(func)
        self.ranges = Ranges(func, target)
        self.uses = Uses(func, self.ranges, target)
        self._func = func
        self._target = target
        self._forced = forced
        self.check: Callable[[SSAValue], None] | None = None
        self._made: dict[tuple[SSAValue, Mode], SSAValue] = {}
        self._inserts: dict[tuple[object, ...], SSAValue] = {}
        self._replaced: list[SSAValue] = []
        self._chosen: set[SSAValue] = set()
        self._types: dict[SSAValue, Attribute] = {}
        """The types that values had whose type has changed."""

    def narrow(self, variables: Iterable[SSAValue]) -> None:
        """Give the target type to `variables`, and what follows to the function."""
        self._chosen = set(variables)
        self._retype_arguments(self._func.body)
        inputs = [argument.type for argument in self._func.args]
        signature = FunctionType.from_lists(inputs, self._func.function_type.outputs.data)
        self._func.properties["function_type"] = signature
        self._block(self._func.body.block)
        erase_if_unused(reversed(self._replaced))

    # ---- statements ----

    def _block(self, block: Block) -> None:
        for op in list(block.ops):
            if is_expression(op) or _is_choice_yield(op):
                continue
            if isinstance(op, tir.ShapeVarOp) and op.result in self._chosen:
                self._retype(op.result)
                continue
            self._operands(op)
            for region in op.regions:
                self._retype_arguments(region)
            self._match_variables(op)
            for region in op.regions:
                for inner in region.blocks:
                    self._block(inner)
            self._finish(op)

    def _retype_arguments(self, region: Region) -> None:
        for block in region.blocks:
            for argument in list(block.args):
                if argument in self._chosen:
                    self._retype(argument)

    def _retype(self, value: SSAValue, dtype: Attribute | None = None) -> None:
        old = self._type_before(value)
        dtype = self._target if dtype is None else dtype
        new = Rewriter.replace_value_with_new_type(value, dtype)
        self._types[new] = old
        if (bound := self.ranges.bounds.get(value)) is not None:
            self.ranges.bounds[new] = bound

    def _type_before(self, value: SSAValue) -> Attribute:
        return self._types.get(value, value.type)

    def _operands(self, op: Operation) -> None:
        if isinstance(op, tir.MatchBufferOp) and not self._forced:
            return
        keeps = not isinstance(op, tir.EvaluateOp | tir.LetOp)
        for position, value in enumerate(list(op.operands)):
            if not tir.is_integer(value.type) and not tir.is_float(value.type):
                continue
            if not is_expression(value.owner) and names_variable(Use(op, position)):
                continue
            dtype = self._type_before(value)
            new = self._value(value, self._mode(op, position))
            if keeps and not is_index(op, position):
                new = self._converted(new, dtype, op)
            if new is not value:
                op.operands[position] = new
                self._replaced.append(value)

    def _mode(self, op: Operation, position: int) -> Mode:
        if isinstance(op, tir.LetOp):
            return self._forced_if_enabled(self.uses.mode_of_let(op))
        variables = variables_of(op)
        if variables and not tir.is_bool(op.operands[position].type):
            # What the range of a variable is made of has the type of the variable.
            variable = variables[position % len(variables)]
            return self._forced_if_enabled(Mode(enabled=variable in self._chosen))
        return self._forced_if_enabled(Mode(enabled=is_index(op, position)))

    def _forced_if_enabled(self, mode: Mode) -> Mode:
        if self._forced and mode.enabled:
            return Mode(enabled=True, forced=True)
        return mode

    def _match_variables(self, op: Operation) -> None:
        """Let the ranges of variables have their types."""
        variables = variables_of(op)
        for position, value in enumerate(list(op.operands) if variables else ()):
            if not tir.is_bool(value.type):
                variable = variables[position % len(variables)]
                op.operands[position] = self._converted(value, variable.type, op)

    def _finish(self, op: Operation) -> None:
        match op:
            case tir.LetOp():
                self._finish_let(op)
            case tir.IfThenElseOp():
                self._finish_choice(op)
            case tir.MatchBufferOp() if not self._forced:
                pass
            case tir.BufferDefinition():
                self._finish_buffer(op)
            case _:
                pass

    def _finish_let(self, op: tir.LetOp) -> None:
        if not tir.is_integer(op.result.type):
            return
        if self._forced and op.result in self.uses.enabled:
            wanted = self._narrow_type(op.result.type)
            op.operands[0] = self._converted(op.value, wanted, op)
        if op.value.type != op.result.type:
            self._retype(op.result, op.value.type)

    def _finish_choice(self, op: tir.IfThenElseOp) -> None:
        mode = self._forced_if_enabled(self.uses.mode_of_choice(op))
        yields = [cast(tir.YieldOp, region.block.last_op) for region in op.regions]
        if tir.is_handle(op.result.type):
            return
        old = [each.value for each in yields]
        new = [self._value(value, mode) for value in old]
        common = new[0].type if new[0].type == new[1].type else op.result.type
        for each, before, value in zip(yields, old, new, strict=True):
            converted = self._converted(value, common, each)
            if converted is not before:
                each.operands[0] = converted
                self._replaced.append(before)
        if common != op.result.type:
            self._retype(op.result, common)

    def _finish_buffer(self, op: tir.BufferDefinition) -> None:
        """The type of static extents follows, where it is one that buffers have."""
        known = op.index_type
        if known is None or not is_wide(known, self._target):
            return
        if self._target.width.data != 32 or any(
            extent.type == known for extent in op.extents
        ):
            return
        low, high = integer_range(self._target)
        static = [e for e in op.type.get_shape() if e != DYNAMIC_INDEX]
        if all(low <= extent <= high for extent in static):
            del op.properties["index_type"]

    # ---- expressions ----

    def _narrow_type(self, dtype: Attribute) -> Attribute:
        if not is_wide(dtype, self._target):
            return dtype
        return tir.like_lanes(self._target, dtype)

    def _value(self, value: SSAValue, mode: Mode) -> SSAValue:
        """The value made so, before its op: whatever uses the op sees it."""
        stack = [(value, mode)]
        while stack:
            key = stack[-1]
            if key in self._made or not is_expression(key[0].owner):
                stack.pop()
                continue
            missing = [k for k in self._needed(*key) if self._get(*k) is None]
            if missing:
                stack += reversed(missing)
                continue
            self._made[key] = self._new(*key)
            stack.pop()
        found = self._get(value, mode)
        assert found is not None
        return found

    def _get(self, value: SSAValue, mode: Mode) -> SSAValue | None:
        return self._made.get((value, mode)) if is_expression(value.owner) else value

    def _needed(self, value: SSAValue, mode: Mode) -> list[tuple[SSAValue, Mode]]:
        op = cast(Operation, value.owner)
        below = child_mode(value, mode, self.ranges, self._target)
        needed = [
            (operand, self._mode_below(op, i, below))
            for i, operand in enumerate(op.operands)
        ]
        if self._types_differ(op, [self._get(*key) for key in needed]):
            needed = [(operand, key._replace(enabled=True)) for operand, key in needed]
        return needed

    @staticmethod
    def _mode_below(op: Operation, position: int, mode: Mode) -> Mode:
        if isinstance(op, tir.SelectOp) and position == 0:
            return mode._replace(enabled=True)
        return mode

    @staticmethod
    def _types_differ(op: Operation, operands: list[SSAValue | None]) -> bool:
        alike = [operands[i] for i in _alike(op)]
        return len({value.type for value in alike if value is not None}) > 1

    def _new(self, value: SSAValue, mode: Mode) -> SSAValue:
        op = cast(Operation, value.owner)
        if mode.forced and self.check is not None and is_wide(value.type, self._target):
            self.check(value)
        operands = [cast(SSAValue, self._get(*k)) for k in self._needed(value, mode)]
        match op:
            case tir.ConstOp():
                return self._constant(op, mode)
            case tir.CastOp():
                return self._cast(op, operands[0], mode)
            case _:
                return self._computed(op, value, operands, mode)

    def _takes_target(self, value: SSAValue, mode: Mode) -> bool:
        if not mode.enabled or not is_wide(value.type, self._target):
            return False
        return mode.forced or (not mode.wide and self.ranges.fits(value))

    def _constant(self, op: tir.ConstOp, mode: Mode) -> SSAValue:
        if not self._takes_target(op.result, mode):
            return op.result
        return self._inserted(tir.ConstOp.of(op.literal, self._target), op)

    def _cast(self, op: tir.CastOp, operand: SSAValue, mode: Mode) -> SSAValue:
        dtype = op.result.type
        if self._takes_target(op.result, mode):
            dtype = self._narrow_type(dtype)
        if operand is op.value and dtype == op.result.type:
            return op.result
        return self._converted(operand, dtype, op)

    def _computed(
        self, op: Operation, value: SSAValue, operands: list[SSAValue], mode: Mode
    ) -> SSAValue:
        alike = _alike(op)
        proven = mode.forced or not is_wide(value.type, self._target)
        same = len({operands[i].type for i in alike}) <= 1
        if not (same and (proven or self.ranges.fits(value))) or not (
            self.ranges.keeps_bits(value)
        ):
            for i in alike:
                operands[i] = self._restored(operands[i], op.operands[i], op)
        counted = _counted(op)
        dtype = value.type
        if alike and counted is None and not isinstance(op, tir.CmpOp):
            dtype = tir.like_lanes(tir.element_of(operands[alike[0]].type), dtype)
        lost = 0
        if counted is not None:
            before = tir.bits_of_lane(self._type_before(counted))
            lost = before - tir.bits_of_lane(operands[0].type)
        unchanged = all(a is b for a, b in zip(operands, op.operands, strict=True))
        if unchanged and dtype == value.type and not lost:
            return value
        new = type(op).create(
            operands=operands,
            result_types=[dtype],
            properties=op.properties.copy(),
            attributes=op.attributes.copy(),
        )
        result = self._inserted(new, op)
        result.name_hint = value.name_hint
        return self._more_zeros(result, lost, op) if lost else result

    def _more_zeros(self, count: SSAValue, lost: int, op: Operation) -> SSAValue:
        """Leading zeros of the narrow type as those of a type with `lost` bits more."""
        narrow = self._target.width.data
        for kind, bits in ((tir.SubOp, narrow), (tir.AddOp, narrow + lost)):
            constant = tir.ConstOp.of(bits, tir.element_of(count.type))
            number = self._inserted(constant, op)
            if not tir.is_scalar(count.type):
                number = self._inserted(tir.BroadcastOp(number, count.type), op)
            count = self._inserted(kind(count, number), op)
        return count

    def _restored(self, new: SSAValue, old: SSAValue, op: Operation) -> SSAValue:
        """The new form of an operand in the type that the old one had."""
        is_kept = isinstance(old.owner, tir.ConstOp)
        return old if is_kept else self._converted(new, self._type_before(old), op)

    def _converted(self, value: SSAValue, dtype: Attribute, op: Operation) -> SSAValue:
        if value.type == dtype:
            return value
        number = tir.constant_value(value)
        if isinstance(number, int) and tir.is_int(dtype) and tir.is_scalar(dtype):
            low, high = integer_range(dtype)
            if low <= number <= high:
                return self._inserted(tir.ConstOp.of(number, dtype), op)
        return self._inserted(
            tir.CastOp.create(operands=[value], result_types=[dtype]), op
        )

    def _inserted(self, new: Operation, op: Operation) -> SSAValue:
        """The result of the new op before `op`, or of one that is there already."""
        block = op.parent
        assert block is not None
        dtype = new.results[0].type
        key = (op, type(new), (*new.operands,), dtype, new.properties.get("value"))
        if key not in self._inserts:
            new.location = op.location
            block.insert_op_before(new, op)
            self._inserts[key] = new.results[0]
            self._replaced.append(new.results[0])
        elif new.parent is None:
            # Its operands would count it among their uses.
            new.erase()
        return self._inserts[key]


def _counted(op: Operation) -> SSAValue | None:
    """What the leading zeros are counted of, if they are."""
    is_count = isinstance(op, tir.CallOp) and op.callee.data == "clz"
    return op.operands[0] if is_count else None


def _alike(op: Operation) -> tuple[int, ...]:
    """The operands that have one type, from which that of the result follows."""
    match op:
        case tir.BinaryOp() | tir.CmpOp() | tir.RampOp():
            return 0, 1
        case tir.SelectOp():
            return 1, 2
        case tir.BroadcastOp():
            return (0,)
        case tir.CallOp():
            return tuple(range(len(op.args))) if op.callee.data != "likely" else ()
        case _:
            return ()
