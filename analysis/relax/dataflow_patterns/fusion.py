"""Patterns with names: what `relax-fuse-ops-by-pattern` makes functions of.

`register_patterns` and its kin are those of TVM's `relax.backend.pattern_registry`. Some
patterns of common operators are registered already, all called `generic.…`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from xdsl.ir import Operation, SSAValue

from xdsl_tvm.analysis.relax.dataflow_patterns.matching import (
    expect_pattern,
)
from xdsl_tvm.analysis.relax.dataflow_patterns.patterns import (
    DFPattern,
)
from xdsl_tvm.analysis.relax.dataflow_patterns.sugar import (
    is_op,
    make_fused_bias_activation_pattern,
    wildcard,
)


@dataclass(frozen=True)
class PatternCheckContext:
    """What the check of a pattern is told of a match."""

    matched_expr: SSAValue
    """The value that the pattern itself matches."""
    annotated_expr: Mapping[str, SSAValue]
    """What annotation patterns match, by their names; those that match nothing are not
    there."""
    matched_bindings: Mapping[SSAValue, Operation]
    """The operations that would become a function, by their results."""
    var_usages: Mapping[SSAValue, Sequence[Operation]]
    """The operations that use results of these, terminators included."""
    value_to_bound_var: Mapping[Operation, SSAValue]
    """The results of these operations."""


Check: TypeAlias = Callable[[PatternCheckContext], bool]
AttrsGetter: TypeAlias = Callable[[Mapping[str, SSAValue]], Mapping[str, object]]


@dataclass(frozen=True)
class FusionPattern:
    """A pattern with a name, which becomes the attribute `Composite` of functions.

    `annotation_patterns` are parts of the pattern that `check` and `attrs_getter` get
    what was matched of. `check` says whether a match is to be taken, `attrs_getter` gives
    further attributes of the function. Raises TypeError for anything of another kind.
    """

    name: str
    pattern: DFPattern
    annotation_patterns: Mapping[str, DFPattern] = field(
        default_factory=dict[str, DFPattern]
    )
    check: Check | None = None
    attrs_getter: AttrsGetter | None = None

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.name), str) or not self.name:
            raise TypeError(f"a pattern needs a name, not {self.name!r}")
        expect_pattern(f"the pattern '{self.name}'", self.pattern)
        annotations = cast("Mapping[str, DFPattern] | None", self.annotation_patterns)
        object.__setattr__(self, "annotation_patterns", dict(annotations or {}))
        for key, part in self.annotation_patterns.items():
            expect_pattern(f"the annotation '{key}' of the pattern '{self.name}'", part)
        for role in ("check", "attrs_getter"):
            function = cast("object", getattr(self, role))
            if function is not None and not callable(function):
                raise TypeError(
                    f"{role} of the pattern '{self.name}' must be a function, not "
                    f"{type(function).__name__}"
                )


_Annotations: TypeAlias = Mapping[str, DFPattern] | None
AnyFusionPattern: TypeAlias = (
    FusionPattern
    | tuple[str, DFPattern]
    | tuple[str, DFPattern, _Annotations | Check]
    | tuple[str, DFPattern, _Annotations | Check, Check | AttrsGetter | None]
    | tuple[str, DFPattern, _Annotations, Check | None, AttrsGetter | None]
)
"""A pattern, or a tuple of what `FusionPattern` takes: name, pattern, annotation
patterns, check and attrs_getter. Without annotations the check may be the third."""


def fusion_pattern(given: AnyFusionPattern) -> FusionPattern:
    """The pattern that is given, or that a tuple stands for. Raises TypeError."""
    if isinstance(given, FusionPattern):
        return given
    if not isinstance(cast("object", given), tuple) or not 2 <= len(given) <= 5:
        raise TypeError(
            "a pattern to fuse is a FusionPattern or a tuple (name, pattern[, annotation "
            f"patterns][, check[, attrs_getter]]), not {given!r}"
        )
    name, pattern, *rest = given
    if rest and callable(rest[0]):
        rest.insert(0, None)
    parts = cast("tuple[Mapping[str, DFPattern], Check, AttrsGetter]", tuple(rest))
    return FusionPattern(name, pattern, *parts)


# ---- the registry ----

_REGISTERED: dict[str, FusionPattern] = {}
"""By name; the later ones have priority."""


def register_patterns(patterns: Sequence[AnyFusionPattern]) -> None:
    """Make patterns known by their names; a later one has priority over earlier ones.

    One of a known name takes its place. Raises TypeError for what is no pattern.
    """
    for pattern in map(fusion_pattern, patterns):
        _REGISTERED.pop(pattern.name, None)
        _REGISTERED[pattern.name] = pattern


def get_pattern(name: str) -> FusionPattern | None:
    """The pattern of that name, None if there is none."""
    return _REGISTERED.get(name)


def get_patterns_with_prefix(prefix: str) -> list[FusionPattern]:
    """The patterns whose names begin so, those with the highest priority first."""
    return [p for name, p in reversed(_REGISTERED.items()) if name.startswith(prefix)]


def pattern_names() -> list[str]:
    """The names of all patterns."""
    return list(_REGISTERED)


def _generic_patterns() -> list[AnyFusionPattern]:
    found: list[AnyFusionPattern] = []
    for op in ("conv2d", "matmul"):
        name = op if op == "matmul" else f"nn.{op}"
        for bias in ("", "_bias"):
            for activation in ("", "relu", "gelu", "silu"):
                pattern = make_fused_bias_activation_pattern(
                    f"relax.{name}",
                    with_bias=bool(bias),
                    activation=f"relax.nn.{activation}" if activation else None,
                )
                label = f"generic.{op}{bias}{'_' if activation else ''}{activation}"
                found.append((label, pattern))
    transposed = is_op("relax.permute_dims")(wildcard())
    product = is_op("relax.matmul")(wildcard(), transposed)
    found.append(("generic.matmul_transposed", product))
    return found


register_patterns(_generic_patterns())
