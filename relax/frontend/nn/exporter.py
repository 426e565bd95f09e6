"""Models as modules of Relax: each method becomes a function.

A function takes the inputs of the method, the values of effects, and the parameters, in
this order; its attribute `num_input` is the number of those before the parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import islice
from typing import TypeAlias

from xdsl.ir import Attribute

from xdsl_tvm.dialects.ir_module import IRModule
from xdsl_tvm.dialects.relax import OBJECT
from xdsl_tvm.relax.block_builder import BlockBuilder
from xdsl_tvm.relax.expr import Expr, Tuple, Var
from xdsl_tvm.relax.frontend.nn import spec as specs
from xdsl_tvm.relax.frontend.nn.core import Module, Parameter, attributes
from xdsl_tvm.relax.frontend.nn.effects import Effect, IOEffect
from xdsl_tvm.relax.frontend.nn.subroutine import result_expr
from xdsl_tvm.relax.frontend.nn.tensor import Tensor, weight_var
from xdsl_tvm.relax.struct_info import (
    ShapeStructInfo,
    TupleStructInfo,
    sym,
)

Parameters: TypeAlias = "list[tuple[str, Parameter]]"
Effects: TypeAlias = "list[tuple[str, Effect]]"
INITIALIZE = "_initialize_effect"
"""The function that makes the first values of effects."""


def export(
    module: Module, spec: specs.ModuleSpec | specs.RawModuleSpec, debug: bool
) -> tuple[IRModule, Parameters]:
    """The module of a model's methods, and its parameters; see `Module.export_tvm`."""
    methods = specs.ModuleSpec.from_raw(spec, module)
    parameters = list(methods.module.named_parameters())
    effects: Effects = list(attributes(methods.module, "", Effect))
    _check_shared(parameters)
    _check_shared(effects)
    before = [parameter.expr for _, parameter in parameters]
    builder = BlockBuilder()
    with ExitStack() as stack:
        if debug:
            io = IOEffect()
            effects.insert(0, ("", io))
            stack.callback(io.make_current())
        try:
            if effects:
                _emit_initial(builder, effects)
            for name, each in zip(
                methods.method_names, methods.method_specs, strict=True
            ):
                _emit_method(builder, name, each, parameters, effects)
        finally:
            for (_, parameter), expr in zip(parameters, before, strict=True):
                parameter.expr = expr
    return builder.get(), parameters


def _check_shared(named: Sequence[tuple[str, object]]) -> None:
    """Raises ValueError for a parameter or an effect with two names."""
    known: dict[int, str] = {}
    for name, each in named:
        if (other := known.setdefault(id(each), name)) != name:
            raise ValueError(
                f"nn: '{other}' and '{name}' are the same {type(each).__name__}; only "
                "one module can hold it, and the others call that module"
            )


def _emit_initial(builder: BlockBuilder, effects: Effects) -> None:
    with builder.function(INITIALIZE):
        with builder.dataflow():
            states = [
                state
                for name, effect in effects
                for state in effect.emit_init(name, builder)
            ]
            output = builder.emit_output(Tuple(states))
        builder.emit_func_output(output)


def _emit_method(
    builder: BlockBuilder,
    name: str,
    spec: specs.MethodSpec,
    parameters: Parameters,
    effects: Effects,
) -> None:
    inputs = [
        Var(key, _type(key, each))
        for key, each in zip(spec.arg_names, spec.arg_specs, strict=True)
    ]
    states = [(effect, effect.create(key)) for key, effect in effects]
    state_vars = [var for _, variables in states for var in variables]
    state_inputs = _taken("packed_effects", spec.effect_mode, state_vars)
    weights = [weight_var(key, weight) for key, weight in parameters]
    weight_inputs = _taken("packed_params", spec.param_mode, weights)
    taken = [*inputs, *state_inputs]
    attrs = {"num_input": len(taken)}
    with builder.function(name, [*taken, *weight_inputs], attrs=attrs):
        with builder.dataflow():
            fields = iter(_fields(builder, spec.effect_mode, state_inputs, state_vars))
            for effect, variables in states:
                effect.set_state(list(islice(fields, len(variables))))
            values = _fields(builder, spec.param_mode, weight_inputs, weights)
            for (_, weight), value in zip(parameters, values, strict=True):
                weight.expr = value
            arguments = {
                key: _argument(builder, key, each, var)
                for key, each, var in zip(
                    spec.arg_names, spec.arg_specs, inputs, strict=True
                )
            }
            result = result_expr(name, spec.method(**arguments))
            final = [state for effect, _ in states for state in effect.finalize()]
            if final and spec.effect_mode != "none":
                result = Tuple([result, Tuple(final)])
            output = builder.emit_output(result)
        builder.emit_func_output(output)


def _type(name: str, spec: specs.InputSpec) -> Attribute:
    """The type of the parameter of the function for an input."""
    match spec:
        case specs.Int():
            return ShapeStructInfo([sym(name)])
        case specs.Tensor():
            return spec.struct_info
        case specs.Object():
            return OBJECT
        case specs.Tuple():
            return TupleStructInfo(
                [_type(f"{name}_{i}", each) for i, each in enumerate(spec.elements)]
            )


def _argument(
    builder: BlockBuilder, name: str, spec: specs.InputSpec, value: Var
) -> object:
    """What the method gets for an input."""
    match spec:
        case specs.Int():
            return sym(name)
        case specs.Tensor():
            return Tensor(_expr=value)
        case specs.Object():
            return spec.object_type(_expr=value, _name=name)
        case specs.Tuple():
            fields = [
                _argument(
                    builder, f"{name}_{i}", each, builder.emit(value[i], f"{name}_{i}")
                )
                for i, each in enumerate(spec.elements)
            ]
            return fields if isinstance(spec.elements, list) else tuple(fields)


def _taken(name: str, mode: specs.Mode, variables: Sequence[Var]) -> list[Var]:
    """The parameters of a function for those of a model, or for states."""
    if mode == "packed":
        return [Var(name, TupleStructInfo([var.struct_info for var in variables]))]
    return [] if mode == "none" else list(variables)


def _fields(
    builder: BlockBuilder,
    mode: specs.Mode,
    taken: Sequence[Var],
    variables: Sequence[Var],
) -> list[Expr]:
    """The values in a function; those that it does not take cannot be used."""
    if mode != "packed":
        return list(variables)
    (packed,) = taken
    return [builder.emit(packed[i], var.name_hint) for i, var in enumerate(variables)]
