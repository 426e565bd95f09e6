"""What reductions over threads are expanded into."""

from __future__ import annotations

import re

import pytest
from support.allreduce_kernels import allreduce_kernel
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.tir.lower_thread_allreduce import LowerThreadAllreduce
from xdsl_tvm.tvmscript import print_script

_OFFSET = re.compile(r"tvm_warp_shuffle_down\(.*, (\d+), \d+, \d+\)")
_GUARDED = re.compile(r"if tx \+ (\d+) < (\d+):")


def lowered(text: str, *, execute: bool = True) -> ModuleOp:
    """The kernel after the pass, which computes what it did before."""
    module = parse(text)
    if execute:
        passes = (LowerThreadAllreduce(),)
        assert check_semantics(module, passes, runs=1, tolerance=0.0).checked
    result = LowerThreadAllreduce()(module)
    result.verify()
    assert not any(isinstance(op, tir.ThreadAllreduceOp) for op in result.walk())
    return result


def script(text: str, *, execute: bool = True) -> str:
    return print_script(lowered(text, execute=execute))


def offsets(text: str) -> list[int]:
    return [int(found) for found in _OFFSET.findall(text)]


def test_a_warp() -> None:
    # CASE: LowerThreadAllreduce.1
    text = script(allreduce_kernel([32], "x", loop=2))
    assert offsets(text) == [16, 8, 4, 2, 1]
    assert "red_buf0[0] = T.tvm_warp_shuffle(mask[0], red_buf0[0], 0, 32, 32)" in text
    assert "storage_sync" not in text
    assert 'red_buf0 = T.decl_buffer((1,), "int32", scope="local")' in text
    partial = "\n".join(
        allreduce_kernel([32], "x")
        .replace("[%v]", "[%twice]")
        .replace('tir.attr "reduce', '%twice = tir.add %v, %v : i32\ntir.attr "reduce')
        .splitlines()
    )
    assert offsets(script(partial)) == [16, 8, 4, 2, 1]


SM_80 = 'cuda, arch = "sm_80"'


@pytest.mark.parametrize(
    ("extents", "combine", "dtype", "instructions"),
    [
        ([32], "add", "i32", 1),
        ([32, 2], "min", "i32", 1),
        ([64], "max", "i32", 1),
        ([16], "add", "i32", 0),
        ([32], "mul", "i32", 0),
        ([32], "max", "f32", 0),
    ],
)
def test_integers_of_a_warp(
    extents: list[int], combine: str, dtype: str, instructions: int
) -> None:
    """One instruction combines 32 bits of 32 lanes, which all get the result."""
    text = script(
        allreduce_kernel(extents, "x", combine=combine, dtype=dtype, target=SM_80)
    )
    assert text.count(f'T.ptx_redux_sync("{combine}", ') == instructions
    if instructions and extents[0] == 32:
        assert not offsets(text)


def test_groups_in_warps() -> None:
    # CASE: LowerThreadAllreduce.2
    text = script(allreduce_kernel([32, 32], "x"))
    assert offsets(text) == [16, 8, 4, 2, 1]
    assert "T.tvm_warp_shuffle(mask[0], red_buf0[0], 32 * ty, 32, 32)" in text
    text = script(allreduce_kernel([8, 32], "x"))
    assert offsets(text) == [4, 2, 1]
    assert "T.tvm_warp_shuffle(mask[0], red_buf0[0], 8 * ty, 32, 32)" in text


def test_several_warps() -> None:
    # CASE: LowerThreadAllreduce.3. Lanes without a part in the second round hold the
    # identity, where TVM leaves their memory undefined.
    text = script(allreduce_kernel([128], "x", loop=2))
    assert offsets(text) == [16, 8, 4, 2, 1, 2, 1]
    assert 'red_buf_staging = T.decl_buffer((4,), "int32", scope="shared")' in text
    assert 'red_result = T.allocate([1], "int32", "shared")' in text
    assert 'T.attr(red_result, "volatile_scope", 1)' in text
    assert "if tx % 32 == 0:" in text
    assert "red_buf_staging[tx // 32] = red_buf0_1[0]" in text
    assert "if tx < 4:" in text
    assert text.count('T.tvm_storage_sync("shared")') == 2
    text = script(allreduce_kernel([1024], "x"))
    assert offsets(text) == [16, 8, 4, 2, 1, 16, 8, 4, 2, 1]
    assert "red_buf_staging = T.decl_buffer((32,)" in text


