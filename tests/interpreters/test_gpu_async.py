"""Asynchronous copies: every fault, and the same kernel repaired."""

import pytest
from support.gpu_kernels import SYNC, arrays, kernel
from support.ir import parse
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.interpreters.tir import (
    AsyncCopyError,
    OutOfBoundsError,
    RaceError,
    UninitializedReadError,
    interpret,
)

COPY = """%d = tir.call "ptx_cp_async"(%m, %at, %p, %at, %bytes)
  : (!tir.ptr<f32, "shared">, i32, !tir.ptr<f32>, i32, i32) -> f32"""
COMMIT = 'tir.call "ptx_commit_group"() : () -> ()'
WAIT = 'tir.call "ptx_wait_group"(%c0) : (i32) -> ()'
WAIT_BUT_ONE = 'tir.call "ptx_wait_group"(%c1) : (i32) -> ()'
READ = """%y = tir.load %S[%t] : f32
tir.store %y, %O[%t] : f32"""
READ_OTHER = """%r = tir.sub %c63, %t : i32
%y = tir.load %S[%r] : f32
tir.store %y, %O[%t] : f32"""


def body(*lines: str, size: int = 64, count: int = 4) -> str:
    """Statements with the shared buffer `%S`, 4 bytes of it a thread."""
    return "\n".join(
        (
            f'%m = tir.allocate [{size}] : !tir.ptr<f32, "shared">',
            f'%S = tir.decl_buffer "S" %m : !tir.buffer<{size}xf32, "shared">',
            "%p = tir.data %I : !tir.ptr<f32>",
            f"%bytes = tir.const {count} : i32",
            f"%each = tir.const {max(1, count // 4)} : i32",
            "%at = tir.mul %t, %each : i32",
            *lines,
        )
    )


def failing(error: type[Exception], message: str, text: str, threads: int = 64) -> None:
    """Run a kernel that ends with an error."""
    with pytest.raises(error, match=message):
        kernel(text, threads=threads)(*arrays())


# ---- groups ----


def test_own_copy_after_its_wait() -> None:
    out, given = arrays()
    kernel(body(COPY, COMMIT, WAIT, READ))(out, given)
    assert (out == given).all()


@pytest.mark.parametrize("count", [8, 16])
def test_wide_copies(count: int) -> None:
    out, given = arrays()
    text = body(COPY, COMMIT, WAIT, SYNC, READ_OTHER, count=count)
    first = f"%lead = tir.cmp lt %t, %n : i32\ntir.if %lead {{\n{COPY}\n}}"
    text = text.replace(COPY, f"%n = tir.const {256 // count} : i32\n{first}")
    kernel(text)(out, given)
    assert (out == given[::-1]).all()


def test_read_before_the_wait() -> None:
    message = (
        r"thread \(0, 0, 0\) of block \(0, 0, 0\) reads S\[0\], which a "
        r"copy of thread \(0, 0, 0\) .* writes that is in flight "
        r"\(not waited for\), begun in: .*ptx_cp_async.*; the access, in: .*tir.load"
    )
    failing(AsyncCopyError, message, body(COPY, COMMIT, READ, WAIT))


def test_wait_that_leaves_the_group_in_flight() -> None:
    text = body(COPY, COMMIT, WAIT_BUT_ONE, READ, WAIT)
    failing(AsyncCopyError, "not waited for", text)
    # One more group, even an empty one, makes the first one complete.
    out, given = arrays()
    kernel(body(COPY, COMMIT, COMMIT, WAIT_BUT_ONE, READ))(out, given)
    assert (out == given).all()


def test_wait_without_commit() -> None:
    failing(AsyncCopyError, r"\(not committed\)", body(COPY, WAIT, READ, COMMIT, WAIT))


def test_write_of_the_destination_before_the_wait() -> None:
    write = "tir.store %zero, %S[%t] : f32"
    failing(
        AsyncCopyError,
        r"writes S\[0\], which a copy .* writes",
        body(COPY, COMMIT, write, WAIT),
    )
    kernel(body(COPY, COMMIT, WAIT, write))(*arrays())


def test_write_of_the_source_before_the_wait() -> None:
    write = "tir.store %zero, %I[%t] : f32"
    failing(
        AsyncCopyError,
        r"writes I\[0\], which a copy .* reads that is in flight",
        body(COPY, COMMIT, write, WAIT),
    )
    kernel(body(COPY, COMMIT, WAIT, write))(*arrays())


