"""Passes made of Python callables: over Relax functions, and over dataflow blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.passes.infra.compiler_pass import PassRun
from xdsl_tvm.passes.infra.pass_context import PassContext
from xdsl_tvm.passes.infra.python_passes import CallablePass, PassDecorator

if TYPE_CHECKING:
    from xdsl_tvm.dialects.relax import DataflowOp, FuncOp

RelaxTransform: TypeAlias = "Callable[[FuncOp, ModuleOp, PassContext], FuncOp]"
BlockTransform: TypeAlias = "Callable[[DataflowOp, ModuleOp, PassContext], DataflowOp]"


class FunctionPass(CallablePass):
    """A pass that hands each `relax.func` of a module to a Python callable.

    The callable gets `(func, module, pass_context)`, where `func` is a copy that it may
    edit and `module` the module as it was before, and returns the new function. Results
    are put in the place of the functions at the end, under the same symbol name.
    Everything else in the module stays.

    Made by `function_pass`. Raises TypeError if the callable returns anything else.
    """

    name = "relax-function-pass"

    def transform(self, module: ModuleOp, run: PassRun) -> ModuleOp:
        from xdsl_tvm.dialects.relax import FuncOp

        module = run.private(module)
        # The callable may keep whatever it sees.
        run.owned = False
        functions = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
        results = [self._of(func.clone(), module, run.context) for func in functions]
        for func, result in zip(functions, results, strict=True):
            new = result.clone()
            new.sym_name = func.sym_name
            Rewriter.replace_op(func, new)
        return module

    def _of(self, func: FuncOp, module: ModuleOp, context: PassContext) -> FuncOp:
        result = cast("object", self._transform(func, module, context))
        if not isinstance(result, type(func)):
            raise TypeError(
                f"pass {self.info.name} must return a relax.func for "
                f"@{func.sym_name.data}, not {type(result).__name__}"
            )
        return result

    def __str__(self) -> str:
        return (
            f"Run Function pass: {self.info.name} at the optimization level "
            f"{self.info.opt_level}"
        )


class DataflowBlockPass(CallablePass):
    """A pass that hands each dataflow block of Relax functions to a Python callable.

    The callable gets `(dataflow, module, pass_context)`: a `relax.dataflow` of a copy,
    which it may edit, and the module as it was before. It returns that operation, or a
    new one to take its place. The results that there were must stay, in order and with
    their types, and so must the symbols that casts in the block define; there may be
    more. Blocks in other blocks come before those.

    Made by `dataflowblock_pass`. Raises TypeError if the callable returns anything else,
    PassFailedException if a result or a symbol is lost.
    """

    name = "relax-dataflowblock-pass"

    def transform(self, module: ModuleOp, run: PassRun) -> ModuleOp:
        from xdsl_tvm.dialects.relax import DataflowOp, FuncOp

        before, module = module, module.clone()
        run.owned = False
        for func in module.ops:
            if isinstance(func, FuncOp):
                for op in list(func.walk(region_first=True)):
                    if isinstance(op, DataflowOp):
                        self._visit(op, before, run.context)
        return module

    def _visit(
        self, dataflow: DataflowOp, before: ModuleOp, context: PassContext
    ) -> None:
        types, symbols = list(dataflow.outputs.types), _symbols(dataflow)
        result = cast("object", self._transform(dataflow, before, context))
        if not isinstance(result, type(dataflow)):
            raise TypeError(
                f"pass {self.info.name} must return a relax.dataflow, "
                f"not {type(result).__name__}"
            )
        self._check_outputs(types, list(result.outputs.types))
        if lost := symbols - _symbols(result):
            raise PassFailedException(
                f"{self.info.name}: relax.dataflow does not define the symbol "
                f"'{min(lost)}' any more; keep the cast that does"
            )
        if result is not dataflow:
            new = result.clone()
            Rewriter.replace_op(dataflow, new, new.results[: len(types)])

    def _check_outputs(self, old: list[Attribute], new: list[Attribute]) -> None:
        for index, type_ in enumerate(old):
            if index >= len(new) or new[index] != type_:
                now = new[index] if index < len(new) else "nothing"
                raise PassFailedException(
                    f"{self.info.name}: result {index} of relax.dataflow was {type_} "
                    f"and is {now}; keep the results, add others after them"
                )

    def __str__(self) -> str:
        return (
            f"Run DataflowBlock pass: {self.info.name} at the optimization level "
            f"{self.info.opt_level}"
        )


def _symbols(dataflow: DataflowOp) -> Counter[str]:
    from xdsl_tvm.dialects.relax import MatchCastOp

    return Counter(
        name
        for op in dataflow.walk()
        if isinstance(op, MatchCastOp)
        for name in op.defined_symbols
    )


function_pass = PassDecorator[RelaxTransform, FunctionPass](FunctionPass, "function")
"""Makes a `FunctionPass`, as `tvm.relax.transform.function_pass`.

The function accepts `(func, module, pass_context)` and returns the new `relax.func`.
"""
dataflowblock_pass = PassDecorator[BlockTransform, DataflowBlockPass](
    DataflowBlockPass, "dataflowblock"
)
"""Makes a `DataflowBlockPass`, as `tvm.relax.transform.dataflowblock_pass`.

The function accepts `(dataflow, module, pass_context)` and returns the new
`relax.dataflow`.
"""
