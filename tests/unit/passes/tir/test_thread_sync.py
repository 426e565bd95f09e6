"""tir-thread-sync: where barriers are, and where none can be.

A program is written with the barriers of the result, each on a line that ends in `# new`;
what the pass gets is the program without these lines.
"""

from __future__ import annotations

import textwrap

import numpy as np
import pytest
from support.barriers import accepts, barriers, erase
from support.effort import calls
from support.ir import parse
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.errors import RaceError
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.tir import ThreadSync, VerifyThreadSync
from xdsl_tvm.tvmscript import parse as parse_script
from xdsl_tvm.tvmscript import print_script

SHARED = 'T.tvm_storage_sync("shared")  # new'
DYN = 'T.tvm_storage_sync("shared.dyn")  # new'
WARP = 'T.tvm_storage_sync("warp")  # new'


def program(body: str, *, header: str = "") -> str:
    """A kernel of 64 threads `tx` on `P` (128 x f32), `R` and `s`, shared (128)."""
    head = (
        header
        or """
tx = T.launch_thread("threadIdx.x", 64)
s = T.decl_buffer((128,), data=T.allocate([128], "float32", "shared"), scope="shared")
r = T.decl_buffer((1,), data=T.allocate([1], "float32", "local"), scope="local")
"""
    )
    head = """
s_data = T.allocate([128], "float32", "shared")
s = T.decl_buffer((128,), data=s_data, scope="shared")
r_data = T.allocate([1], "float32", "local")
r = T.decl_buffer((1,), data=r_data, scope="local")
"""
    launch = header or 'tx = T.launch_thread("threadIdx.x", 64)'
    lines = textwrap.indent(f"{launch}\n{head}\n{textwrap.dedent(body)}", "    ")
    return f"""
@T.prim_func
def main(P: T.Buffer((128,), "float32"), R: T.Buffer((128,), "float32")):
{lines}
"""


def without_new(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if "# new" not in line)


def check(text: str, *scopes: str) -> ModuleOp:
    """The program of a text gets the new lines of the text, and no other ones."""
    module = parse_script(without_new(text))
    for scope in scopes or ("shared",):
        module = ThreadSync(scope)(module)
    assert print_script(module) == print_script(parse_script(text))
    return module


def runs(module: ModuleOp) -> np.ndarray:
    p = np.arange(128, dtype=np.float32)
    out = np.zeros(128, np.float32)
    interpret(module)["main"](p, out)
    return out


def test_one_thread_writes() -> None:
    """CASE: ThreadSync.1"""
    module = check(
        program(f"""
    r[0] = T.float32(0)
    if tx < 1:
        s[0] = P[0]
    {SHARED}
    r[0] = r[0] + s[0]
    {SHARED}
    if tx < 1:
        s[0] = P[1]
    {SHARED}
    r[0] = r[0] + s[0]
    R[tx] = r[0]
""")
    )
    assert runs(module)[:64].tolist() == [1.0] * 64


def test_dynamic_memory_is_one() -> None:
    """CASE: ThreadSync.2"""
    check(
        program(f"""
    b_data = T.allocate([128], "float32", "shared.dyn")
    b = T.decl_buffer((128,), data=b_data, scope="shared.dyn")
    d_data = T.allocate([64], "float32", "shared.dyn")
    d = T.decl_buffer((64,), data=d_data, scope="shared.dyn")
    b[tx * 2] = P[tx]
    r[0] = b[tx * 2]
    {DYN}
    d[tx] = r[0]
    R[tx] = d[tx]
"""),
        "shared.dyn",
    )


def test_dynamic_memory_in_use_is_not_taken() -> None:
    check(
        program("""
    b_data = T.allocate([128], "float32", "shared.dyn")
    b = T.decl_buffer((128,), data=b_data, scope="shared.dyn")
    d_data = T.allocate([64], "float32", "shared.dyn")
    d = T.decl_buffer((64,), data=d_data, scope="shared.dyn")
    b[tx * 2] = P[tx]
    r[0] = b[tx * 2]
    d[tx] = r[0]
    R[tx] = d[tx] + b[tx * 2]
"""),
        "shared.dyn",
    )


