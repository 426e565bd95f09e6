"""AttachAttrLayoutFreeBuffers: what copies compute, contexts, and random modules."""

from __future__ import annotations

import os
import random

import pytest
from support.effort import calls
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.structural_equal import structural_equal
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.tir.annotations import integer_of, list_items
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.passes.relax.attach_attr_layout_free_buffers import (
    AttachAttrLayoutFreeBuffers,
)
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse as parse_script

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "8"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
ATTACH = AttachAttrLayoutFreeBuffers()
SCALE = """
tir.func @NAME(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  %B = tir.match_buffer %b : !tir.buffer<4xf32>
  %C = tir.match_buffer %c : !tir.buffer<4xf32>
  %zero = tir.const 0 : i32
  %four = tir.const 4 : i32
  tir.for %i = %zero to %four {
    %x = tir.load %A[%i] : f32
    %y = tir.load %B[%i] : f32
    %z = tir.OP %x, %y : f32
    tir.store %z, %C[%i] : f32
  }
}
"""


def random_program(seed: int) -> str:
    """Functions that call each other's kernels with inputs, weights and constants."""
    rng = random.Random(seed)
    kernels = ["f", "g", "h"]
    text = "!t = tensor<4xf32>\n"
    for index in range(rng.randint(1, 3)):
        known, body = ["%x", "%y", "%w", "%v"], ""
        for count in range(rng.randint(1, 8)):
            if rng.random() < 0.3:
                value = float(rng.randint(0, 3))
                body += f"%{count} = relax.constant dense<{value}> : tensor<4xf32>\n"
            else:
                a, b = rng.choice(known), rng.choice(known)
                kernel = rng.choice(kernels)
                body += (
                    f"%{count} = relax.call_tir @{kernel}({a}, {b}) : (!t, !t) -> !t\n"
                )
            known.append(f"%{count}")
        number = rng.choice(["", f", num_input = {rng.randint(0, 5)} : i64"])
        text += (
            f"relax.func @main{index}(%x: !t, %y: !t, %w: !t, %v: !t) -> !t "
            f'attributes {{global_symbol = "main{index}"{number}}} {{\n'
            f"{body}relax.return {known[-1]} : !t\n}}\n"
        )
    # Two of the kernels are equal.
    for name, op in zip(kernels, ("add", "mul", "add"), strict=True):
        text += SCALE.replace("NAME", name).replace("OP", op)
    return text


def functions(module: ModuleOp) -> dict[str, tir.FuncOp]:
    return {op.sym_name.data: op for op in module.ops if isinstance(op, tir.FuncOp)}


def listed(func: tir.FuncOp) -> list[int | None]:
    items = list_items(func.attributes["layout_free_buffers"])
    assert items is not None
    return [integer_of(item) for item in items]


def expected(call: relax.CallTIROp, func: relax.FuncOp) -> list[int]:
    number = integer_of(func.attributes.get("num_input"))
    weights = () if number is None else func.args[number:]
    return [
        index
        for index, value in enumerate(call.arguments)
        if isinstance(value.owner, relax.ConstantOp) or value in weights
    ]


def test_random_modules() -> None:
    """Each call's list is that of its arguments, on a kernel that computes the same."""
    calls = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = parse(random_program(seed))
        result = ATTACH(module)
        result.verify()
        kernels = functions(result)
        for func in result.ops:
            if not isinstance(func, relax.FuncOp):
                continue
            for call in func.walk():
                if isinstance(call, relax.CallTIROp):
                    calls += 1
                    callee = kernels[call.callee.root_reference.data]
                    assert listed(callee) == expected(call, func)
        for one in kernels.values():
            assert all(
                one is each or not structural_equal(one, each)
                for each in kernels.values()
            )
        assert str(ATTACH(result)) == str(result)
    assert calls > COUNT


