"""Values end their lives after the operation that uses them last."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.relax.argument_tuples import is_argument_tuple
from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.bindings import allow_effects

_KILLS = (relax.KillTensorOp, relax.KillStorageOp, relax.VMKillObjectOp)
_STORAGES = (relax.AllocStorageOp, relax.VMAllocStorageOp)
_HOLDS = (relax.IfOp, relax.LambdaOp)
"""The operations in whose blocks lives end, too."""


@dataclass(frozen=True)
class KillAfterLastUse(CompilerPass):
    """Summary: Ends the lives of tensors, storages and other objects after their last
        use.

    TVM name: relax.KillAfterLastUse (v0.20)
    Input form: no dataflow blocks (`relax-to-non-dataflow`); meant for after memory is
        planned and allocated, and before what ends lives becomes calls of the runtime
    Output form: the same, where every value that is made in a block, is read, and is no
        result of the block ends its life there
    Options: none
    Rewrites: before

            %s = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 : ...
            %y = relax.memory.alloc_tensor %s at 0 : !relax.object -> tensor<4xf32>
            relax.call impure @f(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> ()
            %z = relax.add %x, %y : ...

        after

            %s = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 : ...
            %y = relax.memory.alloc_tensor %s at 0 : !relax.object -> tensor<4xf32>
            relax.memory.kill_storage %s : !relax.object
            relax.call impure @f(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> ()
            %z = relax.add %x, %y : ...
            relax.memory.kill_tensor %y : tensor<4xf32>

        First, a `relax.alias` and a `relax.match_cast` to the very type of its operand
        go, and so does any other alias that is not used. A use in a branch counts for the
        `relax.if`, so what is made outside ends its life after it; one in a function
        literal for the literal, which is treated like a function. A tuple whose only use
        is an argument of an operation in its block has no life of its own, as in TVM,
        where it has no variable: that operation uses its fields. After one operation
        first tensors end their lives, then storages, then tuples and other objects, each
        in the order of their definition. To end a life is to drop one name of a value:
        memory that a view, a tuple or a tensor on a storage shares stays as long as one
        of its names does. Time is linear in the size of the module.
    Leaves alone: parameters, results of functions and branches, fields of tuples that
        are such results, values that nothing reads or whose life ends already, constants,
        shapes, scalars, functions; values within operations of other dialects; names of
        values whose life ends already
    Errors: a dataflow block, which holds no operation with effects
    Attributes: read: none; created: `relax.force_pure` on pure functions in which a life
        ends; removed: none
    Differs from TVM: after a conditional lives go on to end, those of values that were
        last used in it included; TVM lets everything live on from there. A name of a
        value whose life ends stays; TVM replaces it, and may use the value after its end.
        `relax.force_pure` is set here, so that the result is well-formed. Of
        CanonicalizeBindings, which TVM runs first, only what concerns names of one value
        is done.
    """

    name = "relax-kill-after-last-use"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = relax_functions(op)
        for func in functions:
            if func.body.blocks:
                end_lives(func)


def end_lives(func: relax.FuncOp) -> None:
    """End the lives of values in a function without dataflow blocks.

    Raises PassFailedException for a dataflow block.
    """
    _remove_trivial_names(func)
    uses = _LastUses()
    uses.visit_block(func.body.block)
    uses.kill()


def _remove_trivial_names(func: relax.FuncOp) -> None:
    """Remove operations that only give a value another name; refuse dataflow blocks."""
    ended = set[SSAValue]()
    names = list[relax.AliasOp | relax.MatchCastOp]()
    for op in func.walk():
        if isinstance(op, relax.DataflowOp):
            raise PassFailedException(
                f"{KillAfterLastUse.name}: {op.name} in @{func.sym_name.data} can hold "
                "no end of a life; run relax-to-non-dataflow first"
            )
        if isinstance(op, _KILLS):
            ended.update(op.operands)
        elif isinstance(op, relax.AliasOp | relax.MatchCastOp):
            names.append(op)
    kept = list[relax.AliasOp | relax.MatchCastOp]()
    for op in names:
        # Where the life of one name has an end, the other one may live on.
        is_trivial = op.value.type == op.result.type
        if is_trivial and op.value not in ended and op.result not in ended:
            Rewriter.replace_op(op, (), [op.value])
        else:
            kept.append(op)
    for op in reversed(kept):
        if isinstance(op, relax.AliasOp) and op.result.first_use is None:
            Rewriter.erase_op(op)


@dataclass
class _LastUses:
    """The last use of each value, as operation of the block that defines it."""

    _here: dict[Block, Operation] = field(default_factory=dict[Block, Operation])
    """The operation that is visited, and the ones around it."""
    _last: dict[SSAValue, Operation] = field(default_factory=dict[SSAValue, Operation])
    """In the order of definition."""
    _results: set[SSAValue] = field(default_factory=set[SSAValue])
    _killed: set[SSAValue] = field(default_factory=set[SSAValue])

    def visit_block(self, block: Block, defines: bool = True) -> None:
        """Visit the operations of a block, whose values end only if it `defines`."""
        for op in block.ops:
            self._here[block] = op
            self._read(op, block)
            for region in op.regions:
                for inner in region.blocks:
                    self.visit_block(inner, defines and isinstance(op, _HOLDS))
            if defines:
                self._last.update((r, op) for r in op.results if _is_object(r))

    def _read(self, op: Operation, block: Block) -> None:
        if isinstance(op, _KILLS):
            self._killed.update(op.operands)
            return
        if isinstance(op, relax.TupleOp) and is_argument_tuple(op):
            # What takes the tuple uses its fields.
            return
        for operand in _operands(op):
            if operand not in self._last:
                continue
            home = operand.owner.parent_block()
            assert isinstance(home, Block), "the definition has been visited"
            self._last[operand] = self._here[home]
        if isinstance(op, relax.ReturnOp | relax.YieldOp):
            self._keep_result(op.value, block)

    def _keep_result(self, value: SSAValue, block: Block) -> None:
        """What leaves the block, a tuple with its fields, does not end there."""
        work = [value]
        while work:
            owner = (value := work.pop()).owner
            if value in self._results or not isinstance(owner, Operation):
                continue
            if owner.parent_block() is block:
                self._results.add(value)
                work += owner.elements if isinstance(owner, relax.TupleOp) else ()

    def kill(self) -> None:
        """End the lives."""
        ends = dict[Operation, list[SSAValue]]()
        for value, last in self._last.items():
            is_read = last is not value.owner
            if is_read and value not in self._results and value not in self._killed:
                ends.setdefault(last, []).append(value)
        for last, values in ends.items():
            block = last.parent_block()
            assert block is not None
            kills = [_kill(value) for value in values]
            block.insert_ops_after(sorted(kills, key=_rank), last)
        for block in {last.parent_block() for last in ends}:
            assert block is not None
            assert block.last_op is not None, "a block ends with a terminator"
            allow_effects(block.last_op, KillAfterLastUse.name)


def _operands(op: Operation) -> Iterator[SSAValue]:
    """The operands, for a tuple that is part of an argument those of the tuple."""
    work = list(reversed(op.operands))
    while work:
        owner = (value := work.pop()).owner
        if isinstance(owner, relax.TupleOp) and is_argument_tuple(owner):
            work += reversed(owner.elements)
        else:
            yield value


def _is_object(value: OpResult) -> bool:
    """Whether a value has a life of its own at run time."""
    if isinstance(value.op, relax.TupleOp) and is_argument_tuple(value.op):
        return False
    if isinstance(value.op, relax.NullValueOp) or value.op.has_trait(
        ConstantLike, value_if_unregistered=False
    ):
        return False
    return relax.TensorInfo.of(value.type) is not None or isinstance(
        value.type, relax.TupleType | relax.ObjectType
    )


def _kill(value: SSAValue) -> Operation:
    if isinstance(value.owner, _STORAGES):
        kill: Operation = relax.KillStorageOp(value)
    elif relax.TensorInfo.of(value.type) is not None:
        kill = relax.KillTensorOp(value)
    else:
        kill = relax.VMKillObjectOp(value)
    if isinstance(value.owner, Operation):
        kill.location = value.owner.location
    return kill


def _rank(kill: Operation) -> int:
    return next(rank for rank, kind in enumerate(_KILLS) if isinstance(kill, kind))