def test_lets_after_a_loop() -> None:
    """CASE: ThreadSync.3

    All threads write all elements, which a barrier cannot part: tir-verify-thread-sync
    refuses it.
    """
    module = check(
        program(
            f"""
    for ax0 in range(128):
        s[ax0] = P[ax0]
    r[0] = T.float32(0)
    {SHARED}
    a = T.let(s[tx])
    b = T.let(s[tx + 32])
    c = T.let(s[tx + 64])
    r[0] = a + b + c
    R[tx] = r[0]
""".replace("T.let(s[tx])", "s[tx]").replace("T.let(", "(")
        )
        .replace("a = s[tx]", "a: T.float32 = s[tx]")
        .replace("b = (s", "b: T.float32 = (s")
        .replace("c = (s", "c: T.float32 = (s")
    )
    with pytest.raises(PassFailedException, match="may store one element"):
        VerifyThreadSync()(module)


def test_producer_and_consumer_loops() -> None:
    """CASE: ThreadSync.4"""
    module = check(
        program(f"""
    for i in range(2):
        s[i * 64 + tx] = P[i * 64 + tx]
    {SHARED}
    for i in range(2):
        R[i * 64 + tx] = s[127 - i * 64 - tx]
""")
    )
    assert runs(module).tolist() == list(range(127, -1, -1))


def test_else_branches() -> None:
    """CASE: ThreadSync.5"""
    check(
        program(f"""
    for i in range(2):
        if tx < 32:
            r[0] = T.float32(1)
        else:
            s[i * 64 + tx] = P[i * 64 + tx]
    {SHARED}
    for i in range(2):
        if tx < 32:
            R[i * 64 + tx] = r[0]
        else:
            R[i * 64 + tx] = s[i * 64 + 95 - tx]
""")
    )


def test_loop_carried() -> None:
    """CASE: ThreadSync.6"""
    module = check(
        program(f"""
    for i in range(4):
        {SHARED}
        s[tx] = P[tx] + T.Cast("float32", i)
        {SHARED}
        R[tx] = s[63 - tx]
""")
    )
    assert runs(module)[:64].tolist() == list(range(66, 2, -1))


def test_nothing_to_order() -> None:
    """CASE: ThreadSync.7"""
    for middle in (
        "",
        'T.tvm_storage_sync("shared.dyn")',
        'T.tvm_storage_sync("shared")',
    ):
        index = "127 - tx" if middle else "tx"
        check(
            program(f"""
    s[tx] = P[tx]
    s[127 - tx] = P[tx]
    {middle}
    r[0] = s[{index}] + s[{index}]
    R[tx] = r[0] + s[127 - tx]
""")
        )


def test_a_barrier_of_a_warp_does_not_order_a_block() -> None:
    """CASE: ThreadSync.7"""
    check(
        program(f"""
    s[tx] = P[tx]
    T.tvm_storage_sync("warp")
    {SHARED}
    R[tx] = s[63 - tx]
""")
    )


TWO = """
ty = T.launch_thread("threadIdx.y", 4)
tx = T.launch_thread("threadIdx.x", 16)
"""


def test_index_of_another_axis() -> None:
    """CASE: ThreadSync.8"""
    check(
        program(
            f"""
    s[ty] = P[ty]
    {SHARED}
    R[ty * 16 + tx] = s[ty]
""",
            header=TWO,
        )
    )


def test_all_axes_tell_whose_element_it_is() -> None:
    """TVM looks at the innermost axis only, and inserts none here."""
    module = check(
        program(
            f"""
    if ty == 0:
        s[tx] = P[tx]
    {SHARED}
    R[ty * 16 + tx] = s[tx]
""",
            header=TWO,
        )
    )
    assert runs(module)[:64].tolist() == list(range(16)) * 4


def test_condition_on_the_thread() -> None:
    """CASE: ThreadSync.9"""
    text = program("""
    s[tx] = P[tx]
    if tx < 32:
        s[tx] = P[tx + 1]
        R[tx] = s[31 - tx]
""")
    with pytest.raises(
        PassFailedException,
        match=r"^tir.load in @main may access .* with tir.store in @main .*"
        r"T.tvm_thread_invariant$",
    ):
        ThreadSync("shared")(parse_script(text))
    check(
        program(f"""
    s[tx] = P[tx]
    if T.Call("bool", "tir.tvm_thread_invariant", [P[0] < T.float32(1)]):
        s[tx] = P[tx + 1]
        {SHARED}
        R[tx] = s[63 - tx]
""")
    )


def test_condition_that_all_threads_share() -> None:
    """TVM refuses every condition that is no `tvm_thread_invariant`."""
    module = check(
        program(f"""
    for i in range(4):
        {SHARED}
        if i < 2:
            s[tx] = P[tx]
            {SHARED}
            R[tx] = s[63 - tx]
""")
    )
    VerifyThreadSync()(module)


