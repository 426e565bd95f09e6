"""Branches between blocks, to the llvm dialect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import cf, llvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    ModuleOp,
    SymbolRefAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.dialects import tvm_llvm
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.quick_accessors import stored_operands
from xdsl_tvm.dialects.quick_operation import create, segments
from xdsl_tvm.lowering.to_llvm._blocks import split_behind
from xdsl_tvm.lowering.to_llvm._conversion import (
    Conversion,
    become,
    convert_type,
)
from xdsl_tvm.lowering.to_llvm._symbols import Symbols, symbol_table
from xdsl_tvm.passes.infra import CompilerPass

_STDERR = 2


@dataclass(frozen=True)
class ConvertCFToLLVM(CompilerPass):
    """Summary: Turns cf branches, switches and assertions into llvm ones.

    TVM name: none (ours)
    Input form: any verified IR
    Output form: no cf operation; the arguments of the blocks that cf branched to have
        LLVM types
    Options: none
    Rewrites:
            cf.br ^bb1(%i : index)          →  llvm.br ^bb1(%i : i64)
            cf.cond_br %c, ^bb1, ^bb2       →  llvm.cond_br %c, ^bb1, ^bb2
            cf.switch %v : i32, […]         →  tvm_llvm.switch %v : i32, … […]
            cf.assert %c, "message"         →  llvm.cond_br %c, ^rest, ^fail
                                            ^fail:
                                               llvm.call @write(2, %message, size)
                                               llvm.call @abort()
                                               llvm.unreachable
        In a gpu.module a failed assertion calls the intrinsic `llvm.trap` instead,
        without its message.
    Leaves alone: foreign operations
    Errors: an assertion where the symbol `write` or `abort` is taken by something that
        is not a function of C's signature
    Attributes: read: none; created: none; removed: none. All discardable attributes of
        the branches (`tvm_llvm.loop`) are kept
    Differs from TVM: TVM reports a failed assertion through its own C runtime
    """

    name = "tvm-convert-cf-to-llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        branches: list[Operation] = []
        asserts: list[cf.AssertOp] = []
        targets: dict[Block, None] = {}
        for inner in ops_of(op, cf.AssertOp, *_BRANCHES):
            if _is_assertion(inner):
                asserts.append(inner)
            elif type(inner) in _BRANCHES:
                branches.append(inner)
                for successor in inner.successors:
                    targets[successor] = None
        conversion = Conversion()
        for target in targets:
            conversion.convert_block_args(target)
        for branch in branches:
            kind = _RENAMED.get(type(branch))
            if kind is not None and all(map(_is_own_form, stored_operands(branch))):
                become(branch, kind, branch.properties, branch.attributes)
                continue
            conversion.start(branch)
            new = _BRANCHES[type(branch)](conversion, branch)
            new.attributes.update(branch.attributes)
            conversion.insert_op(new)
            conversion.replace(branch, ())
        symbols = Symbols()
        for assertion in reversed(asserts):
            _lower_assert(conversion, assertion, symbols)
        conversion.finish()


_is_assertion = of_classes(cf.AssertOp)
_RENAMED: dict[type[Operation], type[Operation]] = {
    cf.BranchOp: llvm.BrOp,
    cf.ConditionalBranchOp: llvm.CondBrOp,
}
"""Branches that differ from LLVM's in their name only."""


def _is_own_form(value: SSAValue) -> bool:
    return convert_type(value.type) is value.type


def _br(conversion: Conversion, op: Operation) -> Operation:
    return create(
        llvm.BrOp, operands=conversion.operands(op.operands), successors=op.successors
    )


def _cond_br(conversion: Conversion, op: Operation) -> Operation:
    assert isinstance(op, cf.ConditionalBranchOp)
    return create(
        llvm.CondBrOp,
        operands=conversion.operands(op.operands),
        successors=op.successors,
        properties={
            "operandSegmentSizes": segments(
                1, len(op.then_arguments), len(op.else_arguments)
            )
        },
    )


def _switch(conversion: Conversion, op: Operation) -> Operation:
    assert isinstance(op, cf.SwitchOp)
    values: Sequence[int] = []
    if op.case_values is not None:
        values = [int(value) for value in op.case_values.get_values()]
    properties: dict[str, Attribute] = {
        "case_values": DenseArrayBase.from_list(i64, values),
        "case_operand_segments": op.case_operand_segments,
        "operandSegmentSizes": segments(
            1, len(op.default_operands), len(op.case_operands)
        ),
    }
    return create(
        tvm_llvm.SwitchOp,
        operands=conversion.operands(op.operands),
        successors=op.successors,
        properties=properties,
    )


_BRANCHES: dict[type[Operation], Callable[[Conversion, Operation], Operation]] = {
    cf.BranchOp: _br,
    cf.ConditionalBranchOp: _cond_br,
    cf.SwitchOp: _switch,
}


def _lower_assert(conversion: Conversion, op: cf.AssertOp, symbols: Symbols) -> None:
    """Splits the block after the assertion.

    Assertions are handled from the last to the first, so that each operation moves to
    its final block at once.
    """
    rest, failed = split_behind(op), Block()
    region = rest.parent
    assert region is not None
    region.add_block(failed)
    _fill_failure(op, failed, symbols)
    conversion.start(op)
    conversion.insert_op(
        create(
            llvm.CondBrOp,
            operands=[op.operands[0]],
            successors=[rest, failed],
            properties={"operandSegmentSizes": segments(1, 0, 0)},
        )
    )
    conversion.replace(op, ())


def _fill_failure(op: cf.AssertOp, block: Block, symbols: Symbols) -> None:
    module = symbol_table(op)
    if module.name == "gpu.module":
        block.add_op(tvm_llvm.CallIntrinsicOp("llvm.trap", []))
    else:
        pointer = llvm.LLVMPointerType()
        text = f"{op.msg.data}\n"
        operands: list[Operation] = [
            llvm.ConstantOp(IntegerAttr(_STDERR, i32), i32),
            llvm.AddressOfOp(symbols.string_constant(module, text), pointer),
            llvm.ConstantOp(IntegerAttr(len(text.encode()), i64), i64),
        ]
        block.add_ops(operands)
        # Not stdio, whose buffers abort() does not flush.
        write = symbols.declare_function(op, "write", [i32, pointer, i64], i64)
        block.add_op(_call(write, [value.results[0] for value in operands], i64))
        abort = symbols.declare_function(op, "abort", [], None)
        block.add_op(_call(abort, [], None))
    block.add_op(llvm.UnreachableOp())
    for inner in block.ops:
        inner.location = op.location


def _call(
    callee: SymbolRefAttr, args: Sequence[SSAValue], result: Attribute | None
) -> Operation:
    return llvm.CallOp(callee, *args, return_type=result)
