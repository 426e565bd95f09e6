"""The option `--check-semantics` of `xdsl-tvm opt`."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xdsl_tvm.interpreters.semantics import SemanticsChecker, SemanticsReport


class SemanticsPassCheck:
    """Compares what TIR functions compute after each pass with what they did before."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._checker: SemanticsChecker | None = None
        self._reports: list[SemanticsReport] = []

    def start(self, module: ModuleOp) -> None:
        # The checker may run the functions later, when passes have edited the module.
        self._checker = SemanticsChecker(module.clone(), seed=self._seed)
        self._reports.append(self._checker.report)

    def after(self, one: ModulePass, module: ModuleOp) -> None:
        self._required().check(one.name, module)

    def smallest(self, one: ModulePass, before: ModuleOp) -> ModuleOp:
        return self._required().smallest(one, before)

    def run_options(self) -> str:
        return self._required().run_options()

    def _required(self) -> SemanticsChecker:
        if self._checker is None:
            raise RuntimeError("the check was not started on a module")
        return self._checker

    def summary(self) -> str:
        checked = [name for report in self._reports for name in report.checked]
        lines = [f"semantics checked: {', '.join(checked) or 'no function'}\n"]
        for report in self._reports:
            lines += [f"not checked: {n}: {why}\n" for n, why in report.skipped.items()]
        return "".join(lines)