def test_load_in_a_condition() -> None:
    """CASE: ThreadSync.9

    TVM fails there; in SSA the load is before the `if`, and so is the barrier.
    """
    check(
        program(f"""
    s[tx] = P[tx]
    {SHARED}
    if s[63 - tx] < T.float32(3):
        R[tx] = T.float32(1)
""")
    )


def test_async_wait() -> None:
    """CASE: ThreadSync.10, ThreadSync.15"""
    for launch in ('tx = T.launch_thread("threadIdx.x", 64)', "tx = T.int32(0)"):
        text = program(f"""
    with T.attr(0, "async_commit_queue_scope", 0):
        with T.attr(0, "async_scope", 1):
            s[tx] = P[tx]
    with T.attr(0, "async_wait_queue_scope", 0):
        with T.attr(0, "async_wait_inflight_count", 0):
            {SHARED}
            R[tx] = s[63 - tx]
""")
        text = text.replace('tx = T.launch_thread("threadIdx.x", 64)', launch)
        text = text.replace("tx = T.int32(0)", "tx: T.int32 = 0")
        module = check(text)
        if "launch" in launch:
            assert accepts(module)
        other = parse_script(without_new(text))
        assert not barriers(ThreadSync("warp")(other))


def test_copies_end_where_they_are_waited_for() -> None:
    """A barrier between the copy and the wait for it orders nothing."""
    check(
        program(f"""
    with T.attr(0, "async_commit_queue_scope", 0):
        with T.attr(0, "async_scope", 1):
            s[tx] = P[tx]
    T.tvm_storage_sync("shared")
    T.ptx_wait_group(0)
    {SHARED}
    R[tx] = s[63 - tx]
""")
    )


def staged(
    written: str, read: str, *, versions: int = 2, threads: int = 8, rounds: int = 2
) -> ModuleOp:
    """Threads that write tiles and read those of others, `n` times.

    A tile is `H` elements; `x` is the element in it that a thread writes.
    """
    size = threads * rounds
    words = {"H": str(size), "x": f"(j * {threads} + tx)"}

    def index(text: str) -> str:
        return "".join(words.get(letter, letter) for letter in text)

    return parse_script(f"""
@T.prim_func
def main(a: T.handle, r: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, {size}))
    R = T.match_buffer(r, (n, {size}))
    tx = T.launch_thread("threadIdx.x", {threads})
    s_data = T.allocate([{versions * size}], "float32", "shared")
    s = T.decl_buffer(({versions * size},), data=s_data, scope="shared")
    for i in range({versions}):
        for j in range({rounds}):
            s[i * {size} + {words["x"]}] = T.float32(0)
    for i in range(n):
        for j in range({rounds}):
            s[{index(written)}] = A[i, {words["x"]}]
        for j in range({rounds}):
            R[i, {words["x"]}] = s[{index(read)}]
""")


TILES = {
    "one tile": ("x", "H - 1 - x", 1, 2),
    "two tiles": ("i % 2 * H + x", "i % 2 * H + (H - 1 - x)", 2, 1),
    "three tiles": ("(i + 2) % 3 * H + x", "(i + 2) % 3 * H + (H - 1 - x)", 3, 1),
    "the tile of the next iteration": ("(i + 1) % 2 * H + x", "i % 2 * H + x", 2, 0),
    "other halves": ("(3 - i % 2 * 2) * H + x", "(i * 5 + 1) % 2 * H + H - 1 - x", 4, 1),
    "the tile before": ("i % 3 * H + x", "(i + 2) % 3 * H + (H - 1 - x)", 3, 1),
    "two iterations a tile": ("i // 2 % 2 * H + x", "i // 2 % 2 * H + H - 1 - x", 2, 2),
    "a tile in between": ("i % 2 * H + x", "i % 2 * (H // 2) + H - 1 - x", 2, 2),
}