def test_two_copies_to_one_place() -> None:
    failing(AsyncCopyError, "writes element 0", body(COPY, COPY.replace("%d", "%e")))


def test_copies_of_other_threads_need_a_barrier() -> None:
    failing(
        RaceError,
        r"race on element 32 of the memory of buffer S: .* reads .* writes",
        body(COPY, COMMIT, WAIT, READ_OTHER),
    )
    out, given = arrays()
    kernel(body(COPY, COMMIT, WAIT, SYNC, READ_OTHER))(out, given)
    assert (out == given[::-1]).all()


def test_barrier_before_the_wait_does_not_help() -> None:
    failing(
        AsyncCopyError,
        r"thread \(0, 0, 0\) .* reads .* a copy of thread \(63, 0, 0\)",
        body(COPY, COMMIT, SYNC, READ_OTHER, WAIT),
    )


def test_copy_over_what_others_still_read() -> None:
    again = COPY.replace("%d", "%e")
    text = body(COPY, COMMIT, WAIT, SYNC, READ_OTHER, again, COMMIT, WAIT)
    failing(RaceError, r"race on S\[31\]", text)
    kernel(body(COPY, COMMIT, WAIT, SYNC, READ_OTHER, SYNC, again, COMMIT, WAIT))(
        *arrays()
    )


def test_group_still_in_flight_at_the_end() -> None:
    message = (
        r"thread \(0, 0, 0\) of block \(0, 0, 0\) ends while a copy that it began is in "
        r"flight: not waited for, in: .*ptx_cp_async"
    )
    failing(AsyncCopyError, message, body(COPY, COMMIT))
    failing(AsyncCopyError, "in flight: not committed", body(COPY))
    kernel(body(COPY, COMMIT, WAIT))(*arrays())


def test_commit_and_wait_of_nothing() -> None:
    kernel(body(COMMIT, WAIT, COMMIT))(*arrays())


def test_double_buffering() -> None:
    """A pipeline of two stages over 4 tiles of 16 elements."""
    out, given = arrays()
    text = """
    %m = tir.allocate [32] : !tir.ptr<f32, "shared">
    %S = tir.decl_buffer "S" %m : !tir.buffer<32xf32, "shared">
    %p = tir.data %I : !tir.ptr<f32>
    %d = tir.call "ptx_cp_async"(%m, %t, %p, %t, %c4)
      : (!tir.ptr<f32, "shared">, i32, !tir.ptr<f32>, i32, i32) -> f32
    tir.call "ptx_commit_group"() : () -> ()
    tir.for %k = %c0 to %c4 {
      %next = tir.add %k, %c1 : i32
      %more = tir.cmp lt %next, %c4 : i32
      %slot = tir.floormod %next, %c2 : i32
      %start = tir.mul %slot, %c16 : i32
      %to = tir.add %start, %t : i32
      %base = tir.mul %next, %c16 : i32
      %from = tir.add %base, %t : i32
      tir.if %more {
        %e = tir.call "ptx_cp_async"(%m, %to, %p, %from, %c4)
          : (!tir.ptr<f32, "shared">, i32, !tir.ptr<f32>, i32, i32) -> f32
      }
      tir.call "ptx_commit_group"() : () -> ()
      tir.call "ptx_wait_group"(%WAIT) : (i32) -> ()
      SYNC
      %now = tir.floormod %k, %c2 : i32
      %mine = tir.mul %now, %c16 : i32
      %c15 = tir.sub %c16, %c1 : i32
      %mirror = tir.sub %c15, %t : i32
      %read = tir.add %mine, %mirror : i32
      %x = tir.load %S[%read] : f32
      %done = tir.mul %k, %c16 : i32
      %where = tir.add %done, %t : i32
      tir.store %x, %O[%where] : f32
      SYNC
    }""".replace("SYNC", SYNC)
    kernel(text.replace("%WAIT", "%c1"), threads=16)(out, given)
    assert (out.reshape(4, 16) == given.reshape(4, 16)[:, ::-1]).all()
    failing(AsyncCopyError, "in flight", text.replace("%WAIT", "%c2"), threads=16)
    last = text.rindex(SYNC)
    unordered = text[:last] + text[last + len(SYNC) :]
    failing(
        AsyncCopyError, r"reads S\[7\]", unordered.replace("%WAIT", "%c1"), threads=16
    )


