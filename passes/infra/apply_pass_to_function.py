"""A pass on some of a module's functions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.traits import CallableOpInterface

from xdsl_tvm.passes.infra.compiler_pass import DelegatingPass, PassRun
from xdsl_tvm.passes.infra.module_symbols import module_symbols, symbol_name
from xdsl_tvm.passes.infra.pass_info import PassInfo
from xdsl_tvm.passes.infra.sequential import as_compiler_pass

_TVM_FUNCTIONS = frozenset({"relax.func", "tir.func"})


def _functions(module: ModuleOp) -> Iterator[tuple[str, Operation]]:
    for op in module.ops:
        if op.has_trait(CallableOpInterface) and (name := symbol_name(op)) is not None:
            yield name, op


class ApplyPassToFunction(DelegatingPass):
    """Runs `transform` on the functions whose whole name matches a regular expression.

    `transform` sees the other functions as declarations, and private matching functions
    as exposed ones (with a `global_symbol`, not `sym_visibility = "private"`), so that
    it does not drop them for want of callers. What it makes of the matching functions,
    what symbols it adds, and the module's attributes are kept. A function that it
    deletes stays as it was, and so does all else in the module.

    Raises ValueError if no function matches and `error_if_no_function_matches_regex`
    is set, `re.error` for a bad expression. As `tvm.ir.transform.ApplyPassToFunction`.
    """

    name = "tvm-apply-pass-to-function"

    def __init__(
        self,
        transform: ModulePass,
        func_name_regex: str,
        error_if_no_function_matches_regex: bool = False,
    ) -> None:
        super().__init__(PassInfo(0, f"ApplyPassTo{func_name_regex}"))
        self._pass = as_compiler_pass(transform)
        self._pattern = re.compile(func_name_regex)
        self._must_match = error_if_no_function_matches_regex

    def transform(self, module: ModuleOp, run: PassRun) -> ModuleOp:
        names = [name for name, _ in _functions(module)]
        matching = {name for name in names if self._pattern.fullmatch(name)}
        if not matching:
            if self._must_match:
                raise ValueError(
                    f"No function matched regex '{self._pattern.pattern}', "
                    f"out of functions [{', '.join(names)}]"
                )
            return module
        module = run.private(module)
        subset = _subset(module, matching)
        # The subset is fresh; so is what comes of it, unless the run says otherwise.
        run.owned = True
        # What runs on the subset is no part of what has run on the module.
        trail, run.trail = run.trail, None
        transformed = run.private(self._pass.run(subset, run))
        _write_back(module, transformed, matching)
        run.owned, run.trail = True, trail
        return module


def _subset(module: ModuleOp, matching: set[str]) -> ModuleOp:
    """A copy in which the matching functions are exposed, the others declarations."""
    ops: list[Operation] = []
    for op in module.ops:
        name = symbol_name(op)
        if name is None or not op.has_trait(CallableOpInterface):
            ops.append(op.clone())
        elif name in matching:
            ops.append(function := op.clone())
            _expose(function, name)
        else:
            ops.append(op.clone_without_regions())
    return ModuleOp(ops, dict(module.attributes), module.sym_name)


def _expose(function: Operation, name: str) -> None:
    function.properties.pop("sym_visibility", None)
    if function.name in _TVM_FUNCTIONS:
        function.attributes.setdefault("global_symbol", StringAttr(name))


def _restore(function: Operation, original: Operation) -> None:
    """Undo `_expose` in what became of `original`."""
    if (visibility := original.properties.get("sym_visibility")) is not None:
        function.properties["sym_visibility"] = visibility
    if "global_symbol" not in original.attributes:
        function.attributes.pop("global_symbol", None)


def _write_back(module: ModuleOp, transformed: ModuleOp, matching: set[str]) -> None:
    """Put what `transformed` has for the matching functions, or anew, in `module`."""
    old_symbols = module_symbols(module)
    block = module.body.block
    for op in list(transformed.ops):
        if (name := symbol_name(op)) is None:
            continue
        original = old_symbols.get(name)
        if original is None:
            op.detach()
            block.add_op(op)
        elif name in matching:
            op.detach()
            _restore(op, original)
            block.insert_op_before(op, original)
            original.detach()
            original.erase()
    module.attributes = transformed.attributes