@pytest.mark.parametrize(("written", "read", "versions", "inserted"), TILES.values())
@pytest.mark.parametrize("is_large", [False, True])
def test_tiles(
    written: str, read: str, versions: int, inserted: int, is_large: bool
) -> None:
    """The tiles of two iterations are told apart, however large and many they are."""
    size = {"threads": 512, "rounds": 64} if is_large else {}
    module = staged(written, read, versions=versions, **size)
    ThreadSync("shared").apply(Context(), module)
    (loop,) = [
        op
        for op in module.walk()
        if isinstance(op, tir.ForOp) and tir.constant_value(op.extent) is None
    ]
    assert sum(loop.is_ancestor(barrier) for barrier in barriers(module)) == inserted
    assert accepts(module)
    if not is_large:
        a, r = np.zeros((7, 16), np.float32), np.zeros((7, 16), np.float32)
        interpret(module)["main"](a, r, 7)
        for number in range(len(barriers(module))):
            other = module.clone()
            erase(barriers(other)[number])
            with pytest.raises(RaceError):
                interpret(other)["main"](a, r, 7)


def test_double_buffer() -> None:
    """CASE: ThreadSync.11"""
    module = check(
        program(f"""
    s[tx] = P[tx]
    for i in range(4):
        {SHARED}
        if i + 1 < 4:
            with T.attr(s_data, "double_buffer_write", 1):
                s[(i + 1) % 2 * 64 + tx] = P[tx] + T.Cast("float32", i)
        R[tx] = s[i % 2 * 64 + (63 - tx)]
""")
    )
    VerifyThreadSync()(module)


def loaded_stages(row: str) -> str:
    """Rows of 8, which a warp loads as matrices from the stage that is not written."""
    return f"""
@T.prim_func
def main(P: T.Buffer((2048,), "float16"), R: T.Buffer((2048,), "float16")):
    tx = T.launch_thread("threadIdx.x", 64)
    s_data = T.allocate([1024], "float16", "shared")
    s = T.decl_buffer((1024,), "float16", data=s_data, scope="shared")
    r_data = T.allocate([8], "float16", "local")
    r = T.decl_buffer((8,), "float16", data=r_data, scope="local")
    for e in range(8):
        s[tx * 8 + e] = P[tx * 8 + e]
    for k in range(4):
        {SHARED}
        T.ptx_ldmatrix("float16", T.bool(False), 4, ".b16", r_data, 0,
                       T.tvm_access_ptr(T.type_annotation("float16"), s_data,
                                        k % 2 * 512 + ({row}) * 8, 512, 1), 0)
        for e in range(8):
            R[k * 512 + tx * 8 + e] = r[e]
        for e in range(8):
            s[(k + 1) % 2 * 512 + tx * 8 + e] = P[(k + 1) % 4 * 512 + tx * 8 + e]
"""


@pytest.mark.parametrize("row", ["63 - tx", "tx"])
def test_stages_that_warps_load(row: str) -> None:
    """A stage is written while another one is loaded, with one barrier for both.

    Rows that a lane names are elements of other lanes, even if it has written them.
    """
    module = check(loaded_stages(row))
    out, p = np.zeros(2048, np.float16), np.arange(2048).astype(np.float16)
    interpret(module)["main"](p, out)
    tx = np.arange(64)
    named = tx // 32 * 32 + tx % 32 // 4
    rows = p.reshape(4, 64, 8)[:, named if row == "tx" else 63 - named]
    pair = (2 * (tx % 4))[:, None] + np.arange(2)
    wanted = np.take_along_axis(rows, pair[None], 2)
    assert np.array_equal(out.reshape(4, 64, 8)[:, :, :2], wanted)
    if row == "63 - tx":
        erase(barriers(module)[0])
        with pytest.raises(RaceError):
            interpret(module)["main"](p, out)


def test_access_pointers() -> None:
    """CASE: ThreadSync.12"""

    def access(name: str, start: str, count: int, mask: int) -> str:
        return (
            f'T.evaluate(T.call_extern("int32", "{name}", T.tvm_access_ptr('
            f'T.type_annotation("float32"), s_data, {start}, {count}, {mask})))'
        )

    check(
        program(f"""
    {access("fill", "tx * 2", 2, 2)}
    {access("own", "tx * 2", 2, 3)}
    {SHARED}
    {access("read", "0", 128, 1)}
    {access("read", "0", 128, 1)}
    {SHARED}
    {access("both", "tx", 2, 3)}
    {SHARED}
    {access("fill", "0", 128, 2)}
""")
    )


def test_hand_threaded() -> None:
    """CASE: ThreadSync.12"""
    check(
        program("""
    with T.attr(0, "hand_threaded", 0):
        s[tx] = P[tx]
        R[tx] = s[63 - tx]
""")
    )


