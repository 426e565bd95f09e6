"""Calls in the lowered form of a Relax function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeGuard, cast

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, SymbolRefAttr, i64
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.quick_operation import create
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import ObjectType, PrimType, ShapeType, TensorInfo
from xdsl_tvm.lowering.relax.conversion.calling_convention import (
    Convention,
    flat_types,
    is_handed_over,
    known,
    memref_for,
)
from xdsl_tvm.lowering.relax.conversion.calling_convention import Leaf as LeafType
from xdsl_tvm.lowering.relax.conversion.memory import MemoryCode
from xdsl_tvm.lowering.relax.conversion.module import TIRCallee
from xdsl_tvm.lowering.relax.conversion.values import (
    Cells,
    Closure,
    Leaf,
    Object,
    Path,
    Scalar,
    Shape,
    Tensor,
    Value,
    kind,
    leaves,
    rebuild,
)
from xdsl_tvm.lowering.tir.conversion.types import AnyMemRef, compact_strides


class CallCode(MemoryCode):
    """Calls functions of the module, with checks that what is passed fits."""

    # -- TIR functions

    def call_tir(
        self, name: SymbolRefAttr, callee: tir.FuncOp, values: Sequence[Value]
    ) -> None:
        """Call a TIR function on the memory of its inputs and results."""
        convention = self.view.tir_callee(callee)
        types = convention.types
        if len(types) != len(values):
            raise self.cv.fail(
                f"{name} has {len(types)} parameters, the call gives "
                f"{len(values)} arguments"
            )
        bound = self._match_buffers(name, convention, values)
        operands = [
            self._tir_argument(name, value, type_, parameter)
            for value, type_, (parameter, _) in zip(
                values, types, convention.buffers, strict=True
            )
        ]
        operands += [self.integer(bound[symbol], i64) for symbol in convention.symbols]
        with self.view.timed(self.cv, callee):
            self._emit_call(name, operands, convention.results)

    def _match_buffers(
        self, name: SymbolRefAttr, callee: TIRCallee, values: Sequence[Value]
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
            shape = self._checked_shape(index, name, buffer, value)
            for extent, dim in zip(shape, value.dims, strict=True):
                if _is_symbol(extent) and extent not in bound:
                    bound[extent] = dim
                else:
                    checks.append((extent, dim))
        for extent, dim in checks:
            expected = _known_extent(extent, bound)
            if expected is not None and expected != dim:
                what = f"{self.place}: a shape does not fit {name}"
                self.check_equal(expected, dim, what)
        return bound

    def _checked_shape(
        self, index: int, name: SymbolRefAttr, buffer: tir.MatchBufferOp, value: Tensor
    ) -> tuple[SSAValue | int, ...]:
        """The shape of a buffer that is of the rank and the dtype of its argument."""
        extents, dtype = buffer.shape, buffer.type.element_type
        wrong = None
        if len(extents) != len(value.dims):
            wrong = f"must have rank {len(extents)}, not {len(value.dims)}"
        elif dtype != value.dtype:
            wrong = f"must be of {dtype}, not {value.dtype}"
        else:
            shape = [DYNAMIC_INDEX if isinstance(e, SSAValue) else e for e in extents]
            strides = buffer.layout_strides
            is_compact = not strides or tuple(strides) == compact_strides(shape)
            if not is_compact or buffer.elem_offset is not None:
                wrong = "has strides or an offset; use a compact buffer"
        if wrong is not None:
            raise self.cv.fail(f"argument {index} of {name} {wrong}")
        return extents

    def _tir_argument(
        self,
        name: SymbolRefAttr,
        value: Value,
        type_: Attribute,
        parameter: BlockArgument | None,
    ) -> SSAValue:
        if isinstance(value, Tensor) and isinstance(type_, MemRefType):
            return self.cast(value, cast(AnyMemRef, type_))
        if isinstance(value, Scalar):
            if value.value.type == type_:
                return value.value
            if value.dim is not None and tir.is_integer(type_):
                # The lowered type does not tell whether the parameter is unsigned.
                dtype = type_ if parameter is None else parameter.type
                return self.integer(value.dim, dtype)
        raise self.cv.fail(f"{name} takes {type_}, which no {kind(value)} can be")

    def call_tir_inplace(
        self, op: relax.CallTIRInplaceOp, callee: tir.FuncOp, arguments: Sequence[Value]
    ) -> Value:
        """Call a TIR function that writes arguments; gives its results."""
        values = list(arguments)
        outputs: list[Tensor] = []
        for index, (place, info) in enumerate(
            zip(op.output_arguments, op.outputs, strict=True)
        ):
            dims, dtype = self.allocated_info(info.type)
            if place < 0:
                path = (index,) if isinstance(op.result.type, relax.TupleType) else ()
                output = self.allocate(op.result, path, dims, dtype)
                values.append(output)
            else:
                written = values[place]
                assert isinstance(written, Tensor), "verified"
                output = written
            outputs.append(replace(output, dims=dims))
        dims = () if op.tir_vars is None else op.tir_vars.known or ()
        values += self.scalars(self.actual(dims))
        self.call_tir(op.callee, callee, values)
        is_tuple = isinstance(op.result.type, relax.TupleType)
        return tuple(outputs) if is_tuple else outputs[0]

    def scalars(self, dims: Sequence[Dim]) -> list[Scalar]:
        """Dimensions as numbers."""
        return [Scalar(self.integer(dim, i64), i64, dim) for dim in dims]

    # -- Relax functions

    def call_relax(
        self,
        name: SymbolRefAttr,
        callee: relax.FuncOp,
        values: Sequence[Value],
        result: SSAValue,
    ) -> Value:
        """Call a Relax function; gives its result, which is that of an operation."""
        convention = self.view.convention(callee)
        arguments = [leaf for value in values for leaf in leaves(value)]
        bound = self._match_parameters(name, convention, arguments)
        operands: list[SSAValue] = []
        for value, param in zip(arguments, convention.params, strict=True):
            operands += self._relax_argument(name, value, param)
        places = self._make_outputs(convention, callee, bound, result)
        operands += [
            place.memref
            if isinstance(place, Cells)
            else self.cast(place, memref_for(*known(info)))
            for place, info in zip(places, convention.outputs, strict=True)
        ]
        operands += [self.integer(bound[symbol], i64) for symbol in convention.symbols]
        results = self._emit_call(name, operands, convention.results)
        if convention.scalar is not None:
            dim = convention.scalar.dim
            return Scalar(
                results[0],
                convention.scalar.dtype,
                None if dim is None else dim.substitute(bound),
            )
        outputs = [
            self._taken(name, place, bound) if isinstance(place, Cells) else place
            for place in places
        ]
        parts = map(self._received, flat_types(callee.output_type), outputs)
        return rebuild(callee.output_type, iter(list(parts)))

    def _received(self, type_: Attribute, output: Tensor) -> Leaf:
        """A field of a result: the memory, or the numbers that are in it."""
        if isinstance(type_, PrimType):
            element = self.load(self.elements(output), 0)
            return Scalar(element, type_.dtype)
        if isinstance(type_, ObjectType):
            return Object(self.load(self.elements(output), 0))
        if isinstance(type_, ShapeType):
            memory = self.elements(output)
            rank = output.dims[0].value or 0
            return Shape(
                tuple(self.new_symbol(self.load(memory, axis)) for axis in range(rank))
            )
        return output

    def _taken(self, name: SymbolRefAttr, cells: Cells, bound: dict[str, Dim]) -> Tensor:
        """The tensor that a callee has made, which this block is to release."""
        dims: list[Dim] = []
        for axis, dim in enumerate(cells.dims):
            number = self.new_extent(self.load(cells.memref, 1 + axis))
            # Those that are declared are checked by the callee.
            dims.append(number if dim is None else dim.substitute(bound))
        address = self.load(cells.memref, 0)
        return self.taken_from(address, tuple(dims), cells.dtype)

    def _match_parameters(
        self, name: SymbolRefAttr, convention: Convention, arguments: Sequence[Leaf]
    ) -> dict[str, Dim]:
        """The symbols of the callee, which the arguments are checked to agree on."""
        if len(arguments) != len(convention.params):
            raise self.cv.fail(
                f"{name} takes {len(convention.params)} values, got {len(arguments)}"
            )
        pairs: list[tuple[Dim, Dim]] = []
        for param, value in zip(convention.params, arguments, strict=True):
            type_ = param.type if isinstance(param, TensorInfo) else param
            pairs += self.pairs(type_, value)
        bound: dict[str, Dim] = {}
        for dim, actual in pairs:
            if (symbol := dim.symbol_name) is not None:
                bound.setdefault(symbol, actual)
        self.require_extents(bound.values())
        for dim, actual in pairs:
            what = f"{self.place}: a shape does not fit {name}"
            self.check_equal(dim.substitute(bound), actual, what)
        return bound

    def _relax_argument(
        self, name: SymbolRefAttr, value: Leaf, param: LeafType
    ) -> list[SSAValue]:
        if isinstance(value, Tensor) and isinstance(param, TensorInfo):
            return [self.cast(value, memref_for(*known(param)))]
        if isinstance(value, Shape) and isinstance(param, ShapeType):
            return [self.integer(dim, i64) for dim in value.dims]
        if isinstance(value, Scalar) and isinstance(param, PrimType):
            return [value.value]
        if isinstance(value, Object) and isinstance(param, ObjectType):
            return [value.value]
        raise self.cv.fail(f"{name} cannot take a {kind(value)}")

    def _make_outputs(
        self,
        convention: Convention,
        callee: relax.FuncOp,
        bound: dict[str, Dim],
        result: SSAValue,
    ) -> list[Tensor | Cells]:
        tensors: list[Tensor | Cells] = []
        paths = _paths(callee.output_type, ()) if convention.scalar is None else ()
        for path, info in zip(paths, convention.outputs, strict=True):
            if is_handed_over(info):
                tensors.append(self._cells(info))
                continue
            dims, dtype = known(info)
            actual = tuple(dim.substitute(bound) for dim in dims)
            tensors.append(self.allocate(result, path, actual, dtype))
        return tensors

    def _cells(self, info: TensorInfo) -> Cells:
        """Where a callee puts the address and the extents of what it makes."""
        assert info.dims is not None, "checked"
        assert info.dtype is not None, "checked"
        alloca = memref.AllocaOp.get(i64, shape=[1 + len(info.dims)])
        return Cells(self.cv.emit(alloca).memref, info.dims, info.dtype)

    def _emit_call(
        self,
        name: SymbolRefAttr,
        operands: list[SSAValue],
        results: Sequence[Attribute],
    ) -> Sequence[SSAValue]:
        call = create(
            func.CallOp,
            operands=operands,
            result_types=results,
            properties={"callee": name},
        )
        return self.cv.emit(call).results

    # -- any function

    def callee_of(self, name: SymbolRefAttr) -> tir.FuncOp | relax.FuncOp:
        """The function of a name; PassFailedException for what cannot be called."""
        callee = self.view.callee(name)
        if isinstance(callee, tir.FuncOp | relax.FuncOp):
            return callee
        what = "not defined" if callee is None else f"a {callee.name}"
        raise self.cv.fail(
            f"{name} is {what}; a tir.func or relax.func can be called, so run "
            "relax-convert-to-memref before tir-convert-to-memref"
        )

    def tir_callee_of(self, name: SymbolRefAttr) -> tir.FuncOp:
        """The TIR function of a name."""
        callee = self.callee_of(name)
        if isinstance(callee, relax.FuncOp):
            raise self.cv.fail(f"{name} is a relax.func, which relax.call calls")
        return callee

    def call(
        self,
        name: SymbolRefAttr,
        values: Sequence[Value],
        result: SSAValue | None,
    ) -> Value:
        """Call a function of the module; gives its result, () for none."""
        callee = self.callee_of(name)
        if isinstance(callee, relax.FuncOp):
            if result is None:
                raise self.cv.fail(f"{name} returns a value, the call takes none")
            return self.call_relax(name, callee, values, result)
        if result is not None:
            raise self.cv.fail(f"{name} writes its results, the call has none")
        self.call_tir(name, callee, values)
        return ()

    def call_closure(
        self, closure: Value, arguments: Sequence[Value], result: SSAValue
    ) -> Value:
        """Call a closure that is known here."""
        if not isinstance(closure, Closure):
            raise self.cv.fail(
                f"the function that a {kind(closure)} stands for is not known; "
                "call it by its name"
            )
        name = SymbolRefAttr(closure.callee)
        return self.call(name, [*arguments, *closure.captured], result)


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


def origin(value: SSAValue, path: Path) -> tuple[SSAValue, Path]:
    """The value that makes a field, through tuples, views and calls in place."""
    while isinstance(op := value.owner, Operation):
        if isinstance(op, _SAME_MEMORY):
            value = op.operands[0]
        elif isinstance(op, relax.GetItemOp):
            value, path = op.tuple_value, (op.index.value.data, *path)
        elif isinstance(op, relax.TupleOp) and path:
            value, path = op.elements[path[0]], path[1:]
        elif isinstance(op, relax.CallTIRInplaceOp):
            place = op.output_arguments[path[0] if path else 0]
            if place < 0:
                break
            value, path = op.arguments[place], ()
        else:
            break
    return value, path


_SAME_MEMORY = (
    relax.AliasOp,
    relax.MatchCastOp,
    relax.ReshapeOp,
    relax.EnsureZeroOffsetOp,
)
"""Operations whose result is the memory of their first operand, from its start."""
