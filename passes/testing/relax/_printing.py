"""Passes that show what an analysis concludes of dataflow blocks, for FileCheck tests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import SSAValue

from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import CompilerPass


@dataclass(frozen=True)
class PrintDataflowAnalysis(CompilerPass, ABC):
    """Writes conclusions about each dataflow block as attributes of it.

    The parameters of the function around the block count as its inputs. A pass of this
    kind defines `conclusions`.
    """

    __test__: ClassVar[bool] = False

    @abstractmethod
    def conclusions(
        self, block: relax.DataflowOp, inputs: tuple[SSAValue, ...]
    ) -> dict[str, str]:
        """What is to be seen about the block: attributes with their texts."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            for inner in func.walk():
                if isinstance(inner, relax.DataflowOp):
                    found = self.conclusions(inner, func.args)
                    inner.attributes.update(
                        (key, StringAttr(text)) for key, text in found.items()
                    )


def name_of(value: SSAValue) -> str:
    """How a value is named in conclusions."""
    return f"%{value.name_hint or '?'}"


def locations_text(locations: Iterable[int]) -> str:
    """Numbers as a set: `{0, 3}`."""
    return f"{{{', '.join(map(str, sorted(locations)))}}}"
