"""Broken IR in a row of passes: found at the end, and blamed on the pass that made it."""

from __future__ import annotations

from contextlib import AbstractContextManager

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_tvm.dialects.dominance import verify_dominance
from xdsl_tvm.passes.infra.error_lines import error_line


class BrokenIRError(PassFailedException):
    """A pass made IR that does not verify; the message names it."""


class Trail:
    """The passes that have run on a module, in order, and the module as it was before.

    `before` must not change while they run. Verification after each pass would take
    longer than the passes, so the module is verified once, and only if that fails, or a
    pass raises on what an earlier one may have broken, do the passes run again on a copy
    of `before`, with a verification after each. Instruments are not told of that.
    """

    def __init__(self, ctx: Context, before: ModuleOp) -> None:
        self._passes: list[tuple[str, ModulePass]] = []
        self._ctx = ctx
        self._before = before

    def add(self, name: str, one: ModulePass) -> None:
        """Note that a pass has run; errors call it by the name."""
        self._passes.append((name, one))

    def verify(self, module: ModuleOp, *, only_structure: bool = False) -> None:
        """Raises BrokenIRError, which names the pass, if the module does not verify.

        With `only_structure` it is only asked whether operands are defined before their
        uses, which takes a tenth of the time.
        """
        error = _structural_error_in(module) if only_structure else _error_in(module)
        if error is not None:
            names = ", ".join(name for name, _ in self._passes)
            raise self._blamed() or BrokenIRError(
                f"the passes {names} made IR that does not verify: {error_line(error)}; "
                "report it as a bug"
            ) from error

    def explaining(self, module: ModuleOp) -> AbstractContextManager[None]:
        """Replaces what the body raises, if an earlier pass has broken the IR.

        The body edits `module` in place.
        """
        return _Explaining(self, module)

    def explain(self, module: ModuleOp, error: Exception) -> None:
        """Raises BrokenIRError for an error of a pass if an earlier one is to blame."""
        # A pass that refuses a program leaves it valid, as a rule.
        if isinstance(error, BrokenIRError) or not self._passes:
            return
        if _error_in(module) is not None:
            blamed = self._blamed()
            if blamed is not None:
                raise blamed from error

    def _blamed(self) -> BrokenIRError | None:
        """Run the passes again; what to raise for the first whose result is broken."""
        module = self._before.clone()
        error = _error_in(module)
        if error is not None:
            return BrokenIRError(
                f"the input of the passes does not verify: {error_line(error)}"
            )
        for name, each in self._passes:
            each.apply(self._ctx, module)
            error = _error_in(module)
            if error is not None:
                return BrokenIRError(
                    f"pass '{name}' made IR that does not verify: "
                    f"{error_line(error)}; leave it out, and report it as a bug"
                )
        return None


class _Explaining:
    """The context of `Trail.explaining`: each pass has one, so it is to be cheap."""

    __slots__ = ("_module", "_trail")

    def __init__(self, trail: Trail, module: ModuleOp) -> None:
        self._trail = trail
        self._module = module

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if isinstance(error, Exception):
            self._trail.explain(self._module, error)


def _error_in(module: ModuleOp) -> Exception | None:
    # Verifiers of IR that is broken elsewhere may raise anything.
    try:
        module.verify()
    except Exception as error:
        return error
    return _structural_error_in(module)


def _structural_error_in(module: ModuleOp) -> Exception | None:
    try:
        verify_dominance(module.name, module, across_blocks=False)
    except VerifyException as error:
        return error
    return None
