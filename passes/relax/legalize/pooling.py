"""Rules of poolings (docs/spec/relax-ops.md §11).

Layouts with blocks are joined before and made after; others are computed as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.layout import Layout
from xdsl_tvm.dialects.relax.pooling import AdaptiveAvgPoolOp, PoolOp
from xdsl_tvm.dialects.relax.window import SPATIAL
from xdsl_tvm.passes.relax.legalize.extents import (
    at_least,
    minus,
    moved,
    plus,
    quotient,
    times,
)
from xdsl_tvm.passes.relax.legalize.reductions import as_dtype
from xdsl_tvm.passes.relax.legalize.registry import NoStagesError, RuleContext, rule
from xdsl_tvm.passes.relax.legalize.stages import accumulator_type
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    MAX,
    SUM,
    Dim,
    Expr,
    Reducer,
    Tensor,
    lowest,
)
from xdsl_tvm.passes.relax.legalize.windows import (
    Image,
    blocked,
    blocks_of,
    guarded,
    order_of,
    padded,
    unblocked,
)


class _Pooling:
    """What all poolings have: the data, and the layout of the result."""

    def __init__(self, op: PoolOp | AdaptiveAvgPoolOp, site: RuleContext) -> None:
        self.letters = SPATIAL[op.SPATIAL_RANK]
        plain = "NC" + self.letters
        layout = Layout.parse(op.name, op.layout.data, plain)
        self._out = layout
        if op.out_layout is not None:
            self._out = Layout.parse(op.name, op.out_layout.data, plain)
        self._site = site
        self.program = site.program
        self.has_blocked_channels = layout.axes == self._out.axes and [*layout.axes] == [
            *((letter, 0) for letter in plain),
            ("c", layout.axes[-1][1]),
        ]
        """Whether channels are in blocks, at the end: these are a dimension as others."""
        if self.has_blocked_channels:
            self.data = Image(site.tensor(0), plain + "c")
            self.order = plain + "c"
        else:
            self.data = unblocked(site.program, site.tensor(0), layout)
            self.order = order_of(self._out)
        self.dtype = self.data.tensor.dtype
        if tir.is_bool(self.dtype):
            raise NoStagesError

    def shape(self, extents: Mapping[str, Dim]) -> list[Dim]:
        """Extents of the result with its blocks joined."""
        if not blocks_of(self._out):
            return list(self._site.shape)
        known = {name: self.data.extent(name) for name in self.data.order}
        known |= extents
        return [known[letter] for letter in self.order]

    def result(self, found: Tensor) -> Tensor:
        """The result in its layout."""
        if self.has_blocked_channels:
            return found
        image = Image(found, self.order)
        return blocked(self.program, image, self._out, self._site.shape)


class _Windows(_Pooling):
    """The windows of a pooling with fixed ones."""

    def __init__(self, op: PoolOp, site: RuleContext) -> None:
        super().__init__(op, site)
        self.sizes = dict(zip(self.letters, op.window_size, strict=True))
        self.strides = dict(zip(self.letters, op.window_strides, strict=True))
        self.dilation = dict(zip(self.letters, op.window_dilation, strict=True))
        self.padding = dict(zip(self.letters, op.window_padding, strict=True))
        self._has_more = op.ceil_mode is not None
        self.extents = {letter: self._count(letter) for letter in self.letters}

    def _reach(self, letter: str) -> int:
        return (self.sizes[letter] - 1) * self.dilation[letter]

    def _count(self, letter: str) -> Dim:
        """How many windows there are along a dimension."""
        program, stride = self.program, self.strides[letter]
        more = sum(self.padding[letter]) - self._reach(letter) - 1
        more += stride - 1 if self._has_more else 0
        room = plus(program, self.data.extent(letter), more)
        return plus(program, quotient(program, room, stride), 1)

    def end(self, letter: str) -> Dim:
        """The end of the last window, counted from the begin of the first."""
        steps = minus(self.program, self.extents[letter], 1)
        steps = times(self.program, steps, self.strides[letter])
        return plus(self.program, steps, self._reach(letter) + 1)

    @property
    def is_inside(self) -> bool:
        """Whether no window reaches over the data."""
        for letter in self.letters:
            if self.padding[letter] != (0, 0):
                return False
            extent, end = self.data.extent(letter), self.end(letter)
            is_known = isinstance(extent, int) and isinstance(end, int)
            if self._has_more and not (is_known and end <= extent):
                return False
        return True

    def padded(self, value: float) -> Image:
        """The data as far as windows reach."""
        data = self.data
        if self.is_inside:
            return data
        before = [self.padding[x][0] if x in self.padding else 0 for x in data.order]
        shape = [
            self.end(letter) if letter in self.padding else data.extent(letter)
            for letter in data.order
        ]
        return Image(padded(self.program, data.tensor, before, shape, value), data.order)

    def _inside(self, letter: str, place: Expr) -> list[Expr]:
        """The conditions for a place along a dimension to be inside of the data."""
        program, low = self.program, self.padding[letter][0]
        extent, end = self.data.extent(letter), self.end(letter)
        conditions = [place >= program.extent(0)] if low > 0 else []
        if not (isinstance(extent, int) and isinstance(end, int)) or end - low > extent:
            conditions.append(place < program.extent(extent))
        return conditions

    def reduce(self, name: str, value: float, reducer: Reducer) -> Tensor:
        """`reducer` over each window, in which the padding is `value`.

        Where channels are in blocks, schedules leave out what is outside of the image;
        elsewhere there is a padded copy.
        """
        program, is_copied = self.program, not self.has_blocked_channels
        data = self.padded(value) if is_copied else self.data
        dtype = accumulator_type(self.dtype) if reducer is SUM else self.dtype

        def term(spatial: list[Expr], inner: list[Expr]) -> Expr:
            at = dict(zip(self.order, spatial, strict=True))
            conditions: list[Expr] = []
            for letter, place in zip(self.letters, inner, strict=True):
                start = moved(program, at[letter], self.strides[letter])
                at[letter] = start + moved(program, place, self.dilation[letter])
                if not (is_copied or self.is_inside):
                    low = self.padding[letter][0]
                    at[letter] = moved(program, at[letter], 1, -low)
                    conditions += self._inside(letter, at[letter])
            element = guarded(program, conditions, lambda: data[at], self.dtype, value)
            return element.cast(dtype)

        sizes = [self.sizes[letter] for letter in self.letters]
        shape = self.shape(self.extents)
        return program.reduce(name, shape, sizes, dtype, reducer, term)


_MAX_POOLS: tuple[type[Operation], ...] = (
    relax.MaxPool1DOp,
    relax.MaxPool2DOp,
    relax.MaxPool3DOp,
)
_AVG_POOLS: tuple[type[Operation], ...] = (
    relax.AvgPool1DOp,
    relax.AvgPool2DOp,
    relax.AvgPool3DOp,
)
_ADAPTIVE_POOLS: tuple[type[Operation], ...] = (
    relax.AdaptiveAvgPool1DOp,
    relax.AdaptiveAvgPool2DOp,
    relax.AdaptiveAvgPool3DOp,
)


@rule(*_MAX_POOLS)
def max_pool(op: PoolOp, site: RuleContext) -> Tensor:
    """The greatest element of each window; the padding does not count."""
    windows = _Windows(op, site)
    return windows.result(windows.reduce("pool_max", lowest(windows.dtype), MAX))


@rule(*_AVG_POOLS)
def avg_pool(op: PoolOp, site: RuleContext) -> Tensor:
    """The sum of each window divided by the number of elements that count.

    Those of the padding count with `count_include_pad`; what windows reach over after
    the padding never does. A window of which nothing counts is 0.
    """
    windows = _Windows(op, site)
    program, order = windows.program, windows.order
    total = windows.reduce("pool_sum", 0, SUM)
    includes_padding = op.count_include_pad is not None

    def element(*indices: Expr) -> Expr:
        at = dict(zip(order, indices, strict=True))
        number: Dim = 1
        for letter in windows.letters:
            part = _counted(windows, letter, at[letter], includes_padding)
            if isinstance(number, int) and isinstance(part, int):
                number = number * part
            else:
                number = program.extent(number) * part
        if isinstance(number, Expr):
            number = number.maximum(1)
        value = total[indices]
        return (value / as_dtype(program, number, value.dtype)).cast(windows.dtype)

    return windows.result(
        program.compute("pool_avg", total.shape, windows.dtype, element)
    )


def _counted(windows: _Windows, letter: str, index: Expr, includes_padding: bool) -> Dim:
    """How many elements of a window count along a dimension."""
    program, size = windows.program, windows.sizes[letter]
    before, behind = windows.padding[letter]
    extent, dilation = windows.data.extent(letter), windows.dilation[letter]
    high = plus(program, extent, before)
    if includes_padding:
        before, high = 0, plus(program, high, behind)
    end = windows.end(letter)
    reaches_over = not (isinstance(high, int) and isinstance(end, int) and end <= high)
    reaches_over &= not windows.is_inside
    if not reaches_over and before == 0:
        return size
    start = moved(program, index, windows.strides[letter])
    zero = program.extent(0)

    def steps_to(place: Dim) -> Expr:
        """How many elements of the window are before a place."""
        distance = program.extent(place) - start
        rounded = moved(program, distance, 1, dilation - 1)
        steps = rounded if dilation == 1 else rounded // program.extent(dilation)
        return steps.maximum(zero).minimum(program.extent(size))

    inside = steps_to(high) if reaches_over else program.extent(size)
    return inside - steps_to(before) if before else inside


@rule(*_ADAPTIVE_POOLS)
def adaptive_avg_pool(op: AdaptiveAvgPoolOp, site: RuleContext) -> Tensor:
    """Means of windows from `i * extent // size` to `ceil((i + 1) * extent / size)`.

    Windows of different sizes are computed as ones of the greatest, in which elements
    after the end are 0.
    """
    windows = _AdaptiveWindows(op, site)
    program, dtype = windows.program, accumulator_type(windows.dtype)

    def term(spatial: list[Expr], inner: list[Expr]) -> Expr:
        at = dict(zip(windows.order, spatial, strict=True))
        conditions: list[Expr] = []
        for letter, place in zip(windows.letters, inner, strict=True):
            start = windows.start(letter, at[letter])
            if windows.size(letter) is None:
                conditions.append(start + place < windows.end(letter, at[letter]))
            at[letter] = start + place
        element = guarded(program, conditions, lambda: windows.data[at], windows.dtype)
        return element.cast(dtype)

    def mean(*indices: Expr) -> Expr:
        at = dict(zip(windows.order, indices, strict=True))
        number: Dim = 1
        for letter in windows.letters:
            size = windows.size(letter)
            if size is None:
                first = windows.start(letter, at[letter])
                size = windows.end(letter, at[letter]) - first
            if isinstance(number, int) and isinstance(size, int):
                number = number * size
            else:
                number = program.extent(number) * size
        value = total[indices]
        return (value / as_dtype(program, number, value.dtype)).cast(windows.dtype)

    sizes = [windows.greatest(letter) for letter in windows.letters]
    shape = windows.shape(windows.extents)
    total = program.reduce("adaptive_pool_sum", shape, sizes, dtype, SUM, term)
    return windows.result(
        program.compute("adaptive_pool_avg", shape, windows.dtype, mean)
    )


class _AdaptiveWindows(_Pooling):
    """The windows of an adaptive pooling."""

    def __init__(self, op: AdaptiveAvgPoolOp, site: RuleContext) -> None:
        super().__init__(op, site)
        self.extents: dict[str, Dim] = {x: self.data.extent(x) for x in self.letters}
        if op.output_size is not None:
            sizes = [int(size) for size in op.output_size.get_values()]
            sizes = sizes * len(self.letters) if len(sizes) == 1 else sizes
            self.extents = dict(zip(self.letters, sizes, strict=True))

    def size(self, letter: str) -> Dim | None:
        """The size of all windows, None where it differs or is not known to be one."""
        extent, number = self.data.extent(letter), self.extents[letter]
        if number is extent or number == 1:
            return quotient(self.program, extent, number) if number == 1 else 1
        if isinstance(extent, int) and isinstance(number, int) and extent % number == 0:
            return extent // number
        return None

    def greatest(self, letter: str) -> Dim:
        """The size of the greatest window, or somewhat more."""
        size = self.size(letter)
        if size is not None:
            return size
        extent, number = self.data.extent(letter), self.extents[letter]
        # Both ends of a window are rounded away from it.
        part = quotient(self.program, minus(self.program, extent, 1), number)
        return at_least(self.program, plus(self.program, part, 2), 1)

    def start(self, letter: str, index: Expr) -> Expr:
        """The first element of a window."""
        size = self.size(letter)
        if size is not None:
            return moved(self.program, index, size)
        extent = self.program.extent(self.data.extent(letter))
        return index * extent // self.program.extent(self.extents[letter])

    def end(self, letter: str, index: Expr) -> Expr:
        """The element after a window."""
        program = self.program
        number = self.extents[letter]
        extent = program.extent(self.data.extent(letter))
        next_ = (index + program.extent(1)) * extent
        more = minus(program, number, 1)
        return moved(program, next_, 1, more) // program.extent(number)
