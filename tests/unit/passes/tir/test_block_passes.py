"""What FileCheck tests of the block passes cannot say: semantics, locations, scale."""

from __future__ import annotations

import re

import pytest
from support import paths
from support.ir import parse
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import (
    CommonSubexpressionElimination,
)
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.tir.forms import FLAT
from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.infra.contract import contract_of
from xdsl_tvm.passes.tir.convert_blocks_to_opaque import ConvertBlocksToOpaque
from xdsl_tvm.passes.tir.flatten_buffer import FlattenBuffer
from xdsl_tvm.passes.tir.lower_init_block import LowerInitBlock
from xdsl_tvm.passes.tir.lower_match_buffer import LowerMatchBuffer
from xdsl_tvm.passes.tir.lower_opaque_block import LowerOpaqueBlock
from xdsl_tvm.passes.tir.unify_thread_binding import UnifyThreadBinding
from xdsl_tvm.registry import new_context

PASSES: dict[str, type[ModulePass]] = {
    "lower-init-block": LowerInitBlock,
    "convert-blocks-to-opaque": ConvertBlocksToOpaque,
    "unify-thread-binding": UnifyThreadBinding,
    "lower-match-buffer": LowerMatchBuffer,
    "lower-opaque-block": LowerOpaqueBlock,
    "flatten-buffer": FlattenBuffer,
}
FOLDER = paths.FILECHECK / "passes" / "tir"


def executable(module: ModuleOp) -> set[str]:
    """The functions that can be called from outside, by symbol name."""
    return {
        op.sym_name.data
        for op in module.body.block.ops
        if isinstance(op, tir.FuncOp) and "global_symbol" in op.attributes
    }


def filecheck_inputs() -> list[tuple[str, str, str]]:
    """Pass name, function names and text of every executable FileCheck input.

    The names are found in the text: this runs wherever tests are collected.
    """
    found: list[tuple[str, str, str]] = []
    for name in PASSES:
        text = (FOLDER / f"{name}.mlir").read_text()
        for chunk in text.split("// -----\n"):
            lines = [line for line in chunk.splitlines() if not line.startswith("//")]
            if names := _PUBLIC.findall("\n".join(lines)):
                found.append((name, ",".join(sorted(names)), chunk))
    return found


_PUBLIC = re.compile(r'global_symbol = "([^"]*)"')

INPUTS = filecheck_inputs()


@pytest.mark.parametrize(
    "chunk",
    [pytest.param(chunk, id=f"{name}-{label}") for name, label, chunk in INPUTS],
)
@pytest.mark.parametrize("shared", [False, True])
def test_block_free_form_computes_the_same(chunk: str, shared: bool):
    module = parse(chunk)
    stock = [CanonicalizePass(), CommonSubexpressionElimination()] if shared else []
    pipeline: list[ModulePass] = []
    for kind in PASSES.values():
        pipeline += [*stock, kind()]
    report = check_semantics(module, pipeline, tolerance=0.0)
    assert set(report.checked) == executable(module)
    for one in pipeline:
        one.apply(new_context(), module)
    for op in module.walk():
        assert not isinstance(op, tir.BlockOp | tir.AllocBufferOp | tir.InitOp)
        if isinstance(op, tir.ForOp):
            assert op.kind.data is not tir.ForKind.THREAD_BINDING
    assert FLAT.holds(module)


def test_flattening_twice_changes_nothing_more():
    module = parse(
        """tir.func @f(%p: !tir.ptr<i32>, %n: i32) -> i1 {
             %A = tir.decl_buffer "A" %p offset %n : !tir.buffer<4x4xi32>
             %B = tir.decl_buffer "B" %p strides [8, 2] offset %n : !tir.buffer<4x4xi32>
             %T = tir.alloc_buffer "T" : !tir.buffer<4x4xi1>
             %q = tir.address_of %T[%n, %n] : !tir.ptr<i1>
             tir.evaluate %q : !tir.ptr<i1>
             tir.store %n, %A[%n, %n] : i32
             tir.store %n, %B[%n, %n] : i32
             %x = tir.load %T[%n, %n] : i1
             tir.ret %x : i1
           }"""
    )
    FlattenBuffer().apply(new_context(), module)
    module.verify()
    once = module.clone()
    FlattenBuffer().apply(new_context(), module)
    assert module.is_structurally_equivalent(once)


def test_inputs_are_found_for_every_pass():
    assert {name for name, _, _ in INPUTS} == set(PASSES)