def test_several_warps_in_groups() -> None:
    # CASE: LowerThreadAllreduce.4
    text = script(allreduce_kernel([128, 4], "x"))
    assert "red_buf_staging = T.decl_buffer((16,)" in text
    assert "red_buf_staging[ty * 4 + tx // 32] = red_buf0_1[0]" in text
    assert 'red_result = T.allocate([4], "int32", "shared")' in text
    assert "red_result_1[ty] = red_buf0[0]" in text
    text = script(allreduce_kernel([512, 2], "x"))
    assert "red_buf_staging = T.decl_buffer((32,)" in text
    assert "red_buf_staging[ty * 16 + tx // 32]" in text
    assert offsets(text) == [16, 8, 4, 2, 1, 8, 4, 2, 1]


def test_metal_has_no_masks() -> None:
    # CASE: LowerThreadAllreduce.5
    text = script(allreduce_kernel([128, 2], "x", target="metal, thread_warp_size = 32"))
    assert "mask" not in text
    assert "T.tvm_warp_shuffle_down(0, red_buf0_1[0], 16, 32, 32)" in text
    text = script(allreduce_kernel([8, 2], "x", target="metal"))
    assert "T.tvm_warp_shuffle(0, red_buf0[0], 8 * ty, 16, 16)" in text


def test_widths_that_are_no_powers_of_two() -> None:
    # CASE: LowerThreadAllreduce.6
    text = script(allreduce_kernel([12], "x"))
    assert offsets(text) == [8, 4, 2, 1]
    assert _GUARDED.findall(text) == [("8", "12")]
    for extents in ([12, 2], [48], [100], [201]):
        text = script(allreduce_kernel(extents, "x"))
        assert not offsets(text)
        assert ('T.tvm_storage_sync("warp")' in text) == (len(extents) == 1)


def test_conditions() -> None:
    # CASE: LowerThreadAllreduce.7
    text = script(allreduce_kernel([32], "x", masked=True))
    assert "T.Select((l * 32 + tx) % 3 != 0, A[l * 32 + tx], 0)" in text


def test_one_thread() -> None:
    # CASE: LowerThreadAllreduce.8
    # CASE: LowerThreadAllreduce.15
    for reduced in ("x", ""):
        text = script(allreduce_kernel([1], reduced))
        assert "shuffle" not in text
        assert "sync" not in text
        assert 'R = T.decl_buffer((1,), "int32", scope="local")' in text
        assert "reduce_scope" in text


def test_groups_of_all_sizes() -> None:
    # CASE: LowerThreadAllreduce.9
    for y in (1, 2, 3, 4):
        for x in (2, 12, 33, 64, 201):
            combine = "add" if (x + y) % 2 else "max"
            lowered(allreduce_kernel([x, y], "x", combine=combine))


def test_warps_of_one_thread() -> None:
    # CASE: LowerThreadAllreduce.10
    text = script(allreduce_kernel([16], "x", target="llvm"))
    assert 'T.tvm_storage_sync("warp")' not in text
    assert text.count('T.tvm_storage_sync("shared")') == 6


