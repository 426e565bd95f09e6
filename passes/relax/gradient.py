"""Derivatives of a number that a function computes, by its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_tvm.analysis.relax.memory_sharing import Writers, values_with_written_memory
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.located_builder import LocatedBuilder
from xdsl_tvm.dialects.relax.types import TensorInfo, TupleType
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import module_symbols
from xdsl_tvm.passes.relax._gradient.builder import is_differentiable
from xdsl_tvm.passes.relax._gradient.reverse import Reverse
from xdsl_tvm.passes.relax.dead_code_elimination import remove_unused_bindings
from xdsl_tvm.passes.relax.rewriting.bindings import LEAVES
from xdsl_tvm.passes.relax.rewriting.call_sites import update_signature
from xdsl_tvm.passes.relax.rewriting.dataflow import inner_value
from xdsl_tvm.passes.relax.rewriting.signatures import find_function


@dataclass(frozen=True)
class Gradient(CompilerPass):
    """Summary: Adds a function that also computes the derivatives of a function's result.

    TVM name: relax.Gradient (v0.20)
    Input form: a function whose body is one dataflow block
    Output form: the same, with a public function `NAME_adjoint`
    Options: `func_name`: the function, by its `global_symbol`, or by its symbol name if
        it is private (required); `require_grads`: the parameters to derive by, by name
        or position, or values of the block, by name (all parameters); `target_index`:
        the field of the result to derive, where it is a tuple (0)
    Rewrites: before

            relax.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<f32> {
              %r = relax.dataflow -> (tensor<f32>) {
                %p = relax.multiply %x, %y : ...
                %s = relax.sum %p : ...
                relax.output %s : tensor<f32>
              ...

        after, beside it,

            relax.func @main_adjoint(%x: tensor<3xf32>, %y: tensor<3xf32>)
                -> !relax.tuple<tensor<f32>, !relax.tuple<!t, !t>> {
              %r:3 = relax.dataflow -> (tensor<f32>, !t, !t) {
                %p = relax.multiply %x, %y : ...
                %s = relax.sum %p : ...
                %one = relax.ones ... -> tensor<f32>
                %g = relax.broadcast_to %one, ... -> tensor<3xf32>
                %dx = relax.multiply %g, %y : ...
                %dy = relax.multiply %g, %x : ...
                relax.output %s, %dx, %dy : ...
              }
              %d = relax.tuple(%r#1, %r#2) : ...
              %t = relax.tuple(%r#0, %d) : ...

        From the last operation to the first, each operand gets its part of the
        derivative by the result; parts are added. The derivative by a tuple is a tuple,
        and zeros where the target does not depend on a value. None flows through
        `relax.grad.no_grad`. What is between `relax.grad.start_checkpoint` and
        `relax.grad.end_checkpoint` is computed again where a derivative needs it, and
        the marks are removed from the new function. Time is linear in the size of the
        function.
    Leaves alone: the module, if it has no such function; the function itself
    Errors: a body that is not one dataflow block and a result made of its outputs; a
        function that writes memory in place; a target that is no float tensor of rank 0;
        a name in `require_grads` of no value, of several, or of one that holds no floats;
        an operator without a gradient between the two, or with operands of unknown ranks
        or shapes; a symbol `NAME_adjoint` that is taken
    Attributes: read: `global_symbol`; created: `global_symbol` on the new function;
        removed: none
    Differs from TVM: operators are only required to have a gradient where the target
        depends on a required value by them. The gradients of `relax.take`,
        `relax.nn.nll_loss` and pooling are written with other operators, where TVM has
        operators for them; that of `relax.nn.nll_loss` by its weights is right, which is
        0 in TVM. Of equal elements in a window of maxima the first gets all.
        `relax.call_tir_with_grad` has no gradient, since no tensor expressions are
        registered here.
    """

    name = "relax-gradient"

    func_name: str
    require_grads: tuple[str, ...] | None = None
    target_index: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        func = find_function(op, self.func_name)
        if func is None:
            return
        name = f"{func.sym_name.data}_adjoint"
        if name in module_symbols(op):
            raise self._error(f"the module has a symbol @{name} already; rename it")
        if values_with_written_memory(func, Writers(op)):
            raise self._error(
                f"@{func.sym_name.data} writes memory of its values, which derivatives "
                "may need; run it before passes that make calls in place"
            )
        copy = func.clone()
        copy.sym_name = StringAttr(name)
        copy.attributes["global_symbol"] = StringAttr(name)
        dataflow = self._only_block(copy)
        target = self._target(copy)
        required = self._required(copy, dataflow.body.block)
        reverse = Reverse(dataflow.body.block)
        target, *required = _without_marks([target, *required])
        reverse.remove_checkpoints()
        try:
            derivatives = reverse.derivatives(target, required)
        except VerifyException as error:
            raise self._error(f"{error}; declare shapes and dtypes of tensors") from error
        _return_too(copy, dataflow, derivatives)
        update_signature(copy, copy.return_op.value.type)
        remove_unused_bindings(copy)
        block = op.body.block
        block.insert_op_after(copy, func)

    def _error(self, reason: str) -> PassFailedException:
        return PassFailedException(f"{self.name}: {reason}")

    def _only_block(self, func: relax.FuncOp) -> relax.DataflowOp:
        name = func.sym_name.data.removesuffix("_adjoint")
        blocks = [op for op in func.body.block.ops if isinstance(op, relax.DataflowOp)]
        others = [
            op
            for op in func.body.block.ops
            if not isinstance(
                op, (*LEAVES, relax.DataflowOp, relax.TupleOp, relax.ReturnOp)
            )
        ]
        if len(blocks) != 1 or others:
            found = others[0].name if others else f"{len(blocks)} dataflow blocks"
            raise self._error(
                f"the body of @{name} must be one dataflow block, and it holds {found}; "
                "run relax-convert-to-dataflow"
            )
        inner = next(
            (op for op in blocks[0].body.walk() if isinstance(op, relax.DataflowOp)), None
        )
        if inner is not None:
            raise self._error(
                f"the dataflow block of @{name} holds another one; run relax-normalize"
            )
        return blocks[0]

    def _target(self, func: relax.FuncOp) -> SSAValue:
        """The value in the block that is derived."""
        value = inner_value(func.return_op.value)
        if isinstance(value.type, TupleType):
            count = len(value.type.fields.data)
            if not isinstance(value.owner, relax.TupleOp):
                raise self._error("the result must be made by relax.tuple, or one tensor")
            if not 0 <= self.target_index < count:
                raise self._error(
                    f"target_index must be from 0 to {count - 1}, not {self.target_index}"
                )
            value = inner_value(value.owner.operands[self.target_index])
        elif self.target_index:
            raise self._error(
                f"target_index must be 0 for one result, not {self.target_index}"
            )
        info = TensorInfo.of(value.type)
        is_number = info is not None and info.rank == 0
        if info is None or not is_number or not isinstance(info.dtype, AnyFloat):
            raise self._error(
                f"the target must be a float tensor of rank 0, not {value.type}"
            )
        return value

    def _required(self, func: relax.FuncOp, block: Block) -> list[SSAValue]:
        if self.require_grads is None:
            found: list[SSAValue] = list(func.args)
        else:
            found = [self._named(func, block, name) for name in self.require_grads]
        for value in found:
            if not _holds_floats(value):
                raise self._error(
                    f"{value.name_hint or 'a parameter'} is {value.type}, which has no "
                    "derivative; name others in require_grads"
                )
        if len(set(found)) != len(found):
            raise self._error("require_grads names a value twice")
        return found

    def _named(self, func: relax.FuncOp, block: Block, name: str) -> SSAValue:
        found: list[SSAValue] = [
            arg for arg in func.args if name in (arg.name_hint, str(arg.index))
        ]
        if not found:
            results = (result for op in block.ops for result in op.results)
            found = [result for result in results if result.name_hint == name]
        if len(found) != 1:
            count = "no" if not found else "more than one"
            raise self._error(
                f"require_grads: there is {count} value '{name}' in "
                f"@{self.func_name}; give the position of a parameter"
            )
        return found[0]


def _holds_floats(value: SSAValue) -> bool:
    """Whether every tensor in a value has a derivative."""
    pending, types = [value.type], list[Attribute]()
    while pending:
        type_ = pending.pop()
        if isinstance(type_, TupleType):
            pending += type_.fields.data
        else:
            types.append(type_)
    return bool(types) and all(map(is_differentiable, types))


def _without_marks(values: Sequence[SSAValue]) -> list[SSAValue]:
    """The values that marks of checkpoints name."""
    found: list[SSAValue] = []
    for value in values:
        while isinstance(value.owner, relax.StartCheckpointOp | relax.EndCheckpointOp):
            value = value.owner.data
        found.append(value)
    return found


def _return_too(
    func: relax.FuncOp, dataflow: relax.DataflowOp, derivatives: Sequence[SSAValue]
) -> None:
    """Let the block output derivatives, and the function return them after its result."""
    output = dataflow.output_op
    output.operands = [*output.values, *derivatives]
    count = len(dataflow.outputs)
    new = relax.DataflowOp.create(
        result_types=[value.type for value in output.values],
        attributes=dataflow.attributes,
        regions=[dataflow.detach_region(dataflow.body)],
        location=dataflow.location,
    )
    Rewriter.replace_op(dataflow, new, new.results[:count])
    last: Operation = func.return_op
    builder = LocatedBuilder(last)
    both = builder.insert(relax.TupleOp(new.results[count:]))
    last.operands[0] = builder.insert(relax.TupleOp([last.operands[0], both]))
