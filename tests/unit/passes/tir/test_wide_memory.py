"""Memory of more elements than 32 bits count: what passes compute is 64 bits wide."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp, i32, i64
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import view
from xdsl_tvm.analysis.structural_equal import structural_equal
from xdsl_tvm.analysis.tir.flat_index import flat_type, reaches_beyond_32_bits
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass, Sequential
from xdsl_tvm.passes.tir import (
    DefaultCPUSchedule,
    FlattenBuffer,
    ForceNarrowIndexToInt32,
    InjectDoubleBuffer,
    InjectVirtualThread,
    LowerMatchBuffer,
    NarrowDataType,
    Simplify,
    VectorizeLoop,
)
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse, print_script


def read(body: str, parameters: str = "") -> ModuleOp:
    """A module of one function with the body, after some constants."""
    constants = "".join(f"%c{n} = tir.const {n} : i32\n" for n in (0, 1, 2, 4, 8, 16))
    text = f"""
tir.func @f(%a: !tir.handle{parameters}) attributes {{global_symbol = "f"}} {{
  %A = tir.match_buffer %a : !tir.buffer<8xi8>
  {constants}
  {body}
}}"""
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module


def after(module: ModuleOp, *passes: CompilerPass) -> ModuleOp:
    result = Sequential(passes)(module)
    result.verify()
    return result


def definition(text: str) -> tir.BufferDefinition:
    (op,) = [
        op
        for op in read(
            f"%p = tir.data %A : !tir.ptr<i8>\n%B = tir.decl_buffer %p {text}",
            ", %n: i32",
        ).walk()
        if isinstance(op, tir.DeclBufferOp)
    ]
    return op


@pytest.mark.parametrize(
    ("text", "wide"),
    [
        (": !tir.buffer<46340x46340xi8>", False),
        (": !tir.buffer<46341x46341xi8>", True),
        (": !tir.buffer<32768x65536xi8>", True),
        (": !tir.buffer<2147483647xi8>", False),
        (": !tir.buffer<2147483648xi8>", True),
        (": !tir.buffer<i8>", False),
        ("strides [1073741824, 1] : !tir.buffer<2x8xi8>", True),
        ("strides [1, 1073741824] : !tir.buffer<2x2xi8>", False),
        ("strides [1, 1073741824] : !tir.buffer<2x3xi8>", True),
        ("strides [4294967296, 1] : !tir.buffer<1x8xi8>", True),
        ("[%n] : !tir.buffer<?x65536xi8>", False),
        ("[%n] : !tir.buffer<?x65536x65536xi8>", True),
        ("{axis_separators = array<i64: 1>} : !tir.buffer<46341x46341xi8>", False),
    ],
)
def test_the_type_of_places(text: str, wide: bool):
    op = definition(text)
    assert reaches_beyond_32_bits(op) == wide
    assert flat_type(op) == (i64 if wide else i32)


def test_an_index_type_holds_the_extents():
    with pytest.raises(VerifyException, match="2147483648 does not fit index_type i32"):
        definition("{index_type = i32} : !tir.buffer<2147483648xi8>")
    with pytest.raises(VerifyException, match="4294967296 does not fit index_type i32"):
        definition("strides [4294967296, 1] {index_type = i32} : !tir.buffer<2x2xi8>")


def test_flatten_buffer():
    module = parse("""
@T.prim_func
def f(A: T.Buffer((8,), "int8"), n: T.int32, m: T.int32):
    B = T.alloc_buffer((3, 65536, 65536), "int8")
    C = T.allocate([n, 65536, 65536], "int8")
    D = T.decl_buffer((n, 65536, 65536), "int8", data=C)
    E = T.alloc_buffer((n, m), "int8")
    for i in range(n):
        B[i, i, i] = A[i]
        D[i, i, i] = B[i, i, i]
        E[i, i] = D[i, i, i]
""")
    flat = after(module, FlattenBuffer())
    stores = [op for op in flat.walk() if isinstance(op, tir.StoreOp)]
    assert [op.indices[0].type for op in stores] == [i64, i64, i32]
    (big, symbolic) = (op for op in flat.walk() if isinstance(op, tir.AllocBufferOp))
    assert big.shape == (3 << 32,)
    (extent,) = symbolic.shape
    assert not isinstance(extent, int)
    assert extent.type == i32
    (memory,) = (op for op in flat.walk() if isinstance(op, tir.AllocateOp))
    (view_,) = (op for op in flat.walk() if isinstance(op, tir.DeclBufferOp))
    for extent in (*memory.shape, *view_.shape):
        assert not isinstance(extent, int)
        assert extent.type == i64
    assert structural_equal(parse(print_script(flat)), flat)
    assert str(after(flat, FlattenBuffer())) == str(flat)


def test_narrowing_keeps_what_may_not_fit():
    module = parse("""
@T.prim_func
def f(A: T.Buffer((65536, 65537), "int8"), n: T.int32):
    for i in range(10):
        A[i, i] = T.int8(1)
    for i in range(n):
        A[i, 3] = T.int8(1)
