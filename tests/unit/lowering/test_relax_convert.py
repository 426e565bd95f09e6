"""Lowering Relax functions to memref: what FileCheck tests cannot show."""

import pytest
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import relax
from xdsl_tvm.lowering.relax.convert_to_memref import ConvertToMemref
from xdsl_tvm.registry import new_context

GOOD = """
relax.func @good() -> tensor<2xf32> {
  %0 = relax.constant dense<[1.0, 2.0]> : tensor<2xf32>
  relax.return %0 : tensor<2xf32>
}
"""
BAD = """
relax.func @bad(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relax.nn.relu %x : (tensor<2xf32>) -> tensor<2xf32>
  relax.return %0 : tensor<2xf32>
}
"""


def parse(text: str) -> ModuleOp:
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module


def test_an_error_leaves_the_module_as_it_was():
    module = parse(GOOD + BAD)
    before = str(module)
    with pytest.raises(PassFailedException, match=r"relax\.nn\.relu"):
        ConvertToMemref().apply(new_context(), module)
    assert str(module) == before


def test_called_tvm_way_the_argument_is_left_alone():
    module = parse(GOOD)
    before = str(module)
    lowered = ConvertToMemref()(module)
    assert str(module) == before
    assert any(isinstance(op, func.FuncOp) for op in lowered.body.ops)


def test_names_of_globals_avoid_those_of_the_module():
    module = parse(
        GOOD + "func.func private @constant_0()\nmodule { func.func private @f() }"
    )
    ConvertToMemref().apply(new_context(), module)
    module.verify()
    names = [op.sym_name.data for op in module.walk() if isinstance(op, memref.GlobalOp)]
    assert names == ["constant_1"]


def test_nested_modules_have_globals_of_their_own():
    module = parse(f"module {{ {GOOD} }}\nmodule {{ {GOOD} }}")
    ConvertToMemref().apply(new_context(), module)
    module.verify()
    assert not any(isinstance(op, relax.FuncOp) for op in module.walk())
    owners = [op.parent_op() for op in module.walk() if isinstance(op, memref.GlobalOp)]
    assert len(set(owners)) == 2


@pytest.mark.parametrize("count", [100])
def test_code_grows_linearly(count: int):
    """Extents and constants are computed once, not once per use."""

    def size(calls: int) -> int:
        body = "\n".join(
            f'%{i + 1} = relax.builtin.alloc_tensor on 0 scope "global" : !n\n'
            f"relax.call impure @g(%{i}, %{i + 1}) : (!n, !n) -> ()"
            for i in range(calls)
        )
        module = parse(
            "!n = tensor<?xf32, #relax.dims<[n * m + 1]>>\n"
            "!m = tensor<?x?xf32, #relax.dims<[n, m]>>\n"
            "tir.func @g(%a: !tir.handle, %b: !tir.handle) {\n"
            '%n = tir.shape_var "n" : i64\n'
            "%A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>\n"
            "%B = tir.match_buffer %b [%n] : !tir.buffer<?xf32>\n}\n"
            "relax.func impure @f<n, m>(%0: !n, %s: !m) -> !n {\n"
            f"{body}\nrelax.return %{calls} : !n }}"
        )
        ConvertToMemref().apply(new_context(), module)
        module.verify()
        return sum(1 for _ in module.walk())

    # Memory is made, checked to exist, written by the call and released.
    assert size(2 * count) - size(count) == count * 10
