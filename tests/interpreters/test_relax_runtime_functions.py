"""Functions of the virtual machine, called by name: checks, shapes and closures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.ir import parse
from xdsl.utils.exceptions import PassFailedException

import xdsl_tvm
from xdsl_tvm.interpreters.errors import SimulationError
from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.passes.relax import VMShapeLower

U = "tensor<?xf32>"


def call(name: str, operand: str, type_: str, *numbers: int) -> str:
    """A function that calls one of the runtime on a parameter and numbers."""
    lines = [
        f"%n{i} = relax.prim_value {number} : i64" for i, number in enumerate(numbers)
    ]
    operands = ", ".join([operand, *(f"%n{i}" for i in range(len(numbers)))])
    types = ", ".join([type_, *(f"!relax.prim<i64, {number}>" for number in numbers)])
    return f"""
    relax.func impure @main(%x: {type_}) -> {type_} {{
      %heap = relax.null_value : !relax.object
      {chr(10).join(lines)}
      relax.call_packed "vm.builtin.{name}"({operands}) : ({types}) -> ()
      relax.return %x : {type_}
    }}"""


ARRAY = np.zeros(3, np.float32)
FAILING = [
    ("check_tensor_info", U, (2, 2, 32), ARRAY, "the rank is 1, not 2"),
    ("check_tensor_info", U, (1, 0, 32), ARRAY, "the dtype is float32, not code 0"),
    ("check_shape_info", "!relax.shape<[?]>", (2,), (3,), "a shape has rank 1, not 2"),
    ("check_tuple_info", f"!relax.tuple<{U}>", (2,), (ARRAY,), "1 fields, not 2"),
    ("check_func_info", "!relax.object", (), 3, "a int is no function"),
    ("check_prim_value_info", "!relax.object", (0, 64), "x", "a str is no scalar"),
]


@pytest.mark.parametrize(("name", "type_", "numbers", "value", "message"), FAILING)
def test_checks_fail(
    name: str, type_: str, numbers: tuple[int, ...], value: Any, message: str
) -> None:
    run = interpret(parse(call(name, "%x", type_, *numbers)))["main"]
    with pytest.raises(SimulationError, match=message):
        run(value)


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ((1, 0, 4), "an extent is 3, not 4"),
        ((2, 0, 3, 0, 3), "the rank is 1, not 2"),
    ],
)
def test_shapes_that_do_not_match(codes: tuple[int, ...], message: str) -> None:
    text = call("match_shape", "%x, %heap", f"{U}, !relax.object", *codes)
    text = text.replace(f"%x: {U}, !relax.object", f"%x: {U}")
    text = text.replace(f"-> {U}, !relax.object {{", f"-> {U} {{")
    text = text.replace(f"%x : {U}, !relax.object", f"%x : {U}")
    with pytest.raises(SimulationError, match=message):
        interpret(parse(text))["main"](ARRAY)


def test_compiled_code_names_what_it_lacks() -> None:
    module = parse("""
    relax.func @main<n>(%x: tensor<?xf32, #relax.dims<[n]>>) -> !relax.shape<[n]>
        attributes {global_symbol = "main"} {
      %s = relax.shape [n]
      relax.return %s : !relax.shape<[n]>
    }""")
    lowered = VMShapeLower()(module)
    assert interpret(lowered)["main"](ARRAY) == (3,)
    assert xdsl_tvm.compile(lowered)["main"](ARRAY) == (3,)
    # Without `err_ctx` a check may be the program's own.
    lowered = VMShapeLower(emit_err_ctx=False)(module)
    assert interpret(lowered)["main"](ARRAY) == (3,)
    with pytest.raises(PassFailedException, match=r"vm\.builtin\."):
        xdsl_tvm.compile(lowered)