@pytest.mark.parametrize("name", PASSES)
def test_contract(name: str):
    contract = contract_of(f"tir-{name}")
    assert contract.tvm_name == f"tir.{contract.class_name} (v0.20)"


def test_call_leaves_the_argument_alone():
    module = parse("tir.func @f() { tir.block { tir.init { } } }")
    before = module.clone()
    after = LowerInitBlock()(module)
    assert module.is_structurally_equivalent(before)
    assert not any(isinstance(op, tir.InitOp) for op in after.walk())


def _only(module: ModuleOp, kind: type[Operation]) -> Operation:
    (found,) = (op for op in module.walk() if isinstance(op, kind))
    return found


def _locate(op: Operation) -> FileLineColLoc:
    op.location = FileLineColLoc(StringAttr("f.py"), IntAttr(7), IntAttr(3))
    return op.location


def test_the_guard_of_an_init_has_its_location():
    module = parse(
        """tir.func @f(%n: i32) {
             tir.block (%v : R in [%n to %n + %n] = %n) { tir.init { tir.evaluate } }
           }"""
    )
    location = _locate(_only(module, tir.InitOp))
    LowerInitBlock().apply(new_context(), module)
    assert _only(module, tir.IfOp).location == location
    assert _only(module, tir.CmpOp).location == location


def test_what_replaces_blocks_and_loops_has_their_location_and_attributes():
    module = parse(
        """tir.func @f(%p: i1, %n: i32) {
             tir.for %t = %n to %n + %n thread_binding "threadIdx.x" attributes {"a.b"} {
               tir.block where %p annotations {"pragma_x" = 1 : i32} {
                 %B = tir.alloc_buffer {"a.c"} : !tir.buffer<4xf32>
                 tir.evaluate %t : i32
               }
             }
           }"""
    )
    loop = _locate(_only(module, tir.ForOp))
    block = _locate(_only(module, tir.BlockOp))
    alloc = _locate(_only(module, tir.AllocBufferOp))
    LowerOpaqueBlock().apply(new_context(), module)
    module.verify()
    launch = _only(module, tir.LaunchThreadOp)
    assert launch.location == loop
    assert "a.b" in launch.attributes
    assert _only(module, tir.AddOp).location == loop
    assert _only(module, tir.IfOp).location == block
    assert _only(module, tir.AttrOp).location == block
    buffer = _only(module, tir.DeclBufferOp)
    assert buffer.location == alloc
    assert "a.c" in buffer.attributes
    assert buffer.results[0].name_hint == "B"


def test_all_layout_of_an_allocated_buffer_is_kept():
    module = parse(
        """tir.func @f(%n: i64) {
             tir.block {
               %B = tir.alloc_buffer "B" [%n] strides [%n, 1] {
                 data_alignment = 32 : i32, offset_factor = 4 : i32,
                 axis_separators = array<i64: 1>, index_type = i64,
                 buffer_kind = #tir.buffer_kind auto_broadcast
               } : !tir.buffer<2x?xf32>
             }
           }"""
    )
    alloc = _only(module, tir.AllocBufferOp)
    properties = dict(alloc.properties)
    LowerOpaqueBlock().apply(new_context(), module)
    module.verify()
    buffer = _only(module, tir.DeclBufferOp)
    del properties["operandSegmentSizes"]
    assert properties.items() <= buffer.properties.items()


def test_an_error_leaves_the_module_as_it_was():
    module = parse(
        """tir.func @f(%n: i32) {
             tir.block "ok" (%v : S in [%n to %n + %n] = %n) { }
             tir.block "bad" { tir.init { } }
           }"""
    )
    before = module.clone()
    with pytest.raises(PassFailedException, match="run tir-lower-init-block first"):
        ConvertBlocksToOpaque().apply(new_context(), module)
    assert module.is_structurally_equivalent(before)


def test_nested_blocks_move_their_ops_once(monkeypatch: pytest.MonkeyPatch):
    depth = 100
    body = "tir.evaluate"
    for _ in range(depth):
        body = f"tir.block {{ {body} \n tir.evaluate }}"
    module = parse(f"tir.func @f() {{ {body} }}")
    moves = 0
    detach = Operation.detach

    def counted(op: Operation) -> None:
        nonlocal moves
        moves += 1
        detach(op)

    monkeypatch.setattr(Operation, "detach", counted)
    LowerOpaqueBlock().apply(new_context(), module)
    func = _only(module, tir.FuncOp)
    assert len(list(func.walk())) == depth + 2
    # Every op that stays moves once, every block once and then goes.
    assert moves <= 3 * depth + 1
