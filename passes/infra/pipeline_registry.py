"""Pipelines by name, TVM's and those that programs register."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

from xdsl.passes import ModulePass

from xdsl_tvm.passes.infra.compiler_pass import CompilerPass
from xdsl_tvm.passes.infra.sequential import as_compiler_pass
from xdsl_tvm.tvm_words import TUNING, Kind, MissingError

Maker: TypeAlias = Callable[..., ModulePass]
M = TypeVar("M", bound=Maker)


_TUNED = ("static_shape_tuning",)
"""TVM's pipelines that tune."""


class MissingPipelineError(MissingError, ValueError):
    """There is no pipeline of a name."""


class PipelineRegistry:
    """What makes a pipeline, by the name of the pipeline."""

    def __init__(self, makers: Mapping[str, Maker]) -> None:
        self._makers = dict(makers)

    def register(self, name: str) -> Callable[[M], M]:
        """A decorator of a function that makes the pipeline of a name.

        Raises ValueError for a name that is taken.
        """
        if name in self._makers:
            raise ValueError(f"there is a pipeline '{name}' already; use another name")

        def keep(maker: M) -> M:
            self._makers[name] = maker
            return maker

        return keep

    def find(self, name: str, **options: object) -> CompilerPass:
        """The pipeline of a name. Raises MissingPipelineError if there is none."""
        if name not in self._makers:
            why = f" ({TUNING})" if name in _TUNED else ""
            known = ", ".join(self._makers)
            message = f"there is no pipeline '{name}'{why}; use one of {known}"
            raise MissingPipelineError(message, Kind.TUNING if why else Kind.NAMES)
        return as_compiler_pass(self._makers[name](**options))
