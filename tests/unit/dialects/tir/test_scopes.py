"""Storage scopes and thread axes by name."""

import pytest
from support.ir import parse
from xdsl.dialects.builtin import f32
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import storage_scope
from xdsl_tvm.dialects.tir.storage_scope import (
    AXES,
    KNOWN_SCOPES,
    StorageRank,
    StorageScope,
    ThreadAxis,
    ThreadRank,
)


@pytest.mark.parametrize("name", [*KNOWN_SCOPES, "global.my_memory"])
def test_scopes_are_written_as_they_are_read(name: str):
    assert str(StorageScope.parse(name)) == name
    assert str(tir.PtrType(f32, name).scope.data) == name


@pytest.mark.parametrize(
    ("name", "rank", "tag"),
    [
        ("", 0, ""),
        ("global.texture-weight", 0, ".texture-weight"),
        ("shared.dyn", 1, ".dyn"),
        ("warp", 2, ""),
        ("local", 3, ""),
        ("wmma.matrix_a", 4, ""),
        ("wmma.matrix_b", 5, ""),
        ("wmma.accumulator", 6, ""),
        ("texture", 7, ""),
        ("amx.tmm", 8, ""),
        ("m16n8k8.matrixA", 9, ""),
        ("m16n8k8.matrixB", 10, ""),
        ("m16n8k8.matrixC", 11, ""),
        ("metal.simdgroup", 12, ""),
    ],
)
def test_rank_and_tag(name: str, rank: int, tag: str):
    assert StorageScope.parse(name) == StorageScope(StorageRank(rank), tag)


def test_what_scopes_are():
    assert StorageScope.parse("shared.dyn").is_dynamic_shared
    assert not StorageScope.parse("shared.barrier").is_dynamic_shared
    assert StorageScope.parse("shared").is_shared_by_threads
    assert not StorageScope.parse("local").is_shared_by_threads
    assert StorageScope.parse("texture").is_texture
    assert StorageScope.parse("global.texture-nhwc").is_texture
    assert not StorageScope.parse("global.vtcm").is_texture


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("shard", "shared"),
        ("shared_dyn", "shared.dyn"),
        ("wmma.matrixA", "wmma.matrix_a"),
        ("Local", "local"),
        ("m16n8k8.matrixa", "m16n8k8.matrixA"),
        ("global.", "global"),
    ],
)
def test_unknown_scopes_say_what_was_meant(name: str, meant: str):
    with pytest.raises(ValueError, match=rf"'{name}' \(did you mean '{meant}'"):
        StorageScope.parse(name)


def test_types_refuse_unknown_scopes():
    message = r"unknown storage scope 'shard' \(did you mean 'shared'"
    with pytest.raises(VerifyException, match=message):
        tir.PtrType(f32, "shard")
    with pytest.raises(VerifyException, match=message):
        tir.BufferType([4], f32, "shard")
    with pytest.raises(VerifyException, match=r"tir\.ptr scope must not be empty"):
        tir.PtrType(f32, "")


def test_thread_axes():
    assert ThreadAxis.parse("blockIdx.y") == ThreadAxis("blockIdx.y", ThreadRank.BLOCK, 1)
    assert ThreadAxis.parse("threadIdx.z").dim == 2
    assert ThreadAxis.parse("threadIdx.z").is_thread
    virtual = [tag for tag, axis in AXES.items() if axis.is_virtual]
    assert virtual == [*tir.VIRTUAL_THREAD_TAGS, "cthread"]
    assert not any(AXES[tag].is_thread or AXES[tag].is_block for tag in virtual)
    assert tir.THREAD_TAGS == ("threadIdx.x", "threadIdx.y", "threadIdx.z")


def test_axes_of_ops():
    module = parse("""
    tir.func @f(%n: i32) {
      %c0 = tir.const 0 : i32
      tir.for %i = %c0 to %n thread_binding "blockIdx.x" {
        tir.launch_thread %t = "threadIdx.y" to %n {
        }
        tir.for %j = %c0 to %n {
        }
      }
    }""")
    loops = [op for op in module.walk() if isinstance(op, tir.ForOp)]
    assert [op.thread_axis and op.thread_axis.is_block for op in loops] == [True, None]
    (launch,) = [op for op in module.walk() if isinstance(op, tir.LaunchThreadOp)]
    assert launch.axis.dim == 1


@pytest.mark.parametrize("tag", ["threadIdx.w", "threadidx.x", "threadIdx", "pipeline"])
def test_unknown_axes_are_refused(tag: str):
    with pytest.raises(VerifyException, match=f"tir.launch_thread: unknown .* '{tag}'"):
        parse(f"""
        tir.func @f(%n: i32) {{
          tir.launch_thread %t = "{tag}" to %n {{
          }}
        }}""")
    with pytest.raises(VerifyException, match=f"tir.for: unknown thread axis '{tag}'"):
        parse(f"""
        tir.func @f(%n: i32) {{
          %c0 = tir.const 0 : i32
          tir.for %t = %c0 to %n thread_binding "{tag}" {{
          }}
        }}""")


def test_a_close_axis_is_named():
    assert storage_scope.did_you_mean("threadidx.x", tuple(AXES)) == (
        " (did you mean 'threadIdx.x'?)"
    )
