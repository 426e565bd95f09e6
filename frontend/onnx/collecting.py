"""What a loop collects: one row an iteration, in memory that is doubled where it is full.

A loop that collects is two. The outer one doubles the memory and runs the inner one,
which writes a row an iteration, in place, until the memory is full or there is no further
iteration. So the time is linear in the number of rows.

```mlir
relax.func @loop<m>(%goes_on, %number, %rows: tensor<m x …>, …) {
  relax.if %goes_on {
    %grown = relax.concat(%rows, %rows)
    %r = relax.call @loop_1(…, %number, %grown, …)
    … relax.call @loop(…)
  } else {
    … the first %number rows …
```
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.parser import Parser

from xdsl_tvm import relax
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.global_var import GlobalVar
from xdsl_tvm.dialects.relax import TensorInfo
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.frontend.onnx.loops import Loop, symbols_of
from xdsl_tvm.registry import new_context
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr

Body = Callable[
    [Expr, Sequence[Expr], Sequence[Expr]],
    tuple[Expr, Expr, Sequence[Expr], Sequence[Expr]],
]
"""One iteration: from its number, the state and what is captured, to whether the loop
goes on, the next number and state, and the rows."""


class Rows:
    """Makes what loops collect, in the functions of one module."""

    def __init__(self, builder: relax.BlockBuilder) -> None:
        self._builder = builder
        self._functions: dict[str, GlobalVar] = {}
        self._count = 0

    def collecting(
        self,
        where: str,
        symbols: Sequence[str],
        captured: Sequence[Expr],
        states: int,
        lists: int,
        body: Body,
    ) -> Loop:
        """A loop that carries the number of the iteration, the rows that there is memory
        for, the state, and rows; `first` makes the first of them."""
        builder = self._builder

        def step(
            carried: Sequence[Expr], parts: Sequence[Expr]
        ) -> tuple[Expr, Sequence[Expr]]:
            number, capacity, *others = carried
            twice = builder.emit(op.add(capacity, capacity))
            grown = [self._doubled(rows) for rows in others[states:]]
            given = [number, relax.const(True), *others[:states], *grown]
            names = dict.fromkeys([*symbols, *symbols_of([*given, *parts])])
            inner = Loop(builder, where, list(names), [*parts, twice], fill)
            following, goes_on, *others = inner.run(relax.const(True), given)
            return goes_on, [following, twice, *others]

        def fill(
            carried: Sequence[Expr], parts: Sequence[Expr]
        ) -> tuple[Expr, Sequence[Expr]]:
            number, _, *others = carried
            *parts, capacity = parts
            goes_on, following, state, rows = body(number, others[:states], parts)
            made = [
                self._written(memory, row, number)
                for memory, row in zip(others[states:], rows, strict=True)
            ]
            has_room = op.less(following, capacity)
            again = builder.emit(op.logical_and(goes_on, has_room))
            return again, [following, goes_on, *state, *made]

        def last(carried: Sequence[Expr]) -> Sequence[Expr]:
            number, capacity, *others = carried
            used = [self._used(rows, number) for rows in others[states:]]
            return [number, capacity, *others[:states], *used]

        changing = [(2 + states + index, 0) for index in range(lists)]
        return Loop(builder, where, symbols, captured, step, last, changing)

    def first(self, row: TensorInfo) -> Expr:
        """Memory for one row, of which nothing is used."""
        assert row.dtype is not None, "known"
        return op.zeros([1, *(row.dims or ())], tir.dtype_name(row.dtype))

    def _doubled(self, rows: Expr) -> Expr:
        """Memory for twice as many rows, which begins with these."""
        return self._builder.emit(op.concat([rows, rows], 0))

    def _written(self, rows: Expr, row: Expr, number: Expr) -> Expr:
        """The rows with another one in the place of one of them, in the same memory."""
        info = TensorInfo.of(row.struct_info)
        assert info is not None, "a row is a tensor"
        function = self._set_row(info)
        return self._builder.emit(
            relax.call_tir_inplace(function, [rows, row, number], [0], rows.struct_info)
        )

    def _used(self, rows: Expr, number: Expr) -> Expr:
        """The first so many rows."""
        builder = self._builder
        self._count += 1
        count = Dim.symbol(f"_rows_{self._count}")
        shape = builder.emit(op.tensor_to_shape(op.reshape(number, [1])))
        builder.match_cast(shape, relax.ShapeStructInfo([count]))
        return builder.emit(op.strided_slice(rows, [0], [0], [count]))

    def _set_row(self, row: TensorInfo) -> GlobalVar:
        """The function that writes a row of a type of any extents."""
        assert row.dims is not None, "known"
        text = _set_row_text(len(row.dims), str(row.dtype))
        found = self._functions.get(text)
        if found is None:
            module = Parser(new_context(), text).parse_module()
            found = self._builder.add_func(module, "set_row")
            self._functions[text] = found
        return found


def _set_row_text(rank: int, dtype: str) -> str:
    axes = range(rank)
    extents = ", ".join(f"%n{axis}" for axis in axes)
    indices = ", ".join(f"%i{axis}" for axis in axes)
    unknown = "?x" * rank
    symbols = "\n".join(f'  %n{axis} = tir.shape_var "n{axis}" : i64' for axis in axes)
    loops = "\n".join(f"  tir.for %i{axis} = %zero to %n{axis} {{" for axis in axes)
    all_extents = f"%count, {extents}" if rank else "%count"
    place = f"%at, {indices}" if rank else "%at"
    return f"""
tir.func @set_row(%rows: !tir.handle, %row: !tir.handle, %number: !tir.handle)
    attributes {{tir.noalias = true}} {{
  %count = tir.shape_var "count" : i64
{symbols}
  %Rows = tir.match_buffer "Rows" %rows [{all_extents}] : !tir.buffer<?x{unknown}{dtype}>
  %Row = tir.match_buffer "Row" %row [{extents}] : !tir.buffer<{unknown}{dtype}>
  %Number = tir.match_buffer "Number" %number [] : !tir.buffer<i64>
  %zero = tir.const 0 : i64
  %at = tir.load %Number[] : i64
{loops}
  %element = tir.load %Row[{indices}] : {dtype}
  tir.store %element, %Rows[{place}] : {dtype}
{"  }" * rank}
}}
"""
