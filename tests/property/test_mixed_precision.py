"""ToMixedPrecision on random graphs: results differ by the rounding of f16 only.

`XDSL_TVM_FUZZ` sets their number, `XDSL_TVM_FUZZ_FROM` the first of them.
"""

from __future__ import annotations

import os
import random

import pytest
from support.ir import parse
from xdsl.dialects.builtin import f16, f32

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.relax.to_mixed_precision import ToMixedPrecision

FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "8"))
M = "tensor<4x4xf32>"
PAIR = f"!relax.tuple<{M}, {M}>"
CALL = ' attributes {global_symbol = "main"} '


def graph(seed: int) -> str:
    """A function of two matrices whose values stay around 1."""
    rng = random.Random(seed)
    lines: list[str] = []
    values = ["%x", "%w"]

    def bind(text: str, type_: str = M) -> str:
        name = f"%v{len(lines)}"
        lines.append(f"{name} = {text} -> {type_}")
        if type_ == M:
            values.append(name)
        return name

    for _ in range(rng.randint(4, 12)):
        a, b = (rng.choice(values[-4:]) for _ in range(2))
        match rng.randrange(7):
            case 0 | 1:
                product = bind(f"relax.matmul {a}, {b} : ({M}, {M})")
                bind(f"relax.tanh {product} : ({M})")
            case 2:
                total = bind(f"relax.add {a}, {b} : ({M}, {M})")
                bind(f"relax.sigmoid {total} : ({M})")
            case 3:
                bind(f"relax.nn.softmax {a} axis 1 : ({M})")
            case 4:
                bind(f"relax.permute_dims {a} : ({M})")
            case 5:
                half = "tensor<4x2xf32>"
                parts = f"!relax.tuple<{half}, {half}>"
                split = bind(f"relax.split {a} sections 2 axis 1 : ({M})", parts)
                item = bind(f"relax.get_item {split}[1] : {parts}", half)
                lines.append(
                    f"%t{len(lines)} = relax.tuple({item}, {item}) : {half}, {half}"
                )
                both = f"%t{len(lines) - 1}"
                bind(f"relax.concat {both} axis 1 : ({parts})")
            case _:
                bind(f"relax.alias {a} : {M}")
    result = rng.choice(values[-3:])
    body = "\n".join(lines)
    return f"""
    relax.func @main(%x: {M}, %w: {M}) -> {PAIR}{CALL}{{
      %r, %s = relax.dataflow -> ({M}, {M}) {{
        {body}
        relax.output {result}, {values[-1]} : {M}, {M}
      }}
      %p = relax.tuple(%r, %s) : {M}, {M}
      relax.return %p : {PAIR}
    }}"""


@pytest.mark.parametrize("out_dtype", ["float32", "float16"])
def test_results_differ_by_rounding(out_dtype: str) -> None:
    products = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = parse(graph(seed))
        one = ToMixedPrecision(out_dtype)
        report = check_semantics(module.clone(), [one], seed=seed, tolerance=0.05)
        assert "main" in report.checked, seed
        result = one(module)
        result.verify()
        for op in result.walk():
            if isinstance(op, relax.MatmulOp):
                products += 1
                infos = [TensorInfo.of(value.type) for value in op.operands]
                assert all(info is not None and info.dtype == f16 for info in infos), seed
    assert products > COUNT // 2


def test_parameters_become_f16() -> None:
    module = parse(f"""
    relax.func @callee(%x: {M}, %w: {M}) -> {M} {{
      %r = relax.dataflow -> ({M}) {{
        %m = relax.matmul %x, %w : ({M}, {M}) -> {M}
        %s = relax.add %m, %w : ({M}, {M}) -> {M}
        relax.output %s : {M}
      }}
      %t = relax.add %r, %w : ({M}, {M}) -> {M}
      relax.return %t : {M}
    }}
    relax.func @main(%x: {M}, %y: {M}) -> {M}{CALL}{{
      %r = relax.call @callee(%x, %y) : ({M}, {M}) -> {M}
      relax.return %r : {M}
    }}""")
    one = ToMixedPrecision(fp16_input_names=("w",))
    result = one(module)
    result.verify()
    callee = next(op for op in result.walk() if isinstance(op, relax.FuncOp))
    infos = [TensorInfo.of(arg.type) for arg in callee.args]
    assert [None if info is None else info.dtype for info in infos] == [f32, f16]
    casts = [op for op in callee.walk() if isinstance(op, relax.AstypeOp)]
    # One of `x`, of `w` for the sum outside, of the product, and of the sum.
    assert len(casts) == 4
    assert "main" in check_semantics(module.clone(), [one], tolerance=0.05).checked


def test_parameters_are_named_by_position() -> None:
    module = parse(f"""
    relax.func @main(%x: {M}) -> {M} {{
      relax.return %x : {M}
    }}""")
    result = ToMixedPrecision(fp16_input_names=("0",))(module)
    func = next(op for op in result.walk() if isinstance(op, relax.FuncOp))
    assert TensorInfo.of(func.args[0].type) == TensorInfo.shaped((4, 4), f16)
    assert TensorInfo.of(func.output_type) == TensorInfo.shaped((4, 4), f32)
    assert isinstance(func.return_op.value.owner, relax.AstypeOp)
