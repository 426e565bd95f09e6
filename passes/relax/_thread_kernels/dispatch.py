"""Operators of Relax to calls of functions that are launches of threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects.relax.operators import OperatorOp
from xdsl_tvm.dialects.relax.types import TensorInfo, TupleType
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes.relax._thread_kernels.last_axis import along_last_axis
from xdsl_tvm.passes.relax._thread_kernels.program import Sizes, ThreadProgram
from xdsl_tvm.passes.relax.legalize.calls import (
    OperatorFunctions,
    call_of,
    replace_operator,
)
from xdsl_tvm.passes.relax.legalize.registry import RegisteredRule, RuleContext
from xdsl_tvm.passes.relax.legalize.signature import known_results, proven_result_type
from xdsl_tvm.passes.relax.legalize.tensor_expression import Tensor
from xdsl_tvm.passes.relax.rewriting.call_sites import module_of
from xdsl_tvm.passes.tir.rewriting.default_targets import parsed_target

Kernels: TypeAlias = Callable[[Any, RuleContext, Sizes], "Tensor | Sequence[Tensor]"]
"""Writes the launches that compute an operator; returns its result or their tuple."""

_GPU: Final = "gpu"
_MOST_ELEMENTS: Final = 2048
"""Those of a tile: pairs of f64 and an index are 24 KiB of shared memory."""
_THREADS: Final = "max_num_threads"


@dataclass(frozen=True)
class KernelRule:
    """The launches of an operator, and the name of their function."""

    kernels: Kernels
    function: str
    has_axis: bool = False
    """Whether it works along an axis, which has to be the last one for the launches."""


@dataclass
class Dispatcher:
    """Replaces operators whose results are on a GPU by calls of kernels."""

    pass_name: str
    rules: Mapping[type[Operation], KernelRule]
    sizes: Sizes
    ambient: Target | None
    """The target of what is on no device."""
    functions: OperatorFunctions

    @staticmethod
    def run(
        module: ModuleOp,
        pass_name: str,
        rules: Mapping[type[Operation], KernelRule],
        sizes: Sizes,
        target: str | None,
    ) -> None:
        """Replace the operators of `rules` in the functions of a module."""
        for name, number in (("threads", sizes.threads), ("tile", sizes.tile)):
            if number < 1 or number & (number - 1):
                raise PassFailedException(
                    f"{pass_name}: {name} must be a power of two, got {number}"
                )
        if not 2 <= sizes.tile <= _MOST_ELEMENTS:
            raise PassFailedException(
                f"{pass_name}: tile must be from 2 to {_MOST_ELEMENTS}, got {sizes.tile}"
            )
        ambient = parsed_target(pass_name, target)
        functions = OperatorFunctions(module, ThreadProgram)
        dispatcher = Dispatcher(pass_name, rules, sizes, ambient, functions)
        operators = [each for each in all_ops(module) if type(each) in rules]
        for operator in operators:
            assert isinstance(operator, OperatorOp)
            # A module inside would not see the functions.
            if module_of(operator) is module:
                dispatcher.dispatch(operator)

    def dispatch(self, op: OperatorOp) -> None:
        """Replace one operator, if its result is on a GPU and has elements."""
        target = self._target(op)
        if target is None or not target.has_key(_GPU):
            return
        result_type = proven_result_type(op)
        known = None if result_type is None else known_results(result_type)
        if known is not None and any(_is_empty(info) for info in known):
            return
        rule, sizes = self.rules[type(op)], self._sizes(target)
        call = None
        if result_type is not None and rule.has_axis:
            op = along_last_axis(op)
            result_type = proven_result_type(op)
        if result_type is not None:
            key = (type(op), sizes, tuple(sorted(op.properties.items())))
            call = call_of(
                op,
                self.functions,
                # What the function gets is as in LegalizeOps: all operands are tensors.
                RegisteredRule(lambda op, site: (), rule.function, (), ()),
                op.operands,
                result_type,
                key,
                lambda site: rule.kernels(op, site, sizes),
            )
        if call is None:
            raise PassFailedException(
                f"{op.name}: there is no kernel for operands of unknown shape or dtype, "
                "of rank 0 or of bools; add relax.match_cast or relax.astype before it"
            )
        Rewriter.insert_op(call, InsertPoint.before(op))
        replace_operator(op, call.results[0])

    def _target(self, op: OperatorOp) -> Target | None:
        """The target of the first tensor of the result that is on a device."""
        type_ = op.result.type
        fields = type_.fields.data if isinstance(type_, TupleType) else (type_,)
        for each in fields:
            info = TensorInfo.of(each)
            device = None if info is None else info.vdevice
            if device is not None and isinstance(device.target, Target):
                return device.target
        return self.ambient

    def _sizes(self, target: Target) -> Sizes:
        most = target.int_attr(_THREADS, self.sizes.threads)
        threads = self.sizes.threads
        while threads > max(most, 1):
            threads //= 2
        return Sizes(threads, self.sizes.tile)


def _is_empty(info: TensorInfo) -> bool:
    return any(dim.value == 0 for dim in info.shape or ())
