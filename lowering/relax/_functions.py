"""A `relax.func` as a `func.func`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeGuard, cast

from xdsl.dialects import arith, cf, func, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    UnitAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.symbolic import Dim, product
from xdsl_tvm.dialects.relax.types import PrimType, ShapeType, TensorInfo
from xdsl_tvm.lowering.relax._calling_convention import (
    Convention,
    FreshNames,
    argument_types,
    known,
    memref_for,
)
from xdsl_tvm.lowering.relax._calling_convention import Leaf as LeafType
from xdsl_tvm.lowering.relax._module import ModuleView, TIRCallee
from xdsl_tvm.lowering.relax._values import (
    Leaf,
    Path,
    Scalar,
    Shape,
    Tensor,
    Value,
    leaves,
    rebuild,
)
from xdsl_tvm.lowering.tir._emitter import INDEX, Emitter
from xdsl_tvm.lowering.tir._functions import NOALIAS
from xdsl_tvm.lowering.tir._types import (
    GENERIC_SPACE,
    AnyMemRef,
    compact_strides,
    memref_of,
    signless,
)
from xdsl_tvm.lowering.tir._views import flat, forget_extent, memref_type

_EQUAL = IntegerAttr(0, i64)
_ARITH: dict[str, type[Any]] = {
    "+": arith.AddiOp,
    "*": arith.MuliOp,
    "floordiv": arith.FloorDivSIOp,
    "min": arith.MinSIOp,
    "max": arith.MaxSIOp,
}


@dataclass
class _Scope:
    """A block: the memory that it releases, and the extents that it has computed."""

    owned: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    extents: dict[Dim, SSAValue] = field(default_factory=dict[Dim, SSAValue])


@dataclass
class _Branch:
    block: Block
    scope: _Scope
    result: list[Leaf]
    columns: list[SSAValue] = field(default_factory=list[SSAValue])


class FunctionConverter:
    """Builds the lowered form of one function; `convert` is called once.

    Extents are dimensions over the symbols in `_numbers`, each an `index` of the lowered
    function; `_symbols` says what the symbols of the source are in terms of these.
    """

    def __init__(self, source: relax.FuncOp, view: ModuleView) -> None:
        self.source = source
        self.view = view
        self.convention: Convention = view.convention(source)
        self.block = Block(arg_types=self.convention.inputs)
        self.cv = Emitter(self.block)
        self._values: dict[SSAValue, Value] = {}
        self._symbols: dict[str, Dim] = {}
        self._numbers: dict[str, SSAValue] = {}
        self._names = FreshNames(source)
        self._scopes = [_Scope()]
        self._destinations: dict[tuple[SSAValue, Path], Tensor] = {}

    def convert(self) -> func.FuncOp:
        """The lowered function.

        Raises PassFailedException for what cannot be lowered.
        """
        outputs = self._bind_arguments()
        returned = self.source.return_op
        self._choose_destinations(returned.value, outputs)
        self._convert_block(self.source.body.block)
        self.cv.source = returned
        results = self._return(self._value(returned.value), outputs)
        self._release(self._scopes[-1])
        self.cv.emit(func.ReturnOp.create(operands=results))
        return self._function()

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
        result = func.FuncOp.create(properties=properties, regions=[Region(self.block)])
        result.location = self.source.location
        return result

    # -- entry

    def _bind_arguments(self) -> list[Tensor]:
        """Bind parameters and symbols; gives the memory of the results."""
        convention = self.convention
        args = iter(self.block.args)
        passed = [
            [next(args) for _ in argument_types(leaf)] for leaf in convention.params
        ]
        outputs = [
            Tensor(next(args), *known(information)) for information in convention.outputs
        ]
        self.cv.source = self.source
        declared = set(self.source.symbol_names)
        for name, number in zip(convention.symbols, args, strict=True):
            if name in declared:
                number.name_hint = name
            else:
                self._names.make()  # the name that the convention made up
            self._numbers[name] = self.cv.index_of(number)
            self._symbols[name] = Dim.symbol(name)
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

    def _parameter(self, leaf: LeafType, values: Sequence[SSAValue]) -> Leaf:
        if isinstance(leaf, TensorInfo):
            return Tensor(values[0], *known(leaf))
        if isinstance(leaf, PrimType):
            return Scalar(values[0], leaf.dtype, leaf.dim)
        dims = [dim for dim in leaf.values or () if dim is not None]
        return Shape(tuple(dims))

    def _choose_destinations(self, value: SSAValue, outputs: Sequence[Tensor]) -> None:
        """Let allocations and calls whose result is returned write to the output."""
        remaining = iter(outputs)
        is_scalar = self.convention.scalar is not None

        def visit(value: SSAValue, path: Path, type_: Attribute) -> None:
            if isinstance(type_, relax.TupleType):
                for index, part in enumerate(type_.fields.data):
                    visit(value, (*path, index), part)
            elif not is_scalar:
                self._destinations.setdefault(_origin(value, path), next(remaining))

        visit(value, (), self.source.output_type)

    # -- operations

    def _convert_block(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, relax.ReturnOp | relax.YieldOp):
                continue
            self.cv.source = op
            handler = self._HANDLERS.get(type(op))
            if handler is None:
                raise self.cv.fail(_remedy(op))
            handler(self, op)

    def _value(self, value: SSAValue) -> Value:
        return self._values[value]

    def _alloc_tensor(self, op: relax.AllocTensorOp) -> None:
        info = TensorInfo.of(op.result.type)
        assert info is not None, "verified"
        if op.device_index.value.data > 0 or op.storage_scope.data != "global":
            raise self.cv.fail(
                f"memory on device {op.device_index.value.data}, scope "
                f'"{op.storage_scope.data}", is not the CPU\'s; use device 0, "global"'
            )
        dims, dtype = known(info)
        tensor = self._allocate(op.result, (), self._actual(dims), dtype)
        tensor.memref.name_hint = tensor.memref.name_hint or op.result.name_hint
        self._values[op.result] = tensor

    def _constant(self, op: relax.ConstantOp) -> None:
        value = op.value
        if not isinstance(value, DenseIntOrFPElementsAttr):
            raise self.cv.fail("the value is in a resource; write it as dense<…>")
        dense = cast("DenseIntOrFPElementsAttr[IntegerType]", value)
        name, type_ = self.view.constant(dense)
        memory = self.cv.build(memref.GetGlobalOp, [], type_, {"name": name})
        memory.name_hint = op.result.name_hint
        dims = tuple(Dim.constant(extent) for extent in type_.get_shape())
        self._values[op.result] = Tensor(memory, dims, dense.get_element_type())

    def _shape(self, op: relax.ShapeOp) -> None:
        self._values[op.result] = Shape(self._actual(op.values.known or ()))

    def _prim_value(self, op: relax.PrimValueOp) -> None:
        type_ = op.result.type
        assert isinstance(type_, PrimType), "verified"
        if isinstance(op.value, FloatAttr):
            self._values[op.result] = Scalar(self.cv.constant(op.value), type_.dtype)
            return
        (dim,) = self._actual([op.value.data])
        value = self._integer(dim, signless(type_.dtype))
        self._values[op.result] = Scalar(value, type_.dtype, dim)

    def _tuple(self, op: relax.TupleOp) -> None:
        self._values[op.result] = tuple(map(self._value, op.elements))

    def _get_item(self, op: relax.GetItemOp) -> None:
        value = self._value(op.tuple_value)
        assert isinstance(value, tuple), "verified"
        self._values[op.result] = value[op.index.value.data]

    def _alias(self, op: relax.AliasOp) -> None:
        self._values[op.result] = self._value(op.value)

    def _match_cast(self, op: relax.MatchCastOp) -> None:
        value = self._value(op.value)
        pairs = list(self._pairs(op.result.type, value))
        for name in op.defined_symbols:
            self._symbols[name] = next(
                actual for dim, actual in pairs if dim.symbol_name == name
            )
        what = (
            f"{op.name} in @{self.source.sym_name.data}: the value is no {op.result.type}"
        )
        for dim, actual in pairs:
            self._check_equal(dim.substitute(self._symbols), actual, what)
        self._values[op.result] = self._refined(value, op.result.type)

    def _pairs(self, type_: Attribute, value: Value) -> Iterator[tuple[Dim, Dim]]:
        """The known dimensions of a type, each with the extent that the value has."""
        if isinstance(value, tuple):
            if isinstance(type_, relax.TupleType):
                for part, inner in zip(type_.fields.data, value, strict=True):
                    yield from self._pairs(part, inner)
            return
        if isinstance(value, Tensor):
            dims = self._tensor_dims(type_, value)
        elif isinstance(value, Shape):
            dims = type_.values if isinstance(type_, ShapeType) else None
        else:
            dims = (type_.dim,) if isinstance(type_, PrimType) else None
        actual = self._extents_of(value) if dims is not None else ()
        if len(dims or ()) != len(actual):
            raise self.cv.fail(f"a value of rank {len(actual)} can never be {type_}")
        for dim, extent in zip(dims or (), actual, strict=True):
            if dim is not None:
                yield dim, extent

    def _tensor_dims(
        self, type_: Attribute, value: Tensor
    ) -> tuple[Dim | None, ...] | None:
        info = TensorInfo.of(type_)
        if info is None:
            return None
        if info.dtype not in (None, value.dtype):
            raise self.cv.fail(f"a tensor of {value.dtype} can never be {type_}")
        return info.dims

    def _refined(self, value: Value, type_: Attribute) -> Value:
        """A value that was checked to be of a type, with the dimensions of that type."""
        if isinstance(value, tuple):
            if not isinstance(type_, relax.TupleType):
                return value
            fields = zip(value, type_.fields.data, strict=True)
            return tuple(self._refined(inner, part) for inner, part in fields)
        if isinstance(value, Scalar):
            return value
        if isinstance(value, Shape):
            dims = type_.values if isinstance(type_, ShapeType) else None
        else:
            dims = self._tensor_dims(type_, value)
        if dims is None:
            return value
        checked = tuple(
            extent if dim is None else dim.substitute(self._symbols)
            for dim, extent in zip(dims, value.dims, strict=True)
        )
        return replace(value, dims=checked)

    def _extents_of(self, value: Leaf) -> tuple[Dim, ...]:
        if not isinstance(value, Scalar):
            return value.dims
        if value.dim is None:
            name = self._names.make()
            self._numbers[name] = self.cv.index_of(value.value)
            return (Dim.symbol(name),)
        return (value.dim,)

    # -- calls

    def _call(self, op: relax.CallOp) -> None:
        callee = self.view.callee(op.callee)
        if isinstance(callee, tir.FuncOp):
            self._call_tir_function(op, callee)
        elif isinstance(callee, relax.FuncOp):
            self._call_relax_function(op, callee)
        else:
            what = "not defined" if callee is None else f"a {callee.name}"
            raise self.cv.fail(
                f"{op.callee} is {what}; a tir.func or relax.func can be called, so run "
                "relax-convert-to-memref before tir-convert-to-memref"
            )

    def _call_tir_function(self, op: relax.CallOp, callee: tir.FuncOp) -> None:
        convention = self.view.tir_callee(callee)
        types = convention.types
        if len(types) != len(op.arguments):
            raise self.cv.fail(
                f"{op.callee} has {len(types)} parameters, the call gives "
                f"{len(op.arguments)} arguments"
            )
        if op.result is not None:
            raise self.cv.fail(f"{op.callee} writes its results, the call has none")
        values = [self._value(argument) for argument in op.arguments]
        bound = self._match_buffers(op, convention, values)
        operands = [
            self._tir_argument(op, value, type_)
            for value, type_ in zip(values, types, strict=True)
        ]
        operands += [self._integer(bound[symbol], i64) for symbol in convention.symbols]
        self._emit_call(op, operands, convention.results)

    def _match_buffers(
        self, op: relax.CallOp, callee: TIRCallee, values: Sequence[Value]
    ) -> dict[SSAValue, Dim]:
        """What the symbols and scalars of the callee are; extents that stand for the same
        are checked to be equal. Other extents are what the callee computes from them."""
        bound: dict[SSAValue, Dim] = {}
        checks: list[tuple[SSAValue | int, Dim]] = []
        for index, ((parameter, buffer), value) in enumerate(
            zip(callee.buffers, values, strict=True)
        ):
            if (
                isinstance(value, Scalar)
                and value.dim is not None
                and parameter is not None
            ):
                bound[parameter] = value.dim
            if buffer is None or not isinstance(value, Tensor):
                continue
            self._check_buffer(op, index, buffer, value)
            for extent, dim in zip(buffer.shape, value.dims, strict=True):
                if _is_symbol(extent) and extent not in bound:
                    bound[extent] = dim
                else:
                    checks.append((extent, dim))
        what = f"{op.name} in @{self.source.sym_name.data}: a shape does not fit "
        for extent, dim in checks:
            expected = _known_extent(extent, bound)
            if expected is not None:
                self._check_equal(expected, dim, f"{what}{op.callee}")
        return bound

    def _check_buffer(
        self, op: relax.CallOp, index: int, buffer: tir.MatchBufferOp, value: Tensor
    ) -> None:
        where = f"argument {index} of {op.callee}"
        if len(buffer.shape) != len(value.dims):
            raise self.cv.fail(
                f"{where} must have rank {len(buffer.shape)}, not {len(value.dims)}"
            )
        if buffer.type.element_type != value.dtype:
            raise self.cv.fail(
                f"{where} must be of {buffer.type.element_type}, not {value.dtype}"
            )
        shape = [DYNAMIC_INDEX if isinstance(e, SSAValue) else e for e in buffer.shape]
        strides = buffer.layout_strides
        is_compact = not strides or tuple(strides) == compact_strides(shape)
        if not is_compact or buffer.elem_offset is not None:
            raise self.cv.fail(f"{where} has strides or an offset; use a compact buffer")

    def _tir_argument(self, op: relax.CallOp, value: Value, type_: Attribute) -> SSAValue:
        if isinstance(value, Tensor) and isinstance(type_, MemRefType):
            return self._cast(value, cast(AnyMemRef, type_))
        if isinstance(value, Scalar):
            if value.value.type == type_:
                return value.value
            if value.dim is not None and tir.is_integer(type_):
                return self._integer(value.dim, type_)
        kind = type(value).__name__.lower()
        raise self.cv.fail(f"{op.callee} takes {type_}, which no {kind} can be")

    def _call_relax_function(self, op: relax.CallOp, callee: relax.FuncOp) -> None:
        convention = self.view.convention(callee)
        arguments = [leaf for arg in op.arguments for leaf in leaves(self._value(arg))]
        bound = self._match_parameters(op, convention, arguments)
        operands: list[SSAValue] = []
        for value, param in zip(arguments, convention.params, strict=True):
            operands += self._relax_argument(op, value, param)
        outputs = self._make_outputs(op, callee, bound)
        operands += [
            self._cast(tensor, memref_for(*known(info)))
            for tensor, info in zip(outputs, convention.outputs, strict=True)
        ]
        operands += [self._integer(bound[name], i64) for name in convention.symbols]
        results = self._emit_call(op, operands, convention.results)
        assert op.result is not None, "verified"
        if convention.scalar is None:
            self._values[op.result] = rebuild(callee.output_type, iter(outputs))
        else:
            dim = convention.scalar.dim
            self._values[op.result] = Scalar(
                results[0],
                convention.scalar.dtype,
                None if dim is None else dim.substitute(bound),
            )

    def _match_parameters(
        self, op: relax.CallOp, convention: Convention, arguments: Sequence[Leaf]
    ) -> dict[str, Dim]:
        """The symbols of the callee, which the arguments are checked to agree on."""
        if len(arguments) != len(convention.params):
            raise self.cv.fail(
                f"{op.callee} takes {len(convention.params)} values, got {len(arguments)}"
            )
        pairs: list[tuple[Dim, Dim]] = []
        for param, value in zip(convention.params, arguments, strict=True):
            type_ = param.type if isinstance(param, TensorInfo) else param
            pairs += self._pairs(type_, value)
        bound: dict[str, Dim] = {}
        for dim, actual in pairs:
            if (name := dim.symbol_name) is not None:
                bound.setdefault(name, actual)
        what = f"{op.name} in @{self.source.sym_name.data}: a shape does not fit "
        for dim, actual in pairs:
            self._check_equal(dim.substitute(bound), actual, f"{what}{op.callee}")
        return bound

    def _relax_argument(
        self, op: relax.CallOp, value: Leaf, param: LeafType
    ) -> list[SSAValue]:
        if isinstance(value, Tensor) and isinstance(param, TensorInfo):
            return [self._cast(value, memref_for(*known(param)))]
        if isinstance(value, Shape) and isinstance(param, ShapeType):
            return [self._integer(dim, i64) for dim in value.dims]
        if isinstance(value, Scalar) and isinstance(param, PrimType):
            return [value.value]
        raise self.cv.fail(f"{op.callee} cannot take a {type(value).__name__.lower()}")

    def _make_outputs(
        self, op: relax.CallOp, callee: relax.FuncOp, bound: dict[str, Dim]
    ) -> list[Tensor]:
        convention = self.view.convention(callee)
        assert op.result is not None, "verified"
        tensors: list[Tensor] = []
        paths = _paths(callee.output_type, ()) if convention.scalar is None else ()
        for path, info in zip(paths, convention.outputs, strict=True):
            dims, dtype = known(info)
            actual = tuple(dim.substitute(bound) for dim in dims)
            tensors.append(self._allocate(op.result, path, actual, dtype))
        return tensors

    def _emit_call(
        self, op: relax.CallOp, operands: list[SSAValue], results: Sequence[Attribute]
    ) -> Sequence[SSAValue]:
        call = func.CallOp.create(
            operands=operands, result_types=results, properties={"callee": op.callee}
        )
        return self.cv.emit(call).results

    # -- conditionals

    def _if(self, op: relax.IfOp) -> None:
        condition = self._condition(self._value(op.condition))
        outside = set(self._numbers)
        then = self._branch(op.true_region.block)
        otherwise = self._branch(op.false_region.block)
        self.cv.source = op
        shared = [
            self._unify(pair, outside, (then, otherwise))
            for pair in zip(then.result, otherwise.result, strict=True)
        ]
        for branch in (then, otherwise):
            with self._inside(branch):
                self._release(branch.scope)
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
        self._values[op.result] = rebuild(_if_type(op), iter(parts))

    def _condition(self, value: Value) -> SSAValue:
        if isinstance(value, Tensor):
            return self.cv.build(memref.LoadOp, [value.memref], i1)
        assert isinstance(value, Scalar), "verified"
        return value.value

    def _branch(self, block: Block) -> _Branch:
        branch = _Branch(Block(), _Scope(), [])
        with self._inside(branch):
            self._convert_block(block)
            last = block.last_op
            assert isinstance(last, relax.YieldOp), "verified"
            self.cv.source = last
            branch.result = list(leaves(self._value(last.value)))
        return branch

    @contextmanager
    def _inside(self, branch: _Branch) -> Generator[None]:
        self._scopes.append(branch.scope)
        with self.cv.at(branch.block):
            yield
        self._scopes.pop()

    def _unify(
        self,
        pair: tuple[Leaf, Leaf],
        outside: set[str],
        branches: tuple[_Branch, _Branch],
    ) -> Leaf:
        """What both branches yield; adds to what they do. Extents on which they do not
        agree get new symbols, whose numbers follow."""
        first, second = pair
        if isinstance(first, Scalar) and isinstance(second, Scalar):
            for branch, value in zip(branches, (first, second), strict=True):
                branch.columns.append(value.value)
            is_same = first.dim is not None and first.dim == second.dim
            return Scalar(first.value, first.dtype, first.dim if is_same else None)
        if isinstance(first, Scalar) or isinstance(second, Scalar):
            raise self.cv.fail("one branch yields a scalar, the other does not")
        if len(first.dims) != len(second.dims):
            raise self.cv.fail("the branches yield values of different rank")
        dims: list[Dim] = []
        for a, b in zip(first.dims, second.dims, strict=True):
            if a == b and outside.issuperset(a.symbols()):
                dims.append(a)
                continue
            dims.append(Dim.symbol(self._names.make()))
            for branch, dim in zip(branches, (a, b), strict=True):
                with self._inside(branch):
                    branch.columns.append(self._index(dim))
        if isinstance(first, Shape) or isinstance(second, Shape):
            return Shape(tuple(dims))
        if first.dtype != second.dtype:
            raise self.cv.fail("the branches yield tensors of different dtypes")
        merged = memref_for(dims, first.dtype)
        for branch, value in zip(branches, (first, second), strict=True):
            with self._inside(branch):
                branch.columns.append(self._handed_over(value, branch.scope, merged))
        return Tensor(first.memref, tuple(dims), first.dtype)

    def _handed_over(self, value: Tensor, scope: _Scope, type_: AnyMemRef) -> SSAValue:
        """Memory that whoever gets it must release: the scope's own, or a copy."""
        if value.memref in scope.owned:
            del scope.owned[value.memref]
            return self._cast(value, type_)
        memory = self._new_memory(value.dims, value.dtype)
        copy = Tensor(memory, value.dims, value.dtype)
        self._copy(value, copy)
        return self._cast(copy, type_)

    def _merged(self, leaf: Leaf, columns: Iterator[SSAValue], outside: set[str]) -> Leaf:
        if isinstance(leaf, Scalar):
            return Scalar(next(columns), leaf.dtype, leaf.dim)
        for dim in leaf.dims:
            name = dim.symbol_name
            if name is not None and name not in outside:
                self._numbers[name] = next(columns)
        if isinstance(leaf, Shape):
            return leaf
        memory = next(columns)
        self._scopes[-1].owned[memory] = None
        return Tensor(memory, leaf.dims, leaf.dtype)

    # -- memory

    def _allocate(
        self, value: SSAValue, path: Path, dims: tuple[Dim, ...], dtype: Attribute
    ) -> Tensor:
        """Memory for a value: that of an output where it is returned, or new."""
        output = self._destinations.pop((value, path), None)
        if output is not None and output.dims == dims and output.dtype == dtype:
            return output
        memory = self._new_memory(dims, dtype)
        self._scopes[-1].owned[memory] = None
        return Tensor(memory, dims, dtype)

    def _new_memory(self, dims: Sequence[Dim], dtype: Attribute) -> SSAValue:
        type_ = memref_for(dims, dtype)
        is_flat = len(type_.get_shape()) != len(dims)
        extents = [product(dims)] if is_flat else dims
        sizes = [self._index(dim) for dim in extents if dim.value is None]
        return self.cv.emit(memref.AllocOp(sizes, [], type_)).memref

    def _release(self, scope: _Scope) -> None:
        for memory in reversed(scope.owned):
            self.cv.emit(memref.DeallocOp.create(operands=[memory]))
        scope.owned.clear()

    def _cast(self, value: Tensor, type_: AnyMemRef) -> SSAValue:
        """The memory of a tensor as a memref of another form."""
        source = memref_type(value.memref)
        if source == type_:
            return value.memref
        shape = type_.get_shape()
        if len(shape) == len(source.get_shape()):
            return self.cv.build(memref.CastOp, [value.memref], type_)
        if len(shape) == 1:
            return forget_extent(self.cv, self._flat(value))
        strides = compact_strides(shape)
        assert strides is not None, "only the first extent is dynamic"
        sizes = [
            self._index(dim)
            for dim, extent in zip(value.dims, shape, strict=True)
            if extent == DYNAMIC_INDEX
        ]
        op = memref.ReinterpretCastOp(
            value.memref, [], sizes, [], [0], shape, strides, type_
        )
        return self.cv.emit(op).result

    def _flat(self, value: Tensor) -> SSAValue:
        """The memory of a tensor as a memref of rank 1."""
        size = product(value.dims)
        known_size = size.value
        return flat(
            self.cv, value.memref, self._index(size) if known_size is None else known_size
        )

    def _copy(self, source: Tensor, target: Tensor) -> None:
        """Copy all elements; a loop where the size is not static."""
        size = product(target.dims)
        if size.value is not None:
            type_ = memref_for(target.dims, target.dtype)
            operands = [self._cast(source, type_), self._cast(target, type_)]
            self.cv.emit(memref.CopyOp.create(operands=operands))
            return
        dtype = signless(source.dtype)
        type_ = memref_of((DYNAMIC_INDEX,), dtype, GENERIC_SPACE)
        first, second = self._cast(source, type_), self._cast(target, type_)
        zero, one = self.cv.number(0, INDEX), self.cv.number(1, INDEX)
        count = self._index(size)
        body = Block(arg_types=[INDEX])
        with self.cv.at(body):
            element = self.cv.build(memref.LoadOp, [first, body.args[0]], dtype)
            store = memref.StoreOp.create(operands=[element, second, body.args[0]])
            self.cv.emit(store)
            self.cv.emit(scf.YieldOp())
        self.cv.emit(scf.ForOp(zero, count, one, [], body))

    def _return(self, value: Value, outputs: Sequence[Tensor]) -> list[SSAValue]:
        if self.convention.scalar is not None:
            assert isinstance(value, Scalar), "verified"
            return [value.value]
        parts = list(leaves(value))
        what = (
            f"@{self.source.sym_name.data} returns a shape that is not the declared one"
        )
        for part, output in zip(parts, outputs, strict=True):
            if not isinstance(part, Tensor) or part.dtype != output.dtype:
                raise self.cv.fail(f"the function must return {output.dtype} tensors")
            if len(part.dims) != len(output.dims):
                raise self.cv.fail("the result is not of the declared rank")
            if part.memref is output.memref:
                continue
            for dim, expected in zip(part.dims, output.dims, strict=True):
                self._check_equal(expected, dim, what)
            self._copy(part, output)
        return []

    # -- extents

    def _actual(self, dims: Sequence[Dim]) -> tuple[Dim, ...]:
        """Dimensions of the source in terms of the numbers that there are."""
        return tuple(dim.substitute(self._symbols) for dim in dims)

    def _index(self, dim: Dim) -> SSAValue:
        """The value of a dimension, as `index`."""
        if dim.value is not None:
            return self.cv.number(dim.value, INDEX)
        for scope in reversed(self._scopes):
            if (found := scope.extents.get(dim)) is not None:
                return found
        value = dim.fold(
            lambda number: self.cv.number(number, INDEX),
            lambda name: self._numbers[name],
            self._apply,
        )
        self._scopes[-1].extents[dim] = value
        return value

    def _apply(self, operator: str, a: SSAValue, b: SSAValue) -> SSAValue:
        if operator == "floormod":
            quotient = self.cv.binary(arith.FloorDivSIOp, a, b)
            return self.cv.binary(
                arith.SubiOp, a, self.cv.binary(arith.MuliOp, quotient, b)
            )
        return self.cv.binary(_ARITH[operator], a, b)

    def _integer(self, dim: Dim, type_: Attribute) -> SSAValue:
        """The value of a dimension, as an integer."""
        if dim.value is not None:
            return self.cv.number(dim.value, type_)
        return self.cv.from_index(self._index(dim), type_)

    def _check_equal(self, expected: Dim, actual: Dim, message: str) -> None:
        """Fail with a message where two extents differ."""
        if expected == actual:
            return
        a, b = self._index(expected), self._index(actual)
        equal = self.cv.compare(arith.CmpiOp, _EQUAL, a, b)
        self.cv.emit(cf.AssertOp(equal, message))

    _HANDLERS: ClassVar[dict[type[Operation], Callable[[Any, Any], None]]] = {
        relax.AllocTensorOp: _alloc_tensor,
        relax.ConstantOp: _constant,
        relax.ShapeOp: _shape,
        relax.PrimValueOp: _prim_value,
        relax.TupleOp: _tuple,
        relax.GetItemOp: _get_item,
        relax.AliasOp: _alias,
        relax.MatchCastOp: _match_cast,
        relax.CallOp: _call,
        relax.IfOp: _if,
    }


