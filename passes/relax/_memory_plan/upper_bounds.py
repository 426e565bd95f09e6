"""The greatest values of symbols that functions are annotated with."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, i1
from xdsl.ir import Attribute
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.hints import isa

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.functions import VAR_UPPER_BOUND
from xdsl_tvm.passes.relax._memory_plan.sizes import UpperBounds

_NON_NEGATIVE = "tir_non_negative_var"


def upper_bounds_of(func: relax.FuncOp, name: str) -> UpperBounds:
    """What is known of the symbols that the parameters of a function define.

    Raises PassFailedException, with the name of the pass, for `tir_var_upper_bound` that
    is no dictionary to positive integers, and for `tir_non_negative_var` that is no array
    of strings; nothing else is needed of the latter, since no symbol is ever negative.
    """
    where = f"{name}: {func.name} @{func.sym_name.data}"
    _check_non_negative(func, where)
    given = func.attributes.get(VAR_UPPER_BOUND, DictionaryAttr({}))
    if not isinstance(given, DictionaryAttr):
        raise PassFailedException(
            f"{where}: {VAR_UPPER_BOUND} is {given}; write a dictionary from "
            "names of symbols to integers"
        )
    bounds = {key: _upper_bound(where, key, value) for key, value in given.data.items()}
    return UpperBounds({key: bounds[key] for key in func.symbol_names if key in bounds})


def _upper_bound(where: str, key: str, value: Attribute) -> int:
    if isa(value, IntegerAttr) and value.type != i1 and (number := value.value.data) > 0:
        return number
    raise PassFailedException(
        f"{where}: {VAR_UPPER_BOUND} of '{key}' is {value}; write an integer "
        "larger than 0"
    )


def _check_non_negative(func: relax.FuncOp, where: str) -> None:
    given = func.attributes.get(_NON_NEGATIVE)
    if given is None or isa(given, ArrayAttr[StringAttr]):
        return
    raise PassFailedException(
        f"{where}: {_NON_NEGATIVE} is {given}; write an array of strings"
    )