def test_predicate_stores_zeros() -> None:
    predicated = COPY.replace("%bytes)", "%bytes, %wanted)").replace("i32)", "i32, i1)")
    wanted = "%wanted = tir.cmp lt %t, %c16 : i32"
    out, given = arrays()
    kernel(body(wanted, predicated, COMMIT, WAIT, READ))(out, given)
    assert (out[:16] == given[:16]).all()
    assert (out[16:] == 0).all()
    # The zeros are written at once, and ordered as any other store.
    failing(RaceError, "buffer S", body(wanted, predicated, COMMIT, WAIT, READ_OTHER))


def test_misaligned_copy() -> None:
    text = body(COPY, COMMIT, WAIT, count=8).replace("%t, %each", "%c1, %c1")
    message = r"destination begins at byte 4, not at a multiple of 8, by thread"
    failing(AsyncCopyError, message, text, threads=1)


def test_copy_out_of_bounds() -> None:
    text = body(COPY, COMMIT, WAIT, size=32)
    message = r"the bytes \[128, 132\) of memory that has 128, by thread \(32, 0, 0\)"
    failing(OutOfBoundsError, message, text)
    kernel(text, threads=32)(*arrays())


def test_copy_of_the_wrong_way() -> None:
    text = COPY.replace("(%m, %at, %p, %at", "(%p, %at, %m, %at")
    text = text.replace(
        '(!tir.ptr<f32, "shared">, i32, !tir.ptr<f32>',
        '(!tir.ptr<f32>, i32, !tir.ptr<f32, "shared">',
    )
    failing(AsyncCopyError, "destination of the copy is in scope 'global'", body(text))


def test_copies_stand_in_threads() -> None:
    text = f"tir.func @f() {{ {COMMIT} }}"
    with pytest.raises(InterpretationError, match="outside of the threads of a kernel"):
        interpret(parse(text))["f"]()


# ---- attributes around statements ----

STORE = """%x = tir.load %I[%t] : f32
tir.store %x, %S[%t] : f32"""
SCOPE = f'tir.attr "async_scope" (0 : i32) = 1 : i32 {{\n{STORE}\n}}'
IN_GROUP = 'tir.attr "async_commit_queue_scope" (0 : i32) = 0 : i32 {\nBODY\n}'


def committed(text: str) -> str:
    return IN_GROUP.replace("BODY", text)


def waited(text: str, count: str = "0 : i32", queue: int = 0) -> str:
    return f"""tir.attr "async_wait_queue_scope" (0 : i32) = {queue} : i32 {{
      tir.attr "async_wait_inflight_count" (0 : i32) = {count} {{
        {text}
      }}
    }}"""


def test_attributes_in_threads() -> None:
    out, given = arrays()
    kernel(body(committed(SCOPE), waited(f"{SYNC}\n{READ_OTHER}")))(out, given)
    assert (out == given[::-1]).all()
    failing(RaceError, r"race on S\[", body(committed(SCOPE), waited(READ_OTHER)))
    failing(
        AsyncCopyError,
        r"reads S\[0\], .* begun in: tir.store %x, %S",
        body(committed(SCOPE), READ, waited("")),
    )
    failing(AsyncCopyError, "ends while a copy", body(committed(SCOPE)))
    failing(AsyncCopyError, "not committed", body(SCOPE, waited("")))


def test_attributes_and_builtins_are_one_queue() -> None:
    out, given = arrays()
    kernel(body(committed(COPY), waited(READ)))(out, given)
    assert (out == given).all()
    kernel(body(committed(COPY), WAIT, READ))(out, given)


def test_another_queue() -> None:
    failing(AsyncCopyError, "in flight", body(committed(SCOPE), waited(READ, queue=1)))


def test_source_of_an_asynchronous_store() -> None:
    write = "tir.store %zero, %I[%t] : f32"
    failing(
        AsyncCopyError,
        r"writes I\[0\], which a copy .* reads",
        body(committed(SCOPE), write, waited("")),
    )
    kernel(body(committed(SCOPE), waited(write)))(*arrays())


def test_inflight_count_is_missing() -> None:
    text = 'tir.attr "async_wait_queue_scope" (0 : i32) = 0 : i32 { }'
    failing(InterpretationError, "how many groups stay in flight", body(text))


HOST = """
tir.func @f(%o: !tir.handle, %i: !tir.handle) {
  %O = tir.match_buffer "O" %o : !tir.buffer<64xf32>
  %I = tir.match_buffer "I" %i : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c64 = tir.const 64 : i32
  %zero = tir.const 0.0 : f32
  %S = tir.alloc_buffer "S" : !tir.buffer<64xf32, "shared">
  BODY
}"""
LOOP = "tir.for %t = %c0 to %c64 {\nBODY\n}"


