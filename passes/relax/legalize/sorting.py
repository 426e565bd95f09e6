"""Rules of sorting and sampling (docs/spec/relax-ops.md §10).

Rows are independent of each other; each is worked on from front to back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.passes.relax.legalize.registry import NoStagesError, RuleContext, rule
from xdsl_tvm.passes.relax.legalize.stages import accumulator_type
from xdsl_tvm.passes.relax.legalize.tensor_expression import Expr, Tensor, TensorProgram

Choice = Callable[[Expr, Expr], Expr]
"""Whether the first value comes before the second."""


@rule(relax.SortOp)
def sort(op: relax.SortOp, site: RuleContext) -> Tensor:
    """The elements in the order that sorts them."""
    x, axis = _sorted_operand(site, op.axis)
    order = sorting_order(site.program, x, axis, op.descending is not None)
    return _picked(site, x, order, axis)


@rule(relax.ArgsortOp)
def argsort(op: relax.ArgsortOp, site: RuleContext) -> Tensor:
    """The order that sorts the elements."""
    x, axis = _sorted_operand(site, op.axis)
    order = sorting_order(site.program, x, axis, op.descending is not None)
    return _cut(site, "argsort", order, 0)


@rule(relax.TopkOp)
def topk(op: relax.TopkOp, site: RuleContext) -> Tensor | list[Tensor]:
    """The first elements in the order that sorts them, and their places."""
    x, axis = _sorted_operand(site, op.axis)
    order = sorting_order(site.program, x, axis, op.smallest is None)
    if op.ret_type.data == "values":
        return _picked(site, x, order, axis)
    if op.ret_type.data == "indices":
        return _cut(site, "indices", order, 0)
    return [_picked(site, x, order, axis), _cut(site, "indices", order, 1)]


def _sorted_operand(site: RuleContext, axis: IntegerAttr) -> tuple[Tensor, int]:
    x = site.tensor(0)
    if tir.is_bool(x.dtype) or not x.shape:
        raise NoStagesError
    return x, axis.value.data % len(x.shape)


def _picked(site: RuleContext, x: Tensor, order: Tensor, axis: int) -> Tensor:
    """The elements of `x` at the places that `order` has along an axis."""

    def element(*indices: Expr) -> Expr:
        place = order[indices]
        return x[(*indices[:axis], place, *indices[axis + 1 :])]

    return site.program.compute("values", site.shape, x.dtype, element)


def _cut(site: RuleContext, name: str, order: Tensor, number: int) -> Tensor:
    """The first places, as the dtype of a result."""
    shape, dtype = site.results[number].shape, site.results[number].dtype
    return site.program.compute(name, shape, dtype, lambda *i: order[i].cast(dtype))


# ---- merge sort ----


def comes_before(dtype: Attribute, descending: bool) -> Choice:
    """The strict order of elements: NaN is greater than all others."""

    def is_nan(value: Expr) -> Expr:
        return ~value.equals(value)

    def less(a: Expr, b: Expr) -> Expr:
        if not tir.is_float(dtype):
            return a < b
        return (a < b) | (is_nan(b) & ~is_nan(a))

    return (lambda a, b: less(b, a)) if descending else less


def sorting_order(
    program: TensorProgram, x: Tensor, axis: int, descending: bool
) -> Tensor:
    """For each place along an axis, which element comes there; equal ones keep order.

    A merge sort: runs of one element, of two, of four and so on are merged in pairs.
    """
    rows = [*x.shape[:axis], *x.shape[axis + 1 :]]
    number = program.extent(x.shape[axis])

    def line(at: Sequence[Expr]) -> list[Expr | None]:
        return [*at[:axis], None, *at[axis:]]

    def statements(at: list[Expr], made: list[Tensor]) -> None:
        is_before = comes_before(x.dtype, descending)
        MergeSort(program, x, made[0], at, axis, number, is_before).write()

    (order,) = program.sequential(
        "order",
        rows,
        [("order", x.shape, i64)],
        lambda at: [(x, line(at))],
        lambda at, made: [(made[0], line(at))],
        statements,
    )
    return order


class MergeSort:
    """The statements that sort the places of one row."""

    def __init__(
        self,
        program: TensorProgram,
        x: Tensor,
        order: Tensor,
        row: list[Expr],
        axis: int,
        number: Expr,
        is_before: Choice,
    ) -> None:
        self._program = program
        self._x, self._order = x, order
        self._row, self._axis = row, axis
        self._number = number
        self._is_before = is_before
        self._zero, self._one = program.extent(0), program.extent(1)
        self._merged = program.local("merged", [x.shape[axis]], i64)
        self._state = program.local("state", [3], i64)
        """Length of runs; places in the two that are merged."""
        self.prepare()

    def prepare(self) -> None:
        """Ask for the memory that `compare` needs."""

    def _at(self, place: Expr) -> tuple[Expr, ...]:
        return (*self._row[: self._axis], place, *self._row[self._axis :])

    def _get(self, number: int) -> Expr:
        return self._state[self._program.extent(number)]

    def _set(self, number: int, value: Expr) -> None:
        self._program.store(value, self._state, [self._program.extent(number)])

    def write(self) -> None:
        program = self._program
        with program.loop("k", self._zero, self._number) as k:
            program.store(k, self._order, self._at(k))
        self._set(0, self._one)
        with program.repeat(lambda: self._get(0) < self._number):
            width = self._get(0)
            both = width + width
            pairs = (self._number + (both - self._one)) // both
            with program.loop("pair", self._zero, pairs) as pair:
                self._merge(pair * both, width)
            with program.loop("k", self._zero, self._number) as k:
                program.store(self._merged[k], self._order, self._at(k))
            self._set(0, both)

    def _merge(self, low: Expr, width: Expr) -> None:
        """Merge the runs from `low` on."""
        program = self._program
        middle = (low + width).minimum(self._number)
        high = (middle + width).minimum(self._number)
        self._set(1, low)
        self._set(2, middle)
        with program.loop("k", low, high - low) as k:
            first, second = self._get(1), self._get(2)
            self.compare(first, second, middle, high)
            takes_first = self.takes_first(first, second, middle, high)
            taken = program.select(takes_first, first, second)
            program.store(self._order[self._at(taken)], self._merged, [k])
            step = takes_first.cast(i64)
            self._set(1, first + step)
            self._set(2, second + (self._one - step))

    def compare(self, first: Expr, second: Expr, middle: Expr, high: Expr) -> None:
        """Statements before `takes_first`, which may use what they compute."""

    def takes_first(self, first: Expr, second: Expr, middle: Expr, high: Expr) -> Expr:
        """Whether the next one is of the first run: also where they are equal."""
        program = self._program

        def element(place: Expr) -> Expr:
            return self._x[self._at(self._order[self._at(place)])]

        def compared() -> Expr:
            return program.if_then_else(
                second < high,
                lambda: ~self._is_before(element(second), element(first)),
                lambda: self._one.equals(self._one),
            )

        return program.if_then_else(
            first < middle, compared, lambda: self._one < self._zero
        )


# ---- sampling ----


@rule(relax.MultinomialFromUniformOp)
def multinomial(op: relax.MultinomialFromUniformOp, site: RuleContext) -> Tensor:
    """The first index whose cumulated probability exceeds the sample, else the last."""
    program = site.program
    prob, uniform, rows = (site.tensor(position) for position in range(3))
    wide = accumulator_type(prob.dtype)
    zero, classes = program.extent(0), program.extent(prob.shape[1])

    def statements(at: list[Expr], made: list[Tensor]) -> None:
        total = program.local("total", [1], wide)
        program.store(program.constant(0, wide), total, [zero])
        last = (classes - program.extent(1)).cast(site.dtype)
        program.store(last, made[0], [at[0], zero])
        row = rows[at[0], zero].cast(i64)
        sample = uniform[at[0], zero].cast(wide)
        with program.loop("k", zero, classes) as k:
            before = total[zero]
            after = before + prob[row, k].cast(wide)
            program.store(after, total, [zero])
            with program.when((after > sample) & ~(before > sample)):
                program.store(k.cast(site.dtype), made[0], [at[0], zero])

    (found,) = program.sequential(
        "multinomial",
        [uniform.shape[0]],
        [("multinomial", site.shape, site.dtype)],
        lambda at: [
            (prob, [None, None]),
            (uniform, [at[0], None]),
            (rows, [at[0], None]),
        ],
        lambda at, made: [(made[0], [at[0], None])],
        statements,
    )
    return found
