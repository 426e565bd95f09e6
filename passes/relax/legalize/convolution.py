"""Rules of convolutions (docs/spec/relax-ops.md §11).

Layouts without blocks are computed as they are, and so are channels in blocks at the end,
`NCHW16c` with `OIHW16i16o`, of groups that are full blocks or one channel. Blocks of
other layouts are joined before and made after. Padding is a stage of its own, `pad_temp`,
where channels are not in blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.convolution import (
    AnyConvolutionOp,
    ConvolutionOp,
    ConvolutionTransposeOp,
)
from xdsl_tvm.dialects.relax.layout import Layout
from xdsl_tvm.dialects.relax.window import SPATIAL
from xdsl_tvm.passes.relax.legalize.extents import minus, moved, plus, quotient, times
from xdsl_tvm.passes.relax.legalize.registry import RuleContext, rule
from xdsl_tvm.passes.relax.legalize.tensor_expression import SUM, Dim, Expr, Tensor
from xdsl_tvm.passes.relax.legalize.windows import (
    Image,
    blocked,
    blocks_of,
    guarded,
    order_of,
    padded,
    unblocked,
)


@rule(relax.Conv1DOp, relax.Conv2DOp, relax.Conv3DOp)
def convolution(op: ConvolutionOp, site: RuleContext) -> Tensor:
    """Sums over a group's channels and a window, of products in the result's dtype."""
    in_blocks = _BlockedChannels.of(op, site)
    if in_blocks is not None:
        return in_blocks.result()
    work = _Convolution(op, site)
    program, data = site.program, work.data
    padding = dict(zip(work.letters, op.window_padding, strict=True))
    strides = dict(zip(work.letters, op.window_strides, strict=True))
    extents: dict[str, Dim] = {}
    shape = {letter: data.extent(letter) for letter in data.order}
    for letter, pads in padding.items():
        shape[letter] = plus(program, shape[letter], sum(pads))
        room = minus(program, shape[letter], plus(program, work.reach(letter), 1))
        windows = quotient(program, room, strides[letter])
        extents[letter] = plus(program, windows, 1)
    if any(sum(pads) for pads in padding.values()):
        before = [padding[letter][0] if letter in padding else 0 for letter in data.order]
        dims = [shape[letter] for letter in data.order]
        data = Image(padded(program, data.tensor, before, dims), data.order)
    return work.result(data, extents, strides)


@rule(relax.Conv1DTransposeOp, relax.Conv2DTransposeOp)
def convolution_transpose(op: ConvolutionTransposeOp, site: RuleContext) -> Tensor:
    """A convolution with the windows reversed, of the data with zeros in between.

    There are `stride - 1` zeros between neighbours, and so many around them that each
    element meets all of the window.
    """
    work = _Convolution(op, site)
    program, data = site.program, work.data
    strides = dict(zip(work.letters, op.window_strides, strict=True))
    extents: dict[str, Dim] = {}
    before: dict[str, Dim] = {}
    shape = {letter: data.extent(letter) for letter in data.order}
    settings = zip(work.letters, op.window_padding, op.window_output_padding, strict=True)
    for letter, pads, more in settings:
        spread = times(program, minus(program, shape[letter], 1), strides[letter])
        reach = work.reach(letter)
        more = plus(program, reach, more + 1 - sum(pads))
        extents[letter] = plus(program, spread, more)
        before[letter] = minus(program, reach, pads[0])
        shape[letter] = plus(program, extents[letter], reach)

    def element(*indices: Expr) -> Expr:
        conditions: list[Expr] = []
        at: dict[str, Expr] = dict(zip(data.order, indices, strict=True))
        for letter, skip in before.items():
            place = at[letter] - program.extent(skip)
            conditions.append(place >= program.extent(0))
            if strides[letter] != 1:
                step = program.extent(strides[letter])
                conditions.append((place % step).equals(program.extent(0)))
                place = place // step
            conditions.append(place < program.extent(data.extent(letter)))
            at[letter] = place
        return guarded(program, conditions, lambda: data[at], data.tensor.dtype)

    dims = [shape[letter] for letter in data.order]
    spread = program.compute("data_spread", dims, data.tensor.dtype, element)
    once = dict.fromkeys(work.letters, 1)
    return work.result(Image(spread, data.order), extents, once)


class _Convolution:
    """The tensors of one convolution, by letters: N and C, O and I, spatial ones."""

    def __init__(self, op: AnyConvolutionOp, site: RuleContext) -> None:
        self.letters = SPATIAL[op.SPATIAL_RANK]
        plain = "NC" + self.letters
        layout = Layout.parse(op.name, op.data_layout.data, plain)
        kernel = Layout.parse(op.name, op.kernel_layout.data, op.KERNEL + self.letters)
        self._out = layout
        if op.out_layout is not None:
            self._out = Layout.parse(op.name, op.out_layout.data, plain)
        self._name = op.name.rpartition(".")[2]
        self._site = site
        self._program = site.program
        self.data = unblocked(site.program, site.tensor(0), layout)
        self._weight = unblocked(site.program, site.tensor(1), kernel)
        self._groups = op.groups.value.data
        self._dilation = dict(zip(self.letters, op.window_dilation, strict=True))
        self._is_transposed = op.KERNEL == "IO"
        inputs, outputs = self._weight.extent("I"), self._weight.extent("O")
        if self._is_transposed:
            inputs = quotient(site.program, inputs, self._groups)
        else:
            outputs = quotient(site.program, outputs, self._groups)
        self._inputs, self._outputs = inputs, outputs
        """Channels of each group."""

    def reach(self, letter: str) -> Dim:
        """How far the last element of a window is from the first."""
        size = minus(self._program, self._weight.extent(letter), 1)
        return times(self._program, size, self._dilation[letter])

    def result(
        self, data: Image, extents: Mapping[str, Dim], strides: Mapping[str, int]
    ) -> Tensor:
        """The convolution of padded data with the weight, in the result's layout."""
        order = order_of(self._out)
        over = self._reduced(data.order)
        sizes = [
            self._inputs if name == "C" else self._weight.extent(name) for name in over
        ]

        def term(spatial: list[Expr], inner: list[Expr]) -> Expr:
            place = dict(zip(order, spatial, strict=True))
            offset = dict(zip(over, inner, strict=True))
            return self._product(data, place, offset, strides)

        found = self._program.reduce(
            f"{self._name}_{order.lower()}",
            self._shape(order, extents),
            sizes,
            self._site.dtype,
            SUM,
            term,
        )
        return blocked(self._program, Image(found, order), self._out, self._site.shape)

    def _reduced(self, order: str) -> str:
        """The letters that sums are over; a group of one channel needs none for it."""
        is_depthwise = self._groups > 1 and self._inputs == 1
        return "".join(
            name for name in order if name != "N" and not (is_depthwise and name == "C")
        )

    def _shape(self, order: str, extents: Mapping[str, Dim]) -> list[Dim]:
        """Extents of the result with its blocks joined."""
        if not blocks_of(self._out):
            return list(self._site.shape)
        channels = times(self._program, self._outputs, self._groups)
        known = {"N": self.data.extent("N"), "C": channels, **extents}
        return [known[letter] for letter in order]

    def _product(
        self,
        data: Image,
        place: Mapping[str, Expr],
        offset: Mapping[str, Expr],
        strides: Mapping[str, int],
    ) -> Expr:
        """An element of the data times one of the weight."""
        program, channel = self._program, place["C"]
        zero = program.extent(0)
        inner = offset.get("C", zero)
        group, own = zero, channel
        if self._groups > 1:
            is_single = self._outputs == 1
            size = program.extent(self._outputs)
            group = channel if is_single else channel // size
            own = zero if is_single else channel % size
        source = inner
        if self._groups > 1:
            source = moved(program, group, self._inputs)
            source = source + inner if "C" in offset else source
        at = {"N": place["N"], "C": source}
        weight = {"O": channel, "I": inner}
        if self._is_transposed:
            weight = {"O": own, "I": source}
        for letter in self.letters:
            step = moved(program, offset[letter], self._dilation[letter])
            at[letter] = moved(program, place[letter], strides[letter]) + step
            weight[letter] = offset[letter]
            if self._is_transposed:
                last = minus(program, self._weight.extent(letter), 1)
                weight[letter] = program.extent(last) - offset[letter]
        dtype = self._site.dtype
        return data[at].cast(dtype) * self._weight[weight].cast(dtype)


