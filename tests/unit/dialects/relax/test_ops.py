"""The relax ops: documented examples, effects, and what they mean to stock passes."""

from __future__ import annotations

from io import StringIO

import pytest
from support.relax_examples import example_of, parse
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, TensorType, f32
from xdsl.ir import Block, Operation, Region
from xdsl.printer import Printer
from xdsl.traits import MemoryEffect, SymbolOpInterface, is_side_effect_free
from xdsl.transforms.common_subexpression_elimination import (
    CommonSubexpressionElimination,
)
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.relax.call_tir_rewrite import CallTIRRewrite
from xdsl_tvm.passes.relax.to_non_dataflow import ToNonDataflow
from xdsl_tvm.registry import new_context

_OPS = list(relax.Relax.operations)


def _generic(module: ModuleOp) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    return stream.getvalue()


@pytest.mark.parametrize("op", _OPS, ids=lambda op: op.name)
def test_documented_example_round_trips(op: type[Operation]):
    is_terminator = op in (relax.ReturnOp, relax.OutputOp, relax.YieldOp)
    module = parse(example_of(op))
    if not is_terminator:
        # A terminator alone cannot be verified; the other examples hold them.
        module.verify()
    assert _generic(parse(str(module))) == _generic(module)
    assert _generic(parse(_generic(module))) == _generic(module)


@pytest.mark.parametrize("op", _OPS, ids=lambda op: op.name)
def test_effects_are_declared(op: type[Operation]):
    traits = op.get_traits_of_type(MemoryEffect)
    assert traits or op.get_trait(SymbolOpInterface), f"{op.name} declares no effects"


@pytest.mark.parametrize("op", _OPS, ids=lambda op: op.name)
def test_documentation_names_the_tvm_node(op: type[Operation]):
    structural = (relax.ReturnOp, relax.OutputOp, relax.YieldOp, relax.AliasOp)
    assert op.__doc__ is not None
    assert op in structural or "TVM's `" in op.__doc__


def test_effects_of_calls():
    pure = relax.CallOp("f", [], relax.OBJECT)
    impure = relax.CallOp("f", [], impure=True)
    assert is_side_effect_free(pure)
    assert not is_side_effect_free(impure)
    assert not relax.is_impure(pure)
    assert relax.is_impure(impure)
    assert not relax.is_impure(relax.TupleOp([]))


def test_stock_passes_keep_what_matters():
    """Allocations are not merged, casts and impure calls not dropped; operators are."""
    module = parse("""
    tir.func @p(%a: !tir.handle) {
    }
    !t = !relax.tuple<tensor<4xf32>, tensor<4xf32>>
    relax.func impure @f(%x: tensor<?xf32>) -> !t {
      %dead = relax.nn.relu %x : (tensor<?xf32>) -> tensor<?xf32>
      %cast = relax.match_cast %x defines [k]
        : tensor<?xf32> -> tensor<?xf32, #relax.dims<[k]>>
      %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
      %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
      relax.call impure @p(%a) : (tensor<4xf32>) -> ()
      %c = relax.constant dense<1.0> : tensor<4xf32>
      %d = relax.constant dense<1.0> : tensor<4xf32>
      %e = relax.add %a, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %g = relax.add %b, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %t = relax.tuple(%e, %g) : tensor<4xf32>, tensor<4xf32>
      relax.return %t : !t
    }""")
    CommonSubexpressionElimination().apply(new_context(), module)
    DeadCodeElimination().apply(new_context(), module)
    module.verify()
    names = [op.name for op in module.walk() if op.name.startswith("relax.")]
    assert names == [
        "relax.func",
        "relax.match_cast",
        "relax.builtin.alloc_tensor",
        "relax.builtin.alloc_tensor",
        "relax.call",
        "relax.constant",
        "relax.add",
        "relax.add",
        "relax.tuple",
        "relax.return",
    ]


def test_stock_passes_keep_lives_of_memory():
    """Allocations are not merged and go where unused; the ends of lives stay."""
    module = parse("""
    relax.func impure @f() -> tensor<4xf32> {
      %unused = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32
        : !relax.object
      %s = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 : !relax.object
      %t = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 : !relax.object
      %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> tensor<4xf32>
      %b = relax.memory.alloc_tensor %s at 0 : !relax.object -> tensor<4xf32>
      relax.memory.kill_storage %s : !relax.object
      relax.vm.kill_object %t : !relax.object
      relax.memory.kill_tensor %a : tensor<4xf32>
      relax.return %b : tensor<4xf32>
    }""")
    CommonSubexpressionElimination().apply(new_context(), module)
    DeadCodeElimination().apply(new_context(), module)
    module.verify()
    assert [op.name for op in module.walk()][2:] == [
        *["relax.memory.alloc_storage"] * 2,
        *["relax.memory.alloc_tensor"] * 2,
        "relax.memory.kill_storage",
        "relax.vm.kill_object",
        "relax.memory.kill_tensor",
        "relax.return",
    ]


