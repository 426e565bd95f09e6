"""Calls of compiled functions: what is passed for each argument, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from xdsl_tvm.runtime._arguments import HOST, Arguments, Arrays, Bound, Prepared
from xdsl_tvm.runtime._given_results import Given, check_apart, given_results
from xdsl_tvm.runtime._objects import OBJECTS
from xdsl_tvm.runtime._overlap import OverlapCheck
from xdsl_tvm.runtime._scalars import SMALL_FLOATS
from xdsl_tvm.runtime.signature import (
    ArraySpec,
    ObjectSpec,
    ScalarSpec,
    ShapeSpec,
    Signature,
    Spec,
)

Entry: TypeAlias = Callable[..., Any]
"""A function in machine code, called with addresses and numbers."""
Encoder: TypeAlias = "Callable[[Any], Sequence[Any]]"
"""What is passed for a checked argument."""


class CompiledFunction:
    """A compiled function, to call with numpy arrays, numbers and tuples."""

    def __init__(
        self,
        signature: Signature,
        entry: Entry,
        overlapping_entry: Callable[[], Entry],
        bound: Bound | None = None,
        arrays: Arrays = HOST,
    ) -> None:
        self.signature = signature
        self.__name__ = self.__qualname__ = signature.function
        self._address = arrays.address
        self._arrays = arrays
        self._arguments = Arguments(signature, arrays)
        self._entry = entry
        self._overlapping_entry = overlapping_entry
        self._overlap = OverlapCheck(signature)
        self._bound = Bound({}, {}) if bound is None else bound
        self._takes_out = signature.result is not None and all(
            spec.name != "out" for spec in signature.params
        )
        scalar = signature.scalar_result
        form = None if scalar is None else SMALL_FLOATS.get(scalar.name)
        self._decode = None if form is None else form.decode
        self._has_only_arrays = not self._bound.params and all(
            isinstance(spec, ArraySpec) for spec in signature.params
        )
        self._has_objects = signature.has_objects
        # What to pass for bound parameters is known once and for all, but for objects.
        self._encoders = [
            _constant(encoder(self._bound.params[position]))
            if position in self._bound.params and not isinstance(spec, ObjectSpec)
            else encoder
            for position, (spec, encoder) in enumerate(
                zip(signature.params, map(self._encoder, signature.params), strict=True)
            )
        ]

    def __repr__(self) -> str:
        return f"<compiled {self.signature}>"

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the function, with its parameters in order or by name.

        Arrays may share elements, even if the function writes them, unless it promises
        `tir.noalias`: the result is that of the loops as they are written. The first such
        call compiles the module again, without schedules and without parallel loops.
        Calls of one function, on several threads or from functions of Python that its
        code calls, run side by side.

        `out` is an array for the result, which is then returned, instead of a new one:
        a tuple of such for a tuple, with None for what is to be new. Of an array of
        another library, numpy's on its memory is returned. `out` is for functions
        that return arrays and have no parameter of this name; it must overlap neither
        arguments nor other results.

        Raises TypeError or ValueError for arguments that do not fit, MemoryError where
        memory cannot be allocated, RuntimeError if an assertion fails, and what a Python
        function raises that the code calls.
        """
        if self._has_objects:
            with OBJECTS.calling():
                return self._called(args, named)
        return self._called(args, named)

    def _called(self, args: Sequence[Any], named: dict[str, Any]) -> Any:
        given: Given = ()
        if named:
            if self._takes_out and "out" in named:
                given = self._given(named.pop("out"))
            if named:
                args = tuple(self._arguments.ordered(args, named, self._bound))
        prepared = self._arguments(args, self._bound, given)
        values: list[Any] = []
        if self._has_only_arrays:
            values += map(self._address, prepared.params)
        else:
            for encode, value in zip(self._encoders, prepared.params, strict=True):
                values += encode(value)
        if given:
            self._check_apart(given, prepared.params, values)
        return self._run(self._chosen(prepared, values), values, prepared)

    def _given(self, out: Any) -> Given:
        return given_results(self.signature, out)

    def _check_apart(
        self, given: Given, params: Sequence[Any], values: Sequence[Any]
    ) -> None:
        specs = self.signature.params
        arguments = [
            (f"argument '{specs[i].name}'", values[slot], params[i].nbytes)
            for i, slot in self._overlap.arrays
        ]
        check_apart(self.signature, given, arguments)

    def _chosen(self, prepared: Prepared, values: Sequence[Any]) -> Entry:
        """The code for a call: another one where arguments overlap."""
        if not self._overlap.needed:
            return self._entry
        names = self._overlap(prepared.params, values)
        if not names:
            return self._entry
        if self.signature.noalias:
            other_way = ", or compile the function without tir.noalias"
            raise self._overlap.error(names, other_way)
        return self._overlapping_entry()

    def _run(self, entry: Entry, values: list[Any], prepared: Prepared) -> Any:
        """Call machine code; `values` are those of the parameters."""
        values += map(self._address, prepared.results)
        values += prepared.symbols
        result = entry(*values)
        if self.signature.result is None:
            return result if self._decode is None else self._decode(result)
        return self._arguments.tree(prepared.results)

    def bind(self, *trailing: Any, **named: Any) -> CompiledFunction:
        """The function with its last parameters, and those named, given once.

        Bound arrays are checked now, not at every call, and are used as they are then.

        >>> main = compile(model)["main"].bind(*weights)
        >>> y = main(x)

        Raises TypeError or ValueError for a value that does not fit its parameter.
        """
        signature = self.signature
        if signature.tuples is not None:
            raise TypeError(
                f"@{signature.function}: parameters of a function that takes tuples "
                "cannot be bound"
            )
        values = {**self._positions(trailing), **self._named(named)}
        bound = self._arguments.bind(values)
        params = {**self._bound.params, **bound.params}
        symbols = {**self._bound.symbols, **bound.symbols}
        return type(self)(
            signature,
            self._entry,
            self._overlapping_entry,
            Bound(params, symbols),
            self._arrays,
        )

    def _encoder(self, spec: Spec) -> Encoder:
        if isinstance(spec, ArraySpec):
            address = self._address
            return lambda value: (address(value),)
        if isinstance(spec, ScalarSpec) and spec.dtype.name in SMALL_FLOATS:
            encode, dtype = SMALL_FLOATS[spec.dtype.name].encode, spec.dtype
            return lambda value: (encode(dtype.type(value)),)
        if isinstance(spec, ShapeSpec):
            return lambda value: value
        if isinstance(spec, ObjectSpec):
            return lambda value: (OBJECTS.number(value),)
        return lambda value: (value,)

    def _positions(self, trailing: Sequence[Any]) -> dict[int, Any]:
        count = len(self.signature.params)
        free = [p for p in range(count) if p not in self._bound.params]
        if len(trailing) > len(free):
            raise TypeError(
                f"@{self.signature.function} has {len(free)} parameters to bind, got "
                f"{len(trailing)}"
            )
        return dict(zip(free[len(free) - len(trailing) :], trailing, strict=True))

    def _named(self, named: Mapping[str, Any]) -> dict[int, Any]:
        names = [spec.name for spec in self.signature.params]
        for name in named:
            if name not in names:
                raise TypeError(
                    f"@{self.signature.function} has no parameter '{name}'; it has "
                    f"{', '.join(names)}"
                )
        return {names.index(name): value for name, value in named.items()}


def _constant(values: Sequence[Any]) -> Encoder:
    return lambda value: values