def host(*lines: str) -> str:
    return HOST.replace("BODY", "\n".join(lines))


def in_loop(text: str) -> str:
    return LOOP.replace("BODY", text)


def test_queues_outside_of_threads() -> None:
    out, given = arrays()
    copy = committed(in_loop(SCOPE))
    interpret(parse(host(copy, waited(in_loop(READ)))))["f"](out, given)
    assert (out == given).all()
    with pytest.raises(AsyncCopyError, match=r"the program reads S\[0\], which a copy"):
        interpret(parse(host(copy, in_loop(READ), waited(""))))["f"](out, given)


def test_host_pipeline_keeps_groups_in_flight() -> None:
    out, given = arrays()
    group = in_loop(committed(SCOPE))
    late = in_loop(waited(READ, count="63 : i32"))
    with pytest.raises(AsyncCopyError, match=r"reads S\[1\]"):
        interpret(parse(host(group, late, waited(""))))["f"](out, given)
    ahead = f"%left = tir.sub %c63, %t : i32\n{waited(READ, count='%left')}"
    ahead = "%c63 = tir.sub %c64, %c1 : i32\n" + ahead
    interpret(parse(host(group, in_loop(ahead))))["f"](out, given)
    assert (out == given).all()


def test_host_call_ends_with_copies_in_flight() -> None:
    out, given = arrays()
    run = interpret(parse(host(committed(in_loop(SCOPE)))))["f"]
    for _ in range(2):
        with pytest.raises(AsyncCopyError, match="the program ends while a copy"):
            run(out, given)


def test_vectors_are_copied_asynchronously() -> None:
    out, given = arrays()
    wide = SCOPE.replace("[%t] : f32", "[%r] : vector<4xf32>")
    wide = f"%r = tir.ramp %c4, %c1 : vector<4xi32>\n{wide}"
    read = "%y = tir.load %S[%c4] : f32\ntir.store %y, %O[%c0] : f32"
    interpret(parse(host(committed(wide), waited(read))))["f"](out, given)
    assert out[0] == 4
    with pytest.raises(AsyncCopyError, match=r"reads S\[4\]"):
        interpret(parse(host(committed(wide), read, waited(""))))["f"](out, given)


def test_unknown_attributes_do_nothing() -> None:
    out, given = arrays()
    text = f'tir.attr "coproc_scope" ("any") = 3 : i32 {{\n{STORE}\n{READ}\n}}'
    kernel(body(text))(out, given)
    assert (out == given).all()


# ---- DMA ----

DMA = """%s = tir.address_of %S[%from] : !tir.ptr<f32, "shared">
%i0 = tir.address_of %I[%from] : !tir.ptr<f32>
%d = tir.call "dma_copy"(%c1, %s, %i0, %count, %c0)
  : (i32, !tir.ptr<f32, "shared">, !tir.ptr<f32>, i32, i32) -> i32"""


def dma(start: int, count: int) -> str:
    text = DMA.replace("%from", f"%from{start}").replace("%count", f"%count{start}")
    for name in ("%s", "%i0", "%d"):
        text = text.replace(f"{name} ", f"{name}_{start} ")
        text = text.replace(f"{name},", f"{name}_{start},")
    return (
        f"%from{start} = tir.const {start} : i32\n"
        f"%count{start} = tir.const {4 * count} : i32\n{text}"
    )


def dma_call(name: str, *args: str) -> str:
    types = ", ".join("i32" for _ in args)
    return f'%u = tir.call "{name}"({", ".join(args)}) : ({types}) -> i32'


def test_dma() -> None:
    out, given = arrays()
    wait = dma_call("dma_wait", "%c1", "%c0")
    interpret(parse(host(dma(0, 64), wait, in_loop(READ))))["f"](out, given)
    assert (out == given).all()
    with pytest.raises(AsyncCopyError, match=r"reads S\[0\]"):
        interpret(parse(host(dma(0, 64), in_loop(READ), wait)))["f"](out, given)
    with pytest.raises(AsyncCopyError, match="in flight: not waited for"):
        interpret(parse(host(dma(0, 64))))["f"](out, given)


