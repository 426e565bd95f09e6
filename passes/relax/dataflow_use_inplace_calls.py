"""Operators of dataflow blocks write their result over operands that are not needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import SymbolTable

from xdsl_tvm.analysis.relax.dataflow_inplace import inplace_matches, same_value
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.operators import OperatorOp
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax._tir_functions.inplace import inplace_function
from xdsl_tvm.passes.relax.legalize_ops import OperatorFunctions, legalized_call


@dataclass(frozen=True)
class DataflowUseInplaceCalls(CompilerPass):
    """Summary: Lets operators in dataflow blocks write their result over an operand that
        nothing needs any more.

    TVM name: relax.DataflowUseInplaceCalls (v0.20), registered as
        "DataflowInsertInPlaceCalls"
    Input form: operators that are not legalized yet, in dataflow blocks. Meant for right
        before `relax-legalize-ops`, after all that merges or reorders bindings
    Output form: the same blocks and values, where some operators have become
        `relax.call_tir_inplace` of private TIR functions
    Options: none
    Rewrites: before

            %r = relax.dataflow -> (tensor<4xf32>) {
              %a = relax.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
              %b = relax.multiply %a, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
              relax.output %b : tensor<4xf32>
            }

        after

            %r = relax.dataflow -> (tensor<4xf32>) {
              %a = relax.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
              %b = relax.call_tir_inplace @multiply_inplace(%a, %x) inplace [0]
                : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
              relax.output %b : tensor<4xf32>
            }
            tir.func @multiply_inplace(...) attributes {tir.noalias = true} { ... }

        The operators are add, subtract, multiply, divide, silu and relu. The operand has
        exactly the shape, dtype and device of the result, is made in the block, is not
        used after the operator, and neither is anything that may be the same memory; of
        several such operands it is the last. Equal calls share one function. Its name is
        that of the legalized function with `_inplace`. Time is linear in the size of the
        module.
    Leaves alone: parameters and all that is made outside of the block, constants, outputs
        of the block; operators that are not legalized, or whose function reads an element
        of the operand after writing it; operations outside of dataflow blocks; functions
        in nested modules
    Errors: none
    Attributes: read: none; created: `tir.noalias` on the functions made, except where an
        operand that is written is given twice; removed: none
    Differs from TVM: A tensor in a tuple is needed until the last field of the tuple is
        taken; TVM does not see that use. What `relax.reshape`, `relax.memory.view` and
        other operators return that may be lowered to views counts as memory of their
        operand, and so do tensors on one storage, results of calls in place, and what a
        closure captures. Constants are never written, so that a second run finds them as
        they were. A function with one tensor in two places is not `tir.noalias`. Symbolic
        dimensions after the outputs and operands that legalization folds away are
        accounted for; an operator that is not legalized stays, where TVM fails. Only
        functions that the pass itself has added are removed.
    """

    name = "relax-dataflow-use-inplace-calls"
    tvm_name = "DataflowInsertInPlaceCalls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chosen = [choice for block in _dataflow_blocks(op) for choice in _choose(block)]
        if not chosen:
            return
        functions = InplaceFunctions(op)
        for operator, places in chosen:
            call = functions.call(operator, (places[-1],))
            if call is not None:
                Rewriter.replace_op(operator, call)
        functions.remove_legalized()


def _dataflow_blocks(root: Operation) -> Iterator[relax.DataflowOp]:
    """The dataflow blocks of a module, without those of modules in it."""
    for region in root.regions:
        for block in region.blocks:
            for op in block.ops:
                if isinstance(op, relax.DataflowOp):
                    yield op
                if not op.has_trait(SymbolTable, value_if_unregistered=False):
                    yield from _dataflow_blocks(op)


def _choose(dataflow: relax.DataflowOp) -> Iterator[tuple[OperatorOp, list[int]]]:
    """The operators of a block to compute in place, with operands for that, ascending."""
    block = dataflow.body.block
    exact = dict(inplace_matches(block).exact)
    for position, op in enumerate(block.ops):
        if position in exact and isinstance(op, OperatorOp):
            yield op, sorted(exact[position])


def _place(op: OperatorOp, index: int, arguments: Sequence[SSAValue]) -> int:
    """Where operand `index` is among the arguments of the legalized call.

    Legalization may have dropped operands before it; its value is there.
    """
    value = op.operands[index]
    places = [place for place, each in enumerate(arguments) if each is value]
    earlier = sum(each is value for each in op.operands[:index])
    return places[min(earlier, len(places) - 1)]


@dataclass
class InplaceFunctions:
    """The TIR functions for operators in place that are added to a module."""

    module: ModuleOp
    _legalized: OperatorFunctions = field(init=False)
    _made: dict[tuple[str, tuple[int, ...], frozenset[int]], str | None] = field(
        init=False, default_factory=lambda: {}
    )

    def __post_init__(self) -> None:
        self._legalized = OperatorFunctions(self.module)

    def call(
        self, op: OperatorOp, operands: tuple[int, ...]
    ) -> relax.CallTIRInplaceOp | None:
        """The call that writes the results of `op` over `operands`, not inserted.

        None if `op` is not legalized, if the function does without one of the operands,
        or if it cannot compute its results in place.
        """
        call = legalized_call(op, self._legalized)
        if call is None:
            return None
        # A call may know more of the result than what uses it was told.
        is_same = call.result.type == op.result.type
        found = self._inplace(op, call, operands) if is_same else None
        call.erase()
        return found

    def _inplace(
        self, op: OperatorOp, call: relax.CallTIROp, operands: tuple[int, ...]
    ) -> relax.CallTIRInplaceOp | None:
        arguments = list(call.arguments)
        values = [op.operands[index] for index in operands]
        if any(value not in arguments for value in values):
            return None
        places = tuple(_place(op, index, arguments) for index in operands)
        roots = {same_value(value) for value in values}
        shared = frozenset(
            place
            for place, argument in enumerate(arguments)
            if same_value(argument) in roots and place not in places
        )
        name = self._function(call, places, shared)
        if name is None:
            return None
        result = relax.CallTIRInplaceOp(
            name, arguments, call.result.type, places, call.tir_vars
        )
        result.location = call.location
        return result

    def _function(
        self, call: relax.CallTIROp, places: tuple[int, ...], shared: frozenset[int]
    ) -> str | None:
        base = call.callee.root_reference.data
        key = base, places, shared
        if key not in self._made:
            self._made[key] = self._add(call, places, shared)
        return self._made[key]

    def _add(
        self, call: relax.CallTIROp, places: tuple[int, ...], shared: frozenset[int]
    ) -> str | None:
        base = call.callee.root_reference.data
        func = self._legalized.by_name[base]
        if len(call.outputs) != len(places):
            return None
        new = inplace_function(func, places, len(call.arguments), shared)
        if new is None:
            return None
        new.sym_name = StringAttr(self._legalized.names.unique(f"{base}_inplace"))
        self.module.body.block.add_op(new)
        return new.sym_name.data

    def remove_legalized(self) -> None:
        """Remove the functions from which those in place were made."""
        for function in self._legalized.by_name.values():
            Rewriter.erase_op(function)
