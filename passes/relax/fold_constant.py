"""What is computed of constants only becomes a constant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, Use
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import InterpretationError, VerifyException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.analysis.relax.memory_sharing import Writers, values_with_written_memory
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.relax.attributes import DimAttr, DimsAttr
from xdsl_tvm.dialects.relax.dense import dense_of
from xdsl_tvm.dialects.relax.operators import OperatorOp
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.legalize.registry import REWRITES
from xdsl_tvm.passes.relax.legalize.rules import RULES
from xdsl_tvm.passes.relax.rewriting.dataflow import inner_value

if TYPE_CHECKING:
    import numpy as np

    from xdsl_tvm.interpreters.relax import InterpretedRelax


@dataclass(frozen=True)
class FoldConstant(CompilerPass):
    """Summary: Computes what depends on constants only.

    TVM name: relax.FoldConstant (v0.20)
    Input form: any
    Output form: the same
    Options: `max_elements`: leave alone what reads or makes a tensor with more elements,
        since it is computed by the interpreter (1048576)
    Rewrites: before

            %c = relax.constant dense<[1.0, 2.0]> : tensor<2xf32>
            %d = relax.call_tir @add_one(%c) : (tensor<2xf32>) -> tensor<2xf32>

        after

            %c = relax.constant dense<[1.0, 2.0]> : tensor<2xf32>
            %d = relax.constant dense<[2.0, 3.0]> : tensor<2xf32>

        Calls of TIR functions are folded everywhere, operators in dataflow blocks: those
        that `relax-legalize-ops` has a rule for. Operands are constants, tuples of them,
        and shapes and scalars that are numbers, also as outputs of dataflow blocks. There
        is one result, of static shape and on no virtual device.
        `relax.tensor_to_shape` of a constant becomes a `relax.shape`, which operators use
        from then on, and `relax.shape_to_tensor` of a static shape a constant. Time is
        linear in the size of the module, but for the computations themselves.
    Leaves alone: computations that fail, or that the interpreter does not support; calls
        with several results; results that are written in place; dynamic shapes; operators
        outside of dataflow blocks; functions of other dialects
    Errors: none
    Attributes: read: none; created: none; removed: those of an operation that is folded
    Differs from TVM: computations are not compiled: TIR functions and operators run in
        the interpreters of this package, which find out-of-bounds and uninitialised reads
        (such computations stay) and round operators once. A result that is written in
        place stays a tensor of its own.
    """

    name = "relax-fold-constant"

    max_elements: int = 1 << 20

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        folding = _Folding(op, self.max_elements)
        for func in relax_functions(op):
            if func.body.blocks:
                folding.fold_function(func)


_is_folded = of_classes(relax.CallTIROp, OperatorOp)


@dataclass
class _Folding:
    module: ModuleOp
    max_elements: int

    @cached_property
    def _writers(self) -> Writers:
        return Writers(self.module)

    @cached_property
    def _interpreted(self) -> InterpretedRelax:
        from xdsl_tvm.interpreters.relax import interpret

        return interpret(self.module)

    def fold_function(self, func: relax.FuncOp) -> None:
        candidates = [op for op in all_ops(func) if _is_folded(op)]
        if not candidates:
            return
        written = values_with_written_memory(func, self._writers)
        for op in candidates:
            if op.result not in written:
                self._fold(op)

    def _fold(self, op: relax.CallTIROp | OperatorOp) -> None:
        if isinstance(op, OperatorOp) and not (_has_rule(op) and _is_in_dataflow(op)):
            return
        to_shape = isinstance(op, relax.TensorToShapeOp)
        if not to_shape and not self._is_foldable(op.result.type):
            return
        if (func := self._alone(op)) is None:
            return
        from xdsl_tvm.interpreters.relax import RelaxFunction

        try:
            result = RelaxFunction(self._interpreted, func)()
        except InterpretationError:
            return
        if to_shape:
            _replace_by_shape(op, result)
        else:
            _replace_by_constant(op, result)

    def _alone(self, op: relax.CallTIROp | OperatorOp) -> relax.FuncOp | None:
        """A function of an operation and its operands, None where one is not constant."""
        body = Block()
        values: dict[SSAValue, SSAValue] = {}
        if not all(self._copy(operand, body, values) for operand in op.operands):
            return None
        if isinstance(op, relax.CallTIROp) and not _has_numbers(op.tir_vars):
            return None
        copy = op.clone(values)
        body.add_ops([copy, relax.ReturnOp(copy.results[0])])
        return relax.FuncOp("folded", [], op.result.type, Region(body))

    def _copy(
        self, value: SSAValue, body: Block, values: dict[SSAValue, SSAValue]
    ) -> bool:
        """Add what makes a value to `body`; False where that is no constant."""
        if value in values:
            return True
        inner = inner_value(value)
        match inner.owner:
            case relax.ConstantOp() as op:
                is_constant = self._is_foldable(op.result.type)
            case relax.ShapeOp() as op:
                is_constant = _has_numbers(op.values)
            case relax.PrimValueOp() as op:
                number = op.value
                is_constant = not isinstance(number, DimAttr) or (
                    number.data.value is not None
                )
            case relax.TupleOp() as op:
                is_constant = all(
                    self._copy(element, body, values) for element in op.elements
                )
            case _:
                return False
        if is_constant:
            body.add_op(copy := op.clone(values))
            values[inner] = values[value] = copy.results[0]
        return is_constant

    def _is_foldable(self, type_: Attribute) -> bool:
        """Whether a constant can have a type, and is small enough."""
        info = TensorInfo.of(type_)
        if info is None or info.dtype is None or info.vdevice is not None:
            return False
        sizes = [None if dim is None else dim.value for dim in info.dims or (None,)]
        known = [size for size in sizes if size is not None]
        if info.rank == 0:
            return True
        return len(known) == len(sizes) and prod(known) <= self.max_elements


def _has_numbers(dims: DimsAttr | None) -> bool:
    """Whether all dimensions, if any are given, are numbers."""
    return dims is None or all(d is not None and d.value is not None for d in dims.data)


def _has_rule(op: OperatorOp) -> bool:
    if isinstance(op, relax.TensorToShapeOp | relax.ShapeToTensorOp):
        return True
    return type(op) in RULES or type(op) in REWRITES


def _is_in_dataflow(op: Operation) -> bool:
    parent = op.parent_op()
    return isinstance(parent, relax.DataflowOp)


def _replace_by_constant(op: Operation, result: np.ndarray[Any, Any]) -> None:
    try:
        constant = relax.ConstantOp(dense_of(result))
    except VerifyException:
        # No array of numpy's holds such elements.
        return
    if constant.result.type == op.results[0].type:
        constant.location = op.location
        Rewriter.replace_op(op, constant)


def _pass_if_valid(use: Use, value: SSAValue) -> None:
    """Pass a value in a use, unless the operator is then proven wrong.

    That is a program that fails when it runs.
    """
    operator, before = use.operation, use.operation.operands[use.index]
    operator.operands[use.index] = value
    try:
        operator.verify(verify_nested_ops=False)
    except VerifyException:
        operator.operands[use.index] = before


def _replace_by_shape(op: Operation, result: tuple[int, ...]) -> None:
    shape = relax.ShapeOp(result)
    alias = relax.AliasOp(shape.result, op.results[0].type)
    shape.location = alias.location = op.location
    for use in tuple(op.results[0].uses):
        if isinstance(use.operation, OperatorOp):
            _pass_if_valid(use, shape.result)
    new = [shape, alias] if op.results[0].first_use is not None else [shape]
    Rewriter.replace_op(op, new, [new[-1].results[0]])