def test_dma_groups() -> None:
    out, given = arrays()
    group = (
        dma_call("dma_start_group", "%c1"),
        dma(0, 32),
        dma(32, 32),
        dma_call("dma_end_group", "%c1").replace("%u", "%w"),
    )
    wait = dma_call("dma_wait", "%c1", "%c1").replace("%u", "%x1")
    done = dma_call("dma_wait", "%c1", "%c0").replace("%u", "%x0")
    interpret(parse(host(*group, done, in_loop(READ))))["f"](out, given)
    assert (out == given).all()
    with pytest.raises(AsyncCopyError, match=r"reads S\[0\]"):
        interpret(parse(host(*group, wait, in_loop(READ), done)))["f"](out, given)
    # As two groups the first one is complete.
    read = "%y = tir.load %S[%c0] : f32\ntir.store %y, %O[%c0] : f32"
    interpret(parse(host(dma(0, 32), dma(32, 32), wait, read, done)))["f"](out, given)
    with pytest.raises(AsyncCopyError, match="was not begun"):
        interpret(parse(host(group[-1])))["f"](out, given)


# ---- bulk copies and counting barriers ----

CREATE = 'tir.call "create_barriers"(%c1) : (i32) -> ()'
INIT = 'tir.call "ptx_init_barrier_thread_count"(%c0, %threads) : (i32, i32) -> ()'
ARRIVE = 'tir.call "ptx_arrive_barrier"(%c0) : (i32) -> ()'
EXPECT = 'tir.call "ptx_arrive_barrier_expect_tx"(%c0, %size) : (i32, i32) -> ()'
WAIT_BARRIER = 'tir.call "ptx_wait_barrier"(%c0) : (i32) -> ()'
TRACK = 'tir.call "ptx_cp_async_barrier"(%c0) : (i32) -> ()'
BULK = """%size = tir.const 256 : i32
%lead = tir.cmp eq %t, %c0 : i32
tir.if %lead {
  %d = tir.call "ptx_cp_async_bulk"(%m, %c0, %p, %c0, %size, %c0)
    : (!tir.ptr<f32, "shared">, i32, !tir.ptr<f32>, i32, i32, i32) -> f32
  EXPECT
} else {
  ARRIVE
}"""
LOADED = BULK.replace("EXPECT", EXPECT).replace("ARRIVE", ARRIVE)


def test_bulk_copy() -> None:
    out, given = arrays()
    kernel(body(CREATE, INIT, LOADED, WAIT_BARRIER, READ_OTHER))(out, given)
    assert (out == given[::-1]).all()


def test_bulk_copy_without_a_wait() -> None:
    failing(
        AsyncCopyError,
        r"thread \(0, 0, 0\) .* reads .* in flight \(nobody waited for barrier 0\)",
        body(CREATE, INIT, LOADED, READ),
    )
    failing(
        AsyncCopyError,
        r"thread \(0, 0, 0\) .* ends while .*: nobody waited for barrier 0",
        body(CREATE, INIT, LOADED),
    )


def test_bulk_copy_that_one_thread_waits_for() -> None:
    alone = f"tir.if %lead {{ {WAIT_BARRIER} }}"
    failing(
        AsyncCopyError,
        r"thread \(1, 0, 0\) .* reads",
        body(CREATE, INIT, LOADED, alone, READ),
    )
    out, given = arrays()
    kernel(body(CREATE, INIT, LOADED, alone, SYNC, READ))(out, given)
    assert (out == given).all()


def test_bytes_that_nobody_expects() -> None:
    text = BULK.replace("EXPECT", ARRIVE).replace("ARRIVE", ARRIVE)
    message = (
        r"threads \(0, 0, 0\), \(1, 0, 0\), \(2, 0, 0\), \(3, 0, 0\) and 60 more of "
        r"block \(0, 0, 0\) wait for barrier 0 for ever: phase 0 has 64 of 64 arrivals "
        r"and got 256 bytes that nobody expects, in: .*ptx_wait_barrier"
    )
    failing(AsyncCopyError, message, body(CREATE, INIT, text, WAIT_BARRIER, READ))


def test_bytes_that_never_come() -> None:
    text = f"%size = tir.const 16 : i32\n{EXPECT}"
    message = "64 of 64 arrivals and lacks 1024 bytes"
    failing(AsyncCopyError, message, body(CREATE, INIT, text, WAIT_BARRIER))


def test_missing_arrival() -> None:
    text = f"%q = tir.cmp lt %t, %c63 : i32\ntir.if %q {{ {ARRIVE} }}"
    message = "phase 0 has 63 of 64 arrivals"
    failing(AsyncCopyError, message, body(CREATE, INIT, text, WAIT_BARRIER))
    kernel(body(CREATE, INIT, ARRIVE, WAIT_BARRIER))(*arrays())