def test_warp_memory() -> None:
    """CASE: ThreadSync.13"""
    text = program(f"""
    w_data = T.allocate([32], "float32", "warp")
    w = T.decl_buffer((32,), data=w_data, scope="warp")
    w[tx % 32] = P[tx]
    {WARP}
    R[tx] = w[31 - tx % 32]
""").replace("64)", "32)")
    module = check(text, "warp")
    assert accepts(module)
    assert len(barriers(ThreadSync("warp")(module))) == 2


GRID = """
bx = T.launch_thread("blockIdx.x", 4)
tx = T.launch_thread("threadIdx.x", 64)
"""


def test_global_memory() -> None:
    """CASE: ThreadSync.14, ThreadSync.16

    TVM puts the first barrier of the loop before the statement, which reads `A[g]` and
    stores `A[255 - g]`: it then races with itself. Here it is between the two.
    """
    text = """
@T.prim_func
def main(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    T.call_packed("__tvm_prepare_global_barrier")  # new
    bx = T.launch_thread("blockIdx.x", 4)
    tx = T.launch_thread("threadIdx.x", 64)
    B[bx * 64 + tx] = A[bx * 64 + tx] + T.float32(1)
    pass  # new
    A[bx * 64 + tx] = B[(bx * 64 + tx + 1) % 256]
    for i in range(3):
        x: T.float32 = A[bx * 64 + tx]
        pass  # new
        A[255 - (bx * 64 + tx)] = x
        pass  # new
        B[bx * 64 + tx] = A[bx * 64 + tx]
"""
    module = parse_script(without_new(text))
    a = np.random.default_rng(0).random(256).astype(np.float32)
    with pytest.raises(RaceError):
        interpret(module)["main"](a.copy(), np.zeros(256, np.float32))
    module = ThreadSync("global")(module)
    module.verify()
    printed = print_script(module)
    assert printed.count('T.tvm_storage_sync("global", tx == 0, 4)') == 3, printed
    order = [
        "__tvm_prepare_global_barrier",
        "blockIdx.x",
        "tvm_global_barrier_kinit",
        "volatile_scope",
        "volatile_scope",
        "threadIdx.x",
    ]
    position = 0
    for word in order:
        position = printed.index(word, position) + 1
    first, b = a.copy(), np.zeros(256, np.float32)
    interpret(module)["main"](first, b)
    want_b = a + 1
    want = np.roll(want_b, -1)
    for _ in range(3):
        want = want[::-1].copy()
    np.testing.assert_array_equal(first, want)
    np.testing.assert_array_equal(b, want)
    assert accepts(module)


def test_global_sums() -> None:
    """CASE: ThreadSync.17

    Within the loop over `j` an element is that of one thread, from one `i` to the next
    it is not.
    """
    text = """
@T.prim_func
def main(A: T.Buffer((256,), "float32"), C: T.Buffer((256,), "float32")):
    bx = T.launch_thread("blockIdx.x", 2)
    ty = T.launch_thread("threadIdx.y", 4)
    tx = T.launch_thread("threadIdx.x", 8)
    for i in range(3):
        for j in range(4):
            C[INDEX * 4 + j] = C[INDEX * 4 + j] + A[INDEX * 4 + j]
"""
    module = parse_script(text.replace("INDEX", "(bx * 32 + ty * 8 + tx + i) % 64"))
    module = ThreadSync("global")(module)
    (barrier,) = barriers(module)
    assert 'T.tvm_storage_sync("global", ty == 0 and tx == 0, 2)' in print_script(module)
    loop = barrier.parent_op()
    assert isinstance(loop, tir.ForOp)
    assert sum(isinstance(op, tir.ForOp) for op in loop.body.block.ops) == 1
    a = np.random.default_rng(0).random(256).astype(np.float32)
    c = np.zeros(256, np.float32)
    interpret(module)["main"](a, c)
    np.testing.assert_array_equal(c, a + a + a)
    # An element of one thread needs none, where TVM sees an interval over `j`.
    module = parse_script(text.replace("INDEX", "(bx * 32 + ty * 8 + tx)"))
    module = ThreadSync("global")(module)
    assert not barriers(module)
    assert "volatile" not in print_script(module)


def test_virtual_threads() -> None:
    """CASE: ThreadSync.18"""
    check(
        program(
            f"""
    for i in range(8):
        s[i] = P[i]
    {SHARED}
    for i in range(8):
        if i + cx < 7:
            R[tx * 8 + i] = s[i]
""",
            header="""
tx = T.launch_thread("threadIdx.x", 16)
cx = T.launch_thread("cthread", 1)
""",
        )
    )


