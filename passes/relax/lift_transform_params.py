"""What is computed of weights alone becomes a function that runs once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.relax.memory_sharing import Writers, values_with_written_memory
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.algebra import solve_symbols
from xdsl_tvm.dialects.relax.types import ShapeType, substitute_symbols
from xdsl_tvm.passes.infra import CompilerPass, PassContext
from xdsl_tvm.passes.relax._lifted_params.liftable import Liftable, Numbers
from xdsl_tvm.passes.relax._lifted_params.runtime_function import (
    symbols_to_pass,
    take_transformed,
)
from xdsl_tvm.passes.relax._lifted_params.transform_function import (
    closed_types,
    compose,
    existing_transform,
    transform_function,
)
from xdsl_tvm.passes.relax.rewriting.signatures import input_count, references

CONFIG = "relax.lift_transform_params.consume_params"
SUFFIX = "transform_params"


@dataclass(frozen=True)
class LiftTransformParams(CompilerPass):
    """Summary: Moves what depends on weights alone to a function that is called once.

    TVM name: relax.LiftTransformParams (v0.20)
    Input form: any
    Output form: the same; a function with weights takes what it needs of them as they
        are computed by a function `..._transform_params`
    Options: `shared_transform`: false for one function `NAME_transform_params` per
        function, true for a common one `transform_params`, or the names of the functions
        that share it (false); `consume_params`: drop each weight from the tuple once it
        is read (that of the `PassContext`,
        `relax.lift_transform_params.consume_params`)
    Rewrites: before

            relax.func @main(%x: !x, %w: !w) -> !y attributes {num_input = 1} {
              %r = relax.dataflow -> (!y) {
                %t = relax.permute_dims %w : (!w) -> !t
                %y = relax.matmul %x, %t : (!x, !t) -> !y
                relax.output %y : !y
              ...

        after

            relax.func @main(%x: !x, %t: !t) -> !y attributes {num_input = 1} {
              %r = relax.dataflow -> (!y) {
                %y = relax.matmul %x, %t : (!x, !t) -> !y
                relax.output %y : !y
              ...
            relax.func @main_transform_params(%params: !relax.tuple<!w>)
                -> !relax.tuple<!t> attributes {num_input = 0, ...} {
              %r = relax.dataflow -> (!relax.tuple<!t>) {
                %w = relax.get_item %params[0] : ...
                %t = relax.permute_dims %w : (!w) -> !t
              ...

        Lifted are the bindings of dataflow blocks that use weights, constants and lifted
        values only, and no symbol that weights do not define. The transform function
        returns the weights that the function still uses, in order, then the lifted values
        that it uses, in order; first, where the function uses symbols that neither these
        nor its inputs define, a shape of them. With a common function only what all of
        them compute is lifted. A function of that name that exists is composed with the
        new one. `relax.builtin.stop_lift_params` keeps its operand from being lifted, and
        is removed. Time is linear in the size of the module.
    Leaves alone: functions without `num_input` or without weights; bindings in branches
        and outside of dataflow blocks; function literals; casts; memory that something
        writes in place
    Errors: a `num_input` that is no number of parameters; a name in `shared_transform`
        of no Relax function, or of one without `num_input`; functions with other numbers
        or types of weights that are to share; a function that the module itself uses; an
        operation of the name of a transform function that is none
    Attributes: read: `num_input`; created: `num_input` and `global_symbol` on transform
        functions; removed: none
    Differs from TVM: of two bindings that compute the same value one is lifted. A value
        whose memory is written in place stays, since the next call would see it
        changed. A function without weights gets no transform function. Where nothing is
        lifted again, the function that exists stays as it is.
    """

    name = "relax-lift-transform-params"

    shared_transform: bool | tuple[str, ...] = False
    consume_params: bool | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        targets = self._targets(op)
        if not targets:
            return
        used = references(op)
        for func in targets:
            if users := used.get(func.sym_name.data):
                raise self._error(
                    f"@{func.sym_name.data} is used by {users[0].name}, which gives its "
                    "weights; lift those of functions that nothing calls"
                )
        if self.shared_transform is False:
            for func in targets:
                name = f"{func.sym_name.data}_{SUFFIX}"
                self._lift(op, [func], name)
        else:
            self._lift(op, list(targets), SUFFIX)
        for func in targets:
            for inner in list(func.walk()):
                if isinstance(inner, relax.StopLiftParamsOp):
                    _remove_stop(inner)

    def _error(self, reason: str) -> PassFailedException:
        return PassFailedException(f"{self.name}: {reason}")

    def _targets(self, module: ModuleOp) -> dict[relax.FuncOp, int]:
        """The functions to lift from, sorted by name, with the numbers of inputs."""
        functions = {
            func.sym_name.data: func
            for func in module.ops
            if isinstance(func, relax.FuncOp) and func.body.blocks
        }
        counts = {name: input_count(func, self.name) for name, func in functions.items()}
        if isinstance(self.shared_transform, bool):
            names = [name for name in sorted(functions) if not name.endswith(SUFFIX)]
        else:
            names = sorted(self.shared_transform)
            for name in names:
                if counts.get(name) is None:
                    lack = "no num_input" if name in functions else "no such function"
                    raise self._error(
                        f"shared_transform names @{name}, but there is {lack}; give "
                        "Relax functions whose num_input tells inputs from weights"
                    )
        return {
            functions[name]: count
            for name in names
            if (count := counts[name]) is not None and count < len(functions[name].args)
        }

    def _lift(self, module: ModuleOp, targets: Sequence[relax.FuncOp], name: str) -> None:
        found = self._search(module, targets)
        base, numbers = found[0], found[0].numbers
        removed = {n for n in numbers.dependent if n >= numbers.weights}
        for each in found:
            removed.intersection_update(each.number_of.values())
        needed = set[int]()
        for each in found:
            needed |= each.needed(removed)
        order = dict.fromkeys(number for op in base.ops.values() for number in op)
        lifted = [number for number in order if number in needed & removed]
        # A shape defines symbols without being used.
        weights = [
            index
            for index, weight in enumerate(base.weights)
            if index in needed or isinstance(weight.type, ShapeType)
        ]
        symbols = symbols_to_pass(found, weights, lifted, removed)
        consume = self.consume_params
        if consume is None:
            consume = bool(PassContext.current().get_config(CONFIG, bool))
        new = transform_function(name, base, [*weights, *lifted], symbols, consume)
        for each in found:
            take_transformed(each, weights, lifted, removed, symbols)
        is_identity = len(weights) == numbers.weights and not lifted and not symbols
        self._add(module, new, is_identity)

    def _search(
        self, module: ModuleOp, targets: Sequence[relax.FuncOp]
    ) -> list[Liftable]:
        writers = Writers(module)
        first = targets[0]
        types = self._weight_types(first)
        numbers = Numbers(len(types))
        found: list[Liftable] = []
        for func in targets:
            own = self._weight_types(func)
            if len(own) != len(types):
                raise self._error(
                    f"@{func.sym_name.data} has {len(own)} weights and "
                    f"@{first.sym_name.data} {len(types)}; a common transform needs as "
                    "many"
                )
            names = {} if func is first else solve_symbols(own, types)
            for index, (one, other) in enumerate(zip(own, types, strict=True)):
                if substitute_symbols(one, names) != other:
                    raise self._error(
                        f"weight {index} of @{func.sym_name.data} is {one}, and of "
                        f"@{first.sym_name.data} {other}; a common transform needs the "
                        "same types"
                    )
            inputs = len(func.args) - len(own)
            written = values_with_written_memory(func, writers)
            found.append(Liftable(func, inputs, numbers, names, written))
        return found

    def _weight_types(self, func: relax.FuncOp) -> list[Attribute]:
        inputs = input_count(func, self.name)
        assert inputs is not None, "a target"
        return closed_types([arg.type for arg in func.args[inputs:]])

    def _add(self, module: ModuleOp, new: relax.FuncOp, is_identity: bool) -> None:
        """Put a transform function into a module, after one that is there already."""
        name = new.sym_name.data
        old = existing_transform(module, name)
        if old is None:
            module.body.block.add_op(new)
        elif not isinstance(old, relax.FuncOp) or not _is_transform(old):
            raise self._error(
                f"{old.name} @{name} is no pure function from a tuple of weights to a "
                "tuple; rename it"
            )
        elif not is_identity:
            Rewriter.replace_op(old, compose(old, new), ())


def _is_transform(func: relax.FuncOp) -> bool:
    """Whether a function is one from a tuple to a tuple, without effects."""
    return (
        bool(func.body.blocks)
        and func.is_pure
        and len(func.args) == 1
        and isinstance(func.args[0].type, relax.TupleType)
        and isinstance(func.output_type, relax.TupleType)
    )


def _remove_stop(op: relax.StopLiftParamsOp) -> None:
    if op.data.type == op.result.type:
        Rewriter.replace_op(op, (), (op.data,))
    else:
        alias = relax.AliasOp(op.data, op.result.type)
        alias.location = op.location
        Rewriter.replace_op(op, alias)
