"""Loops whose number of iterations only the running program knows.

Such a loop is a function of the module that ends by calling itself:

```mlir
relax.func @loop<n>(%sizes: !relax.shape<[n]>, %goes_on: tensor<i1>, …) -> … {
  %r = relax.if %goes_on : tensor<i1> -> … {
    … one iteration …
    %0 = relax.call @loop(%sizes, %again, …) : …
    relax.yield %0 : …
  } else {
    … what the iterations have made …
  }
  relax.return %r : …
}
```

Extents that iterations change are symbols of the function, and unknown after the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count

from xdsl.ir import Attribute

from xdsl_tvm import relax
from xdsl_tvm.dialects.global_var import GlobalVar
from xdsl_tvm.dialects.relax import TensorInfo
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import used_symbols
from xdsl_tvm.frontend.onnx.errors import OnnxError
from xdsl_tvm.relax.expr import Expr, Var

Step = Callable[[Sequence[Expr], Sequence[Expr]], tuple[Expr, Sequence[Expr]]]
"""One iteration: from what is carried and what is captured, both as parameters of the
function, to whether the loop goes on, and what is carried to the next one."""

_MOST_TRIES = 64
"""How often the types of what is carried may turn out to be less known."""


class _ChangedError(Exception):
    """Raised where what is carried has other types than before."""


@dataclass
class Loop:
    """A loop that is being converted; `where` begins its errors."""

    builder: relax.BlockBuilder
    where: str
    symbols: Sequence[str]
    """The symbolic dimensions around the loop, which an iteration may use."""
    captured: Sequence[Expr]
    step: Step
    last: Callable[[Sequence[Expr]], Sequence[Expr]] = list
    """What the loop gives, from what the last iteration carries."""
    changing: Collection[tuple[int, int]] = ()
    """The axes, of what is carried, whose extents iterations are known to change."""

    def run(self, goes_on: Expr, carried: Sequence[Expr]) -> list[Expr]:
        """What is carried after the last iteration.

        Raises OnnxError where an iteration changes a dtype or a rank.
        """
        builder = self.builder
        goes_on = builder.emit(goes_on)
        given = [builder.emit(each) for each in carried]
        infos = [self._info(each) for each in given]
        for _ in range(_MOST_TRIES):
            try:
                function = self._function(infos)
                break
            except _ChangedError:
                continue
        else:
            raise OnnxError(f"{self.where}: iterations change too many dimensions")
        call = function(*self._sizes(), goes_on, *given, *self.captured)
        result = builder.emit(call)
        return [builder.emit(result[index]) for index in range(len(given))]

    def _sizes(self) -> list[Expr]:
        if not self.symbols:
            return []
        return [relax.ShapeExpr([Dim.symbol(name) for name in self.symbols])]

    def _info(self, value: Expr) -> TensorInfo:
        info = TensorInfo.of(value.struct_info)
        if info is None or info.dims is None or info.dtype is None:
            raise OnnxError(f"{self.where}: rank and dtype of a value must be known")
        return info

    def _own(self, index: int, axis: int) -> Dim:
        """The symbol of an extent that iterations change."""
        return Dim.symbol(f"{self._prefix}{index}_{axis}")

    @cached_property
    def _prefix(self) -> str:
        """What the names of its own symbols begin with, and those of no loop around."""
        prefixes = (f"_size{number or ''}_" for number in count())
        return next(
            prefix
            for prefix in prefixes
            if not any(name.startswith(prefix) for name in self.symbols)
        )

    def _function(self, infos: list[TensorInfo]) -> GlobalVar:
        """The function for types of what is carried; corrects them where they change."""
        for index, info in enumerate(infos):
            unknown = [
                axis
                for axis, dim in enumerate(info.dims or ())
                if not self._is_outer(dim)
                or ((index, axis) in self.changing and dim != self._own(index, axis))
            ]
            for axis in unknown:
                infos[index] = self._changed(infos[index], index, axis)
        builder = self.builder
        name = builder.free_name("loop")
        sizes = [Var("sizes", each.struct_info) for each in self._sizes()]
        goes_on = Var("goes_on", relax.TensorStructInfo([], "bool"))
        carried = [Var(f"carried_{k}", info.type) for k, info in enumerate(infos)]
        captured = [
            Var(f"captured_{k}", each.struct_info) for k, each in enumerate(self.captured)
        ]
        params = [*sizes, goes_on, *carried, *captured]
        returned = relax.TupleStructInfo(
            [self._returned(index, info) for index, info in enumerate(infos)]
        )
        types = [param.struct_info for param in params]
        itself = GlobalVar(name, relax.FuncStructInfo(types, returned))
        with builder.aside(), builder.function(name, params, private=True):
            with builder.If(goes_on) as result:
                with builder.Then():
                    again, following = self.step(carried, captured)
                    following = [builder.emit(each) for each in following]
                    self._compare(infos, following)
                    call = itself(*sizes, again, *following, *captured)
                    builder.emit_branch_output(builder.emit(call))
                with builder.Else():
                    builder.emit_branch_output(relax.Tuple(list(self.last(carried))))
            return builder.emit_func_output(result)

    def _is_outer(self, dim: Dim | None) -> bool:
        return dim is not None and all(
            name in self.symbols or name.startswith(self._prefix)
            for name in dim.symbols()
        )

    def _changed(self, info: TensorInfo, index: int, axis: int) -> TensorInfo:
        dims = list(info.dims or ())
        dims[axis] = self._own(index, axis)
        return info.with_dims(dims)

    def _returned(self, index: int, info: TensorInfo) -> Attribute:
        dims = [
            None if dim == self._own(index, axis) else dim
            for axis, dim in enumerate(info.dims or ())
        ]
        return info.with_dims(dims).type

    def _compare(self, infos: list[TensorInfo], following: Sequence[Expr]) -> None:
        """Check what is carried to the next iteration; _ChangedError for other dims."""
        has_changed = False
        for index, (info, value) in enumerate(zip(infos, following, strict=True)):
            new = self._info(value)
            before, after = info.dims or (), new.dims or ()
            if new.dtype != info.dtype or len(before) != len(after):
                raise OnnxError(
                    f"{self.where}: an iteration makes {new.type} of {info.type}; rank "
                    "and dtype must stay"
                )
            for axis, (old, now) in enumerate(zip(before, after, strict=True)):
                if old not in (now, self._own(index, axis)):
                    infos[index] = self._changed(infos[index], index, axis)
                    has_changed = True
        if has_changed:
            raise _ChangedError


def symbols_of(values: Sequence[Expr]) -> list[str]:
    """The symbols in the types of values, in order."""
    found = (name for value in values for name in used_symbols(value.struct_info))
    return list(dict.fromkeys(found))
