"""What a value is derived from: the one walk from views and aliases to what they name.

A verified program has no cycle of definitions. Analyses may be called on others, so the
walk raises an error there instead of never ending.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes

if TYPE_CHECKING:
    from typing_extensions import TypeIs

_VIEWS = (
    tir.AccessPtrOp,
    tir.AddressOfOp,
    tir.DataOp,
    tir.DeclBufferOp,
    tir.LetOp,
    tir.MatchRegionOp,
)
"""The TIR ops whose result is derived from one operand."""


@cache
def _test_of(
    through: tuple[type[Operation], ...],
) -> Callable[[object], TypeIs[Operation]]:
    return of_classes(*through)


def derivation(
    value: SSAValue, through: tuple[type[Operation], ...] = _VIEWS
) -> Iterator[SSAValue]:
    """A buffer or pointer, what it is derived from, and so on.

    Only ops of the classes in `through` are followed. Raises VerifyException for a
    definition that is derived from itself.
    """

    is_followed = _test_of(through)

    def source(value: SSAValue) -> SSAValue | None:
        owner = value.owner
        return _source_of(owner) if is_followed(owner) else None

    return chain(value, source)


def origin(value: SSAValue, through: tuple[type[Operation], ...] = _VIEWS) -> SSAValue:
    """The last value of `derivation`, which is derived from nothing that is followed."""
    *_, last = derivation(value, through)
    return last


def chain(
    value: SSAValue, source: Callable[[SSAValue], SSAValue | None]
) -> Iterator[SSAValue]:
    """A value, its source, the source of that, and so on, until there is none.

    Linear in the number of values, in constant space. Raises VerifyException where a
    value is its own source, directly or through others.
    """
    # Brent's algorithm: one value is kept, and is replaced after 1, 2, 4, ... steps.
    kept, steps, limit = value, 0, 1
    while True:
        yield value
        found = source(value)
        if found is None:
            return
        value = found
        if value is kept:
            raise derived_from_itself(value)
        steps += 1
        if steps == limit:
            kept, steps, limit = value, 0, limit * 2


def derived_from_itself(value: SSAValue) -> VerifyException:
    """The error for a value that is computed from itself, which dominance forbids."""
    owner = value.owner
    what = owner.name if isinstance(owner, Operation) else "a block argument"
    name = "" if value.name_hint is None else f" '%{value.name_hint}'"
    return VerifyException(
        f"{what}: the result{name} is derived from itself; define what it uses before it"
    )


def _source_of(op: Operation) -> SSAValue | None:
    match op:
        case tir.DataOp(buffer=source) | tir.AddressOfOp(buffer=source):
            return source
        case tir.AccessPtrOp(data=source) | tir.DeclBufferOp(data=source):
            return source
        case tir.MatchRegionOp(source=source) | tir.LetOp(value=source):
            return source
        case _:
            return None
