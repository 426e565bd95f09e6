"""tir-verify-thread-sync: what it can tell apart, and views of memory it cannot."""

import numpy as np
import pytest
from support.effort import calls
from support.ir import parse
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.lowering.pipelines import gpu_pipeline, run_pipeline
from xdsl_tvm.passes.tir import VerifyThreadSync
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse as parse_script

CHECK = VerifyThreadSync()


def kernel(body: str, *, threads: int = 64) -> str:
    """Threads `%t` that share `%S` (64 x f32) and its memory `%s`, and write `%A`."""
    constants = "\n".join(
        f"%c{n} = tir.const {n} : i32" for n in (0, 1, 2, 4, 8, 16, 32, 63, 64, 66, 127)
    )
    return f"""
tir.func @f(%a: !tir.handle, %k: i32) attributes {{global_symbol = "f"}} {{
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  {constants}
  %threads = tir.const {threads} : i32
  %one = tir.const 1.0 : f32
  %shared = tir.string "shared"
  %s = tir.allocate [64] : !tir.ptr<f32, "shared">
  %S = tir.decl_buffer "S" %s : !tir.buffer<64xf32, "shared">
  tir.launch_thread %t = "threadIdx.x" to %threads {{
    {body}
  }}
}}"""


ATOMIC = """
      %at = tir.address_of %S[%c0] : !tir.ptr<f32, "shared">
      %old = tir.call "atomic_add"(%at, %one) : (!tir.ptr<f32, "shared">, f32) -> f32
"""

