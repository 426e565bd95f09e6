"""Passes that stand for a list of passes, and their pipeline text."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xdsl_tvm.passes.infra.compiler_pass import CompilerPass, PassRun
from xdsl_tvm.passes.infra.sequential import Sequential


@dataclass(frozen=True)
class CompositePass(CompilerPass, runs_passes=True):
    """A pass that does what a list of passes does, as a `Sequential` of them would."""

    is_composite = True

    @abstractmethod
    def passes(self) -> tuple[ModulePass, ...]:
        """The passes that run under the current `PassContext`, in order.

        Raises PassFailedException if the options allow none.
        """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        Sequential(self.passes()).apply(ctx, op)

    def transform(self, module: ModuleOp, run: PassRun) -> ModuleOp:
        return Sequential(self.passes()).transform(module, run)


def written_out(
    passes: Iterable[ModulePass], keep: frozenset[str] = frozenset()
) -> tuple[ModulePass, ...]:
    """The passes with composite ones replaced by their lists, but for names in `keep`.

    Raises what `CompositePass.passes` raises.
    """
    found: list[ModulePass] = []
    for each in passes:
        if isinstance(each, CompositePass) and each.name not in keep:
            found.extend(written_out(each.passes(), keep))
        else:
            found.append(each)
    return tuple(found)


def pipeline_text(passes: Iterable[ModulePass]) -> str:
    """The text that `-p` takes for these passes, composite ones replaced by their list.

    Raises what `CompositePass.passes` raises.
    """
    return ",".join(str(each.pipeline_pass_spec()) for each in written_out(passes))