def test_semantics_of_random_modules() -> None:
    for seed in range(FIRST, FIRST + COUNT // 2):
        report = check_semantics(parse(random_program(seed)), [ATTACH])
        assert any(name.startswith("main") for name in report.checked), seed


def test_the_argument_is_left_alone() -> None:
    module = parse(random_program(1))
    before = str(module)
    ATTACH(module)
    assert str(module) == before


def test_contexts_can_tell_the_steps_apart() -> None:
    """It is a sequence of two passes under TVM's names."""
    module = parse(random_program(2))
    copies = len(functions(ATTACH(module)))
    for context in (
        PassContext(disabled_pass=["DeadCodeElimination"]),
        PassContext(opt_level=0),
    ):
        with context:
            assert len(functions(ATTACH(module))) == copies + 3
    with PassContext(disabled_pass=["_AttachAttrLayoutFreeBuffers"]):
        assert all(
            "layout_free_buffers" not in func.attributes
            for func in functions(ATTACH(module)).values()
        )
    assert ATTACH.info.name == "AttachAttrLayoutFreeBuffers"
    assert ATTACH.info.opt_level == 0


def test_a_callee_that_the_module_lacks() -> None:
    # CASE: AttachAttrLayoutFreeBuffers.15
    text = """
      relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
        %y = relax.call_tir @missing(%x) : (tensor<4xf32>) -> tensor<4xf32>
        relax.return %y : tensor<4xf32>
      }"""
    module = Parser(new_context(), text).parse_module()
    with pytest.raises(PassFailedException, match="@missing, which is no symbol of the"):
        ATTACH(module)


def test_time_is_linear() -> None:
    def effort(count: int) -> int:
        """Of kernels with one name, of weights in one tuple that is written."""
        fields = ", ".join(["%w"] * count)
        types = ", ".join(["!t"] * count)
        body = f"%p = relax.tuple({fields}) : {types}\n"
        for i in range(count):
            body += (
                f"%{i} = relax.get_item %p[{i}] : !relax.tuple<{types}> -> !t\n"
                f"relax.call impure @k0(%{i}, %x, %x) : (!t, !t, !t) -> ()\n"
            )
        module = parse(
            "!t = tensor<4xf32>\nrelax.func impure @main(%x: !t, %w: !t) -> !t "
            'attributes {global_symbol = "main", num_input = 1 : i64} {\n'
            f"{body}relax.return %x : !t }}"
            + SCALE.replace("NAME", "k0").replace("OP", "add")
        )
        context = new_context()
        return calls(lambda: ATTACH.apply(context, module))

    assert effort(80) < 5 * effort(20)


def test_symbolic_dimensions_that_a_call_passes_are_kept():
    """Calls with other dimensions share the copy; dimensions are no buffers."""
    module = parse_script("""
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def f(a: T.handle, w: T.handle, o: T.handle, n: T.int64):
        A = T.match_buffer(a, (4,), "float32")
        W = T.match_buffer(w, (4,), "float32")
        O = T.match_buffer(o, (4,), "float32")
        for i in range(4):
            O[i] = A[i] + W[i] * T.Cast("float32", n)
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor((4,), "float32"),
             w: R.Tensor((4,), "float32")):
        R.func_attr({"num_input": 2})
        n = T.int64()
        cls = Module
        with R.dataflow():
            b = R.call_tir(cls.f, (y, w), out_sinfo=R.Tensor((4,), "float32"),
                           tir_vars=R.shape([n]))
            c = R.call_tir(cls.f, (b, w), out_sinfo=R.Tensor((4,), "float32"),
                           tir_vars=R.shape([n + 1]))
            R.output(c)
        return c
""")
    result = ATTACH(module)
    found = [op for op in result.walk() if isinstance(op, relax.CallTIROp)]
    assert {op.callee.root_reference.data for op in found} == {"f1"}
    assert [str(op.tir_vars) for op in found] == [
        str(relax.DimsAttr.of(["n"])),
        str(relax.DimsAttr.of([relax.Dim.symbol("n") + 1])),
    ]
    (copy,) = (op for op in result.ops if isinstance(op, tir.FuncOp))
    listed = list_items(copy.attributes["layout_free_buffers"])
    assert listed is not None
    assert list(map(integer_of, listed)) == [1]
    assert check_semantics(module, [ATTACH]).checked == ["main"]
