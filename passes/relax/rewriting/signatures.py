"""Parameters of Relax functions, and what calls give for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_tvm.analysis.relax.well_formed import NUM_INPUT
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.functions import VAR_UPPER_BOUND
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import substitute_symbols
from xdsl_tvm.passes.infra.module_symbols import named_symbols
from xdsl_tvm.passes.relax.rewriting.bindings import is_function
from xdsl_tvm.passes.relax.rewriting.call_sites import update_signature
from xdsl_tvm.passes.relax.rewriting.symbols import (
    substitute_in_operation,
    verify_substituted,
)


def find_function(module: ModuleOp, name: str) -> relax.FuncOp | None:
    """The public function `name`, or else the private one of that symbol name."""
    functions = [op for op in module.ops if isinstance(op, relax.FuncOp)]
    for func in functions:
        symbol = func.attributes.get("global_symbol")
        if symbol is not None and symbol == StringAttr(name):
            return func
    for func in functions:
        if "global_symbol" not in func.attributes and func.sym_name.data == name:
            return func
    return None


def input_count(func: relax.FuncOp, pass_name: str) -> int | None:
    """The number of parameters that differ between calls, None where nothing says it.

    Those after them are weights. Raises PassFailedException, naming the pass, for a
    `num_input` that is no number of parameters.
    """
    found = func.attributes.get(NUM_INPUT)
    if found is None:
        return None
    if isinstance(found, IntegerAttr) and 0 <= found.value.data <= len(func.args):
        return found.value.data
    raise PassFailedException(
        f"{pass_name}: {NUM_INPUT} of @{func.sym_name.data} is {found}; give an integer "
        f"from 0 to {len(func.args)}, the number of its parameters"
    )


def only_calls(
    func: relax.FuncOp, users: Iterable[Operation], pass_name: str
) -> list[relax.CallOp]:
    """The calls of a function whose parameters change.

    Raises PassFailedException, naming the pass, where one of `users`, which name the
    function, is no call.
    """
    calls: list[relax.CallOp] = []
    for user in users:
        if not isinstance(user, relax.CallOp):
            raise PassFailedException(
                f"{pass_name}: {user.name} uses @{func.sym_name.data} without calling "
                "it, and its parameters would change; use another function there"
            )
        calls.append(user)
    return calls


def references(module: ModuleOp) -> dict[str, list[Operation]]:
    """The operations that name each symbol, in order."""
    found: dict[str, list[Operation]] = {}
    for op in module.walk():
        for name in dict.fromkeys(named_symbols(op)):
            found.setdefault(name, []).append(op)
    return found


def bind_symbols(func: relax.FuncOp, values: Mapping[str, Dim], pass_name: str) -> None:
    """Replace symbols of the parameters everywhere in a function.

    Function literals have symbols of their own. Raises PassFailedException, naming the
    pass, where that shows that an operation always fails.
    """
    if not values:
        return
    for argument in func.args:
        type_ = substitute_symbols(argument.type, values)
        if type_ != argument.type:
            Rewriter.replace_value_with_new_type(argument, type_)
    update_signature(func, substitute_symbols(func.output_type, values))
    _bind_in(func, values, pass_name)
    bounds = func.attributes.get(VAR_UPPER_BOUND)
    if isinstance(bounds, DictionaryAttr):
        kept = {name: b for name, b in bounds.data.items() if name not in values}
        func.attributes[VAR_UPPER_BOUND] = DictionaryAttr(kept)


def _bind_in(op: Operation, values: Mapping[str, Dim], pass_name: str) -> None:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                if not is_function(inner):
                    substitute_in_operation(inner, values)
                    _bind_in(inner, values, pass_name)
                verify_substituted(inner, pass_name)


def verify_calls(module: ModuleOp, pass_name: str) -> None:
    """Check that calls fit the functions of the module, whose types have changed.

    Raises PassFailedException, naming the pass, for one that does not.
    """
    for func in module.ops:
        if isinstance(func, relax.FuncOp) and func.body.blocks:
            try:
                func.verify_()
            except VerifyException as error:
                raise PassFailedException(
                    f"{pass_name}: {error}; bind what the function around it gives, too"
                ) from error
