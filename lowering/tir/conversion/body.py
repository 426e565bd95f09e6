"""Bodies of `tir.func`s as func, scf, memref, arith, math and vector operations.

One walk over the statements, in order. The converter appends to a new function and keeps
the old one as it is, so that the dtypes of operands, which say what an operation means,
stay available. Foreign operations are copied, their operands replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects import arith, cf, func, llvm, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from xdsl_tvm.analysis.arith.script_text import condition_text
from xdsl_tvm.dialects import tir, tvm_llvm
from xdsl_tvm.dialects.quick_operation import create, segments
from xdsl_tvm.lowering.runtime_symbols import ASSERT_FAIL, failed_number
from xdsl_tvm.lowering.tir.conversion.access import (
    is_address_only,
    load,
    store,
    views_bools,
)
from xdsl_tvm.lowering.tir.conversion.calling_convention import is_direct
from xdsl_tvm.lowering.tir.conversion.emitter import INDEX, NSW
from xdsl_tvm.lowering.tir.conversion.expressions import (
    EXPRESSIONS,
    convert,
    is_wide_signed,
)
from xdsl_tvm.lowering.tir.conversion.intrinsics import (
    IGNORED_CALLS,
    lower_call,
    no_lowering,
)
from xdsl_tvm.lowering.tir.conversion.loop_profile import MARKS, LoopProfile
from xdsl_tvm.lowering.tir.conversion.packed import (
    PackedEmitter,
    address_of_memory,
    lower_packed_call,
    memory_at,
)
from xdsl_tvm.lowering.tir.conversion.types import (
    GENERIC_SPACE,
    LOCAL_LIMIT,
    MAX_VECTOR_LANES,
    STACK_LIMIT,
    VECTOR_BYTES,
    AnyMemRef,
    element_bytes,
    memref_of,
    product,
    signless,
)
from xdsl_tvm.lowering.tir.conversion.views import (
    Extent,
    Memory,
    View,
    address_space,
    as_index,
    extents_of,
    flat,
    forget_extent,
    linear_view,
    memref_type,
    size_of,
    times,
    view_of_memref,
)
from xdsl_tvm.lowering.tir.conversion.warp_calls import WARP_CALLS
from xdsl_tvm.lowering.to_llvm.lower_assert import return_early

NONTEMPORAL = "nontemporal"
"""Annotation of a loop: what it stores is not read again soon, so it need not go through
the cache. Any value but false or 0 counts."""

FENCED = "nontemporal_fence"
"""Annotation of a loop around such loops: one fence after it is enough for all."""

UNROLL_COUNT = "unroll_count"
"""Annotation of a loop: how many iterations LLVM is to put into one, all that it is to do
to the loop; 1 leaves it as it is. Without it LLVM expands short loops, whose iterations
may share so many values that registers are spilled."""

HINT_KEYS = (
    "storage_alignment",
    "device_id",
    "device_type",
    "device_scope",
    "compute_scope",
    "pipeline_exec_scope",
    "import_llvm",
    "import_c",
    "thread_working_space",
    "reduce_scope",
    "buffer_bound",
)
"""Keys of `tir.attr` that change nothing here, beside `pragma_*`."""

NEEDS_PASS = {
    "tir.block": "tir-lower-init-block,tir-convert-blocks-to-opaque,"
    "tir-lower-opaque-block",
    "tir.init": "tir-lower-init-block",
    "tir.match_region": "tir-lower-match-buffer",
}
"""Passes that must have removed an op."""

_MOST_HINTS = (1, 3, 1)
"""The largest operands of `prefetch`, after the address, as LLVM has them."""
_UNROLLED = tvm_llvm.LoopAttr(DictionaryAttr({"unroll.full": UnitAttr()}))
"""That LLVM is to expand a loop."""


class BodyConverter(PackedEmitter):
    """Converts the body of one function for the host; see the subclass for kernels."""

    space = GENERIC_SPACE
    """Address space of the buffers that are passed in."""

    constant_space = GENERIC_SPACE
    """Address space of memory with contents."""

    on_cpu = True
    """Whether the code is for a CPU: there parallel loops stay such, and stores may
    bypass the cache."""

    def __init__(
        self,
        entry: Block,
        module: ModuleOp,
        function: str,
        symbols: Mapping[str, str] | None = None,
        profile: LoopProfile | None = None,
    ) -> None:
        super().__init__(entry)
        self.module = module
        self.function = function
        self._symbols = symbols or {}
        self._profile = profile
        self.is_packed = False
        """Whether the function has the packed convention: it returns a status."""
        self.views: dict[SSAValue, View] = {}
        self.memories: dict[SSAValue, Memory] = {}
        self.returned: SSAValue | None = None
        self._to_free: list[list[SSAValue]] = [[]]
        self._parallel_bodies: list[Block] = []

    def fail_unsupported(self, op: Operation) -> Exception:
        """The error for an op of the dialect that has no place at this level."""
        needed = NEEDS_PASS.get(op.name)
        if needed is not None:
            return self.fail(f"functions must be loops and buffers here; run {needed}")
        builtin = tir.builtin_name(op)
        return self.fail(
            "it has no lowering" if builtin is None else no_lowering(builtin)
        )

    # -- blocks and regions

    def convert_ops(self, block: Block) -> None:
        """Appends what stands for the operations of `block` to the current block."""
        self._to_free.append([])
        for op in block.ops:
            self.convert_op(op)
        self._free()

    def convert_op(self, op: Operation) -> None:
        """Appends what stands for one operation."""
        outer, self.source = self.source, op
        kind = type(op)
        if isinstance(op, tir.RampOp) and is_address_only(op, self.views):
            # Its accesses ask for the base alone.
            self._check_lanes(op.result.type)
        elif (expression := EXPRESSIONS.get(kind)) is not None:
            self._check_lanes(op.results[0].type)
            self._name(op.results[0], expression(self, op))
        elif (handler := _STATEMENTS.get(kind)) is not None:
            handler(self, op)
        elif op.name.startswith("tir."):
            raise self.fail_unsupported(op)
        else:
            self._copy_foreign(op)
        self.source = outer

    def _check_lanes(self, dtype: Attribute) -> None:
        if tir.is_vector(dtype) and tir.lanes_of(dtype) > MAX_VECTOR_LANES:
            raise self.fail(
                f"{dtype} has more than the {MAX_VECTOR_LANES} lanes that vectors are "
                "compiled with; use a loop over shorter vectors"
            )

    def _name(self, source: SSAValue, value: SSAValue) -> None:
        self.values[source] = value
        if value.name_hint is None and source.name_hint is not None:
            value.name_hint = source.name_hint

    def _free(self) -> None:
        for value in reversed(self._to_free.pop()):
            self.emit(self.free(value))

    def nested(self, source: Block, args: Sequence[Attribute] = ()) -> Region:
        """A region of one block with the operations of `source`, ended by scf.yield."""
        block = Block(arg_types=args)
        with self.at(block):
            self.convert_ops(source)
            self.emit(create(scf.YieldOp))
        return Region(block)

    def _copy_foreign(self, op: Operation) -> None:
        operands = [self.foreign_operand(operand) for operand in op.operands]
        if op.successors:
            raise self.fail("branches between blocks are not supported in a tir.func")
        copy = create(
            type(op),
            operands=operands,
            result_types=[result.type for result in op.results],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
            regions=[self._copy_region(region) for region in op.regions],
        )
        self.emit(copy)
        for old, new in zip(op.results, copy.results, strict=True):
            self._name(old, new)

    def foreign_operand(self, operand: SSAValue) -> SSAValue:
        """The operand of a foreign operation, which must keep its type."""
        value = self.value(operand)
        if value.type != operand.type:
            raise self.fail(
                f"an operand of type {operand.type} is of type {value.type} below tir; "
                "cast it to a signless type first"
            )
        return value

    def _copy_region(self, region: Region) -> Region:
        if len(region.blocks) > 1:
            raise self.fail("regions of several blocks are not supported in a tir.func")
        copy = Region()
        for source in region.blocks:
            block = Block(arg_types=[arg.type for arg in source.args])
            for old, new in zip(source.args, block.args, strict=True):
                self._name(old, new)
            copy.add_block(block)
            with self.at(block):
                # A terminator comes last, so nothing may be freed after it.
                for op in source.ops:
                    self.convert_op(op)
        return copy

    # -- control flow

    def for_loop(self, op: tir.ForOp) -> None:
        """A loop of any kind but `thread_binding`."""
        if op.kind.data is tir.ForKind.THREAD_BINDING:
            raise self.fail(
                f"the loop is bound to {op.thread_tag}; run tir-lower-opaque-block and "
                "tir-convert-to-gpu"
            )
        outermost = (
            self.on_cpu and not self.nontemporal and _has_annotation(op, NONTEMPORAL)
        )
        self.nontemporal |= outermost
        fenced = self.on_cpu and not self.fenced and _has_annotation(op, FENCED)
        self.fenced |= fenced
        if op.kind.data is tir.ForKind.PARALLEL and self.on_cpu:
            self._parallel_loop(op)
        else:
            self._serial_loop(op)
        if outermost:
            self.nontemporal = False
        if fenced:
            self.fenced = False
        if fenced or (outermost and not self.fenced):
            # Other threads do not see such stores in order without a fence.
            self.emit(tvm_llvm.FenceOp())

    def _serial_loop(self, op: tir.ForOp) -> None:
        dtype = op.loop_var.type
        if is_wide_signed(dtype):
            low = self.value(op.min)
            high = self._upper_bound(op)
            step = self.number(1, dtype)
            var_type = signless(dtype)
        else:
            # Bounds of narrow and unsigned loops may exceed the loop variable's type.
            low, high = self.number(0, INDEX), self.index(op.extent)
            step = self.number(1, INDEX)
            var_type = INDEX
        block = Block(arg_types=[var_type])
        counter = block.args[0]
        with self.at(block):
            self._bind_loop_var(op, counter)
            self.convert_ops(op.body.block)
            self.emit(create(scf.YieldOp))
        loop = create(scf.ForOp, operands=[low, high, step], regions=[Region(block)])
        if op.kind.data is tir.ForKind.UNROLLED:
            loop.attributes[tvm_llvm.LoopAttr.name] = _UNROLLED
        elif (count := _unroll_count(op)) is not None:
            hints = {"unroll.count": IntegerAttr(count, i64)}
            if count == 1:
                hints = {"unroll.disable": UnitAttr()}
            loop.attributes[tvm_llvm.LoopAttr.name] = tvm_llvm.LoopAttr(
                DictionaryAttr(hints)
            )
        self.emit(loop)

    def _parallel_loop(self, op: tir.ForOp) -> None:
        """A loop whose iterations may run at the same time, which counts in `index`."""
        low, high = self.number(0, INDEX), self.index(op.extent)
        block = Block(arg_types=[INDEX])
        counter = block.args[0]
        wide = is_wide_signed(op.loop_var.type)
        if wide and tir.constant_value(op.min) != 0:
            # The loop variable itself, which needs no addition then.
            low, high = self.index(op.min), self.index_of(self._upper_bound(op))
        self._parallel_bodies.append(block)
        with self.at(block):
            if wide:
                counter.name_hint = op.loop_var.name_hint
                value = self.from_index(counter, op.loop_var.type)
                self.values[op.loop_var] = value
            else:
                self._bind_loop_var(op, counter)
            self.convert_ops(op.body.block)
            self.emit(create(scf.ReduceOp))
        self._parallel_bodies.pop()
        self.emit(
            create(
                scf.ParallelOp,
                operands=[low, high, self.number(1, INDEX)],
                properties={"operandSegmentSizes": segments(1, 1, 1, 0)},
                regions=[Region(block)],
            )
        )

    def _upper_bound(self, op: tir.ForOp) -> SSAValue:
        low, extent = tir.constant_value(op.min), tir.constant_value(op.extent)
        if low == 0:
            return self.value(op.extent)
        if low is not None and extent is not None:
            return self.number(low + extent, op.min.type)
        operands = [self.value(op.min), self.value(op.extent)]
        return self.build(
            arith.AddiOp, operands, operands[0].type, {"overflowFlags": NSW}
        )

    def _bind_loop_var(self, op: tir.ForOp, counter: SSAValue) -> None:
        if not isinstance(counter.type, IntegerType):
            value = self.from_index(counter, op.loop_var.type)
            if tir.constant_value(op.min) != 0:
                value = self.binary(arith.AddiOp, value, self.value(op.min))
        else:
            value = counter
        counter.name_hint = op.loop_var.name_hint
        self.values[op.loop_var] = value

    def while_loop(self, op: tir.WhileOp) -> None:
        """A loop whose condition is evaluated before every iteration."""
        before = Block()
        with self.at(before):
            last = op.condition.block.last_op
            assert isinstance(last, tir.YieldOp)
            self._to_free.append([])
            for inner in op.condition.block.ops:
                if inner is not last:
                    self.convert_op(inner)
            condition = self.value(last.value)
            self._free()
            self.emit(create(scf.ConditionOp, operands=[condition]))
        after = self.nested(op.body.block)
        self.emit(create(scf.WhileOp, regions=[Region(before), after]))

    def conditional(self, op: tir.IfOp) -> None:
        """A conditional statement."""
        condition = self.value(op.condition)
        then = self.nested(op.then_region.block)
        other = Region()
        if op.else_region is not None:
            other = self.nested(op.else_region.block)
        self.emit(create(scf.IfOp, operands=[condition], regions=[then, other]))

    def lazy_choice(self, op: tir.IfThenElseOp) -> None:
        """A conditional expression, of which one branch is evaluated."""
        if tir.is_handle(op.result.type):
            raise self.fail("pointers cannot be chosen; choose between loads instead")
        regions = [self._choice(r.block) for r in (op.true_region, op.false_region)]
        choice = create(
            scf.IfOp,
            operands=[self.value(op.condition)],
            result_types=[signless(op.result.type)],
            regions=regions,
        )
        self._name(op.result, self.emit(choice).results[0])

    def _choice(self, source: Block) -> Region:
        block = Block()
        last = source.last_op
        assert isinstance(last, tir.YieldOp)
        with self.at(block):
            self._to_free.append([])
            for inner in source.ops:
                if inner is not last:
                    self.convert_op(inner)
            result = self.value(last.value)
            self._free()
            self.emit(create(scf.YieldOp, operands=[result]))
        return Region(block)

    def scope(self, op: tir.ScopeOp) -> None:
        """A scope, whose allocations end with it."""
        self.convert_ops(op.body.block)

    def attribute(self, op: tir.AttrOp) -> None:
        """An attribute scope: hints are dropped, all else is refused."""
        key = op.key.data
        if not key.startswith("pragma_") and key not in HINT_KEYS:
            raise self.fail(f'the attribute "{key}" has no meaning here; run its pass')
        self.convert_ops(op.body.block)

    def launch(self, op: tir.LaunchThreadOp) -> None:
        """A thread launch, which only GPU code has."""
        raise self.fail(
            f"{op.tag} is a thread axis; run tir-convert-to-gpu, or compile for the "
            "target cuda"
        )

    def assertion(self, op: tir.AssertOp) -> None:
        """A run-time check; numbers of its message are stored where it fails."""
        condition, message = self.value(op.condition), op.message
        if message is None:
            assert op.message_value is not None, "verified"
            found = tir.assert_message(op.message_value)
            if found is None:
                raise self.fail(
                    "the message must be a string, or a call of "
                    f"{tir.ASSERT_MESSAGE}; give it a text"
                )
            text, numbers = found
            names = [failed_number(place) for place in range(len(numbers))]
            values = [convert(self, self.value(n), n.type, i64) for n in numbers]
            self.store_numbers(condition, dict(zip(names, values, strict=True)))
            filled = tir.format_message(text, [f"{{{name}}}" for name in names])
            message = StringAttr(filled)
        if self.is_packed:
            text = condition_text(op.condition)
            message = StringAttr(f"{ASSERT_FAIL}{text}, {message.data}")
        check = create(cf.AssertOp, operands=[condition], properties={"msg": message})
        self.emit(check)

    def store_numbers(self, holds: SSAValue, numbers: Mapping[str, SSAValue]) -> None:
        """Stores integers of 64 bits in globals, unless a condition holds."""
        failed = Block()
        for name, value in numbers.items():
            self._declare_number(name)
            address = llvm.AddressOfOp(name, llvm.LLVMPointerType())
            failed.add_ops([address, llvm.StoreOp(value, address.result)])
        failed.add_op(scf.YieldOp())
        passed = Block([scf.YieldOp()])
        self.emit(scf.IfOp(holds, [], Region(passed), Region(failed)))

    def _declare_number(self, name: str) -> None:
        """Add a global of 64 bits, unless it is among those in front."""
        op = self.module.body.block.first_op
        while isinstance(op, llvm.GlobalOp | memref.GlobalOp):
            if op.sym_name.data == name:
                return
            op = op.next_op
        self.insert_global(llvm.GlobalOp(i64, name, "weak", value=IntegerAttr(0, i64)))

    def let(self, op: tir.LetOp) -> None:
        """A binding, which is another name for the value."""
        if isinstance(op.value.type, tir.PtrType):
            self.memories[op.result] = self.memory(op.value)
        elif isinstance(op.result.type, tir.PtrType):
            address = self.value(op.value)
            self.memories[op.result] = memory_at(self, address, op.result.type)
        else:
            self._name(op.result, self.value(op.value))

    def evaluate(self, op: tir.EvaluateOp) -> None:
        """An expression statement; the expression has been evaluated already."""

    def ret(self, op: tir.RetOp) -> None:
        """The return at the end of the function."""
        if not _is_last(op):
            if self.is_packed and op.value is not None and tir.is_constant(op.value, 0):
                self.emit(return_early(self.number(0, i1)))
                return
            raise self.fail("a return must be the last statement of the function")
        self.returned = None if op.value is None else self.value(op.value)

    # -- calls

    def call(self, op: tir.CallOp) -> None:
        """A call of a builtin."""
        name = op.callee.data
        if name in IGNORED_CALLS or tir.assert_message(op) is not None:
            return
        if name == "tvm_storage_sync":
            self.synchronize(op)
            return
        if name in ("reinterpret", "tvm_tuple") and _is_no_value(op):
            return
        if name in MARKS and self._profile is not None:
            self._profile.mark(self, op)
            return
        if lower_packed_call(self, op):
            return
        if name == "prefetch":
            self._prefetch(op)
            return
        value = self.warp(op) if name in WARP_CALLS else lower_call(self, op)
        if op.result is not None:
            self._name(op.result, value)

    def _prefetch(self, op: tir.CallOp) -> None:
        """A hint that memory will be used: what for, how soon again, data or code."""
        address, *hints = op.args
        numbers = [tir.constant_value(hint) for hint in hints]
        if len(numbers) != len(_MOST_HINTS) or not isinstance(address.type, tir.PtrType):
            raise self.fail('"prefetch" takes an address and three numbers')
        operands = [address_of_memory(self, self.memory(address))]
        for number, most in zip(numbers, _MOST_HINTS, strict=True):
            if not isinstance(number, int) or not 0 <= number <= most:
                raise self.fail(
                    f'"prefetch" takes constants up to {_MOST_HINTS}, got {numbers}'
                )
            operands.append(self.number(number, i32))
        self.emit(tvm_llvm.CallIntrinsicOp("llvm.prefetch", operands))

    def warp(self, op: tir.CallOp) -> SSAValue:
        """What threads of a warp exchange, which only GPU code has."""
        raise self.fail(f'"{op.callee.data}" is GPU code; run tir-convert-to-gpu')

    def synchronize(self, op: tir.CallOp) -> None:
        """A barrier, which only GPU code has."""
        raise self.fail('"tvm_storage_sync" is GPU code; run tir-convert-to-gpu')

    def call_function(self, op: tir.CallFuncOp) -> None:
        """A call of a function of the module."""
        results = [] if op.result is None else [signless(op.result.type)]
        call = create(
            func.CallOp,
            operands=[self._argument(arg) for arg in op.args],
            result_types=results,
            properties={"callee": op.callee},
        )
        self.emit(call)
        if op.result is not None:
            self._name(op.result, call.results[0])

    def declare(
        self, name: str, inputs: Sequence[Attribute], outputs: Sequence[Attribute]
    ) -> SymbolRefAttr:
        """The symbol of a function of the runtime, declared at the end of the module."""
        op = self.module.body.block.last_op
        while isinstance(op, func.FuncOp) and op.is_declaration:
            if op.sym_name.data == name:
                return SymbolRefAttr(name)
            op = op.prev_op
        declared = func.FuncOp.external(name, list(inputs), list(outputs))
        self.module.body.block.add_op(declared)
        return SymbolRefAttr(name)

    def function_of_symbol(self, symbol: str) -> str | None:
        """The name of the function that has a `global_symbol`."""
        return self._symbols.get(symbol)

    def _argument(self, arg: SSAValue) -> SSAValue:
        if isinstance(arg.type, tir.PtrType):
            memory = self.memory(arg)
            if memory.offset is not None:
                raise self.fail("pointers into a buffer cannot be passed; pass its data")
            return forget_extent(self, memory.memref)
        if tir.is_handle(arg.type):
            raise self.fail("opaque handles cannot be passed; pass pointers")
        return self.value(arg)

    def ignore(self, op: Operation) -> None:
        """An op whose meaning is in its users."""

    # -- memory

    def view(self, buffer: SSAValue) -> View:
        """The view that stands for a buffer."""
        found = self.views.get(buffer)
        if found is None:
            found = self.views[buffer] = self.missing_view(buffer)
        return found

    def missing_view(self, buffer: SSAValue) -> View:
        """The view of a buffer that has not been converted; an error by default."""
        raise self.fail(f"no memory stands for a buffer of type {buffer.type}")

    def memory(self, pointer: SSAValue) -> Memory:
        """The memory that stands for a pointer."""
        found = self.memories.get(pointer)
        if found is None:
            found = self.memories[pointer] = self.missing_memory(pointer)
        return found

    def missing_memory(self, pointer: SSAValue) -> Memory:
        """The memory of a pointer that has not been converted; an error by default."""
        raise self.fail(f"no memory stands for a pointer of type {pointer.type}")

    def load(self, op: tir.LoadOp) -> None:
        """A read of a buffer."""
        self._name(op.result, load(self, op, self.view(op.buffer)))

    def store(self, op: tir.StoreOp) -> None:
        """A write to a buffer."""
        store(self, op, self.view(op.buffer))

    def data(self, op: tir.DataOp) -> None:
        """The data pointer of a buffer."""
        definition = tir.buffer_definition(op.buffer)
        value = self.view(op.buffer).memref
        if memref_type(value).get_num_dims() != 1:
            value = flat(self, value, size_of(self, definition))
        self.memories[op.result] = Memory(value)

    def address_of(self, op: tir.AddressOfOp) -> None:
        """The address of an element, as a pointer with an offset."""
        definition = tir.buffer_definition(op.buffer)
        if tir.is_vector(definition.type.element_type):
            raise self.fail("addresses of vectors are not supported")
        view = self.view(op.buffer)
        memory = Memory(flat(self, view.memref, size_of(self, definition)))
        linear = linear_view(self, definition, memory)
        offset = linear.offset
        assert linear.strides is not None
        for index, stride in zip(op.indices, linear.strides, strict=True):
            part = self.mul_index(self.index(index), as_index(self, stride))
            offset = self.add_index(offset, part)
        self.memories[op.result] = Memory(memory.memref, offset)

    def access_pointer(self, op: tir.AccessPtrOp) -> None:
        """A pointer into memory with its region, which only GPU code has."""
        raise self.fail_unsupported(op)

    def alloc_buffer(self, op: tir.AllocBufferOp) -> None:
        """A buffer for the rest of the block."""
        shape = extents_of(self, op.shape) if is_direct(op) else [size_of(self, op)]
        value = self.allocate(shape, op.type.element_type, op.type.scope.data)
        self._name(op.buffer, value)
        self.views[op.buffer] = view_of_memref(self, op, value)

    def matched_buffer(self, op: tir.MatchBufferOp) -> None:
        """A buffer that a parameter brings."""
        argument = self.entry.args[cast(BlockArgument, op.param).index]
        self.views[op.buffer] = view_of_memref(self, op, argument)

    def declared_buffer(self, op: tir.DeclBufferOp) -> None:
        """A buffer on memory that a pointer names."""
        memory = self.memory(op.data)
        pointer = cast(tir.PtrType, op.data.type)
        element = signless(tir.element_of(op.type.element_type))
        type_ = memref_type(memory.memref)
        if type_.element_type != element and _is_bytes(type_) and memory.offset is None:
            memory = Memory(self._typed_view(memory.memref, op))
            type_ = memref_type(memory.memref)
        if type_.element_type != element and not views_bools(type_.element_type, element):
            raise self.fail(
                f"a buffer of {op.type.element_type} cannot view a pointer to "
                f"{pointer.element_type}; declare the pointer with the buffer's type"
            )
        shape = tuple(
            extent if isinstance(extent, int) else DYNAMIC_INDEX for extent in op.shape
        )
        is_same = memory.offset is None and type_.get_shape() == shape
        if is_same and is_direct(op):
            self.views[op.buffer] = View(memory.memref)
        else:
            self.views[op.buffer] = linear_view(self, op, memory)

    def allocate_pointer(self, op: tir.AllocateOp) -> None:
        """Memory for the rest of the block."""
        if op.condition is not None and not tir.is_constant(op.condition, 1):
            raise self.fail("allocations under a condition are not supported")
        buffer = _only_buffer(op)
        element = (
            op.result.type.element_type if buffer is None else buffer.type.element_type
        )
        if buffer is None and _has_other_elements(op):
            bytes_: Extent = self.bytes_of(op.result.type.element_type)
            for extent in extents_of(self, op.shape):
                bytes_ = times(self, bytes_, extent)
            value = self.allocate([bytes_], i8, op.result.type.scope.data)
            self._name(op.result, value)
            self.memories[op.result] = Memory(value)
            return
        if buffer is not None and _has_own_shape(buffer, op):
            shape = extents_of(self, op.shape)
            if all(isinstance(extent, int) for extent in buffer.shape):
                shape = extents_of(self, buffer.shape)
        else:
            size: Extent = tir.lanes_of(op.result.type.element_type)
            for extent in extents_of(self, op.shape):
                size = times(self, size, extent)
            shape = [size]
        value = self.allocate(shape, element, op.result.type.scope.data)
        self._name(op.result, value)
        self.memories[op.result] = Memory(value)

    def _typed_view(self, memory: SSAValue, buffer: tir.DeclBufferOp) -> SSAValue:
        """A memref of the elements of a buffer on a memref of bytes, of rank 1."""
        element = signless(tir.element_of(buffer.type.element_type))
        size = size_of(self, buffer)
        static = size if isinstance(size, int) else DYNAMIC_INDEX
        return self.build(
            memref.ViewOp,
            [memory, self.number(0, INDEX), *([] if isinstance(size, int) else [size])],
            memref_of((static,), element, address_space(memory)),
        )

    def allocate(self, shape: Sequence[Extent], dtype: Attribute, scope: str) -> SSAValue:
        """A memref for `shape` elements, freed at the end of the block where needed."""
        element = self.require_element(dtype)
        static = tuple(e if isinstance(e, int) else DYNAMIC_INDEX for e in shape)
        result = memref_of(static, element, self.space)
        dynamic = [e for e in shape if isinstance(e, SSAValue)]
        limit = LOCAL_LIMIT if scope == "local" else STACK_LIMIT
        size = limit if dynamic else product(static) * self.bytes_of(element)
        small = size < limit
        kind = memref.AllocaOp if small else memref.AllocOp
        op = create(
            kind,
            operands=dynamic,
            result_types=[result],
            properties=_allocation_properties(len(dynamic)),
        )
        if small:
            if size >= VECTOR_BYTES or element == i8:
                # Bytes may be viewed as wider elements.
                op.properties["alignment"] = IntegerAttr(VECTOR_BYTES, i64)
            return self.on_stack(op).results[0]
        self.free_later(op.results[0])
        return self.emit(op).results[0]

    def on_stack(self, op: Operation) -> Operation:
        """Puts an allocation where it serves a whole call, or one parallel iteration."""
        if not self._parallel_bodies:
            return self.hoist(op)
        body = self._parallel_bodies[-1]
        first = body.first_op
        if first is None:
            body.add_op(op)
        else:
            body.insert_op_before(op, first)
        return op

    def require_element(self, dtype: Attribute) -> Attribute:
        """The element type of memory for elements of `dtype`."""
        if not (tir.is_integer(dtype) or tir.is_float(dtype)):
            raise self.fail(
                f"memory for elements of type {dtype} is not supported; declare numbers"
            )
        return signless(tir.element_of(dtype))

    def free_later(self, value: SSAValue) -> None:
        """Frees memory at the end of the block that is being converted."""
        self._to_free[-1].append(value)

    def free(self, value: SSAValue) -> Operation:
        """The op that frees memory."""
        return create(memref.DeallocOp, operands=[value])

    def bytes_of(self, element: Attribute) -> int:
        try:
            return element_bytes(element)
        except ValueError as error:
            raise self.fail(f"{error}; legalise the storage first") from None

    def allocate_constant(self, op: tir.AllocateConstOp) -> None:
        """Read-only memory with contents."""
        contents = self._contents(op)
        size = (product(contents.get_shape()),)
        element = cast(IntegerType, signless(contents.get_element_type()))
        type_ = memref_of(size, element, self.constant_space)
        name = self.unique_symbol(f"{self.function}_constant")
        flat_contents = DenseIntOrFPElementsAttr(TensorType(element, size), contents.data)
        global_op = memref.GlobalOp.get(
            StringAttr(name),
            type_,
            flat_contents,
            constant=UnitAttr(),
            alignment=IntegerAttr(64, i64),
        )
        self.insert_global(global_op)
        get = create(
            memref.GetGlobalOp,
            result_types=[type_],
            properties={"name": SymbolRefAttr(name)},
        )
        self.memories[op.result] = Memory(self.hoist(get).results[0])

    def _contents(self, op: tir.AllocateConstOp) -> DenseIntOrFPElementsAttr:
        data = op.data
        if isinstance(data, IntegerAttr):
            held = self.module.attributes.get("constants", ArrayAttr([]))
            constants = cast("ArrayAttr[Attribute]", held)
            index = data.value.data
            if not 0 <= index < len(constants):
                raise self.fail(f"the module has no constant {index}")
            data = constants.data[index]
        if not isinstance(data, DenseIntOrFPElementsAttr):
            raise self.fail(f"the contents must be a dense attribute, got {data}")
        return cast(DenseIntOrFPElementsAttr, data)

    def insert_global(self, op: Operation) -> None:
        """Adds memory with contents to the module that holds the code."""
        block = self.module.body.block
        first = block.first_op
        if first is None:
            block.add_op(op)
        else:
            block.insert_op_before(op, first)

    def unique_symbol(self, stem: str) -> str:
        """A symbol name that the module does not have yet."""
        taken = {
            cast(StringAttr, name).data
            for op in self.module.body.block.ops
            if (name := op.properties.get("sym_name")) is not None
        }
        if stem not in taken:
            return stem
        number = 1
        while f"{stem}_{number}" in taken:
            number += 1
        return f"{stem}_{number}"


def _allocation_properties(dynamic: int) -> dict[str, Attribute]:
    return {"operandSegmentSizes": segments(dynamic, 0)}


def _unroll_count(op: tir.ForOp) -> int | None:
    value = None if op.annotations is None else op.annotations.data.get(UNROLL_COUNT)
    if not isinstance(value, IntegerAttr) or value.value.data < 1:
        return None
    return value.value.data


def _has_annotation(op: tir.ForOp, key: str) -> bool:
    """Whether a loop has an annotation that is neither false nor 0."""
    value = None if op.annotations is None else op.annotations.data.get(key)
    if value is None or isinstance(value, IntegerAttr):
        return value is not None and value.value.data != 0
    return True


def _is_no_value(op: tir.CallOp) -> bool:
    """Whether a call makes what a `tir.attr` says: the null handle of the scope of a
    reduction, or the bounds of memory."""
    return (
        op.result is not None
        and tir.is_handle(op.result.type)
        and all(
            isinstance(use.operation, tir.AttrOp)
            and use.operation.key.data in ("reduce_scope", "buffer_bound")
            for use in op.result.uses
        )
    )


def _is_last(op: Operation) -> bool:
    """Whether nothing runs after `op`: all around it are scopes that end with it."""
    current = op
    while current.next_op is None:
        parent = current.parent_op()
        if isinstance(parent, tir.FuncOp):
            return True
        if not isinstance(parent, tir.ScopeOp | tir.AttrOp):
            return False
        current = parent
    return False


def _only_buffer(op: tir.AllocateOp) -> tir.DeclBufferOp | None:
    """A buffer whose element type the memory can have; None if buffers disagree."""
    buffers = [
        use.operation
        for use in op.result.uses
        if isinstance(use.operation, tir.DeclBufferOp)
    ]
    types = {buffer.type.element_type for buffer in buffers}
    if len(types) != 1:
        return None
    (element,) = types
    own = op.result.type.element_type
    try:
        if element != own and element_bytes(element) != element_bytes(own):
            return None
    except (ValueError, AttributeError):
        return None
    return buffers[0]


def _is_bytes(type_: AnyMemRef) -> bool:
    """Whether a memref has one dimension of bytes, so that it can be viewed."""
    return type_.element_type == i8 and type_.get_num_dims() == 1


def _has_other_elements(op: tir.AllocateOp) -> bool:
    """Whether buffers on memory have elements of other types than it, or than others."""
    own = signless(tir.element_of(op.result.type.element_type))
    return any(
        isinstance(use.operation, tir.DeclBufferOp)
        and signless(tir.element_of(use.operation.type.element_type)) != own
        and not views_bools(own, signless(use.operation.type.element_type))
        for use in op.result.uses
    )


def _has_own_shape(buffer: tir.DeclBufferOp, op: tir.AllocateOp) -> bool:
    """Whether the memory can have the shape of the one buffer that views it."""
    uses = op.result.uses.get_length()
    if uses != 1 or not is_direct(buffer):
        return False
    shape, memory = buffer.shape, op.shape
    if all(isinstance(extent, int) for extent in (*shape, *memory)):
        return product(cast(Sequence[int], shape)) <= product(cast(Sequence[int], memory))
    return shape == memory


_Statement = Callable[[BodyConverter, Any], None]

_STATEMENTS: dict[type[Operation], _Statement] = {
    tir.AccessPtrOp: lambda cv, op: cv.access_pointer(op),
    tir.AddressOfOp: lambda cv, op: cv.address_of(op),
    tir.AllocBufferOp: lambda cv, op: cv.alloc_buffer(op),
    tir.AllocateConstOp: lambda cv, op: cv.allocate_constant(op),
    tir.AllocateOp: lambda cv, op: cv.allocate_pointer(op),
    tir.AssertOp: lambda cv, op: cv.assertion(op),
    tir.AttrOp: lambda cv, op: cv.attribute(op),
    tir.CallFuncOp: lambda cv, op: cv.call_function(op),
    tir.CallOp: lambda cv, op: cv.call(op),
    tir.DataOp: lambda cv, op: cv.data(op),
    tir.DeclBufferOp: lambda cv, op: cv.declared_buffer(op),
    tir.EvaluateOp: lambda cv, op: cv.evaluate(op),
    tir.ForOp: lambda cv, op: cv.for_loop(op),
    tir.IfOp: lambda cv, op: cv.conditional(op),
    tir.IfThenElseOp: lambda cv, op: cv.lazy_choice(op),
    tir.LaunchThreadOp: lambda cv, op: cv.launch(op),
    tir.LetOp: lambda cv, op: cv.let(op),
    tir.LoadOp: lambda cv, op: cv.load(op),
    tir.MatchBufferOp: lambda cv, op: cv.matched_buffer(op),
    tir.ReducerOp: lambda cv, op: cv.ignore(op),
    tir.RetOp: lambda cv, op: cv.ret(op),
    tir.ScopeOp: lambda cv, op: cv.scope(op),
    tir.ShapeVarOp: lambda cv, op: cv.ignore(op),
    tir.StoreOp: lambda cv, op: cv.store(op),
    tir.StringOp: lambda cv, op: cv.ignore(op),
    tir.WhileOp: lambda cv, op: cv.while_loop(op),
}
