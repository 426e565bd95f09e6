"""The tir ops' accessors, and what stock xDSL passes make of their effects."""

from collections.abc import Callable

import pytest
from support.ir import parse
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, StringAttr, f32, i32
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.traits import MemoryEffect
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import (
    CommonSubexpressionElimination,
)
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from xdsl_tvm.dialects import tir
from xdsl_tvm.registry import new_context


def the_op(module: ModuleOp, kind: type[Operation]) -> Operation:
    (op,) = [op for op in module.walk() if isinstance(op, kind)]
    return op


def test_buffer_definition_answers_about_the_buffer():
    module = parse("""
    tir.func @f(%a: !tir.handle) {
      %n = tir.shape_var "n" : i64
      %A = tir.match_buffer "A" %a [%n] strides [%n, 1] {data_alignment = 128 : i32}
        : !tir.buffer<?x16xf32>
    }""")
    match = the_op(module, tir.MatchBufferOp)
    assert isinstance(match, tir.MatchBufferOp)
    n = the_op(module, tir.ShapeVarOp).results[0]
    assert tir.buffer_definition(match.buffer) is match
    assert match.shape == (n, 16)
    assert match.layout_strides == (n, 1)
    assert match.alignment == 128
    assert match.extent_type == n.type


def test_regions_and_iteration_variables():
    module = parse("""
    tir.func @f(%a: !tir.handle, %n: i32) {
      %A = tir.match_buffer %a [%n] : !tir.buffer<?x16xf32>
      %c0 = tir.const 0 : i32
      tir.block "b" (%v : S "v" in [%c0 to %n] = %n) {
        tir.reads %A[%v, %c0 to 16]
        tir.writes
        tir.init {
        }
      }
    }""")
    block = the_op(module, tir.BlockOp)
    assert isinstance(block, tir.BlockOp)
    (it,) = block.iters
    assert (it.kind, it.name) == (tir.IterKind.SPATIAL, "v")
    assert block.init is not None
    assert not block.is_opaque
    reads = the_op(module, tir.ReadsOp)
    assert isinstance(reads, tir.ReadsOp)
    (region,) = reads.buffer_regions
    assert region.extents == (1, 16)
    assert region.mins[0] is block.iter_vars[0]


def test_function_attributes_are_copied_on_change():
    module = parse('tir.func @f(%n: i32) attributes {global_symbol = "f"} {\n}')
    function = the_op(module, tir.FuncOp)
    assert isinstance(function, tir.FuncOp)
    renamed = function.with_attr("global_symbol", StringAttr("g"))
    assert renamed.attributes["global_symbol"] == StringAttr("g")
    assert "global_symbol" not in renamed.without_attr("global_symbol").attributes
    assert function.attributes["global_symbol"] == StringAttr("f")


def test_builders_infer_result_types():
    buffer = tir.AllocBufferOp(
        tir.BufferType([DYNAMIC_INDEX], f32), [tir.ConstOp.of(4, i32)]
    )
    index = tir.ConstOp.of(0, i32)
    load = tir.LoadOp(buffer, [index])
    assert load.result.type == f32
    assert tir.CmpOp(tir.CmpPredicate.LT, load, load).result.type == tir.parse_dtype(
        "bool"
    )
    assert tir.DataOp(buffer).result.type == tir.PtrType(f32)


def test_every_op_but_the_function_declares_its_effects():
    silent = [
        op.name
        for op in tir.TIR.operations
        if op is not tir.FuncOp and not op.get_traits_of_type(MemoryEffect)
    ]
    assert silent == []


def test_intrinsic_effects_follow_the_table():
    def effects(name: str) -> int:
        found = tir.CallOp(name, []).get_traits_of_type(MemoryEffect)[0]
        return len(found.get_effects(tir.CallOp(name, [])) or ())

    assert effects("exp") == 0
    assert effects("tvm_struct_get") == 1
    assert effects("tvm_storage_sync") == 2
    assert effects("a_name_nobody_knows") == 2


STOCK: list[Callable[[], ModulePass]] = [
    CommonSubexpressionElimination,
    DeadCodeElimination,
    CanonicalizePass,
]


@pytest.mark.parametrize("make", STOCK)
def test_stock_passes_leave_markers_alone(make: Callable[[], ModulePass]):
    module = parse("""
    tir.func @f(%a: !tir.handle, %b: !tir.handle) {
      %n = tir.shape_var "n" : i32
      %m = tir.shape_var "n" : i32
      %A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>
      %B = tir.match_buffer %b [%m] : !tir.buffer<?xf32>
      %C = tir.alloc_buffer : !tir.buffer<4xf32>
      %D = tir.alloc_buffer : !tir.buffer<4xf32>
      %c = tir.const 1 : i32
      %x = tir.let "x" %c : i32
      %y = tir.let "y" %c : i32
      tir.evaluate %x : i32
      tir.block {
        tir.reads %A[%c]
        tir.writes %B[%c]
      }
    }""")
    before = str(module)
    make().apply(new_context(), module)
    assert str(module) == before


def test_cse_merges_loads_only_where_nothing_is_written_between():
    module = parse("""
    tir.func @f(%a: !tir.handle, %i: i32) {
      %A = tir.match_buffer %a : !tir.buffer<4xf32>
      %0 = tir.load %A[%i] : f32
      %D = tir.alloc_buffer : !tir.buffer<4xf32>
      %1 = tir.load %A[%i] : f32
      tir.store %1, %A[%i] : f32
      %2 = tir.load %A[%i] : f32
      tir.store %2, %D[%i] : f32
      tir.store %0, %D[%i] : f32
    }""")
    CommonSubexpressionElimination().apply(new_context(), module)
    loads = [op for op in module.walk() if isinstance(op, tir.LoadOp)]
    assert len(loads) == 2