""")
    flat = after(module, FlattenBuffer())
    narrow = after(flat, NarrowDataType(32))
    stores = [op for op in narrow.walk() if isinstance(op, tir.StoreOp)]
    assert [op.indices[0].type for op in stores] == [i32, i64]
    with pytest.raises(PassFailedException, match="4295032832 does not fit 32 bits; use"):
        after(flat, ForceNarrowIndexToInt32())


@pytest.mark.parametrize("size", [1 << 30, (1 << 30) - 1])
def test_double_buffers(size: int):
    module = read(f"""
tir.for %i = %c0 to %c8 {{
  %p = tir.allocate [{size}] : !tir.ptr<i8>
  %B = tir.decl_buffer %p : !tir.buffer<{size}xi8>
  tir.attr "double_buffer_scope" (%p) = 1 : i32 {{
    %x = tir.load %A[%i] : i8
    tir.store %x, %B[%c4] : i8
  }}
  %y = tir.load %B[%c4] : i8
  tir.evaluate %y : i8
}}""")
    check_memory(after(module, InjectDoubleBuffer()), 2 * size)


@pytest.mark.parametrize("size", [1 << 30, (1 << 30) - 1])
def test_virtual_threads(size: int):
    module = read(f"""
tir.launch_thread %t = "vthread.x" to %c2 virtual {{
  %p = tir.allocate [{size}] : !tir.ptr<i8>
  %B = tir.decl_buffer %p : !tir.buffer<{size}xi8>
  %x = tir.load %A[%t] : i8
  tir.for %i = %c0 to %c8 {{
    tir.store %x, %B[%i] : i8
    %y = tir.load %B[%i] : i8
    tir.store %y, %A[%t] : i8
  }}
}}""")
    check_memory(after(module, InjectVirtualThread()), 2 * size)


@pytest.mark.parametrize("size", [1 << 29, (1 << 29) - 1])
def test_vectorized_memory(size: int):
    module = read(
        f"""
tir.for %i = %c0 to %c4 vectorized {{
  %p = tir.allocate [{size}] : !tir.ptr<i8>
  %B = tir.decl_buffer %p : !tir.buffer<{size}xi8>
  %x = tir.load %A[%i] : i8
  tir.store %x, %B[%n] : i8
  %y = tir.load %B[%n] : i8
  tir.store %y, %A[%i] : i8
}}""",
        ", %n: i32",
    )
    check_memory(after(module, VectorizeLoop()), 4 * size)


def check_memory(module: ModuleOp, size: int) -> None:
    """That there is memory of the size, and its accesses are wide if it needs that."""
    (memory,) = (op for op in module.walk() if isinstance(op, tir.AllocateOp))
    assert memory.shape == (size,)
    wanted = i64 if size >= 1 << 31 else i32
    accesses = [
        op
        for op in module.walk()
        if isinstance(op, tir.StoreOp | tir.LoadOp)
        and isinstance(op.buffer.owner, tir.DeclBufferOp)
    ]
    assert accesses
    for op in accesses:
        assert tir.element_of(op.indices[0].type) == wanted


def test_offsets_of_views():
    script = """
@T.prim_func
def f(A: T.Buffer((65536, 65536), "int8"), C: T.Buffer((4,), "int8")):
    for i in range(16):
        with T.block("o"):
            vi = T.axis.spatial(16, i)
            T.reads(A[vi * 4096:vi * 4096 + 4, 0:16])
            T.writes(C[0:4])
            off = T.{dtype}()
            S = T.match_buffer(A[vi * 4096:vi * 4096 + 4, 0:16], (4, 16), "int8",
                               strides=[65536, 1], elem_offset=off, offset_factor=1)
            T.evaluate(T.call_extern("int32", "f", S.data, off))
"""
    with pytest.raises(PassFailedException, match="may not fit i32; declare it as i64"):
        after(parse(script.format(dtype="int32")), LowerMatchBuffer())
    module = after(parse(script.format(dtype="int64")), LowerMatchBuffer())
    (call,) = (op for op in module.walk() if isinstance(op, tir.CallOp))
    bound = Analyzer().const_int_bound(view(call.args[-1]))
    assert call.args[-1].type == i64
    assert bound.max > 1 << 31


def test_fused_loops():
    module = parse("""
@T.prim_func
def f(A: T.Buffer((46341, 46342), "int8"), B: T.Buffer((46341, 46342), "int8")):
    for i, j in T.grid(46341, 46342):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.int8(1)
""")
    fused = after(module, DefaultCPUSchedule(vector_bytes=64), Simplify())
    loops = [op for op in fused.walk() if isinstance(op, tir.ForOp)]
    total = 0
    for op in loops:
        if op.kind.data is not tir.ForKind.VECTORIZED:
            count = tir.constant_value(op.extent)
            assert op.loop_var.type == i64
            assert count is not None
            total += int(count) * (128 if op.kind.data is tir.ForKind.PARALLEL else 1)
    assert total == 46341 * 46342
