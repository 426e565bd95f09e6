"""What the road to PTX runs, and what it refuses instead of making kernels that race."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.ptx_road import assembled, emitted, run_lowered
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.tvmscript import parse


def ptx(text: str) -> str:
    return emitted(parse(text))


def test_shared_memory_in_one_launch():
    """The thread loops are lifted to one launch, whose barrier separates the accesses."""
    found = ptx(
        """
        @T.prim_func
        def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
            for b in T.thread_binding(1, thread="blockIdx.x"):
                with T.block("tile"):
                    S = T.alloc_buffer((64,), scope="shared")
                    for t in T.thread_binding(64, thread="threadIdx.x"):
                        with T.block("S"):
                            v = T.axis.spatial(64, t)
                            S[v] = A[v]
                    T.tvm_storage_sync("shared")
                    for t in T.thread_binding(64, thread="threadIdx.x"):
                        with T.block("B"):
                            v = T.axis.spatial(64, t)
                            B[v] = S[63 - v]
        """
    )
    assert found.count(".entry") == 1
    assert found.count("bar.sync") == 1
    assert "st.shared" in found
    assert "st.global" in found


def test_matched_regions_and_virtual_threads():
    found = ptx(
        """
        @T.prim_func
        def main(A: T.Buffer((4, 64), "float32"), B: T.Buffer((4, 64), "float32")):
            for b in T.thread_binding(2, thread="blockIdx.x"):
                for w in T.thread_binding(2, thread="vthread.x"):
                    for t in T.thread_binding(64, thread="threadIdx.x"):
                        with T.block("B"):
                            vi = T.axis.spatial(4, b * 2 + w)
                            vj = T.axis.spatial(64, t)
                            R = T.match_buffer(A[vi, vj], ())
                            B[vi, vj] = R[()] + T.float32(1)
        """
    )
    assert found.count("st.global") == 2


REFUSED = {
    "shared memory of launches of other threads": (
        """
        S = T.alloc_buffer((64,), scope="shared")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("S"):
                v = T.axis.spatial(64, t)
                S[v] = A[v]
        for t in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("B"):
                v = T.axis.spatial(32, t)
                B[v] = S[63 - v]
        """,
        "is in a scope of the device, and is used outside of the device region",
    ),
    "one element of several blocks": (
        """
        for b in T.thread_binding(2, thread="blockIdx.x"):
            for t in T.thread_binding(64, thread="threadIdx.x"):
                B[t] = A[t]
        """,
        "in different blocks, which no barrier orders",
    ),
    "a barrier under a condition on the thread": (
        """
        for t in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("S"):
                v = T.axis.spatial(64, t)
                S = T.alloc_buffer((64,), scope="shared")
                if v < 32:
                    S[v] = A[v]
                    B[v] = S[31 - v]
        """,
        r"threads pass apart from each other, where no barrier can be",
    ),
}


PASSED_ON = """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    T.func_attr({"global_symbol": "main"})
    S = T.alloc_buffer((64,), scope="shared")
    for t in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("S"):
            v = T.axis.spatial(64, t)
            S[v] = A[v]
    for t in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("A"):
            v = T.axis.spatial(64, t)
            A[v] = T.float32(1)
    for t in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("B"):
            v = T.axis.spatial(64, t)
            B[v] = S[63 - v] + A[63 - v]
"""


def test_shared_memory_of_several_launches(tmp_path: Path):
    """They are one kernel, in which barriers are where launches ended."""
    a = np.arange(64, dtype=np.float32)
    found = np.zeros(64, np.float32)
    run_lowered(parse(PASSED_ON), "main_kernel", 1, (64, 1, 1), [a.copy(), found])
    np.testing.assert_array_equal(found, a[::-1] + 1)
    text = assembled(parse(PASSED_ON), tmp_path)
    assert text.count(".entry") == 1
    assert text.count("bar.sync") == 2


def test_shared_memory_of_each_kernel(tmp_path: Path):
    """Two kernels with memory of their own."""
    loops = "".join(
        f"""
    for b in T.thread_binding(2, thread="blockIdx.x"):
        for t in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("{name}"):
                w, v = T.axis.remap("SS", [b, t])
                S = T.alloc_buffer((64,), scope="shared")
                S[v] = {source}[w, v]
                {target}[w, v] = S[63 - v]"""
        for name, source, target in (("first", "A", "B"), ("second", "B", "C"))
    )
    buffers = ", ".join(f'{name}: T.Buffer((2, 64), "float32")' for name in "ABC")
    text = f"""
@T.prim_func
def main({buffers}):
    T.func_attr({{"global_symbol": "main"}}){loops}
"""
    a = np.arange(128, dtype=np.float32).reshape(2, 64)
    b, c = np.zeros_like(a), np.zeros_like(a)
    run_lowered(parse(text), "main_kernel", 2, (64, 1, 1), [a, b])
    run_lowered(parse(text), "main_kernel_1", 2, (64, 1, 1), [b, c])
    np.testing.assert_array_equal(c, a)
    assert assembled(parse(text), tmp_path).count(".entry") == 2


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what: str):
    body, message = REFUSED[what]
    text = (
        "@T.prim_func\n"
        'def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):'
    )
    with pytest.raises(PassFailedException, match=message):
        ptx(text + body.replace("\n    ", "\n"))


def test_barriers_are_inserted() -> None:
    """LLVM unrolls the loop, which has two."""
    text = ptx("""
@T.prim_func
def main(A: T.Buffer((4, 64), "float32"), B: T.Buffer((4, 64), "float32")):
    for t in T.thread_binding(64, thread="threadIdx.x"):
        for i in range(4):
            with T.block("B"):
                v, w = T.axis.remap("SS", [i, t])
                S = T.alloc_buffer((64,), scope="shared")
                S[w] = A[v, w]
                B[v, w] = S[63 - w]
""")
    assert text.count("bar.sync") + text.count("barrier.sync") == 8


@pytest.mark.parametrize("inside", [False, True])
def test_constants_in_a_kernel(inside: bool) -> None:
    constant = [
        'c = T.allocate_const([1, 2, 3, 4], "int32", [4])',
        'C = T.Buffer((4,), "int32", data=c)',
    ]
    loop = ['for t in T.thread_binding(4, thread="threadIdx.x"):']
    lines = loop + [f"    {line}" for line in constant] if inside else constant + loop
    body = "\n    ".join([*lines, "    B[t] = C[3 - t]"])
    text = ptx(f"""
@T.prim_func
def main(B: T.Buffer((4,), "int32")):
    {body}
""")
    assert ".global .align 64 .b8 main_kernel_constant[16] = {1, 0, 0, 0, 2" in text
    assert text.count("st.global.b32") == 1
    assert text.count(".param .u64") == 1