def test_build_in_python():
    v = relax.TensorInfo.shaped(["n", 4], f32).type
    func = relax.FuncOp("main", [v, relax.ShapeType.of(["m"])], v)
    assert func.symbol_names == ("n", "m")
    x, shape = func.args
    body = Block()
    relu = relax.ReluOp(x)
    body.add_ops([relu, relax.OutputOp(relu)])
    dataflow = relax.DataflowOp([v], Region(body))
    call = relax.CallTIROp("p", [dataflow.outputs[0]], v, tir_vars=["m"])
    func.body.block.add_ops([dataflow, call, relax.ReturnOp(call.result)])
    func.verify()
    assert func.is_pure
    assert func.output_type == v
    assert func.type == relax.FuncType.of([v, shape.type], v)
    assert func.return_op.value is call.result
    assert dataflow.output_op.values[0] is relu.result
    assert call.outputs == (relax.TensorInfo.shaped(["n", 4], f32),)
    assert not func.is_forced_pure


def test_if_infers_what_branches_have_in_common():
    one = relax.TensorInfo.shaped(["n", 4], f32).type
    two = relax.TensorInfo.shaped(["n", 8], f32).type
    func = relax.FuncOp(
        "f", [one, two, relax.PrimType.of(TensorType(f32, [4]).element_type)], one
    )
    x, y, _ = func.args
    cast = relax.MatchCastOp(x, relax.TensorInfo.shaped(["k", 4], f32).type, ["k"])
    condition = relax.AllocTensorOp(relax.TensorInfo.shaped([], f32).type)

    def branch(*ops: Operation) -> Region:
        block = Block()
        block.add_ops(ops)
        return Region(block)

    plain = relax.IfOp(condition, branch(relax.YieldOp(x)), branch(relax.YieldOp(y)))
    assert plain.result.type == relax.TensorInfo.shaped(["n", None], f32).type
    hidden = branch(cast, relax.YieldOp(cast.result))
    with_cast = relax.IfOp(condition, hidden, branch(relax.YieldOp(x)))
    assert with_cast.result.type == relax.TensorInfo.shaped([None, 4], f32).type


def test_constant_has_the_type_of_its_value():
    value = DenseIntOrFPElementsAttr.from_list(TensorType(f32, [2]), [1.0, 2.0])
    assert relax.ConstantOp(value).result.type == TensorType(f32, [2])


def _module_of_calls(count: int) -> ModuleOp:
    lines = [
        f"%{i + 1} = relax.call_tir @p(%{i}) : (tensor<4xf32>) -> tensor<4xf32>"
        for i in range(count)
    ]
    return parse(f"""
    tir.func @p(%a: !tir.handle, %b: !tir.handle) {{
    }}
    relax.func @f(%0: tensor<4xf32>) -> tensor<4xf32> {{
      %r = relax.dataflow -> (tensor<4xf32>) {{
        {chr(10).join(lines)}
        relax.output %{count} : tensor<4xf32>
      }}
      relax.return %r : tensor<4xf32>
    }}""")


def test_passes_return_new_modules_when_called():
    module = _module_of_calls(3)
    before = str(module)
    lowered = CallTIRRewrite()(ToNonDataflow()(module))
    assert str(module) == before
    lowered.verify()
    calls = [op for op in lowered.walk() if isinstance(op, relax.CallOp)]
    allocs = [op for op in lowered.walk() if isinstance(op, relax.AllocTensorOp)]
    # Each call reads what the one before wrote, and writes its own allocation.
    outputs = [call.arguments[1] for call in calls]
    assert outputs == [alloc.result for alloc in allocs]
    assert [call.arguments[0] for call in calls[1:]] == outputs[:-1]
    func = next(op for op in lowered.walk() if isinstance(op, relax.FuncOp))
    assert func.is_forced_pure
    assert func.return_op.value is outputs[-1]


def test_rewrites_keep_names_and_locations():
    module = parse("""
    tir.func @p(%a: !tir.handle, %b: !tir.handle) {
    }
    relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %kept = relax.call_tir @p(%x) {note} : (tensor<4xf32>) -> tensor<4xf32>
      relax.return %kept : tensor<4xf32>
    }""")
    (call,) = [op for op in module.walk() if isinstance(op, relax.CallTIROp)]
    location = call.location
    CallTIRRewrite().apply(new_context(), module)
    (filled,) = [op for op in module.walk() if isinstance(op, relax.CallOp)]
    assert filled.location == location
    assert "note" in filled.attributes
    assert filled.arguments[1].name_hint == "kept"
