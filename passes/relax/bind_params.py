"""Parameters of a function become constants in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from typing import Any, TypeAlias

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, BlockArgument
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, PassFailedException, VerifyException
from xdsl.utils.hints import isa

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.in_threads import map_in_threads
from xdsl_tvm.dialects.relax.algebra import Check, base_check
from xdsl_tvm.dialects.relax.dense import dense_of
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import TensorInfo, substitute_symbols
from xdsl_tvm.dialects.relax.values import ConstantValue
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.call_sites import update_signature
from xdsl_tvm.passes.relax.rewriting.signatures import (
    bind_symbols,
    find_function,
    references,
)
from xdsl_tvm.registry import new_context

Key: TypeAlias = str | int | BlockArgument
"""A parameter: its name, its position, or itself."""


@dataclass(frozen=True)
class BindParams(CompilerPass):
    """Summary: Makes constants of parameters of a function.

    TVM name: relax.BindParams (v0.20)
    Input form: any
    Output form: the same, where the function has lost the bound parameters
    Options: `func_name`: the function, by its `global_symbol`, or by its symbol name if
        it is private (required); `params`: in Python, arrays by parameter: its name, its
        position or itself (none); `constants`: the same as texts, by position,
        "1 = dense<1.0> : tensor<4xf32>" (none)
    Rewrites: with `1 = dense<2.0> : tensor<8xf32>`, before

            relax.func @main<n>(%x: tensor<?xf32, #relax.dims<[n]>>,
                %w: tensor<?xf32, #relax.dims<[n]>>) -> ... {
              %y = relax.multiply %x, %w : ...

        after

            relax.func @main(%x: tensor<8xf32>) -> ... {
              %w = relax.constant dense<2.0> : tensor<8xf32>
              %y = relax.multiply %x, %w : ...

        Symbols that are a dimension of a bound parameter by themselves become those of
        the value, in the whole function. The name of a parameter is the name of its
        value in the text. Time is linear in the size of the module.
    Leaves alone: the module, if it has no such function; other parameters; other
        functions; `num_input`
    Errors: a parameter that the function lacks, that has the name of another one, or that
        is bound twice; a value that is no array, or that the parameter cannot have; an
        operation that can never hold then; a function that the module itself uses
    Attributes: read: none; created: none; removed: bound symbols from
        `tir_var_upper_bound`
    Differs from TVM: values are arrays and dense attributes, not other expressions. Where
        dimensions of values contradict each other or the parameter, that is an error; the
        last one wins in TVM. So it is if another operation calls the function, which TVM
        leaves with too many arguments.
    """

    name = "relax-bind-params"

    func_name: str
    params: InitVar[Mapping[Key, Any] | None] = None
    constants: tuple[str, ...] = ()
    _values: tuple[tuple[Key, Any], ...] = field(
        init=False, repr=False, compare=False, default=()
    )

    def __post_init__(self, params: Mapping[Key, Any] | None) -> None:
        given = [*(params or {}).items(), *map(self._parsed, self.constants)]
        object.__setattr__(self, "_values", tuple(given))

    def _parsed(self, text: str) -> tuple[Key, Any]:
        key, _, value = text.partition("=")
        try:
            return int(key), Parser(new_context(), value).parse_attribute()
        except (ParseError, ValueError):
            raise self._error(
                f"'{text}' binds no parameter; write it as "
                '"0 = dense<1.0> : tensor<4xf32>"'
            ) from None

    def _error(self, reason: str) -> PassFailedException:
        return PassFailedException(f"{self.name}: {reason}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        func = find_function(op, self.func_name)
        if func is None or not self._values:
            return
        if users := references(op).get(func.sym_name.data):
            raise self._error(
                f"@{self.func_name} is used by {users[0].name}, which gives all "
                "parameters; bind those of a function that nothing calls"
            )
        given: dict[BlockArgument, tuple[Key, Any]] = {}
        for key, value in self._values:
            argument = self._argument(func, key)
            if argument in given:
                raise self._error(f"parameter {key} is bound twice; give one value")
            given[argument] = key, value
        size = sum(getattr(value, "nbytes", 0) for _, value in given.values())
        values = map_in_threads(self._dense, list(given.values()), size)
        self._bind(func, dict(zip(given, values, strict=True)))

    def _argument(self, func: relax.FuncOp, key: Key) -> BlockArgument:
        where = f"of @{self.func_name}"
        match key:
            case int():
                found = [a for a in func.args if a.index == key]
            case str():
                found = [a for a in func.args if a.name_hint == key]
            case _:
                # The pass may run on a copy of the module, so it is the position.
                found = [a for a in func.args if a.index == key.index]
        if len(found) != 1:
            count = "no" if not found else "more than one"
            raise self._error(
                f"there is {count} parameter {key} {where}; give its position"
            )
        return found[0]

    def _dense(self, given: tuple[Key, Any]) -> ConstantValue:
        key, value = given
        if isa(value, ConstantValue):
            return value
        if hasattr(value, "__array__"):
            value = np.asarray(value)
        if not isinstance(value, np.ndarray | np.generic | int | float | list):
            kind = type(value).__name__
            raise self._error(f"parameter {key} cannot be a {kind}; give an array")
        try:
            return dense_of(np.asarray(value))
        except VerifyException as error:
            raise self._error(f"parameter {key}: {error}") from None

    def _bind(
        self, func: relax.FuncOp, bound: Mapping[BlockArgument, ConstantValue]
    ) -> None:
        values: dict[str, Dim] = {}
        for argument, dense in bound.items():
            _add_symbols(argument.type, dense.get_type(), values)
        symbols = {n: d for n, d in values.items() if n in func.symbol_names}
        for argument, dense in bound.items():
            type_ = substitute_symbols(argument.type, symbols)
            if base_check(type_, dense.get_type()) == Check.IMPOSSIBLE:
                raise self._error(
                    f"parameter {argument.index} of @{self.func_name} is {type_}, which "
                    f"{dense.get_type()} is not; give an array of that type"
                )
        positions = [argument.index for argument in bound]
        bind_symbols(func, symbols, self.name)
        block = func.body.block
        constants = list(map(relax.ConstantOp, bound.values()))
        arguments = [block.args[position] for position in positions]
        for argument, constant in zip(arguments, constants, strict=True):
            constant.result.name_hint = argument.name_hint
            argument.replace_all_uses_with(constant.result)
            block.erase_arg(argument)
        if block.first_op is not None:
            block.insert_ops_before(constants, block.first_op)
        update_signature(func)


def _add_symbols(param: Attribute, value: Attribute, values: dict[str, Dim]) -> None:
    """Add what the dimensions of a value say of symbols."""
    expected, given = TensorInfo.of(param), TensorInfo.of(value)
    if expected is None or given is None:
        return
    for one, other in zip(expected.dims or (), given.dims or (), strict=False):
        if one is not None and one.symbol_name is not None and other is not None:
            values.setdefault(one.symbol_name, other)
