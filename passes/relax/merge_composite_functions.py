"""Functions of one code generator that follow each other become one."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.relax.memory_sharing import Writers
from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import module_symbols
from xdsl_tvm.passes.relax._grouped_functions.functions import (
    COMPOSITE,
    GroupedFunctions,
    codegen_of,
)
from xdsl_tvm.passes.relax._grouped_functions.group_body import GroupBody
from xdsl_tvm.passes.relax._grouped_functions.partition import (
    Group,
    Partition,
    dataflow_blocks,
    outputs_of,
)
from xdsl_tvm.passes.relax.dead_code_elimination import DeadCodeElimination

_ENTRY = "main"


@dataclass(frozen=True)
class MergeCompositeFunctions(CompilerPass):
    """Summary: Merges calls of functions that patterns have made for one code generator
        into calls of one function.

    TVM name: relax.MergeCompositeFunctions (v0.20)
    Input form: a Relax function `@main`, whose dataflow blocks call functions with
        `Composite` (`relax-fuse-ops-by-pattern`)
    Output form: the same, where `@main` calls public functions with `Codegen`, and
        without dead code (`relax-dead-code-elimination`)
    Options: none
    Rewrites: in a dataflow block of `@main`, before

            %a = relax.call @fused_relax_matmul(%x, %w) : (!t, !t) -> !t
            %b = relax.call @fused_relax_nn_relu(%a) : (!t) -> !t

        where the functions have the attributes `Composite = "dnnl.matmul"` and
        `Composite = "dnnl.relu"`, after

            %b = relax.call @fused_relax_matmul_relax_nn_relu_dnnl(%x, %w) : …

            relax.func @fused_relax_matmul_relax_nn_relu_dnnl(%x: !t, %w: !t) -> !t
                attributes {Codegen = "dnnl", global_symbol = …} {
              %f = relax.lambda "local_func"(%x_1: !t, %w_1: !t) -> !t
                  attributes {Composite = "dnnl.matmul"} { ... }
              %a = relax.call_indirect %f(%x, %w) : …
              %g = relax.lambda "local_func"(%y: !t) -> !t
                  attributes {Composite = "dnnl.relu"} { ... }
              %b = relax.call_indirect %g(%a) : …
              relax.return %b : !t
            }

        The code generator is what the value of `Composite` begins with, up to the first
        point. In the order of the block, a call is merged with the calls of that code
        generator that its arguments come of, as long as no other binding needs one of
        them and is needed by another. Results that are used elsewhere come as a tuple.
        Equal functions are shared. Time is linear in the size of the module, apart from
        what lies between calls that are merged.
    Leaves alone: modules without Relax functions; calls in other functions and outside
        of dataflow blocks, of functions without `Composite`, and of those that write
        their arguments
    Errors: a module whose Relax functions have another name than `@main`
    Attributes: read: `Composite`; created: `Codegen` and `global_symbol` on functions
        made; removed: `Primitive` of what they hold
    Differs from TVM: names of symbols of the functions are changed where they are
        those of the function around
    """

    name = "relax-merge-composite-functions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = module_symbols(op)
        if not any(isinstance(each, relax.FuncOp) for each in symbols.values()):
            return
        main = symbols.get(_ENTRY)
        if not isinstance(main, relax.FuncOp) or not main.body.blocks:
            raise PassFailedException(
                f"{self.name}: the module has no Relax function @{_ENTRY}, whose calls "
                "are merged; name the function so"
            )
        codegens = {
            name: codegen_of(composite.data)
            for name, func in symbols.items()
            if isinstance(func, relax.FuncOp)
            and isinstance(composite := func.attributes.get(COMPOSITE), StringAttr)
        }
        writers = Writers(op)
        functions = GroupedFunctions(op)
        for block in dataflow_blocks(main):
            partition = Partition(block, writers)
            for call in partition.ops:
                if isinstance(call, relax.CallOp):
                    name = call.callee.root_reference.data
                    if name in codegens:
                        _merge(call, codegens[name], partition)
            partition.settle()
            for group, members in partition.groups():
                body = GroupBody(members, outputs_of(members) or members[-1].results)
                if body.can_replace(members[-1]):
                    name = f"{body.name()}_{group.label}"
                    body.replace_by_call(functions.make_codegen(body, name, group.label))
        DeadCodeElimination((_ENTRY,)).apply(ctx, op)


def _merge(call: relax.CallOp, codegen: str, partition: Partition) -> None:
    """Add a call to the groups that its arguments come of, where that can be."""
    members = frozenset[Operation]((call,))
    partition.add(Group(members, codegen))
    for argument in call.arguments:
        group = _group_of(argument, partition)
        if group is None or group.label != codegen or group.members <= members:
            continue
        if partition.add(Group(group.members | members, codegen)):
            members |= group.members


def _group_of(value: SSAValue, partition: Partition) -> Group | None:
    owner = value.owner
    return partition.group_of(owner) if isinstance(owner, Operation) else None