def test_within_a_statement() -> None:
    """TVM does not compare the accesses of one statement."""
    check(
        program(f"""
    s[tx] = P[tx]
    {SHARED}
    x: T.float32 = s[63 - tx]
    {SHARED}
    s[tx] = x
    R[tx] = s[tx]
""")
    )


def test_two_writes() -> None:
    """TVM does not compare writes."""
    check(
        program(f"""
    s[tx] = P[tx]
    {SHARED}
    s[63 - tx] = P[tx + 1]
    R[tx] = s[63 - tx]
""")
    )


def test_iterations_are_compared_as_such() -> None:
    """TVM takes `s[(tx + i) % 64]` of two iterations for one element."""
    module = check(
        program(f"""
    for i in range(4):
        {SHARED}
        s[(tx + i) % 64] = P[tx]
        R[tx] = s[(tx + i) % 64]
""")
    )
    VerifyThreadSync()(module)


def test_iterations_far_apart() -> None:
    """Every second iteration has the element that another thread had."""
    module = check(
        program(f"""
    for i in range(4):
        {SHARED}
        s[i % 2 * 64 + (tx + i // 2) % 64] = P[tx]
        R[tx] = s[i % 2 * 64 + (tx + i // 2) % 64]
""")
    )
    VerifyThreadSync()(module)


def test_pointers() -> None:
    """TVM does not see what addresses are for."""
    check(
        program(f"""
    T.ptx_cp_async("float32", s_data, tx * 4, P.data, tx, 4)
    T.ptx_commit_group()
    T.ptx_wait_group(0)
    {SHARED}
    R[tx] = s[63 - tx]
    {SHARED}
    T.evaluate(T.call_extern("int32", "f", T.address_of(s[0])))
""")
    )


def test_while_loop() -> None:
    """A loop whose condition all threads share, and one whose condition they do not."""
    text = program(f"""
    i_data = T.allocate([1], "int32", "local")
    i = T.decl_buffer((1,), "int32", data=i_data, scope="local")
    i[0] = 0
    while CONDITION:
        {SHARED}
        s[tx] = P[tx] + T.Cast("float32", i[0])
        {SHARED}
        R[tx] = s[63 - tx]
        i[0] = i[0] + 1
""")
    module = check(
        text.replace(
            "CONDITION", 'T.Call("bool", "tir.tvm_thread_invariant", [i[0] < 3])'
        )
    )
    assert accepts(module)
    assert runs(module)[:64].tolist() == list(range(65, 1, -1))
    with pytest.raises(PassFailedException, match="where no barrier can be"):
        ThreadSync()(parse_script(without_new(text).replace("CONDITION", "i[0] < 3")))


def test_hoisted_out_of_a_condition() -> None:
    """The barrier is before the condition that one of the accesses is under."""
    check(
        program(f"""
    s[tx] = P[tx]
    {SHARED}
    for i in range(tx):
        if tx < 7:
            R[tx] = s[i]
""")
    )


def test_loops_of_threads_apart() -> None:
    text = program("""
    for i in range(tx):
        s[tx] = P[tx]
        R[tx] = s[63 - tx]
""")
    with pytest.raises(PassFailedException, match="where no barrier can be"):
        ThreadSync()(parse_script(text))


def test_wait_of_threads_apart() -> None:
    text = program("""
    if tx < 3:
        with T.attr(0, "async_wait_queue_scope", 0):
            with T.attr(0, "async_wait_inflight_count", 0):
                R[tx] = s[63 - tx]
""")
    with pytest.raises(PassFailedException, match="what waits for copies needs"):
        ThreadSync()(parse_script(text))


@pytest.mark.parametrize(
    ("scope", "message"),
    [("shard", "unknown storage scope 'shard'"), ("local", "do not share memory")],
)
def test_scopes(scope: str, message: str) -> None:
    with pytest.raises(PassFailedException, match=message):
        ThreadSync(scope)(parse("builtin.module {}"))


def test_effort() -> None:
    """Linear in the number of intervals."""

    def effort(count: int) -> int:
        step = "    s[tx] = P[tx]\n    R[tx] = s[63 - tx]\n"
        module = parse_script(program("\n" + step * count))
        found = calls(lambda: ThreadSync().apply(Context(), module))
        assert len(barriers(module)) == 2 * count - 1
        return found

    assert effort(40) < 5 * effort(10)