ARGMAX = """
tir.func @f(%a: !tir.handle, %b: !tir.handle) attributes {
    global_symbol = "f", target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<COUNTxf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<COUNTxi32>
  %c0 = tir.const 0 : i32
  %n = tir.const COUNT : i32
  %r = tir.reducer (%k0 : i32, %v0 : f32, %k1 : i32, %v1 : f32)
      identity [-1 : i32, -1.0e30 : f32] {
    %ge = tir.cmp ge %v0, %v1 : f32
    %k = tir.select %ge, %k0, %k1 : i1, i32
    %v = tir.select %ge, %v0, %v1 : i1, f32
    tir.yield %k, %v : i32, f32
  }
  tir.launch_thread %tx = "threadIdx.x" to %n {
    %p = tir.allocate "K" [1] : !tir.ptr<i32, "local">
    %K = tir.decl_buffer "K" %p : !tir.buffer<1xi32, "local">
    %q = tir.allocate "V" [1] : !tir.ptr<f32, "local">
    %V = tir.decl_buffer "V" %q : !tir.buffer<1xf32, "local">
    %x = tir.load %A[%tx] : f32
    tir.attr "reduce_scope" (%r) = 0 : i32 {
      tir.thread_allreduce [%tx, %x] into [%K[%c0], %V[%c0]] over [%tx]
    }
    %w = tir.load %K[%c0] : i32
    tir.store %w, %B[%tx] : i32
  }
}
"""


def test_tuples() -> None:
    # CASE: LowerThreadAllreduce.11
    text = script(ARGMAX.replace("COUNT", "32"))
    lines = [line.strip().split(" = ")[0] for line in text.splitlines()]
    assert lines.index("red_buf0") < lines.index("red_buf1")
    assert lines.index("mask") < lines.index("t1") < lines.index("t0")
    at = text.index("t0[0] = T.tvm_warp_shuffle_down")
    first, second = text.index("t1[0] = T.tvm_warp", at), text.index("red_buf0[0] = ", at)
    assert at < first < second
    for count in (2, 12, 48, 64, 96):
        lowered(ARGMAX.replace("COUNT", str(count)))


def test_values_are_combined_before_they_are_stored() -> None:
    """The value is stored before the index that depends on it."""
    swapped = (
        ARGMAX.replace(
            "(%k0 : i32, %v0 : f32, %k1 : i32, %v1 : f32)",
            "(%v0 : f32, %k0 : i32, %v1 : f32, %k1 : i32)",
        )
        .replace("[-1 : i32, -1.0e30 : f32]", "[-1.0e30 : f32, -1 : i32]")
        .replace("tir.yield %k, %v : i32, f32", "tir.yield %v, %k : f32, i32")
        .replace("[%tx, %x] into [%K[%c0], %V[%c0]]", "[%x, %tx] into [%V[%c0], %K[%c0]]")
    )
    for count in (32, 48, 64):
        lowered(swapped.replace("COUNT", str(count)))


def test_a_tree_in_shared_memory() -> None:
    # CASE: LowerThreadAllreduce.12. TVM has the last levels in one branch, with barriers
    # of the warp in it, which threads outside of the branch never reach.
    text = script(allreduce_kernel([33], "x", dtype="f32", combine="max"), execute=True)
    assert 'red_buf0 = T.allocate([33], "float32", "shared")' in text
    assert 'T.attr(red_buf0, "volatile_scope", 1)' in text
    assert "red_buf0_1[tx] = v" in text
    assert re.findall(r"if tx < (\d+):", text) == ["1", "16", "8", "4", "2", "1"]
    assert text.count('T.tvm_storage_sync("shared")') == 4
    assert text.count('T.tvm_storage_sync("warp")') == 5
    assert "= red_buf0_1[0]" in text


def test_broadcast_of_a_product() -> None:
    # CASE: LowerThreadAllreduce.13
    text = script(allreduce_kernel([16, 4], "x", combine="mul"))
    assert "T.tvm_warp_shuffle(mask[0], red_buf0[0], 16 * ty, 32, 32)" in text


