"""Modules cut into kernels and their callers."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import FunctionType, ModuleOp, f32
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.lowering.compile_units import CALLERS, Unit, lower_to_units
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.module_fingerprint import module_fingerprint

KERNEL = """
tir.func private @{}(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  %B = tir.match_buffer %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  {check}tir.for %i = %c0 to %c4 {
    %x = tir.load %A[%i] : f32
    %y = tir.{op} %x, %x : f32
    tir.store %y, %B[%i] : f32
  }
}
"""

MAIN = """
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {global_symbol = "main"} {
  %0 = relax.call_tir @first(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relax.call_tir @second(%0) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %1 : tensor<4xf32>
}
"""

CHECK = '%p = tir.cmp lt %c0, %c4 : i32\n  tir.assert %p, "four"\n  '


def kernel(name: str, op: str, check: str = "") -> str:
    text = KERNEL.replace("{}", name).replace("{op}", op)
    return text.replace("{check}", check)


def parsed(text: str) -> ModuleOp:
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module


def units(text: str, *exports: str) -> list[Unit]:
    context = new_context()
    found = lower_to_units(
        context, parsed(text), exports, module_fingerprint, vector_bytes=16
    )
    for unit in found:
        unit.module.verify()
    return found


def declarations(module: ModuleOp) -> set[str]:
    return {
        str(op.properties["sym_name"]).strip('"')
        for op in module.body.ops
        if op.name == "func.func" and not op.regions[0].blocks
    }


def test_kernels_are_named_by_content() -> None:
    found = units(kernel("first", "add") + kernel("second", "mul") + MAIN)
    assert [unit.name for unit in found] == ["first", "second", CALLERS]
    symbols = {unit.symbol for unit in found[:2]}
    assert len(symbols) == 2
    assert all(symbol and symbol.startswith("tvm_kernel_") for symbol in symbols)
    assert declarations(found[-1].module) == symbols
    # Another module, with the kernels in another order and under other names.
    text = kernel("second", "add") + kernel("first", "mul") + MAIN
    assert {unit.symbol for unit in units(text)[:2]} == symbols


def test_equal_kernels_are_one_unit() -> None:
    found = units(kernel("first", "add") + kernel("second", "add") + MAIN)
    assert [unit.name for unit in found] == ["first", CALLERS]
    assert declarations(found[-1].module) == {found[0].symbol}


def test_exports_keep_their_names() -> None:
    text = kernel("first", "add") + kernel("second", "add") + MAIN
    assert units(text, "first")[0].symbol == "first"


def test_functions_with_assertions_stay_with_the_callers() -> None:
    found = units(kernel("first", "add", CHECK) + kernel("second", "mul") + MAIN)
    assert [unit.name for unit in found] == ["second", CALLERS]
    assert "tir.assert" in str(found[-1].kept)
    text = found[-1].lower(new_context(), 16)
    assert "define internal void @first(" in text or "define void @first(" in text
    assert f"declare void @{found[0].symbol}(" in text


def test_units_become_llvm_ir_that_calls_each_other() -> None:
    found = units(kernel("first", "add") + kernel("second", "mul") + MAIN)
    texts = [unit.lower(new_context(), 16) for unit in found]
    for unit, text in zip(found[:2], texts, strict=False):
        assert f"define void @{unit.symbol}(" in text
        assert f"declare void @{unit.symbol}(" in texts[-1]


def test_changed_signatures_are_refused_with_the_name_in_the_module() -> None:
    first = units(kernel("first", "add") + kernel("second", "mul") + MAIN)[0]
    first.declared = FunctionType.from_lists([f32], [])
    with pytest.raises(PassFailedException, match=r"tir\.func @first: the passes change"):
        first.lower(new_context(), 16)
