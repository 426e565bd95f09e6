"""Weights of models that are parameters of a module: the attribute `params`."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute

from xdsl_tvm.dialects.ir_module import IRModule
from xdsl_tvm.dialects.relax import FuncOp
from xdsl_tvm.interpreters.relax.values import Array, constant_array


def detach_params(module: IRModule) -> tuple[IRModule, dict[str, list[Array]]]:
    """A module without the attributes `params`, and their arrays by function."""
    result = module.clone()
    params: dict[str, list[Array]] = {}
    for func in result.body.block.ops:
        if not isinstance(func, FuncOp) or "params" not in func.attributes:
            continue
        attribute = func.attributes.pop("params")
        assert isinstance(attribute, ArrayAttr)
        params[func.sym_name.data] = [
            constant_array(each) for each in cast("ArrayAttr[Attribute]", attribute)
        ]
    return result, params