ACCEPTED = {
    "atomic sums": ATOMIC + ATOMIC.replace("%at", "%too").replace("%old", "%new"),
    "atomic sums, and a read after a barrier": f"""
      {ATOMIC}
      tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
      %x = tir.load %S[%c0] : f32
    """,
    "an exclusive or": """
      %x = tir.call "bitwise_xor"(%t, %c8) : (i32, i32) -> i32
      tir.store %one, %S[%x] : f32
    """,
    "quotient and remainder": """
      %q = tir.floordiv %t, %c8 : i32
      %r = tir.floormod %t, %c8 : i32
      %m = tir.mul %r, %c8 : i32
      %i = tir.add %m, %q : i32
      tir.store %one, %S[%i] : f32
    """,
    "two views of one shape": """
      %T = tir.decl_buffer "T" %s : !tir.buffer<64xf32, "shared">
      tir.store %one, %S[%t] : f32
      tir.store %one, %T[%t] : f32
    """,
    "two views of two shapes": """
      %T = tir.decl_buffer "T" %s : !tir.buffer<8x8xf32, "shared">
      %q = tir.floordiv %t, %c8 : i32
      %r = tir.floormod %t, %c8 : i32
      tir.store %one, %S[%t] : f32
      tir.store %one, %T[%q, %r] : f32
    """,
    "a view of elements of one size": """
      %T = tir.decl_buffer "T" %s : !tir.buffer<8x8xi32, "shared">
      %q = tir.floordiv %t, %c8 : i32
      %r = tir.floormod %t, %c8 : i32
      tir.store %one, %S[%t] : f32
      tir.store %t, %T[%q, %r] : i32
    """,
    "a view of the bytes of each element": """
      %T = tir.decl_buffer "T" %s : !tir.buffer<256xi8, "shared">
      tir.store %one, %S[%t] : f32
      tir.for %j = %c0 to %c4 {
        %m = tir.mul %t, %c4 : i32
        %i = tir.add %m, %j : i32
        %x = tir.load %T[%i] : i8
      }
    """,
    "halves in the other half": """
      %T = tir.decl_buffer "T" %s : !tir.buffer<128xf16, "shared">
      %p = tir.cmp lt %t, %c32 : i32
      tir.if %p {
        %h = tir.sub %c32, %t : i32
        %x = tir.load %S[%h] : f32
      }
      %half = tir.const 1.0 : f16
      %i = tir.add %t, %c66 : i32
      %j = tir.min %i, %c127 : i32
      %q = tir.cmp lt %t, %c32 : i32
      tir.if %q {
        tir.store %half, %T[%j] : f16
      }
    """,
    "a pointer to wider elements": """
      %b = tir.allocate [256] : !tir.ptr<i8, "shared">
      %F = tir.decl_buffer "F" %b : !tir.buffer<64xf32, "shared">
      %p = tir.access_ptr w %b[%t to %t + %c1] : !tir.ptr<f32, "shared">
      %x = tir.call "f"(%p) : (!tir.ptr<f32, "shared">) -> i32
      tir.store %one, %F[%t] : f32
    """,
    "a branch that all threads take": """
      tir.store %one, %S[%t] : f32
      %p = tir.cmp lt %k, %c8 : i32
      tir.if %p {
        tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
      } else {
        tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
      }
      %i = tir.sub %c63, %t : i32
      tir.store %one, %S[%i] : f32
    """,
    "a constant that only one thread writes": """
      %p = tir.cmp eq %t, %c8 : i32
      tir.if %p {
        tir.store %one, %S[%c0] : f32
      }
    """,
}
REFUSED = {
    "atomic sums and a read": ATOMIC
    + """
      %x = tir.load %S[%c0] : f32
    """,
    "a store and atomic sums": f"""
      tir.store %one, %S[%t] : f32
      {ATOMIC}
    """,
    "a pointer into the memory": """
      %p = tir.address_of %S[%c32] : !tir.ptr<f32, "shared">
      %T = tir.decl_buffer "T" %p : !tir.buffer<64xf32, "shared">
      tir.store %one, %S[%t] : f32
      tir.store %one, %T[%t] : f32
    """,
    "a pointer that depends on the thread": """
      %i = tir.sub %c63, %t : i32
      %p = tir.address_of %S[%i] : !tir.ptr<f32, "shared">
      %T = tir.decl_buffer "T" %p : !tir.buffer<64xf32, "shared">
      tir.store %one, %T[%t] : f32
    """,
    "halves of elements of other threads": """
      %T = tir.decl_buffer "T" %s : !tir.buffer<128xf16, "shared">
      %half = tir.const 1.0 : f16
      tir.store %half, %T[%t] : f16
      %x = tir.load %S[%t] : f32
    """,
    "a view with strides": """
      %T = tir.decl_buffer "T" %s strides [1] : !tir.buffer<64xi32, "shared">
      %x = tir.load %T[%t] : i32
      tir.store %one, %S[%t] : f32
    """,
    "a pointer to what has strides": """
      %b = tir.allocate [256] : !tir.ptr<f32, "shared">
      %F = tir.decl_buffer "F" %b strides [2] : !tir.buffer<64xf32, "shared">
      %d = tir.data %F : !tir.ptr<f32, "shared">
      %p = tir.access_ptr w %d[%t to %t + %c1] : !tir.ptr<f32, "shared">
      %x = tir.call "f"(%p) : (!tir.ptr<f32, "shared">) -> i32
      tir.store %one, %F[%t] : f32
    """,
    "a barrier in one branch only": """
      tir.store %one, %S[%t] : f32
      %p = tir.cmp lt %k, %c8 : i32
      tir.if %p {
        tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
      }
      %i = tir.sub %c63, %t : i32
      tir.store %one, %S[%i] : f32
    """,
    "a barrier in a loop that may not run": """
      tir.store %one, %S[%t] : f32
      tir.for %j = %c0 to %k {
        tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
      }
      %i = tir.sub %c63, %t : i32
      tir.store %one, %S[%i] : f32
    """,
    "an index that is read from memory": """
      %x = tir.load %A[%t] : f32
      %i = tir.cast %x : f32 to i32
      tir.store %one, %S[%i] : f32
    """,
    "a remainder of what is read from memory": """
      %x = tir.load %A[%t] : f32
      %i = tir.cast %x : f32 to i32
      %r = tir.floormod %i, %c8 : i32
      tir.store %one, %S[%r] : f32
    """,
    "other threads in the other branch": """
      %p = tir.cmp lt %t, %c32 : i32
      tir.if %p {
        tir.store %one, %S[%t] : f32
      } else {
        %i = tir.sub %t, %c32 : i32
        tir.store %one, %S[%i] : f32
      }
    """,
    "a barrier of the warp only": """
      %warp = tir.string "warp"
      tir.store %one, %S[%t] : f32
      tir.call "tvm_storage_sync"(%warp) : (!tir.handle) -> ()
      %i = tir.sub %c63, %t : i32
      tir.store %one, %S[%i] : f32
    """,
    "lanes of the next thread": """
      %ramp = tir.ramp %t, %c1 : vector<2xi32>
      %ones = tir.broadcast %one : vector<2xf32>
      tir.store %ones, %S[%ramp] : vector<2xf32>
    """,
}