def _remedy(op: Operation) -> str:
    """Why an operation cannot be lowered, and what to do."""
    if isinstance(op, relax.DataflowOp):
        return "dataflow blocks are not lowered; run relax-to-non-dataflow first"
    if isinstance(op, relax.CallTIROp):
        return f"{op.callee} is not called in place; run relax-call-tir-rewrite first"
    if isinstance(op, relax.OperatorOp):
        return (
            "the operator is not legalized; run relax-legalize-ops first, and give it "
            "operands of known shape and dtype"
        )
    return "the operation has no lowering in a relax.func"


def _origin(value: SSAValue, path: Path) -> tuple[SSAValue, Path]:
    """The value that makes a field, through tuples and aliases."""
    while isinstance(op := value.owner, Operation):
        if isinstance(op, relax.AliasOp | relax.MatchCastOp):
            value = op.value
        elif isinstance(op, relax.GetItemOp):
            value, path = op.tuple_value, (op.index.value.data, *path)
        elif isinstance(op, relax.TupleOp) and path:
            value, path = op.elements[path[0]], path[1:]
        else:
            break
    return value, path


def _paths(type_: Attribute, path: Path) -> Iterator[Path]:
    if isinstance(type_, relax.TupleType):
        for index, part in enumerate(type_.fields.data):
            yield from _paths(part, (*path, index))
    else:
        yield path


def _is_symbol(extent: SSAValue | int) -> TypeGuard[SSAValue]:
    return isinstance(extent, SSAValue) and isinstance(extent.owner, tir.ShapeVarOp)


def _known_extent(extent: SSAValue | int, bound: dict[SSAValue, Dim]) -> Dim | None:
    if isinstance(extent, int):
        return Dim.constant(extent)
    number = tir.constant_value(extent)
    return bound.get(extent) if number is None else Dim.constant(int(number))


def _if_type(op: relax.IfOp) -> Attribute:
    """The type of a conditional, as its branches give it."""
    last = op.true_region.block.last_op
    assert isinstance(last, relax.YieldOp), "verified"
    return last.value.type
