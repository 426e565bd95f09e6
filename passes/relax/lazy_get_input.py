"""Weights are asked for when they are needed."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import SSAValue

from xdsl_tvm.analysis.relax.well_formed import NUM_INPUT
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.located_builder import LocatedBuilder
from xdsl_tvm.dialects.relax.algebra import erase_symbols
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax._lazy_params.fetched_weights import (
    fetch_weights,
    parameter_symbols_of,
)
from xdsl_tvm.passes.relax._lazy_params.public_functions import public_functions
from xdsl_tvm.passes.relax.rewriting.call_sites import update_signature
from xdsl_tvm.passes.relax.rewriting.signatures import input_count

_GET = relax.FuncType.of([relax.PrimType.of(i64)], relax.OBJECT)


@dataclass(frozen=True)
class LazyGetInput(CompilerPass):
    """Summary: Replaces the weights of public functions by a function that gives them.

    TVM name: relax.LazyGetInput (v0.20)
    Input form: any
    Output form: the same; public functions take a function `fget_param` in the place of
        their weights
    Options: none
    Rewrites: before

            relax.func @main(%x: !x, %w: !w) -> !y
                attributes {global_symbol = "main", num_input = 1} {
              %y = relax.matmul %x, %w : ...

        after

            relax.func @main(%x: !x,
                %fget_param: !relax.func<(!relax.prim<i64>) -> !relax.object>) -> !y
                attributes {global_symbol = "main", num_input = 2} {
              %i = relax.prim_value 0 : i64
              %o = relax.call_indirect %fget_param(%i) : ...
              %w = relax.match_cast %o : !relax.object -> !w
              %y = relax.matmul %x, %w : ...

        The parameters from `num_input` on are weights, all without it; they are numbered
        from 0. A weight is fetched before the operation that needs it first, in the
        innermost block that holds all its uses, and a weight that defines a symbol which
        the function uses at the start. Weights that nothing needs are not fetched. A
        dimension of the result is forgotten where no parameter tells its symbols any
        more. Time is linear in the size of the module, times the depth of blocks.
    Leaves alone: private functions
    Errors: a `num_input` that is no number of parameters; a parameter that stays and uses
        a symbol which only weights define; a public function that the module itself uses
    Attributes: read: `global_symbol`, `num_input`; created: `num_input`, one more than it
        was; removed: none
    Differs from TVM: `fget_param` gets the number of a weight and not its name, since
        strings are no values of the dialect. What defines a symbol is fetched before the
        symbol is used.
    """

    name = "relax-lazy-get-input"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in public_functions(op, self.name):
            self._rewrite(func)

    def _rewrite(self, func: relax.FuncOp) -> None:
        count = input_count(func, self.name) or 0
        block = func.body.block
        weights = func.args[count:]
        get = block.insert_arg(_GET, count)
        get.name_hint = "fget_param"

        def fetch(builder: LocatedBuilder, index: int) -> SSAValue:
            number = builder.insert(relax.PrimValueOp(index))
            return builder.insert(relax.CallIndirectOp(get, [number], relax.OBJECT))

        visible = parameter_symbols_of(func, func.args[:count], self.name)
        fetch_weights(func, weights, visible, fetch)
        for weight in weights:
            block.erase_arg(weight)
        func.attributes[NUM_INPUT] = IntegerAttr(count + 1, i64)
        update_signature(func, erase_symbols(func.output_type, visible))
