"""Parallel loops to calls of the thread pool."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, func, llvm, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    UnrealizedConversionCastOp,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops, ops_of
from xdsl_tvm.dialects import tvm_llvm
from xdsl_tvm.dialects.located_builder import LocatedBuilder
from xdsl_tvm.dialects.quick_accessors import stored_operands
from xdsl_tvm.dialects.quick_operation import create
from xdsl_tvm.dialects.tir.constants import integer_attr
from xdsl_tvm.lowering.llvm_text.thread_pool import LAUNCH
from xdsl_tvm.lowering.to_llvm._conversion import convert_type, is_convertible
from xdsl_tvm.lowering.to_llvm._parallel_bodies import (
    Captures,
    argument_attributes,
    constant,
    trip_count,
    work_of,
)
from xdsl_tvm.lowering.to_llvm._symbols import Symbols, new_call, new_function
from xdsl_tvm.passes.infra import CompilerPass

INDEX = IndexType()
POINTER = llvm.LLVMPointerType()

MIN_WORK = 1 << 18
"""The work of a loop that is worth more than one thread, in the unit of `work_of`: some
10 µs, where LLVM makes no vectors, and some 2 to 10 µs where it does. A region costs 1 to
2 µs, and so does what one thread alone writes for the loops after it, on several."""

_UNIT = UnitAttr()
_CHUNK = llvm.LLVMFunctionType([i32, i32, POINTER], i64)
"""The type of what runs a share: its number, how many there are, and the context."""
_FULL = "unroll.full"
_ROLLED = tvm_llvm.LoopAttr(DictionaryAttr({"unroll.disable": _UNIT}))
_ORDER_NONE = IntegerAttr(0, i64)
_NO_WRAP_FLAGS = IntegerAttr(0, i32)
_NO_OVERFLOW = arith.IntegerOverflowAttr("none")
_SLT = IntegerAttr(2, i64)
_ULT = IntegerAttr(6, i64)


@dataclass(frozen=True)
class ConvertSCFParallelToThreads(CompilerPass):
    """Summary: Lets the iterations of parallel loops run on the threads of a pool.

    TVM name: none (ours)
    Input form: any verified IR
    Output form: no scf.parallel in a func.func, except those with reductions
    Options: `min_work`: how much work a loop needs for several threads, where that can be
        estimated: 8 for each operation, 16 for one that loads or stores a vector, and 1
        for each scalar one in an innermost loop (262144, which takes some 10 µs)
    Rewrites: the body of a loop becomes a function, which gets what it uses as arguments.
        The loop calls the pool, which calls a second function with the number of a share
        and how many there are; this one takes what it needs from a struct on the stack
            func.func @f(%a : memref<?xf32>, %n : index) {
              scf.parallel (%i) = (%c0) to (%n) step (%c1) {
                memref.store %x, %a[%i] : memref<?xf32>
              }
            }
          →
            func.func private @f_parallel(%low : index, %high : index,
                                          %a : memref<?xf32>)
                attributes {no_inline} {
              scf.for %i = %low to %high step %c1 {
                memref.store %x, %a[%i] : memref<?xf32>
              }
            }
            llvm.func internal @f_chunk(%t : i32, %count : i32, %context : !llvm.ptr)
                -> i64 attributes {no_inline, optimize_none} {
              (the range %low to %high of iterations of share %t, and %a)
              func.call @f_parallel(%low, %high, %a)
              llvm.return %zero : i64
            }
            llvm.func @xdsl_tvm_parallel_for(!llvm.ptr, !llvm.ptr, i64) -> i64
            func.func @f(%a : memref<?xf32>, %n : index) {
              (%n and %a are stored to %context)
              llvm.call @xdsl_tvm_parallel_for(%f_chunk, %context, %limit)
            }
        Every share is one range of neighbouring iterations, so that results are the
        same for any number of threads. Of several dimensions the first is cut. Constants
        and views of memrefs are made again in the body, which gets the memrefs under
        them. `%limit` is the number of iterations, or 1 where they are less work
        than `min_work`; a loop that is known to be less becomes an scf.for, and so does a
        parallel loop in another one. A loop variable that is used as an integer and has
        bounds of that type counts in it. The body is not inlined: LLVM would optimize it
        once more as a part of the second function, where it knows no more of it. That one
        runs once for each thread and is compiled as it is. A loop that holds loops is
        marked to stay a loop, which LLVM would unroll with all that is in it.
    Leaves alone: loops with reductions, which tvm-convert-scf-to-cf runs in order; loops
        outside of functions; GPU modules
    Errors: the symbol `xdsl_tvm_parallel_for` is something else; the body uses a value
        from outside that LLVM code cannot hold
    Attributes: read: `llvm.noalias`, `tvm_llvm.loop`; created: `llvm.noalias` and
        `llvm.align` on the arguments of the new functions, where the memrefs are known
        not to overlap and to be aligned, `no_inline`, `optimize_none` and
        `tvm_llvm.loop`; all attributes of the loop go to the scf.for
    Differs from TVM: TVM cuts loops in the same way, in its LLVM back end, and refuses
        parallel loops in parallel loops; it does not estimate the work
    """

    name = "tvm-convert-scf-parallel-to-threads"

    min_work: int = MIN_WORK

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = Symbols()
        worklist = [op]
        while worklist:
            module = worklist.pop()
            for inner in list(module.body.ops):
                if isinstance(inner, ModuleOp):
                    worklist.append(inner)
                elif isinstance(inner, func.FuncOp):
                    for loop in _outermost(inner):
                        _convert(module, inner, loop, symbols, self.min_work)


def _outermost(function: func.FuncOp) -> list[scf.ParallelOp]:
    """The loops that are in no other one, except in one with reductions."""
    found: list[scf.ParallelOp] = []
    regions = list(function.regions)
    while regions:
        for block in regions.pop().blocks:
            for op in block.ops:
                if isinstance(op, scf.ParallelOp) and not op.results:
                    found.append(op)
                else:
                    regions.extend(op.regions)
    return found


# ------------------------------------------------------------------ loops in order


def _convert(
    module: ModuleOp,
    function: func.FuncOp,
    loop: scf.ParallelOp,
    symbols: Symbols,
    min_work: int,
) -> None:
    for inner in ops_of(loop.body, scf.ParallelOp):
        if not inner.results:
            _narrow(*_in_order(inner))
    serial, type = _in_order(loop)
    work = work_of(serial.body.block)
    trips = trip_count(serial.lb, serial.ub, serial.step)
    if trips == 1 or work == 0 or (work and trips and work * trips < min_work):
        _narrow(serial, type)
        return
    least = 1 if work is None else -(-min_work // work)
    _Outliner(module, function, serial, symbols).run(type, least)


def _in_order(loop: scf.ParallelOp) -> tuple[scf.ForOp, IntegerType | None]:
    """Replaces a loop by a nest of loops in order, and gives the outermost one.

    The second result is the type that this one could count in instead of index.
    """
    terminator = loop.body.block.last_op
    assert isinstance(terminator, scf.ReduceOp)
    Rewriter.replace_op(terminator, scf.YieldOp(), [])
    bounds = list(zip(loop.lowerBound, loop.upperBound, loop.step, strict=True))
    types = [
        _narrow_type(variable, *bound)
        for variable, bound in zip(loop.body.block.args, bounds, strict=True)
    ]
    body = loop.detach_region(loop.body)
    block = body.block
    variables = list(block.args)
    current = block
    nest: list[scf.ForOp] = []
    for number in reversed(range(len(bounds))):
        if nest:
            current = Block([nest[-1], scf.YieldOp()], arg_types=[INDEX])
            variable = current.args[0]
        else:
            variable = block.insert_arg(INDEX, len(variables))
        variable.name_hint = variables[number].name_hint
        variables[number].replace_all_uses_with(variable)
        region = Region(current) if nest else body
        made = create(scf.ForOp, operands=bounds[number], regions=[region])
        made.location = loop.location
        nest.append(made)
    for variable in reversed(variables):
        block.erase_arg(variable)
    outer = nest[-1]
    outer.attributes.update(loop.attributes)
    Rewriter.replace_op(loop, outer, [])
    for each, type in zip(nest[:-1], types[:0:-1], strict=True):
        _narrow(each, type)
    return outer, types[0]


def _narrow_type(
    variable: SSAValue, low: SSAValue, high: SSAValue, step: SSAValue
) -> IntegerType | None:
    """The integer type that a loop could count in: its body casts the variable to it.

    All values that the variable has fit the type, the one that ends the loop included.
    So LLVM sees that a sum with the variable does not overflow.
    """
    types = {
        cast(Attribute, use.operation.result.type)
        for use in variable.uses
        if isinstance(use.operation, arith.IndexCastOp)
    }
    if len(types) != 1 or constant(step) != 1:
        return None
    (type,) = types
    if not isinstance(type, IntegerType) or type == i64:
        return None
    integer = cast("IntegerType", type)
    return integer if _fits(low, integer) and _fits(high, integer) else None


def _fits(bound: SSAValue, type: IntegerType) -> bool:
    owner = bound.owner
    if isinstance(owner, arith.IndexCastOp) and owner.input.type == type:
        return True
    value = constant(bound)
    limit = 1 << (type.bitwidth - 1)
    return value is not None and -limit <= value < limit


def _narrow(loop: scf.ForOp, type: IntegerType | None) -> None:
    """Lets a loop of step 1 count in `type`, which holds its bounds."""
    if type is None:
        return
    block = loop.parent_block()
    assert block is not None
    for number, bound in enumerate((loop.lb, loop.ub, loop.step)):
        owner, value = bound.owner, constant(bound)
        if value is not None:
            made = create(
                arith.ConstantOp,
                result_types=[type],
                properties={"value": integer_attr(value, type)},
            )
        elif isinstance(owner, arith.IndexCastOp) and owner.input.type == type:
            loop.operands[number] = owner.input
            continue
        else:
            made = create(arith.IndexCastOp, operands=[bound], result_types=[type])
        block.insert_op_before(made, loop)
        loop.operands[number] = made.results[0]
    _replace_variable(loop.body.block, type)


def _replace_variable(block: Block, type: IntegerType) -> None:
    """Gives the loop variable the type; what used it as an index uses a cast."""
    old = block.args[0]
    new = block.insert_arg(type, 1)
    new.name_hint = old.name_hint
    for use in list(old.uses):
        user = use.operation
        if isinstance(user, arith.IndexCastOp):
            Rewriter.replace_op(user, [], [new])
    if old.first_use is not None:
        wide = create(arith.IndexCastOp, operands=[new], result_types=[INDEX])
        first = block.first_op
        assert first is not None
        block.insert_op_before(wide, first)
        old.replace_all_uses_with(wide.result)
    block.erase_arg(old)


# ---------------------------------------------------------------- loops on threads


class _Outliner:
    """Moves the body of one loop to a function of its own."""

    def __init__(
        self, module: ModuleOp, function: func.FuncOp, loop: scf.ForOp, symbols: Symbols
    ) -> None:
        self.module = module
        self.function = function
        self.loop = loop
        self.symbols = symbols
        self.low, self.high, self.step = loop.lb, loop.ub, loop.step
        self.captures = Captures.of(loop.body, [loop.step])
        for value in self.captures.values:
            _require_passable(value.type)
        types = [convert_type(value.type) for value in self.captures.values]
        self.context = llvm.LLVMStructType.from_type_list([i64, i64, *types])

    def run(self, type: IntegerType | None, least: int) -> None:
        """Launches the loop instead, on one thread if it runs less than `least` times."""
        caller = _Builder(self.loop)
        body = self._body(type)
        chunk = self._chunk(body)
        self._launch(caller, chunk, least)
        self.loop.detach()
        self.loop.erase()

    def _add_function(self, name: str, op: Operation) -> None:
        op.location = self.function.location
        self.symbols.table(self.module)[name] = op
        self.module.body.block.insert_op_before(op, self.function)

    def _name(self, stem: str) -> str:
        name = f"{self.function.sym_name.data}_{stem}"
        return self.symbols.unique(self.module, name)

    # -- the loop on a range of its iterations

    def _body(self, type: IntegerType | None) -> func.FuncOp:
        captured = self.captures.values
        inputs: list[Attribute] = [INDEX, INDEX, *(value.type for value in captured)]
        block = Block(arg_types=inputs)
        low, high, *arguments = block.args
        mapping: dict[SSAValue, SSAValue] = dict(zip(captured, arguments, strict=True))
        for value, argument in mapping.items():
            argument.name_hint = value.name_hint
        for op in self.captures.repeated:
            block.add_op(op.clone(mapping))
        _replace_operands(self.loop.body, mapping)
        loop = create(
            scf.ForOp,
            operands=[low, high, mapping[self.step]],
            regions=[self.loop.detach_region(self.loop.body)],
            attributes=dict(self.loop.attributes),
        )
        loop.location = self.loop.location
        if tvm_llvm.LoopAttr.name not in loop.attributes and _holds_loops(loop):
            loop.attributes[tvm_llvm.LoopAttr.name] = _ROLLED
        block.add_ops([loop, func.ReturnOp()])
        _narrow(loop, type)
        none = DictionaryAttr({})
        known = argument_attributes(captured, self.captures.distinct(self.function))
        name = self._name("parallel")
        body = create(
            func.FuncOp,
            properties={
                "sym_name": StringAttr(name),
                "function_type": FunctionType.from_lists(inputs, []),
                "sym_visibility": StringAttr("private"),
                "arg_attrs": ArrayAttr([none, none, *known]),
            },
            attributes={"no_inline": _UNIT},
            regions=[Region(block)],
        )
        self._add_function(name, body)
        return body

    # -- the range of a share

    def _chunk(self, body: func.FuncOp) -> llvm.FuncOp:
        block = Block(arg_types=[i32, i32, POINTER])
        number, count, context = block.args
        to = _Builder(block)
        first, trips, *loaded = (
            to.load(to.field(context, self.context, number), type)
            for number, type in enumerate(self.context.types)
        )
        values = [
            to.back(value, like.type)
            for value, like in zip(loaded, self.captures.values, strict=True)
        ]
        begin, end = _share(to, number, count, trips)
        mapping = dict(zip(self.captures.values, values, strict=True))
        number = constant(self.step)
        if number == 1:
            bounds = [to.binary(arith.AddiOp, first, each) for each in (begin, end)]
        else:
            step = (
                to.number(number) if number is not None else to.wide(mapping[self.step])
            )
            bounds = [
                to.binary(arith.AddiOp, first, to.binary(arith.MuliOp, each, step))
                for each in (begin, end)
            ]
        low, high = (to.emit(arith.IndexCastOp, [each], INDEX) for each in bounds)
        block.add_op(func.CallOp(body.sym_name.data, [low, high, *values], []))
        block.add_op(llvm.ReturnOp(to.number(0)))
        for op in block.ops:
            op.location = self.loop.location
        name = self._name("chunk")
        as_it_is = {"no_inline": _UNIT, "optimize_none": _UNIT}
        chunk = new_function(
            StringAttr(name), _CHUNK, "internal", Region(block), as_it_is
        )
        self._add_function(name, chunk)
        return chunk

    # -- the call

    def _launch(self, to: _Builder, chunk: llvm.FuncOp, least: int) -> None:
        low, step = to.wide(self.low), constant(self.step)
        trips = to.binary(arith.SubiOp, to.wide(self.high), low)
        trips = to.binary(arith.MaxSIOp, trips, to.number(0))
        if step != 1:
            size = to.wide(self.step)
            more = to.binary(arith.SubiOp, size, to.number(1))
            trips = to.binary(arith.DivUIOp, to.binary(arith.AddiOp, trips, more), size)
        limit = trips
        if least > 1:
            few = to.less(_SLT, trips, to.number(least))
            limit = to.emit(arith.SelectOp, [few, to.number(1), trips], i64)
        context = self._context_slot()
        fields = [low, trips, *map(to.passed, self.captures.values)]
        for number, value in enumerate(fields):
            to.store(value, to.field(context, self.context, number))
        callee = self.symbols.declare_function(
            self.loop, LAUNCH, [POINTER, POINTER, i64], i64
        )
        address = to.insert(llvm.AddressOfOp(SymbolRefAttr(chunk.sym_name), POINTER))
        to.insert(new_call(callee, [address, context, limit], i64))

    def _context_slot(self) -> SSAValue:
        """Memory for the context, which a loop around this one uses again."""
        entry = self.function.body.blocks[0]
        one = create(
            arith.ConstantOp,
            result_types=[i64],
            properties={"value": integer_attr(1, i64)},
        )
        slot = create(
            llvm.AllocaOp,
            operands=[one.result],
            properties={"elem_type": self.context},
            result_types=[POINTER],
        )
        first = entry.first_op
        assert first is not None
        entry.insert_ops_before([one, slot], first)
        return slot.res


def _require_passable(type: Attribute) -> None:
    if not (isinstance(type, MemRefType) or is_convertible(type)):
        raise PassFailedException(
            f"cannot lower 'scf.parallel': its body uses a value of type {type} from "
            "outside, which has no LLVM form; lower that first"
        )


def _replace_operands(region: Region, mapping: dict[SSAValue, SSAValue]) -> None:
    for op in all_ops(region):
        for index, operand in enumerate(stored_operands(op)):
            new = mapping.get(operand)
            if new is not None:
                op.operands[index] = new


def _holds_loops(loop: scf.ForOp) -> bool:
    """Whether there are loops in a loop, apart from those that LLVM unrolls."""
    for op in all_ops(loop.body):
        if isinstance(op, scf.WhileOp):
            return True
        if isinstance(op, scf.ForOp):
            hint = op.attributes.get(tvm_llvm.LoopAttr.name)
            if not isinstance(hint, tvm_llvm.LoopAttr) or _FULL not in hint.hints.data:
                return True
    return False


def _share(
    to: _Builder, number: SSAValue, count: SSAValue, trips: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """The range of iterations of a share; the first shares get one more."""
    place = to.emit(arith.ExtUIOp, [number], i64)
    shares = to.emit(arith.ExtUIOp, [count], i64)
    size = to.binary(arith.DivUIOp, trips, shares)
    # Not a second division: LLVM does not optimize the function.
    rest = to.binary(arith.SubiOp, trips, to.binary(arith.MuliOp, size, shares))
    before = to.binary(arith.MinUIOp, place, rest)
    begin = to.binary(arith.AddiOp, to.binary(arith.MuliOp, place, size), before)
    extra = to.emit(arith.ExtUIOp, [to.less(_ULT, place, rest)], i64)
    end = to.binary(arith.AddiOp, to.binary(arith.AddiOp, begin, size), extra)
    return begin, end


@lru_cache(maxsize=64)
def _path(number: int) -> DenseArrayBase:
    """The indices of a field of a struct at a pointer."""
    return DenseArrayBase.from_list(i32, [0, number])


class _Builder(LocatedBuilder):
    """Inserts arithmetic on `i64` and calls of the pool."""

    def number(self, value: int) -> SSAValue:
        """An `i64`."""
        return self.emit(arith.ConstantOp, [], i64, value=integer_attr(value, i64))

    def binary(self, kind: type[Operation], lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Arithmetic on `i64`."""
        flags = kind in (arith.AddiOp, arith.SubiOp, arith.MuliOp)
        properties: dict[str, Attribute] = {"overflowFlags": _NO_OVERFLOW}
        return self.emit(kind, [lhs, rhs], i64, **(properties if flags else {}))

    def less(self, predicate: IntegerAttr, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Whether one number is less."""
        return self.emit(arith.CmpiOp, [lhs, rhs], i1, predicate=predicate)

    def field(
        self, context: SSAValue, type: llvm.LLVMStructType, number: int
    ) -> SSAValue:
        """The address of a field of the context."""
        return self.insert(
            create(
                llvm.GEPOp,
                operands=[context],
                result_types=[POINTER],
                properties={
                    "elem_type": type,
                    "rawConstantIndices": _path(number),
                    "noWrapFlags": _NO_WRAP_FLAGS,
                    "inbounds": _UNIT,
                },
            )
        )

    def load(self, address: SSAValue, type: Attribute) -> SSAValue:
        """The value at an address."""
        return self.insert(
            create(
                llvm.LoadOp,
                operands=[address],
                result_types=[type],
                properties={"ordering": _ORDER_NONE},
            )
        )

    def store(self, value: SSAValue, address: SSAValue) -> None:
        """Puts a value at an address."""
        self.insert_op(
            create(
                llvm.StoreOp,
                operands=[value, address],
                properties={"ordering": _ORDER_NONE},
            )
        )

    def wide(self, value: SSAValue) -> SSAValue:
        """An index as `i64`."""
        return self.emit(arith.IndexCastOp, [value], i64)

    def passed(self, value: SSAValue) -> SSAValue:
        """A value in the type that it has in the context."""
        return self._cast(value, convert_type(value.type))

    def back(self, value: SSAValue, type: Attribute) -> SSAValue:
        """A value of the context in its own type."""
        return self._cast(value, type)

    def _cast(self, value: SSAValue, type: Attribute) -> SSAValue:
        if value.type == type:
            return value
        if INDEX in (value.type, type):
            return self.emit(arith.IndexCastOp, [value], type)
        return self.emit(UnrealizedConversionCastOp, [value], type)
