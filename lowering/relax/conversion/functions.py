"""A `relax.func` as a `func.func`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from xdsl.dialects import func, llvm, memref, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    StringAttr,
    UnitAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.dialects.quick_operation import create
from xdsl_tvm.dialects.relax.cuda_graph import cuda_graph_call
from xdsl_tvm.dialects.relax.inspect import InspectDimensionOp, InspectOp
from xdsl_tvm.dialects.relax.packed import PackedCallOp
from xdsl_tvm.dialects.relax.runtime import AnyInvokeClosureOp
from xdsl_tvm.dialects.relax.symbolic import Dim, product
from xdsl_tvm.dialects.relax.types import ObjectType, PrimType, TensorInfo
from xdsl_tvm.lowering.relax.conversion.calling_convention import (
    Convention,
    argument_types,
    is_handed_over,
    known,
    memref_for,
)
from xdsl_tvm.lowering.relax.conversion.calling_convention import Leaf as LeafType
from xdsl_tvm.lowering.relax.conversion.calls import origin
from xdsl_tvm.lowering.relax.conversion.extents import Scope
from xdsl_tvm.lowering.relax.conversion.module import ModuleView
from xdsl_tvm.lowering.relax.conversion.packed import PackedCode
from xdsl_tvm.lowering.relax.conversion.values import (
    Cells,
    Closure,
    Leaf,
    Object,
    Path,
    Scalar,
    Shape,
    Storage,
    Tensor,
    Value,
    kind,
    leaves,
    memories,
    rebuild,
)
from xdsl_tvm.lowering.runtime_symbols import NOALIAS


@dataclass
class _Branch:
    block: Block
    scope: Scope
    result: list[Leaf]
    columns: list[SSAValue] = field(default_factory=list[SSAValue])


class FunctionConverter(PackedCode):
    """Builds the lowered form of one function; `convert` is called once."""

    def __init__(self, source: relax.FuncOp, view: ModuleView) -> None:
        self.convention: Convention = view.convention(source)
        self.block = Block(arg_types=self.convention.inputs)
        super().__init__(source, self.block, view)
        self._values: dict[SSAValue, Value] = {}
        self._open: list[relax.FuncOp] = []
        """The functions that are being written in the place of calls."""

    def convert(self) -> func.FuncOp:
        """The lowered function.

        Raises PassFailedException for what cannot be lowered.
        """
        outputs = self._bind_arguments()
        results, handed_over = self._convert_body(outputs)
        self.release(self.scopes[-1])
        self._store_cells(handed_over)
        self.cv.emit(create(func.ReturnOp, operands=results))
        return self._function()

    def _convert_body(
        self, outputs: Sequence[Tensor | Cells]
    ) -> tuple[list[SSAValue], list[tuple[Cells, list[SSAValue]]]]:
        """What is returned, and what is to be stored to cells."""
        returned = self.source.return_op
        self._choose_destinations(returned.value, outputs)
        self._convert_block(self.source.body.block)
        self.cv.source = returned
        return self._return(self._value(returned.value), outputs)

    def _store_cells(self, handed_over: list[tuple[Cells, list[SSAValue]]]) -> None:
        """Store addresses and extents: last, since a function that fails releases what
        it has allocated."""
        for cells, values in handed_over:
            for position, value in enumerate(values):
                self.store(value, cells.memref, position)

    def _function(self) -> func.FuncOp:
        types = self.convention.inputs
        properties: dict[str, Attribute] = {
            "sym_name": self.source.sym_name,
            "function_type": FunctionType.from_lists(types, self.convention.results),
        }
        if "global_symbol" not in self.source.attributes:
            properties["sym_visibility"] = StringAttr("private")
        if count := len(self.convention.outputs):
            first = len(types) - len(self.convention.symbols) - count
            none, noalias = DictionaryAttr({}), DictionaryAttr({NOALIAS: UnitAttr()})
            properties["arg_attrs"] = ArrayAttr(
                noalias if first <= index < first + count else none
                for index in range(len(types))
            )
        result = create(func.FuncOp, properties=properties, regions=[Region(self.block)])
        result.location = self.source.location
        return result

    # -- entry

    def _bind_arguments(self) -> list[Tensor | Cells]:
        """Bind parameters and symbols; gives where the results are put."""
        convention = self.convention
        args = iter(self.block.args)
        passed = [
            [next(args) for _ in argument_types(leaf)] for leaf in convention.params
        ]
        outputs = [self._output(next(args), info) for info in convention.outputs]
        self.cv.source = self.source
        declared = set(self.source.symbol_names)
        for name, number in zip(convention.symbols, args, strict=True):
            if name in declared:
                set_name_hint(number, name)
            else:
                self.names.make()  # the name that the convention made up
            self.numbers[name] = self.cv.index_of(number)
            self.symbols[name] = Dim.symbol(name)
        parts = [
            self._parameter(leaf, values)
            for leaf, values in zip(convention.params, passed, strict=True)
        ]
        remaining = iter(parts)
        for arg in self.source.args:
            self._values[arg] = value = rebuild(arg.type, remaining)
            if isinstance(value, Tensor | Scalar):
                memory = value.memref if isinstance(value, Tensor) else value.value
                memory.name_hint = arg.name_hint
        return outputs

    def _output(self, memory: SSAValue, info: TensorInfo) -> Tensor | Cells:
        if not is_handed_over(info):
            return Tensor(memory, *known(info))
        if self.view.on_gpu:
            raise self.cv.fail(
                f"the extents of the result, {info.type}, are found by the call, and "
                "the memory of such results is the CPU's; declare its dimensions, or use "
                "the target llvm"
            )
        assert info.dims is not None, "checked"
        assert info.dtype is not None, "checked"
        return Cells(memory, info.dims, info.dtype)

    def _parameter(self, leaf: LeafType, values: Sequence[SSAValue]) -> Leaf:
        if isinstance(leaf, TensorInfo):
            return Tensor(values[0], *known(leaf))
        if isinstance(leaf, PrimType):
            return Scalar(values[0], leaf.dtype, leaf.dim)
        if isinstance(leaf, ObjectType):
            if self.view.on_gpu:
                raise self.cv.fail("objects are values of the target llvm; use it")
            return Object(values[0])
        dims = [dim for dim in leaf.values or () if dim is not None]
        return Shape(tuple(dims))

    def _choose_destinations(
        self, value: SSAValue, outputs: Sequence[Tensor | Cells]
    ) -> None:
        """Let allocations and calls whose result is returned write to the output."""
        remaining = iter(outputs)
        is_scalar = self.convention.scalar is not None

        def visit(value: SSAValue, path: Path, type_: Attribute) -> None:
            if isinstance(type_, relax.TupleType):
                for index, part in enumerate(type_.fields.data):
                    visit(value, (*path, index), part)
            elif not is_scalar and isinstance(output := next(remaining), Tensor):
                self.destinations.setdefault(origin(value, path), output)

        visit(value, (), self.source.output_type)

    # -- operations

    def _convert_block(self, block: Block) -> None:
        self._convert_ops(block.ops)

    def _convert_ops(self, ops: Iterable[Operation]) -> None:
        for op in ops:
            if isinstance(op, relax.ReturnOp | relax.YieldOp):
                continue
            self.cv.source = op
            value = self._convert(op)
            for result in op.results:
                self._values[result] = value
                self.name(result, value)

    def _convert(self, op: Operation) -> Value:
        """The result of an operation, () for none."""
        handler = self._HANDLERS.get(type(op))
        if handler is not None:
            return handler(self, op)
        if isinstance(op, InspectOp | InspectDimensionOp):
            return self._inspect(op)
        raise self.cv.fail(_remedy(op))

    def _value(self, value: SSAValue) -> Value:
        return self._values[value]

    def _operands(self, op: Operation) -> list[Value]:
        return [self._values[operand] for operand in op.operands]

    def _tensor(self, value: SSAValue) -> Tensor:
        found = self._values[value]
        if isinstance(found, Tensor):
            return found
        raise self.cv.fail(f"a {kind(found)} is no tensor")

    # -- leaves

    def _constant(self, op: relax.ConstantOp) -> Value:
        return self.constant(op)

    def _shape(self, op: relax.ShapeOp) -> Value:
        return Shape(self.actual(op.values.known or ()))

    def _prim_value(self, op: relax.PrimValueOp) -> Value:
        type_ = op.result.type
        assert isinstance(type_, PrimType), "verified"
        if isinstance(op.value, FloatAttr):
            return Scalar(self.cv.constant(op.value), type_.dtype)
        (dim,) = self.actual([op.value.data])
        return Scalar(self.integer(dim, type_.dtype), type_.dtype, dim)

    def _tuple(self, op: relax.TupleOp) -> Value:
        return tuple(self._operands(op))

    def _get_item(self, op: relax.GetItemOp) -> Value:
        value = self._value(op.tuple_value)
        assert isinstance(value, tuple), "verified"
        return value[op.index.value.data]

    def _same(self, op: Operation) -> Value:
        return self._value(op.operands[0])

    def _match_cast(self, op: relax.MatchCastOp) -> Value:
        value = self._value(op.value)
        pairs = list(self.pairs(op.result.type, value))
        for name in op.defined_symbols:
            self.symbols[name] = next(
                actual for dim, actual in pairs if dim.symbol_name == name
            )
            self.require_extents([self.symbols[name]])
        what = f"{self.place}: the value is no {op.result.type}"
        for dim, actual in pairs:
            self.check_equal(dim.substitute(self.symbols), actual, what)
        return self.refined(value, op.result.type)

    # -- shapes

    def _shape_of(self, op: relax.ShapeOfOp) -> Value:
        return Shape(self._tensor(op.value).dims)

    def _tensor_to_shape(self, op: relax.TensorToShapeOp) -> Value:
        value = self._tensor(op.value)
        length = value.dims[0].value
        if length is None:
            raise self.cv.fail("the length of the tensor must be constant")
        memory = self.elements(value)
        return Shape(tuple(self._element_as_dim(memory, i) for i in range(length)))

    def _element_as_dim(self, memory: SSAValue, position: int) -> Dim:
        return self.new_symbol(self.load(memory, position))

    def _shape_to_tensor(self, op: relax.ShapeToTensorOp) -> Value:
        dims = self.expect_shape(self._value(op.value))
        rank = (Dim.constant(len(dims)),)
        tensor = self.allocate(op.result, (), rank, i64)
        self._store_dims(dims, tensor)
        return tensor

    def _store_dims(self, dims: Sequence[Dim], tensor: Tensor) -> None:
        memory = self.elements(tensor)
        for axis, dim in enumerate(dims):
            self.store(self.integer(dim, i64), memory, axis)

    def _inspect(self, op: InspectOp | InspectDimensionOp) -> Value:
        """A number that is known of every tensor whose extents and dtype are."""
        type_ = op.infer_result_type()
        assert isinstance(type_, PrimType), "verified"
        dim = type_.dim
        if dim is None:
            raise self.cv.fail("the number is not known before the call")
        (dim,) = self.actual([dim])
        return Scalar(self.integer(dim, type_.dtype), type_.dtype, dim)

    # -- memory

    def _alloc_tensor(self, op: relax.AllocTensorOp) -> Value:
        self.expect_host(op.device_index.value.data, op.storage_scope.data)
        dims, dtype = self.allocated_info(op.result.type)
        tensor = self.allocate(op.result, (), dims, dtype)
        tensor.memref.name_hint = tensor.memref.name_hint or op.result.name_hint
        return tensor

    def _alloc_storage(self, op: relax.AllocStorageOp) -> Value:
        self.expect_host(op.device_index.value.data, op.storage_scope.data)
        (size,) = self.actual([op.size.data])
        if (of_result := self.result_storage(op, size)) is not None:
            return of_result
        storage = self.new_storage(size)
        assert storage.memory is not None, "made"
        storage.memory.base.name_hint = op.result.name_hint
        return storage

    def _alloc_tensor_on(self, op: relax.AllocTensorFromStorageOp) -> Value:
        (offset,) = self.actual([op.offset.data])
        dims, dtype = self.allocated_info(op.result.type)
        return self._on_storage(op.result, self._value(op.storage), offset, dims, dtype)

    def _on_storage(
        self,
        result: SSAValue,
        storage: Value,
        offset: Dim,
        dims: tuple[Dim, ...],
        dtype: Attribute,
    ) -> Value:
        if not isinstance(storage, Storage):
            raise self.cv.fail(f"a {kind(storage)} is no storage")
        if storage.result is result:
            tensor = self.destination(result, (), dims, dtype)
            if tensor is not None:
                return tensor
        if storage.memory is None:
            storage = self.new_storage(storage.size)
        tensor = self.on_storage(storage, offset, dims, dtype)
        tensor.memref.name_hint = result.name_hint
        return tensor

    def _vm_alloc_storage(self, op: relax.VMAllocStorageOp) -> Value:
        self.expect_host(op.device_index.value.data, op.storage_scope.data)
        (size,) = self.expect_shape(self._value(op.size))
        return self.new_storage(size)

    def _vm_alloc_tensor(self, op: relax.VMAllocTensorOp) -> Value:
        offset = self._value(op.offset)
        assert isinstance(offset, Scalar), "verified"
        (start,) = self.dims_of(offset)
        dims = self.expect_shape(self._value(op.shape))
        storage = self._value(op.storage)
        return self._on_storage(op.result, storage, start, dims, op.dtype)

    def _kill(self, op: Operation) -> Value:
        (value,) = op.operands
        self.kill(value, self._value(value))
        return ()

    def _reshape(self, op: relax.ReshapeOp) -> Value:
        value = self._tensor(op.data)
        dims = self.expect_shape(self._value(op.shape))
        self.require_extents(dims)
        count, expected = product(dims), product(value.dims)
        if count != expected:
            what = f"{self.place}: the shapes have different numbers of elements"
            self.require(self.is_possible(count), what)
            self.check_equal(count, expected, what)
        return replace(value, dims=dims)

    def _memory_view(self, op: relax.ViewOp) -> Value:
        value = self._tensor(op.data)
        dims, offset = value.dims, Dim.constant(0)
        if op.shape is not None:
            dims = self.expect_shape(self._value(op.shape))
        if op.relative_byte_offset is not None:
            number = self._value(op.relative_byte_offset)
            assert isinstance(number, Scalar), "verified"
            (offset,) = self.dims_of(number)
        return self.view_of(value, offset, dims, op.dtype or value.dtype)

    # -- calls

    def _call_function(self, op: relax.CallOp) -> Value:
        return self.call(op.callee, self._operands(op), op.result)

    def _call_tir_inplace(self, op: relax.CallTIRInplaceOp) -> Value:
        return self.call_tir_inplace(
            op, self.tir_callee_of(op.callee), self._operands(op)
        )

    def _call_tir_dyn(self, op: relax.VMCallTIRDynOp) -> Value:
        *tensors, shape = self._operands(op)
        scalars = self.scalars(self.expect_shape(shape))
        self.call_tir(op.callee, self.tir_callee_of(op.callee), [*tensors, *scalars])
        return ()

    def _make_closure(self, op: relax.MakeClosureOp) -> Value:
        return Closure(op.callee.root_reference.data, tuple(self._operands(op)))

    def _global_ref(self, op: relax.GlobalRefOp) -> Value:
        return Closure(op.callee.root_reference.data, ())

    def _call_builtin(self, op: relax.CallBuiltinWithCtxOp) -> Value:
        """A function to capture is part of its caller: storages may be passed."""
        graph = cuda_graph_call(op)
        callee = None if graph is None else self.view.callee(graph.callee)
        if graph is None or not isinstance(callee, relax.FuncOp):
            raise self.cv.fail(_remedy(op))
        fields, *shape = [self._value(each) for each in graph.arguments] or [()]
        if not isinstance(fields, tuple):
            raise self.cv.fail(f"the arguments are a {kind(fields)}, not a tuple")
        return self._inlined(callee, [*fields, *shape])

    def _inlined(self, callee: relax.FuncOp, arguments: Sequence[Value]) -> Value:
        """What a function computes, in the place of a call."""
        name = callee.sym_name.data
        if callee in self._open:
            raise self.cv.fail(f"@{name} is captured within itself; use a loop outside")
        if len(arguments) != len(callee.args):
            raise self.cv.fail(
                f"@{name} takes {len(callee.args)} values, got {len(arguments)}"
            )
        symbols: dict[str, Dim] = {}
        pairs: list[tuple[Dim, Dim]] = []
        for parameter, value in zip(callee.args, arguments, strict=True):
            pairs += self.pairs(parameter.type, value)
            self._values[parameter] = value
            self.name(parameter, value)
        for dim, actual in pairs:
            if dim.symbol_name is not None:
                symbols.setdefault(dim.symbol_name, actual)
        for dim, actual in pairs:
            what = f"{self.place}: a shape does not fit @{name}"
            self.check_equal(dim.substitute(symbols), actual, what)
        outer, source = self.symbols, self.source
        self.symbols, self.source = symbols, callee
        self._open.append(callee)
        self._convert_block(callee.body.block)
        self._open.pop()
        self.symbols, self.source = outer, source
        result = self._value(callee.return_op.value)
        inner = {*callee.args, *(each for op in all_ops(callee) for each in op.results)}
        for memory in memories((*arguments, result)):
            memory.names -= inner
        return result

    def _invoke_closure(self, op: AnyInvokeClosureOp) -> Value:
        closure, *arguments = self._operands(op)
        return self.call_closure(closure, arguments, op.result)

    def _call_packed(self, op: PackedCallOp) -> Value:
        return self.packed(op, self._operands(op))

    def _call_inplace_packed(self, op: relax.CallInplacePackedOp) -> Value:
        return self.packed(op, self._operands(op), op.inplace_indices.get_values())

    def _call_dps_packed(self, op: relax.CallDPSPackedOp) -> Value:
        return self.packed_dps(op, self._operands(op))

    def _print(self, op: relax.PrintOp) -> Value:
        self.print(op, self._operands(op))
        return ()

    def _assert(self, op: relax.AssertOp) -> Value:
        condition, *values = self._operands(op)
        self.assert_op(op, self._condition(condition), values)
        return ()

    def _null_value(self, op: relax.NullValueOp) -> Value:
        return Object(self.cv.number(0, i64))

    # -- conditionals

    def _if(self, op: relax.IfOp) -> Value:
        condition = self._condition(self._value(op.condition))
        outside = set(self.numbers)
        then = self._branch(op.true_region.block)
        otherwise = self._branch(op.false_region.block)
        self.cv.source = op
        if len(then.result) != len(otherwise.result):
            raise self.cv.fail("the branches yield tuples of different length")
        shared = [
            self._unify(pair, outside, (then, otherwise))
            for pair in zip(then.result, otherwise.result, strict=True)
        ]
        for branch in (then, otherwise):
            with self.inside(branch.block, branch.scope):
                self.release(branch.scope)
                self.cv.emit(scf.YieldOp(*branch.columns))
        result = self.cv.emit(
            scf.IfOp(
                condition,
                [value.type for value in then.columns],
                Region(then.block),
                Region(otherwise.block),
            )
        )
        columns = iter(result.results)
        parts = [self._merged(leaf, columns, outside) for leaf in shared]
        return rebuild(_if_type(op), iter(parts))

    def _condition(self, value: Value) -> SSAValue:
        if isinstance(value, Tensor):
            return self.cv.build(
                memref.LoadOp, [self.cast(value, memref_for((), i1))], i1
            )
        assert isinstance(value, Scalar), "verified"
        return value.value

    def _branch(self, block: Block) -> _Branch:
        branch = _Branch(Block(), Scope(), [])
        with self.inside(branch.block, branch.scope):
            self._convert_block(block)
            last = block.last_op
            assert isinstance(last, relax.YieldOp), "verified"
            self.cv.source = last
            branch.result = list(leaves(self._value(last.value)))
        return branch

    def _unify(
        self,
        pair: tuple[Leaf, Leaf],
        outside: set[str],
        branches: tuple[_Branch, _Branch],
    ) -> Leaf:
        """What both branches yield; adds to what they do. Extents on which they do not
        agree get new symbols, whose numbers follow."""
        first, second = pair
        match first, second:
            case Scalar(), Scalar():
                for branch, value in zip(branches, (first, second), strict=True):
                    branch.columns.append(value.value)
                is_same = first.dim is not None and first.dim == second.dim
                return Scalar(first.value, first.dtype, first.dim if is_same else None)
            case Object(), Object():
                for branch, value in zip(branches, (first, second), strict=True):
                    branch.columns.append(value.value)
                return first
            case Shape(), Shape():
                return Shape(self._unify_dims(first.dims, second.dims, outside, branches))
            case Tensor(), Tensor():
                return self._unify_tensors(first, second, outside, branches)
            case _:
                raise self.cv.fail(
                    f"one branch yields a {kind(first)}, the other a {kind(second)}, "
                    "and only tensors, scalars, shapes and objects leave a branch"
                )

    def _unify_dims(
        self,
        first: tuple[Dim, ...],
        second: tuple[Dim, ...],
        outside: set[str],
        branches: tuple[_Branch, _Branch],
    ) -> tuple[Dim, ...]:
        if len(first) != len(second):
            raise self.cv.fail("the branches yield values of different rank")
        dims: list[Dim] = []
        for a, b in zip(first, second, strict=True):
            if a == b and outside.issuperset(a.symbols()):
                dims.append(a)
                continue
            dims.append(Dim.symbol(self.names.make()))
            for branch, dim in zip(branches, (a, b), strict=True):
                with self.inside(branch.block, branch.scope):
                    self.require_extents([dim])
                    branch.columns.append(self.index(dim))
        return tuple(dims)

    def _unify_tensors(
        self,
        first: Tensor,
        second: Tensor,
        outside: set[str],
        branches: tuple[_Branch, _Branch],
    ) -> Tensor:
        dims = self._unify_dims(first.dims, second.dims, outside, branches)
        if first.dtype != second.dtype:
            raise self.cv.fail("the branches yield tensors of different dtypes")
        merged = memref_for(dims, first.dtype)
        for branch, value in zip(branches, (first, second), strict=True):
            with self.inside(branch.block, branch.scope):
                branch.columns.append(self.handed_over(value, branch.scope, merged))
        return Tensor(first.memref, dims, first.dtype)

    def _merged(self, leaf: Leaf, columns: Iterator[SSAValue], outside: set[str]) -> Leaf:
        if isinstance(leaf, Scalar):
            return Scalar(next(columns), leaf.dtype, leaf.dim)
        if isinstance(leaf, Object):
            return Object(next(columns))
        assert isinstance(leaf, Tensor | Shape), "unified"
        for dim in leaf.dims:
            name = dim.symbol_name
            if name is not None and name not in outside:
                self.numbers[name] = next(columns)
        if isinstance(leaf, Shape):
            return leaf
        return self.taken_over(next(columns), leaf.dims, leaf.dtype)

    # -- results

    def _return(
        self, value: Value, outputs: Sequence[Tensor | Cells]
    ) -> tuple[list[SSAValue], list[tuple[Cells, list[SSAValue]]]]:
        """Put results where the caller wants them; gives what is returned, and what is
        to be stored to cells."""
        if self.convention.scalar is not None:
            assert isinstance(value, Scalar), "verified"
            return [value.value], []
        parts = list(leaves(value))
        if len(parts) != len(outputs):
            raise self.cv.fail("the function returns a tuple of another length")
        handed_over: list[tuple[Cells, list[SSAValue]]] = []
        for part, output in zip(parts, outputs, strict=True):
            if isinstance(output, Tensor):
                self._return_part(part, output)
            else:
                handed_over.append((output, self._made(part, output)))
        return [], handed_over

    def _made(self, part: Leaf, cells: Cells) -> list[SSAValue]:
        """Address and extents of memory that the caller is to release."""
        tensor = self._expect_tensor(part, cells)
        type_ = memref_for(tensor.dims, tensor.dtype)
        # A part of memory, as of an arena, is copied: the rest would be kept as well.
        is_whole = tensor.memory is not None and tensor.memref is tensor.memory.base
        memory = self.handed_over(tensor, self.scopes[-1], type_, copied=not is_whole)
        address = self.cv.emit(llvm.PtrToIntOp(self.pointer(memory))).output
        return [address, *(self.integer(dim, i64) for dim in tensor.dims)]

    def _expect_tensor(self, part: Leaf, output: Tensor | Cells) -> Tensor:
        """A field of the result, which is checked to be what is declared."""
        if not isinstance(part, Tensor) or part.dtype != output.dtype:
            raise self.cv.fail(
                f"a {kind(part)} is returned where {output.dtype} elements are declared"
            )
        if len(part.dims) != len(output.dims):
            raise self.cv.fail("the result is not of the declared rank")
        name = self.source.sym_name.data
        what = f"@{name} returns a shape that is not the declared one"
        for dim, expected in zip(part.dims, output.dims, strict=True):
            if expected is not None:
                self.check_equal(expected, dim, what)
        return part

    def _return_part(self, part: Leaf, output: Tensor) -> None:
        """Put one field of the result where the caller wants it."""
        if isinstance(part, Scalar) and part.dtype == output.dtype:
            self.store(part.value, self.elements(output), 0)
            return
        if isinstance(part, Object) and output.dtype == i64 and not output.dims:
            self.store(part.value, self.elements(output), 0)
            return
        if isinstance(part, Shape):
            self._store_dims(part.dims, output)
            return
        tensor = self._expect_tensor(part, output)
        if tensor.memref is not output.memref:
            self.copy(tensor, output)

    _HANDLERS: ClassVar[dict[type[Operation], Callable[[Any, Any], Value]]] = {
        relax.AliasOp: _same,
        relax.AllocStorageOp: _alloc_storage,
        relax.AllocTensorFromStorageOp: _alloc_tensor_on,
        relax.AllocTensorOp: _alloc_tensor,
        relax.AssertOp: _assert,
        relax.CallBuiltinWithCtxOp: _call_builtin,
        relax.CallDPSPackedOp: _call_dps_packed,
        relax.CallInplacePackedOp: _call_inplace_packed,
        relax.CallOp: _call_function,
        relax.CallPackedOp: _call_packed,
        relax.CallPurePackedOp: _call_packed,
        relax.CallTIRInplaceOp: _call_tir_inplace,
        relax.ConstantOp: _constant,
        relax.EnsureZeroOffsetOp: _same,
        relax.GetItemOp: _get_item,
        relax.GlobalRefOp: _global_ref,
        relax.IfOp: _if,
        relax.InvokeClosureOp: _invoke_closure,
        relax.InvokePureClosureOp: _invoke_closure,
        relax.KillStorageOp: _kill,
        relax.KillTensorOp: _kill,
        relax.MakeClosureOp: _make_closure,
        relax.MatchCastOp: _match_cast,
        relax.NullValueOp: _null_value,
        relax.PrimValueOp: _prim_value,
        relax.PrintOp: _print,
        relax.ReshapeOp: _reshape,
        relax.ShapeOfOp: _shape_of,
        relax.ShapeOp: _shape,
        relax.ShapeToTensorOp: _shape_to_tensor,
        relax.TensorToShapeOp: _tensor_to_shape,
        relax.TupleOp: _tuple,
        relax.VMAllocStorageOp: _vm_alloc_storage,
        relax.VMAllocTensorOp: _vm_alloc_tensor,
        relax.VMCallTIRDynOp: _call_tir_dyn,
        relax.VMKillObjectOp: _kill,
        relax.ViewOp: _memory_view,
    }


def _remedy(op: Operation) -> str:
    """Why an operation cannot be lowered, and what to do."""
    match op:
        case relax.DataflowOp():
            return "dataflow blocks are not lowered; run relax-to-non-dataflow first"
        case relax.CallTIROp():
            return f"{op.callee} is not called in place; run relax-call-tir-rewrite first"
        case relax.CallTIRWithGradOp():
            return f"{op.callee} is called with a gradient; use relax.call_tir"
        case relax.CallBuiltinWithCtxOp():
            return (
                f'"{op.callee.data}" is a function of the virtual machine, which '
                "compiled code does not have"
            )
        case relax.WrapParamOp() | relax.HintOnDeviceOp() | relax.StopLiftParamsOp():
            return "it is a mark for passes, which have left it; drop it"
        case relax.ToVDeviceOp():
            return "tensors are not moved between devices; drop it"
        case relax.OperatorOp():
            return (
                "the operator is not legalized; run relax-legalize-ops first, and give "
                "it operands of known shape and dtype"
            )
        case relax.LambdaOp():
            return "functions in functions are not lowered; run relax-lambda-lift first"
        case _:
            return "the operation has no lowering in a relax.func"


def _if_type(op: relax.IfOp) -> Attribute:
    """The type of a conditional, as its branches give it."""
    last = op.true_region.block.last_op
    assert isinstance(last, relax.YieldOp), "verified"
    return last.value.type