def test_two_stages() -> None:
    # CASE: LowerThreadAllreduce.14
    use = """
      %first = tir.cmp eq %tx, %c0 : i32
      tir.if %first {
        %z = tir.load %R[%c0] : i32
        tir.store %z, %B[%c0] : i32
      }"""
    kernel = allreduce_kernel([64], "x", use=use)
    kernel = kernel.replace("%w = tir.load %R[%c0] : i32\n", "").replace(
        "tir.store %w, %B[%i0] : i32\n", ""
    )
    launch = 'tir.launch_thread %tx = "threadIdx.x" to %ex {'
    memory = '%p = tir.allocate "R" [1] : !tir.ptr<i32, "local">\n'
    block = '%one = tir.const 1 : i32\ntir.launch_thread %bx = "blockIdx.x" to %one {'
    outer = (
        kernel.replace(memory, "").replace(launch, f"{block}\n{memory}{launch}") + "\n}"
    )
    for text in (script(kernel), script(outer)):
        assert "red_buf_staging = T.decl_buffer((2,)" in text
        assert 'T.attr(red_result, "volatile_scope", 1)' in text
        assert "B[0] = red_result_1[0]" in text
    assert text.index("red_result = T.allocate") < text.index("threadIdx.x")


def test_other_uses_of_the_destination() -> None:
    use = "%one = tir.const 7 : i32\n%u = tir.load %R[%c0] : i32\n" + (
        "%s = tir.add %u, %one : i32\ntir.store %s, %R[%c0] : i32"
    )
    for extent in (32, 48, 64):
        text = script(allreduce_kernel([extent], "x", use=use, loop=2))
        assert 'R = T.decl_buffer((1,), "int32", scope="local")' in text


def under_condition(extents: list[int]) -> str:
    """Only one group of threads reduces."""
    return (
        allreduce_kernel(extents, "x")
        .replace(
            'tir.attr "reduce_scope"',
            "%first = tir.cmp eq %ty, %c0 : i32\ntir.if %first {\n"
            'tir.attr "reduce_scope"',
        )
        .replace("%w = ", "}\ntir.if %first {\n%w = ")
        .replace("tir.store %w, %B[%i1] : i32", "tir.store %w, %B[%i1] : i32\n}")
    )


def test_groups_under_a_condition_need_no_barrier() -> None:
    check_semantics(parse(under_condition([32, 2])), (LowerThreadAllreduce(),), runs=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # CASE: LowerThreadAllreduce.10
        (allreduce_kernel([32], "x", target=None), "Require the target attribute"),
        (
            allreduce_kernel([32], "x").replace(
                "%ex = tir.const 32 : i32", "%ex = tir.load %A[%c0] : i32"
            ),
            'the extent of "threadIdx.x" is not a constant',
        ),
        (
            allreduce_kernel([32], "x")
            .replace("over [%tx]", "over [%k]")
            .replace(
                'tir.attr "reduce_scope"',
                'tir.for %k = %c0 to %c3 thread_binding "threadIdx.y" {\n'
                'tir.attr "reduce_scope"',
            )
            .replace("%w = ", "}\n%w = "),
            "Not all reduce index are presented in the context",
        ),
        (
            allreduce_kernel([32], "x").replace('"threadIdx.x"', '"vthread"'),
            "is in a virtual thread",
        ),
        (
            allreduce_kernel([32], "x", use="tir.store %c0, %R[%c0] : i32").replace(
                '"local"', '"shared"'
            ),
            "a destination in shared memory",
        ),
        (
            allreduce_kernel([32], "x").replace('"reduce_scope" (%r)', '"other" (%r)'),
            'no tir.attr "reduce_scope"',
        ),
        (
            allreduce_kernel(
                [32],
                "x",
                use='tir.launch_thread %u = "threadIdx.y" to %c3 {\n'
                "tir.store %v, %B[%u] : i32\n}",
            ),
            'the kernel binds "threadIdx.y" elsewhere',
        ),
        (under_condition([33, 2]), "the tir.if around it depends on the thread"),
        (under_condition([128, 2]), "the tir.if around it depends on the thread"),
    ],
)
def test_errors(text: str, message: str) -> None:
    with pytest.raises(PassFailedException, match=re.escape(message)):
        LowerThreadAllreduce()(parse(text))
