"""UpdateParamStructInfo with a function of Python, as TVM takes it."""

from __future__ import annotations

from support.ir import parse
from xdsl.dialects.builtin import TensorType, f16
from xdsl.ir import Attribute, BlockArgument

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.relax import UpdateParamStructInfo

T = "tensor<4xf32>"


def half(parameter: BlockArgument) -> Attribute | None:
    return TensorType(f16, [4]) if parameter.index == 0 else None


def test_a_function_gives_types() -> None:
    module = parse(f"""
    relax.func @main(%x: {T}, %y: {T}) -> {T} {{
      %r = relax.exp %x : ({T}) -> {T}
      relax.return %r : {T}
    }}""")
    result = UpdateParamStructInfo(half)(module)
    result.verify()
    func = next(op for op in result.ops if isinstance(op, relax.FuncOp))
    assert [str(arg.type) for arg in func.args] == ["tensor<4xf16>", T]
    assert str(func.output_type) == "tensor<4xf16>"