@pytest.mark.parametrize("body", ACCEPTED.values(), ids=ACCEPTED)
def test_elements_are_apart(body: str) -> None:
    CHECK(parse(kernel(body)))


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_elements_may_be_one(body: str) -> None:
    with pytest.raises(PassFailedException, match=r"may (store|access) one element"):
        CHECK(parse(kernel(body)))


def test_lanes_are_elements() -> None:
    body = """
      %i = tir.mul %t, %c2 : i32
      %ramp = tir.ramp %i, %c1 : vector<2xi32>
      %ones = tir.broadcast %one : vector<2xf32>
      tir.store %ones, %S[%ramp] : vector<2xf32>
    """
    CHECK(parse(kernel(body, threads=32)))


def test_virtual_threads_keep_what_the_program_does() -> None:
    source = """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for y in T.thread_binding(2, thread="vthread.x"):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("block"):
                v = T.axis.spatial(64, y * 32 + t)
                S = T.alloc_buffer((1,), scope="local")
                S[0] = A[v] * T.float32(2)
                B[v] = S[0] + T.float32(1)
"""
    module = parse_script(source)
    lowered = module.clone()
    passes = gpu_pipeline().removesuffix(",tir-convert-to-gpu")
    run_pipeline(new_context(), lowered, passes)
    a = np.arange(64, dtype=np.float32)
    for each in (module, lowered):
        b = np.zeros(64, np.float32)
        interpret(each)["main"](a, b)
        np.testing.assert_array_equal(b, a * 2 + 1)


def stored_tiles(columns: int, stride: int = 64, layout: str = "row_major") -> str:
    """Two warps that each store 16 x 16 elements, so many columns apart."""
    return f"""
@T.prim_func
def main(C_data: T.handle("float32", "global")):
    y = T.launch_thread("threadIdx.y", 2)
    x = T.launch_thread("threadIdx.x", 32)
    C = T.decl_buffer((4096,), data=C_data)
    f = T.allocate((256,), "float32", "wmma.accumulator")
    T.tvm_store_matrix_sync(
        f, 16, 16, 16, 0,
        T.tvm_access_ptr(
            T.type_annotation("float32"), C.data, y * {columns}, 4096 - y * {columns}, 2
        ),
        {stride}, "{layout}",
    )
"""


def test_tiles_that_warps_store() -> None:
    """The threads of a warp store a tile together, and tiles of rows are apart."""
    for text in (stored_tiles(16), stored_tiles(1024), stored_tiles(16, 64, "col_major")):
        CHECK.apply(new_context(), parse_script(text))
    for text in (stored_tiles(8), stored_tiles(16, 8), stored_tiles(1024 - 64)):
        with pytest.raises(PassFailedException, match=r"may store one element of memory"):
            CHECK.apply(new_context(), parse_script(text))


def test_tiles_of_registers() -> None:
    """`mma_store` stores as `tvm_store_matrix_sync` does, by rows."""

    def text(columns: int) -> str:
        stored = stored_tiles(columns)
        start, end = stored.index("T.tvm_store"), stored.index("T.tvm_access")
        stored = stored[:start] + 'T.mma_store("float32", 16, 16, ' + stored[end:]
        return stored.replace('64, "row_major",', "f, 0, 64").replace(
            'T.allocate((256,), "float32", "wmma.accumulator")',
            'T.allocate((8,), "float32", "local")',
        )

    CHECK.apply(new_context(), parse_script(text(16)))
    with pytest.raises(PassFailedException, match=r"may store one element of memory"):
        CHECK.apply(new_context(), parse_script(text(8)))


def test_effort() -> None:
    """Linear in the number of intervals."""

    def effort(count: int) -> int:
        step = """
          %y{0} = tir.load %S[%t] : f32
          tir.store %y{0}, %S[%t] : f32
          tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
        """
        first = "tir.store %one, %S[%t] : f32\n"
        body = first + "".join(step.format(number) for number in range(count))
        module = parse(kernel(body))
        return calls(lambda: CHECK(module))

    assert effort(80) < 5 * effort(20)


def divided_copy(planes: int = 3364, period: int = 841, scale: int = 256) -> str:
    """Each thread of 26912 x 256 stores one element, counted in planes of 58 x 58."""
    return f"""
@T.prim_func
def main(C_data: T.handle("float32", "global")):
    x = T.launch_thread("blockIdx.x", 26912)
    t = T.launch_thread("threadIdx.x", 256)
    C = T.decl_buffer((6889472,), data=C_data)
    C[
        x // 841 * 215296
        + (x % {period} * 64 + t // 4) // 841 * 3364
        + (x * {scale} + t) % {planes}
    ] = T.float32(1)
"""