def test_wait_of_a_second_phase() -> None:
    text = (CREATE, INIT, ARRIVE, WAIT_BARRIER, ARRIVE)
    kernel(body(*text))(*arrays())
    failing(AsyncCopyError, "phase 2 has 0 of", body(*text, SYNC, WAIT_BARRIER))


def test_counting_barrier_tracks_copies() -> None:
    out, given = arrays()
    text = (CREATE, INIT, COPY, TRACK, ARRIVE)
    kernel(body(*text, WAIT_BARRIER, READ_OTHER))(out, given)
    assert (out == given[::-1]).all()
    failing(AsyncCopyError, "nobody waited", body(*text, READ, WAIT_BARRIER))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ((ARRIVE,), "barrier 0 is used, 0 barriers were created"),
        ((CREATE, ARRIVE), "barrier 0 is used before its initialization, by thread"),
        ((CREATE, INIT, ARRIVE.replace("%c0", "%c1")), "barrier 1 is used, 1 barriers"),
        ((CREATE, INIT, INIT), "barrier 0 is initialized twice"),
        ((CREATE, CREATE.replace("%c1", "%c2")), "2 barriers are created, and 1 before"),
        ((CREATE, INIT.replace("%threads", "%t")), "is to count 0 arrivals"),
    ],
)
def test_misused_barriers(lines: tuple[str, ...], message: str) -> None:
    failing(AsyncCopyError, message, body(*lines))


def test_initialization_by_one_thread_needs_a_barrier() -> None:
    init = f"%lead = tir.cmp eq %t, %c0 : i32\ntir.if %lead {{ {INIT} }}"
    message = (
        r"race on barrier 0: thread \(0, 0, 0\) .* initializes it and thread \(1, 0, 0\)"
    )
    failing(RaceError, message, body(CREATE, init, ARRIVE, WAIT_BARRIER))
    kernel(body(CREATE, init, SYNC, ARRIVE, WAIT_BARRIER))(*arrays())


@pytest.mark.parametrize("count", [8, 100])
def test_size_of_a_bulk_copy(count: int) -> None:
    text = LOADED.replace("const 256", f"const {count}")
    failing(AsyncCopyError, "no multiple of 16 bytes", body(CREATE, INIT, text))


def test_guarded_load() -> None:
    """The guard fails where the address is outside of the memory."""
    text = """
    %m = tir.allocate [2] : !tir.ptr<f32, "local">
    %R = tir.decl_buffer %m : !tir.buffer<2xf32, "local">
    %twice = tir.mul %t, %c2 : i32
    %p = tir.cmp lt %twice, %c64 : i32
    %I0 = tir.data %I : !tir.ptr<f32>
    %n = tir.sub %c64, %twice : i32
    %a = tir.access_ptr r %I0[%twice to %twice + %n] : !tir.ptr<f32>
    %d = tir.call "ptx_ldg32"(%m, GUARD, %a, %c1)
      : (!tir.ptr<f32, "local">, i1, !tir.ptr<f32>, i32) -> f32
    %x = tir.load %R[%c1] : f32
    tir.store %x, %O[%t] : f32"""
    out, given = arrays()
    kernel(text.replace("GUARD", "%p"))(out, given)
    assert (out == [*given[::2], *[0] * 32]).all()
    always = text.replace("%d =", "%yes = tir.const true\n%d =").replace("GUARD", "%yes")
    failing(OutOfBoundsError, r"by thread \(32, 0, 0\)", always)


def test_uninitialized_sources_stay_uninitialized() -> None:
    text = host(
        '%G = tir.alloc_buffer "G" : !tir.buffer<64xf32>',
        committed(in_loop(SCOPE)),
        waited(""),
        "%g = tir.address_of %G[%c0] : !tir.ptr<f32>",
        '%s = tir.address_of %S[%c0] : !tir.ptr<f32, "shared">',
        '%d = tir.call "dma_copy"(%c1, %s, %g, %c64, %c0)'
        ' : (i32, !tir.ptr<f32, "shared">, !tir.ptr<f32>, i32, i32) -> i32',
        dma_call("dma_wait", "%c1", "%c0"),
        in_loop(READ),
    )
    with pytest.raises(UninitializedReadError):
        interpret(parse(text))["f"](*arrays())
