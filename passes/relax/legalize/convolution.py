"""Rules of convolutions (docs/spec/relax-ops.md §11).

All layouts are computed as they are but those with blocks, whose blocks are joined
before and made after. Padding is a stage of its own, `pad_temp`.
"""

from __future__ import annotations

from collections.abc import Mapping

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