def test_quotients_and_remainders_of_different_dividends() -> None:
    """Dividends equal modulo the divisor count as one, others do not."""
    CHECK.apply(new_context(), parse_script(divided_copy()))
    CHECK.apply(new_context(), parse_script(divided_copy(scale=256 + 3364)))
    for text in (
        divided_copy(planes=3363),
        divided_copy(period=840),
        divided_copy(scale=255),
    ):
        with pytest.raises(PassFailedException, match=r"may (store|access) one element"):
            CHECK.apply(new_context(), parse_script(text))


def transposed(limit: str) -> str:
    """Tiles of 32 columns of matrices of 64 rows and `p + 1` columns, by blocks."""
    return f"""
@T.prim_func
def main(c: T.handle, p: T.int32):
    C = T.match_buffer(c, (12, 64, p + 1))
    x = T.launch_thread("blockIdx.x", p // 32 * 24 + 24)
    y = T.launch_thread("threadIdx.y", 8)
    t = T.launch_thread("threadIdx.x", 32)
    D = T.Buffer((12 * 64 * (p + 1),), data=C.data)
    if {limit}:
        D[
            x // (p // 32 * 2 + 2) * (p + 1) * 64
            + x % (p // 32 * 2 + 2) // 2 * 32
            + x % 2 * (p + 1) * 32
            + y * (p + 1)
            + t
        ] = T.float32(1)
"""


def test_quotients_of_remainders_by_symbols() -> None:
    """`x % (2 * m) // 2` is `x // 2 % m`, which a condition may have."""
    limit = "x // 2 % (p // 32 + 1) * 32 + t <= p"
    CHECK.apply(new_context(), parse_script(transposed(limit)))
    for wrong in (limit.replace("<= p", "<= p + 1"), limit.replace("// 2 %", "// 3 %")):
        with pytest.raises(PassFailedException, match=r"may (store|access) one element"):
            CHECK.apply(new_context(), parse_script(transposed(wrong)))


def planes(blocks: str) -> str:
    """Each block of so many stores a row of a matrix of `m` by `n` in each of `k`."""
    return f"""
@T.prim_func
def main(c: T.handle):
    k, m, n = T.int32(), T.int32(), T.int32()
    C = T.match_buffer(c, (k, m, n, 32))
    y = T.launch_thread("blockIdx.y", k)
    x = T.launch_thread("blockIdx.x", {blocks})
    t = T.launch_thread("threadIdx.x", 32)
    D = T.Buffer((k * m * n * 32,), data=C.data)
    D[((y * m + x // n) * n + x % n) * 32 + t] = T.float32(1)
"""


def test_quotients_by_symbols() -> None:
    """`x // n` is less than `m` where `x` is less than `m * n`."""
    CHECK.apply(new_context(), parse_script(planes("m * n")))
    for blocks in ("m * n + 1", "m * n + n", "m * m"):
        with pytest.raises(PassFailedException, match=r"may (store|access) one element"):
            CHECK.apply(new_context(), parse_script(planes(blocks)))


def unrolled_tile(rows: int, *, columns: int = 4095) -> str:
    """Blocks of 4 x 32 threads with so many rows each of a ragged matrix."""
    stores = "\n".join(
        f"""
    if x % 32 * 128 + y * 32 + t < {columns} and x // 32 * {rows} + {row} < 1000:
        C[x // 32 * {rows * 4095} + x % 32 * 128 + y * 32 + t + {row * 4095}] = (
            T.float32({row})
        )"""
        for row in range(rows)
    )
    return f"""
@T.prim_func
def main(C_data: T.handle("float32", "global")):
    x = T.launch_thread("blockIdx.x", 4096)
    y = T.launch_thread("threadIdx.y", 4)
    t = T.launch_thread("threadIdx.x", 32)
    C = T.decl_buffer(({4096 * 4095},), data=C_data)
    {stores}
"""


def test_effort_of_unrolled_loops() -> None:
    """What differs by constants is compared at once, also under conditions."""

    def effort(rows: int) -> int:
        module = parse_script(unrolled_tile(rows))
        return calls(lambda: CHECK(module))

    assert effort(20) < 6 * effort(5)
    with pytest.raises(PassFailedException, match=r"may (store|access) one element"):
        CHECK.apply(new_context(), parse_script(unrolled_tile(4, columns=4096)))
