"""Results are handed out when they are known."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation, SSAValue

from xdsl_tvm.analysis.relax.memory_sharing import Writers, values_with_written_memory
from xdsl_tvm.analysis.relax.well_formed import NUM_INPUT
from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax._lazy_params.public_functions import public_functions
from xdsl_tvm.passes.relax._lazy_params.stored_results import store_results
from xdsl_tvm.passes.relax.rewriting.signatures import input_count

_SET = relax.FuncType.of([relax.PrimType.of(i64), relax.OBJECT], relax.VOID, pure=False)


@dataclass(frozen=True)
class LazySetOutput(CompilerPass):
    """Summary: Replaces the results of public functions by calls of a function with them.

    TVM name: relax.LazySetOutput (v0.20)
    Input form: any
    Output form: the same; public functions take a function `fset_output`, return nothing
        and are impure
    Options: none
    Rewrites: before

            relax.func @main(%x: !x) -> !relax.tuple<!x, !x>
                attributes {global_symbol = "main"} {
              %a = relax.exp %x : (!x) -> !x
              %b = relax.negative %a : (!x) -> !x
              %r = relax.tuple(%a, %b) : !x, !x
              relax.return %r : !relax.tuple<!x, !x>

        after

            relax.func impure @main(%x: !x, %fset_output: !relax.func<
                (!relax.prim<i64>, !relax.object) -> !relax.tuple<>, impure>)
                -> !relax.tuple<> attributes {global_symbol = "main"} {
              %a = relax.exp %x : (!x) -> !x
              %i = relax.prim_value 0 : i64
              %u = relax.call_indirect impure %fset_output(%i, %a) : ...
              %b = relax.negative %a : (!x) -> !x
              %j = relax.prim_value 1 : i64
              %v = relax.call_indirect impure %fset_output(%j, %b) : ...
              %r = relax.tuple()
              relax.return %r : !relax.tuple<>

        Results are the fields of a tuple, or the value itself. One that a dataflow block
        makes is handed out after the block, a parameter at the start; a constant, and a
        tensor that something writes, at the end. The parameter is the last input, where
        `num_input` tells inputs from weights, and otherwise the last. Time is linear in
        the size of the module.
    Leaves alone: private functions
    Errors: a `num_input` that is no number of parameters; a public function that the
        module itself uses
    Attributes: read: `global_symbol`, `num_input`; created: none; changed: `num_input`,
        one more than it was; removed: `relax.force_pure`
    Differs from TVM: a tuple is taken apart wherever it was made
    """

    name = "relax-lazy-set-output"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        writers = Writers(op)
        for func in public_functions(op, self.name):
            self._rewrite(func, values_with_written_memory(func, writers))

    def _rewrite(self, func: relax.FuncOp, written: set[SSAValue]) -> None:
        count = input_count(func, self.name)
        place = len(func.args) if count is None else count
        output = func.body.block.insert_arg(_SET, place)
        output.name_hint = "fset_output"
        if count is not None:
            func.attributes[NUM_INPUT] = IntegerAttr(count + 1, i64)

        def store(index: int, value: SSAValue) -> list[Operation]:
            number = relax.PrimValueOp(index)
            return [number, relax.CallIndirectOp(output, [number, value], relax.VOID)]

        store_results(func, store, written)
