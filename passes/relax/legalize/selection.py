"""Operators whose results have as many elements as the data say.

A function counts them, the count becomes a new symbolic dimension, and functions for that
dimension compute the results, as for `relax.dynamic_strided_slice`. Operators on tensors
of unknown shape or dtype are calls of the runtime's functions of their names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.symbolic import Dim as SymbolicDim
from xdsl_tvm.dialects.relax.symbolic import product
from xdsl_tvm.dialects.relax.types import PrimType, ShapeType, TensorInfo, TupleType
from xdsl_tvm.passes.relax.legalize.indexing import everything, for_each
from xdsl_tvm.passes.relax.legalize.registry import Bindings, RuleContext, rewrite
from xdsl_tvm.passes.relax.legalize.sorting import MergeSort, comes_before
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    SUM,
    Dim,
    Expr,
    Tensor,
    TensorProgram,
)


def _call_runtime(op: relax.OperatorOp, bindings: Bindings) -> SSAValue:
    name = f"relax.run.{op.name.rpartition('.')[2]}"
    return bindings.emit(relax.CallPurePackedOp(name, op.operands, op.result.type))


def _symbol(bindings: Bindings, count: SSAValue) -> SymbolicDim:
    """A new dimension, the number in a tensor of one element."""
    name = bindings.symbol("count")
    dim = SymbolicDim.symbol(name)
    shape = bindings.emit(relax.TensorToShapeOp(count))
    bindings.emit(relax.MatchCastOp(shape, ShapeType.of([dim]), [name]))
    return dim


def _vector(*dims: SymbolicDim) -> TensorInfo:
    return TensorInfo(dims, i64)


_ONE = SymbolicDim.constant(1)


# ---- places of elements that are not zero ----


@rewrite(relax.NonzeroOp)
def nonzero(op: relax.NonzeroOp, bindings: Bindings) -> SSAValue:
    """A function counts the elements, another one writes their indices."""
    info = TensorInfo.of(op.data.type)
    if info is None or info.shape is None or info.dtype is None:
        return _call_runtime(op, bindings)
    count = bindings.call_te(
        "nonzero_count", [op.data], _vector(_ONE).type, _number_of_nonzero
    )
    rank = SymbolicDim.constant(len(info.shape))
    result = _vector(rank, _symbol(bindings, count)).type
    return bindings.call_te("nonzero", [op.data], result, _places_of_nonzero)


def _is_nonzero(value: Expr) -> Expr:
    return value if tir.is_bool(value.dtype) else ~value.equals(0)


def _number_of_nonzero(site: RuleContext) -> Tensor:
    program, x = site.program, site.tensor(0)

    def element(_: list[Expr], at: list[Expr]) -> Expr:
        return _is_nonzero(x[tuple(at)]).cast(i64)

    if not x.shape:
        return program.compute("count", [1], i64, lambda *_: element([], []))
    return program.reduce("count", [1], x.shape, i64, SUM, element)


def _places_of_nonzero(site: RuleContext) -> Tensor:
    program, x = site.program, site.tensor(0)
    zero, one = program.extent(0), program.extent(1)

    def body(_: list[Expr], made: list[Tensor]) -> None:
        found = program.local("found", [1], i64)
        program.store(zero, found, [zero])

        def visit(point: tuple[Expr, ...]) -> None:
            with program.when(_is_nonzero(x[point])):
                place = found[zero]
                for axis, index in enumerate(point):
                    program.store(index, made[0], [program.extent(axis), place])
                program.store(place + one, found, [zero])

        for_each(program, x.shape, visit)

    return _written(program, "nonzero", [x], [(site.shape, i64)], body)[0]


def _written(
    program: TensorProgram,
    name: str,
    reads: Sequence[Tensor],
    results: Sequence[tuple[Sequence[Dim], Attribute]],
    body: Callable[[list[Expr], list[Tensor]], None],
) -> list[Tensor]:
    """Tensors (shape, dtype) that statements write, which may read all of others."""
    outputs = [
        (name if len(results) == 1 else f"{name}_{number}", shape, dtype)
        for number, (shape, dtype) in enumerate(results)
    ]
    return program.sequential(
        name,
        (),
        outputs,
        lambda _: [everything(each) for each in reads],
        lambda _, made: [everything(each) for each in made],
        body,
    )


# ---- different elements ----


@rewrite(relax.UniqueOp)
def unique(op: relax.UniqueOp, bindings: Bindings) -> SSAValue:
    """Elements, or slices along an axis, are sorted; equal ones are then neighbours."""
    info = TensorInfo.of(op.data.type)
    if info is None or info.shape is None or info.dtype is None:
        return _call_runtime(op, bindings)
    data = op.data
    is_bool = tir.is_bool(info.dtype)
    if is_bool:
        data = bindings.emit(relax.AstypeOp(data, i32))
    axis = 0
    if op.axis is None:
        shape = bindings.emit(relax.ShapeOp([product(info.shape)]))
        data = bindings.emit(relax.ReshapeOp(data, shape))
    else:
        axis = _number(op.axis) % len(info.shape)
    number = _extent(data, axis)

    def order_of(site: RuleContext) -> Tensor:
        return _sorted_slices(site, axis)

    def groups_of(site: RuleContext) -> list[Tensor]:
        # NaN are one element, but make slices different, as in numpy.
        return _groups(site, axis, same_nan=op.axis is None)

    order = bindings.call_te("unique_order", [data], _vector(number).type, order_of)
    both = TupleType.of([_vector(number).type, _vector(_ONE).type])
    found = bindings.call_te("unique_groups", [data, order], both, groups_of)
    groups, count = (bindings.emit(relax.GetItemOp(found, each)) for each in range(2))
    size = _vector(_symbol(bindings, count)).type
    sorted_by = [order, groups]
    first = bindings.call_te("unique_index", sorted_by, size, _first_of_groups)
    values = bindings.emit(relax.TakeOp(data, first, axis))
    if is_bool:
        values = bindings.emit(relax.AstypeOp(values, info.dtype))
    fields = [values]
    if _number(op.return_index):
        fields.append(first)
    if _number(op.return_inverse):
        type_ = _vector(number).type
        fields.append(
            bindings.call_te("unique_inverse", sorted_by, type_, _group_of_each)
        )
    if _number(op.return_counts):
        fields.append(bindings.call_te("unique_counts", [groups], size, _sizes_of_groups))
    if len(fields) == 1:
        return values
    return bindings.emit(relax.TupleOp(fields))


def _number(value: SSAValue) -> int:
    assert isinstance(value.type, PrimType), "verified"
    dim = value.type.dim
    assert dim is not None, "verified"
    assert dim.value is not None, "verified"
    return dim.value


def _extent(value: SSAValue, axis: int) -> SymbolicDim:
    info = TensorInfo.of(value.type)
    assert info is not None, "verified"
    assert info.shape is not None, "checked"
    return info.shape[axis]


class _SliceSort(MergeSort):
    """Sorts slices by their elements, the first that differ."""

    def prepare(self) -> None:
        """Memory for a comparison: -1 and 1 for less and greater, 0 for equal."""
        self._sign = self._program.local("sign", [1], i64)

    def compare(self, first: Expr, second: Expr, middle: Expr, high: Expr) -> None:
        """Compare the slices that come next of two runs."""
        program, x, axis = self._program, self._x, self._axis
        zero = program.extent(0)
        program.store(zero, self._sign, [zero])
        rest = [*x.shape[:axis], *x.shape[axis + 1 :]]

        def element(order_place: Expr, point: tuple[Expr, ...]) -> Expr:
            place = self._order[self._at(order_place)]
            return x[(*point[:axis], place, *point[axis:])]

        def visit(point: tuple[Expr, ...]) -> None:
            with program.when(self._sign[zero].equals(0)):
                for sign, (a, b) in ((-1, (first, second)), (1, (second, first))):
                    is_less = self._is_before(element(a, point), element(b, point))
                    with program.when(is_less):
                        program.store(program.constant(sign, i64), self._sign, [zero])

        with program.when((first < middle) & (second < high)):
            for_each(program, rest, visit)

    def takes_first(self, first: Expr, second: Expr, middle: Expr, high: Expr) -> Expr:
        """Whether the slice of the first run comes next."""
        zero = self._program.extent(0)
        return (first < middle) & ((second >= high) | (self._sign[zero] <= zero))


def _sorted_slices(site: RuleContext, axis: int) -> Tensor:
    """The order that sorts the slices along an axis; equal ones keep theirs."""
    program, x = site.program, site.tensor(0)
    sort = MergeSort if len(x.shape) == 1 else _SliceSort
    number = program.extent(x.shape[axis])

    def body(_: list[Expr], made: list[Tensor]) -> None:
        is_before = comes_before(x.dtype, descending=False)
        sort(program, x, made[0], [], axis, number, is_before).write()

    return _written(program, "unique_order", [x], [(site.shape, i64)], body)[0]


def _groups(site: RuleContext, axis: int, *, same_nan: bool) -> list[Tensor]:
    """The number of the group that each sorted slice is in, and how many there are."""
    program, x, order = site.program, site.tensor(0), site.tensor(1)
    zero, one = program.extent(0), program.extent(1)
    number = program.extent(x.shape[axis])
    rest = [*x.shape[:axis], *x.shape[axis + 1 :]]

    def differ(a: Expr, b: Expr) -> Expr:
        result = ~a.equals(b)
        if same_nan and tir.is_float(x.dtype):
            result = result & (a.equals(a) | b.equals(b))
        return result

    def body(_: list[Expr], made: list[Tensor]) -> None:
        groups, count = made
        differs = program.local("differs", [1], i64)
        program.store(zero, count, [zero])
        with program.loop("k", zero, number) as k:
            program.store(zero, differs, [zero])
            with program.when(k.equals(0)):
                program.store(one, differs, [zero])
            with program.when(k > zero):

                def visit(point: tuple[Expr, ...]) -> None:
                    a, b = (
                        x[(*point[:axis], order[place], *point[axis:])]
                        for place in (k, k - one)
                    )
                    with program.when(differ(a, b)):
                        program.store(one, differs, [zero])

                for_each(program, rest, visit)
            found = count[zero] + differs[zero]
            program.store(found, count, [zero])
            program.store(found - one, groups, [k])

    shapes = [result.shape for result in site.results]
    return _written(
        program, "unique_groups", [x, order], [(shape, i64) for shape in shapes], body
    )


def _first_of_groups(site: RuleContext) -> Tensor:
    """The first slice of each group: the order is stable."""
    program, order, groups = site.program, site.tensor(0), site.tensor(1)
    zero, one = program.extent(0), program.extent(1)
    number = program.extent(order.shape[0])

    def body(_: list[Expr], made: list[Tensor]) -> None:
        # From behind, so that the first of a group is what stays.
        with program.loop("k", zero, number) as k:
            place = number - one - k
            program.store(order[place], made[0], [groups[place]])

    return _written(program, "unique_index", [order, groups], [(site.shape, i64)], body)[
        0
    ]


def _group_of_each(site: RuleContext) -> Tensor:
    """The number of the group of each slice, in the order of the data."""
    program, order, groups = site.program, site.tensor(0), site.tensor(1)

    def body(_: list[Expr], made: list[Tensor]) -> None:
        zero, number = program.extent(0), program.extent(order.shape[0])
        with program.loop("k", zero, number) as k:
            program.store(groups[k], made[0], [order[k]])

    return _written(
        program, "unique_inverse", [order, groups], [(site.shape, i64)], body
    )[0]


def _sizes_of_groups(site: RuleContext) -> Tensor:
    """How many slices each group has."""
    program, groups = site.program, site.tensor(0)
    zero, one = program.extent(0), program.extent(1)

    def body(_: list[Expr], made: list[Tensor]) -> None:
        for_each(program, site.shape, lambda at: program.store(zero, made[0], at))
        with program.loop("k", zero, program.extent(groups.shape[0])) as k:
            group = groups[k]
            program.store(made[0][group] + one, made[0], [group])

    return _written(program, "unique_counts", [groups], [(site.shape, i64)], body)[0]