@dataclass(frozen=True)
class _BlockedChannels:
    """A convolution whose result has its channels in blocks, at the end: `NCHW16c`.

    The data are like that, too, or without blocks. The weight has blocks of as many
    output channels at its end, and the input channels in blocks before that as the data
    have: `OIHW16i16o`, `OIHW16o`.
    """

    op: ConvolutionOp
    site: RuleContext
    has_blocked_data: bool
    is_depthwise: bool
    """Whether each channel is a group."""

    @staticmethod
    def of(op: ConvolutionOp, site: RuleContext) -> _BlockedChannels | None:
        """The convolution, if it is one of these; any number of images will do."""
        letters = SPATIAL[op.SPATIAL_RANK]
        plain = "NC" + letters
        data = Layout.parse(op.name, op.data_layout.data, plain)
        out = data
        if op.out_layout is not None:
            out = Layout.parse(op.name, op.out_layout.data, plain)
        kernel = Layout.parse(op.name, op.kernel_layout.data, "OI" + letters)
        before = [(letter, 0) for letter in letters]
        if [*out.axes[:-1]] != [("N", 0), ("C", 0), *before] or out.axes[-1][0] != "c":
            return None
        outputs = out.axes[-1][1]
        is_blocked = data.axes[-1][0] == "c"
        if [*data.axes][: len(plain)] != [("N", 0), ("C", 0), *before]:
            return None
        groups = op.groups.value.data
        shapes = site.tensor(0).shape, site.tensor(1).shape, tuple(site.shape)
        known = [*shapes[0][1:], *shapes[1], *shapes[2][1:]]
        if not all(isinstance(dim, int) for dim in known):
            return None
        inputs: list[tuple[str, int]] = []
        is_depthwise = groups > 1 and len(shapes[1]) == len(plain) + 1
        if is_depthwise:
            channels = shapes[2][1], shapes[1][1]
            if data.axes != out.axes or channels != (shapes[0][1], 1):
                return None
            if groups != _times(shapes[0][1], outputs):
                return None
        elif is_blocked:
            inputs = [("i", data.axes[-1][1])]
            blocks = shapes[0][1], shapes[2][1], shapes[1][1]
            whole = [dim for dim in blocks if isinstance(dim, int)]
            if whole[0] != whole[2] * groups or whole[1] % groups:
                return None
        elif groups > 1:
            return None
        wanted = [("O", 0), ("I", 0), *before, *inputs, ("o", outputs)]
        if [*kernel.axes] != wanted or shapes[1][0] != shapes[2][1]:
            return None
        return _BlockedChannels(op, site, is_blocked, is_depthwise)

    def result(self) -> Tensor:
        """The result, block by block.

        There is no padded copy, which would cost as much as a depthwise convolution:
        elements outside are zero in each term, and schedules know where they are.
        """
        site, op = self.site, self.op
        program, data, weight = site.program, site.tensor(0), site.tensor(1)
        rank, groups = op.SPATIAL_RANK, op.groups.value.data
        outputs = site.shape[1]
        assert isinstance(outputs, int), "matched"
        window = [*weight.shape[2 : 2 + rank]]
        over: list[Dim] = window
        if not self.is_depthwise:
            inner = weight.shape[2 + rank : -1]
            over = [weight.shape[1], *window, *inner]

        def term(spatial: list[Expr], terms: list[Expr]) -> Expr:
            batch, block, *places, lane = spatial
            offsets = terms[:rank] if self.is_depthwise else terms[1 : 1 + rank]
            at: list[Expr] = []
            conditions: list[Expr] = []
            sizes = data.shape[2 : 2 + rank]
            for axis, place in enumerate(places):
                low, high = op.window_padding[axis]
                step, spread = op.window_strides[axis], op.window_dilation[axis]
                offset = moved(program, offsets[axis], spread)
                index = moved(program, moved(program, place, step) + offset, 1, -low)
                if low > 0:
                    conditions.append(index >= program.extent(0))
                if high > 0:
                    conditions.append(index < program.extent(sizes[axis]))
                at.append(index)
            source, inner = [terms[0], *terms[1 + rank :]], terms
            if groups > 1 and not self.is_depthwise:
                group = block // program.extent(outputs // groups)
                first = moved(program, group, weight.shape[1])
                source = [first + terms[0], *source[1:]]
            if self.is_depthwise:
                source, inner = [block, lane], [program.extent(0), *offsets]

            def element() -> Expr:
                return data[batch, source[0], *at, *source[1:]]

            x = guarded(program, conditions, element, data.dtype)
            w = weight[block, *inner, lane]
            return x.cast(site.dtype) * w.cast(site.dtype)

        name = op.name.rpartition(".")[2]
        shape = list(site.shape)
        return program.reduce(f"{name}_blocks", shape, over, site.dtype, SUM, term)


def _times(dim: Dim, factor: int) -> int | None:
    return dim * factor if isinstance(dim, int) else None
