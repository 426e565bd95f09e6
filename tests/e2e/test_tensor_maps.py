"""Products of warpgroups from TIR to PTX and host code, with tensor maps.

The kernels of `support/warpgroup_kernels.py` compute on the whole road what numpy does;
host code encodes a tensor map once for an address.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support.gpu_driver import NotingDriver, simulated_driver
from support.gpu_schedules import MANY
from support.ptx_road import assemble, emitted
from support.warpgroup_kernels import RingProduct
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.tir.verify_thread_sync import VerifyThreadSync
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.cuda import CudaExecutable
from xdsl_tvm.runtime.kernel_interpreter import InterpretedKernels
from xdsl_tvm.runtime.sass import find_program, machine_code

pytest.importorskip("llvmlite", reason="machine code of the host needs llvmlite")

ARCH = "sm_90a"
LONG = pytest.mark.skipif(not MANY, reason="what the schedule writes is run in any case")


@LONG
@pytest.mark.parametrize(
    "product",
    [
        RingProduct(m=72, n=24, k=200),
        RingProduct(n=72, columns=72, k=72, by_terms=True),
        RingProduct(m=128, n=64, columns=64, k=320, groups=2, stages=3),
    ],
)
def test_values_below_llvm_ir(product: RingProduct) -> None:
    a, b, c = product.arguments()
    InterpretedKernels(product.module(), ARCH)["product"](a, b, c)
    np.testing.assert_allclose(c, product.expected(a, b), 1e-5, 1e-5)


def test_sums_that_nobody_waited_for() -> None:
    wait = "            T.ptx_wgmma_wait_group(0)\n"
    product = RingProduct(k=64, stages=1, faults={wait: ""})
    # Without the wait, nothing shows that the stage is free.
    with pytest.raises(PassFailedException, match="may access one element"):
        InterpretedKernels(product.module(), ARCH)
    late = "            T.ptx_wgmma_wait_group(1)\n"
    product = RingProduct(
        k=64,
        stages=1,
        faults={wait: late, "T.ptx_arrive_barrier(1 + s % 1)": "T.evaluate(0)"},
    )
    with pytest.raises(PassFailedException, match="may access one element"):
        InterpretedKernels(product.module(), ARCH)


# ---- machine code ----


@LONG
def test_machine_code(tmp_path: Path) -> None:
    """The loop of products has nothing in local memory, and loads nothing."""
    product = RingProduct(m=128, n=256, k=512, columns=128, groups=2, stages=3)
    text = emitted(product.module(), ARCH)
    assert text.count("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16") == 4
    assert "cuTensorMap" not in text
    assemble(text, tmp_path, ARCH)
    if None in (find_program("ptxas"), find_program("nvdisasm")):
        return
    (found,) = machine_code(text, ARCH).values()
    assert (found.spill_bytes, found.stack_bytes) == (0, 0)
    assert found.count("HGMMA") == 4
    assert found.count("LDS") == found.count("LDG") == 0


def test_other_architectures_are_refused() -> None:
    with pytest.raises(PassFailedException, match="needs sm_90a"):
        emitted(RingProduct().module(), "sm_90")


def test_bytes_of_a_box_are_compared() -> None:
    product = RingProduct(faults={"a_map, 8192,": "a_map, 4096,"})
    with pytest.raises(PassFailedException, match=r"may access|of boxes of 8192 bytes"):
        emitted(product.module(), ARCH)


# ---- host code ----

PRODUCT = RingProduct(m=64, n=24, k=72)


@cache
def compiled(product: RingProduct) -> tuple[CudaExecutable, NotingDriver]:
    driver = simulated_driver(product.module())
    return CudaExecutable(product.module(), driver=driver, arch=ARCH), driver


def test_maps_are_encoded_once() -> None:
    executable, driver = compiled(PRODUCT)
    product = PRODUCT
    a, b, c = (executable.array(each) for each in product.arguments())
    other = executable.array(np.ones((24, 72), "f2"))
    for _ in range(2):
        executable["product"](a, b, c)
    assert len(driver.maps) == 2
    exact = product.expected(a.numpy(), b.numpy())
    np.testing.assert_allclose(c.numpy(), exact, 1e-5, 1e-5)
    first, second = driver.maps
    assert (first[0], *first[2:]) == (6, (72, 64), (144,), (64, 64), 3)
    assert (second[0], *second[2:]) == (6, (72, 24), (144,), (64, 16), 3)
    executable["product"](a, other, c)
    assert len(driver.maps) == 3
    assert driver.maps[2][1] != second[1]
    exact = product.expected(a.numpy(), other.numpy())
    np.testing.assert_allclose(c.numpy(), exact, 1e-5, 1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"128, 64, 72, 72, 64, 64)": "128, 64, 72, 76, 64, 64)"}, "multiples of 16"),
        *(
            [({"128, 64, 72, 72, 64, 64)": "128, 0, 72, 72, 64, 64)"}, "1 to 2^32")]
            if MANY
            else []
        ),
    ],
)
def test_tensors_without_a_map(changes: dict[str, str], message: str) -> None:
    product = RingProduct(m=64, n=24, k=72, faults=changes)
    driver = simulated_driver(product.module())
    executable = CudaExecutable(product.module(), driver=driver, arch=ARCH)
    with pytest.raises(Exception, match="the tensor map of a parameter of @product") as e:
        executable["product"](*product.arguments())
    assert message in str(e.value)
    assert "\n" not in str(e.value)
    assert not driver.maps


def test_a_driver_that_refuses_a_map() -> None:
    executable, driver = compiled(PRODUCT)
    driver.fails = "cuTensorMapEncodeTiled"
    with pytest.raises(RuntimeError, match="cuTensorMapEncodeTiled: CUDA_ERROR"):
        executable["product"](*PRODUCT.arguments())
    driver.fails = ""


# ---- the proof ----

RELEASE = "                T.ptx_arrive_barrier(2 + s % 2)\n"


@pytest.mark.parametrize(
    "changes",
    [
        {"T.ptx_wait_barrier(2 + s % 2, (s // 2 + 1) % 2)": "T.evaluate(0)"},
        {"(s // 2 + 1) % 2": "s // 2 % 2"},
        {"            T.ptx_wait_barrier(s % 2, s // 2 % 2)\n": ""},
        {"expect_tx(s % 2, 10240)": "expect_tx(s % 2, 10224)"},
        {"barrier_thread_count(2 + s, 4)": "barrier_thread_count(2 + s, 3)"},
        {"tx % 32 == 0": "tx == 0"},
        {"        T.ptx_fence_proxy_async()\n": ""},
        {'    T.tvm_storage_sync("shared")\n': ""},
        {"T.ptx_wgmma_wait_group(0)": "T.ptx_wgmma_wait_group(1)"},
        {RELEASE: "                T.ptx_arrive_barrier(2 + (s + 1) % 2)\n"},
        {"s % 2 * 5120 + 0": "s % 2 * 5120 + 1024"},
        {
            "        if tx == 0:\n            for s in": (
                "        if tx < 2:\n            for s in"
            )
        },
        {
            "            T.ptx_wgmma_fence()\n": (
                "            T.ptx_wgmma_fence()\n            tiles[tx] = T.float16(0)\n"
            )
        },
    ],
)
def test_rings_that_are_none(changes: dict[str, str]) -> None:
    """What may be a race is refused."""
    proof = VerifyThreadSync()
    with pytest.raises(PassFailedException, match=r"may (?:access|store) one element"):
        proof.apply(new_context(), RingProduct(k=256, faults=changes).module())


def test_a_ring() -> None:
    """The kernel without the changes is none that is refused."""
    VerifyThreadSync().apply(new_context(), RingProduct(k=256).module())


NESTED = {
    "for s in range(3):": "for w, s in T.grid(2, 3):",
    "s % 2": "(w * 3 + s) % 2",
    "s // 2": "(w * 3 + s) // 2",
}
FULL = "T.ptx_wait_barrier((w * 3 + s) % 2, (w * 3 + s) // 2 % 2)"


def test_a_ring_of_several_tiles() -> None:
    """Steps go on in the ring; here the second tile is the first one again."""
    module = RingProduct(k=192, faults=NESTED).module()
    VerifyThreadSync().apply(new_context(), module)
    a, b, c = RingProduct(k=192).arguments()
    interpret(module)["product"](a, b, c)
    exact = 2 * RingProduct(k=192).expected(a, b)
    np.testing.assert_allclose(c, exact, 1e-5, 1e-5)


@pytest.mark.parametrize(
    "changes",
    [
        {"((w * 3 + s) // 2 + 1) % 2": "(s // 2 + 1) % 2"},
        {FULL: FULL.replace("w * 3", "w * 4")},
        {FULL: "T.ptx_wait_barrier(s % 2, s // 2 % 2)"},
        {"for w, s in T.grid(2, 3):": "for u, w, s in T.grid(2, 2, 3):"},
        {"T.ptx_arrive_barrier(2 + (w * 3 + s) % 2)": "T.ptx_arrive_barrier(2 + s % 2)"},
    ],
)
def test_rings_of_several_tiles_that_are_none(changes: dict[str, str]) -> None:
    module = RingProduct(k=192, faults={**NESTED, **changes}).module()
    with pytest.raises(PassFailedException, match=r"may (?:access|store) one element"):
        VerifyThreadSync().apply(new_context(), module)


def test_groups_in_flight() -> None:
    """A stage may be released a step later, when its group is waited for."""
    wait = "            T.ptx_wgmma_wait_group(0)\n"
    changes = {
        f"{wait}            if tx % 32 == 0:\n{RELEASE}": (
            "            T.ptx_wgmma_wait_group(1)\n"
            "            if tx % 32 == 0 and s >= 1:\n"
            "                T.ptx_arrive_barrier(2 + (s - 1) % 2)\n"
        ),
        "        for i in T.unroll(8):\n            if (": (
            "        T.ptx_wgmma_wait_group(0)\n        for i in T.unroll(8):\n"
            "            if ("
        ),
    }
    product = RingProduct(k=256, faults=changes)
    VerifyThreadSync().apply(new_context(), product.module())
    a, b, c = product.arguments()
    interpret(product.module())["product"](a, b, c)
    np.testing.assert_allclose(c, product.expected(a, b), 1e-5, 1e-5)
