"""Kernels, programs and models on a GPU, against numpy. Skipped where there is none.

    python -m pytest tests/e2e/test_cuda_device.py

The first tests are those that others rest on. Each is a process of its own: a kernel that
hangs, or after which the GPU answers nothing more, fails its own test only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from models import MODELS
from models.__main__ import TOLERANCE, difference
from support import paths
from support.apart import apart
from support.attention import exact_attention
from xdsl.utils.exceptions import DiagnosticException

import xdsl_tvm
from xdsl_tvm.runtime.cuda import CudaExecutable
from xdsl_tvm.runtime.cuda_driver import default_driver
from xdsl_tvm.tvmscript import parse

KERNELS = paths.EXAMPLES / "kernels"
SECONDS = 120
"""How long a test may take: to compile for a GPU, and to run."""


def require_gpu() -> None:
    try:
        default_driver()
    except (DiagnosticException, RuntimeError) as error:
        pytest.skip(str(error))


@cache
def reason_to_skip() -> str:
    """Why there is no GPU here. It is asked in a process of its own."""
    try:
        apart(SECONDS)(require_gpu)()
    except pytest.skip.Exception as skipped:
        return str(skipped)
    return ""


@pytest.fixture(scope="module", autouse=True)
def gpu() -> None:
    reason = reason_to_skip()
    if reason:
        pytest.skip(reason)


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 100_003])
@apart(SECONDS)
def test_vector_add(n: int) -> None:
    function = xdsl_tvm.compile(KERNELS / "vector_add.mlir", target="cuda")["vector_add"]
    rng = np.random.default_rng(n)
    a, b = rng.random(n, "f4"), rng.random(n, "f4")
    c = np.full(n, np.nan, "f4")
    function(a, b, c)
    np.testing.assert_array_equal(c, a + b)


@apart(SECONDS)
def test_matmul_tile() -> None:
    function = xdsl_tvm.compile(KERNELS / "matmul_tile.mlir", target="cuda")[
        "matmul_tile"
    ]
    rng = np.random.default_rng(0)
    a, b = rng.random((256, 256), "f4"), rng.random((256, 256), "f4")
    c = np.full((256, 256), np.nan, "f4")
    function(a, b, c)
    np.testing.assert_allclose(c, a.astype("f8") @ b.astype("f8"), rtol=1e-5)


@apart(SECONDS)
def test_two_kernels_with_device_memory_between_them() -> None:
    executable = xdsl_tvm.compile(
        """
        tir.func @f(%a: !tir.handle, %s: f32) attributes {global_symbol = "f"} {
          %n = tir.shape_var "n" : i32
          %A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>
          %m = tir.allocate [%n] : !tir.ptr<f32>
          %M = tir.decl_buffer %m [%n] : !tir.buffer<?xf32>
          tir.launch_thread %b = "blockIdx.x" to %n {
            %x = tir.load %A[%b] : f32
            %y = tir.call "exp"(%x) : (f32) -> f32
            %z = tir.mul %y, %s : f32
            tir.store %z, %M[%b] : f32
          }
          tir.launch_thread %b = "blockIdx.x" to %n {
            %x = tir.load %M[%b] : f32
            tir.store %x, %A[%b] : f32
          }
        }""",
        target="cuda",
    )
    a = np.linspace(-3, 3, 77).astype("f4")
    expected = np.exp(a) * np.float32(2.5)
    executable["f"](a, 2.5)
    np.testing.assert_allclose(a, expected, rtol=1e-6)


SCALED = """
tir.func @f(%a: !tir.handle, %s: f32) attributes {global_symbol = "f"} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>
  tir.launch_thread %b = "blockIdx.x" to %n {
    %x = tir.load %A[%b] : f32
    %z = tir.mul %x, %s : f32
    tir.store %z, %A[%b] : f32
  }
}"""


@pytest.mark.parametrize("graphs", [False, True])
@apart(SECONDS)
def test_repeated_calls(graphs: bool) -> None:
    """As graphs, they are what they are one by one."""
    executable = xdsl_tvm.compile(SCALED, target="cuda", graphs=graphs)
    assert isinstance(executable, CudaExecutable)
    array = executable.array(np.ones(1000, "f4"))
    for factor in (2.0, 2.0, 3.0, 2.0, 3.0, 3.0):
        executable["f"](array, factor)
    np.testing.assert_array_equal(array.numpy(), np.full(1000, 216, "f4"))


@pytest.mark.parametrize("graphs", [False, True])
@apart(SECONDS)
def test_model(graphs: bool) -> None:
    """ResNet-18 in the size of the tests, weights on the GPU."""
    model = MODELS["resnet18"].small()
    executable = xdsl_tvm.compile(model.build(), target="cuda", graphs=graphs)
    assert isinstance(executable, CudaExecutable)
    parameters, inputs = model.parameters(), model.inputs()
    arrays = [executable.array(each) for each in (*inputs, *parameters.values())]
    expected = model.reference(parameters, *inputs)
    for _ in range(3):
        assert difference([executable["main"](*arrays).numpy()], expected) < TOLERANCE


@pytest.mark.parametrize("megabytes", [1, 3, 30])
@apart(SECONDS)
def test_copies_through_pinned_memory(megabytes: int) -> None:
    executable = xdsl_tvm.compile(SCALED, target="cuda")
    assert isinstance(executable, CudaExecutable)
    values = np.random.default_rng(0).random(megabytes * (1 << 18) + 1, "f4")
    expected = values * np.float32(3)
    array = executable.array(values)
    values[:] = 0
    executable["f"](array, 3.0)
    np.testing.assert_array_equal(array.numpy(), expected)


PRODUCT = """
@I.ir_module
class Module:
    @R.function
    def main({arguments}):
        with R.dataflow():
            y = {value}
            R.output(y)
        return y
"""
Array = np.ndarray[Any, Any]


def softmax(a: Sequence[Any]) -> Any:
    exponentials = np.exp(a[0] - a[0].max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def norm(a: Sequence[Any]) -> Any:
    deviation = np.sqrt(a[0].var(-1, keepdims=True) + 1e-5)
    return (a[0] - a[0].mean(-1, keepdims=True)) / deviation * a[1] + a[2]


def product(a: Sequence[Any]) -> Any:
    return a[0] @ a[1]


def convolved(a: Sequence[Any]) -> Any:
    """Of `[n, c, h, w]`, with a padding of 1 and windows of 3 by 3."""
    x, w = a
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    if w.shape[1] < x.shape[1]:
        return np.einsum("ncyxij,cij->ncyx", windows, w[:, 0])
    return np.einsum("ncyxij,fcij->nfyx", windows, w, optimize=True)


LAYER = "R.nn.relu(R.add(R.matmul(x, y), z))"
PROGRAMS: dict[
    str, tuple[str, Callable[[Sequence[Any]], Any], str, list[tuple[int, ...]]]
] = {
    "map": (
        "R.nn.relu(R.add(x, y))",
        lambda a: np.maximum(a[0] + a[1], 0),
        "f4 f2",
        [(1000, 37)] * 2,
    ),
    "transpose": ("R.permute_dims(x)", lambda a: a[0].T, "f4 f2", [(515, 130)]),
    "row sum": ("R.sum(x, axis=[1])", lambda a: a[0].sum(1), "f4", [(130, 5000)]),
    "column sum": ("R.sum(x, axis=[0])", lambda a: a[0].sum(0), "f4", [(5000, 130)]),
    "softmax of warps": ("R.nn.softmax(x)", softmax, "f4 f2", [(70, 1000)]),
    "softmax of blocks": ("R.nn.softmax(x)", softmax, "f4 f2", [(70, 8192)]),
    "softmax of long rows": ("R.nn.softmax(x)", softmax, "f4 f2", [(70, 20000)]),
    "layer norm": (
        "R.nn.layer_norm(x, y, z, axes=[-1])",
        norm,
        "f4",
        [(300, 768), (768,), (768,)],
    ),
    "vector": ("R.matmul(x, y)", product, "f4 f2", [(1, 4096), (4096, 1000)]),
    "few rows": ("R.matmul(x, y)", product, "f4 f2", [(5, 1000), (1000, 520)]),
    "product": ("R.matmul(x, y)", product, "f4 f2", [(512, 1024), (1024, 768)]),
    "ragged product": ("R.matmul(x, y)", product, "f4 f2", [(301, 333), (333, 257)]),
    "split product": ("R.matmul(x, y)", product, "f4 f2", [(64, 8192), (8192, 64)]),
    "batches": ("R.matmul(x, y)", product, "f4 f2", [(6, 200, 136), (6, 136, 264)]),
    "layer": (
        LAYER,
        lambda a: np.maximum(a[0] @ a[1] + a[2], 0),
        "f2",
        [(512, 512), (512, 512), (512,)],
    ),
    "bytes": (
        "R.matmul(x, y, out_dtype='int32')",
        product,
        "i1",
        [(130, 260), (260, 140)],
    ),
    "bytes by rows": (
        "R.matmul(x, R.permute_dims(y), out_dtype='int32')",
        lambda a: a[0] @ a[1].T,
        "i1",
        [(256, 512), (384, 512)],
    ),
    "convolution": (
        "R.nn.conv2d(x, y, padding=1)",
        convolved,
        "f4 f2",
        [(2, 32, 20, 20), (48, 32, 3, 3)],
    ),
    "depthwise": (
        "R.nn.conv2d(x, y, padding=1, groups=32)",
        convolved,
        "f4 f2",
        [(2, 32, 20, 20), (32, 1, 3, 3)],
    ),
    "attention": (
        "R.nn.attention(x, y, z)",
        lambda a: exact_attention([*a]),
        "f4 f2",
        [(2, 200, 4, 64)] * 3,
    ),
    "causal": (
        "R.nn.attention(x, y, z, causal_mask='TopLeft')",
        lambda a: exact_attention([*a], causal="TopLeft"),
        "f4 f2",
        [(2, 200, 4, 128)] * 3,
    ),
    "scan": ("R.cumsum(x, axis=1)", lambda a: a[0].cumsum(1), "f4", [(5, 3000)]),
    "sort": ("R.sort(x, axis=1)", lambda a: np.sort(a[0], 1), "f4", [(5, 3000)]),
}
"""Programs of `x`, `y` and `z`: what numpy computes, dtypes, and shapes."""
NAMES = {"f4": "float32", "f2": "float16", "i1": "int8"}
CASES = [(name, dtype) for name, each in PROGRAMS.items() for dtype in each[2].split()]
ON_WARPGROUPS = [
    (name, "f2") for name in ("product", "batches", "layer", "ragged product")
]


def check_program(name: str, dtype: str, **options: Any) -> CudaExecutable:
    """What a program computes on the GPU, twice, of random arrays."""
    value, exact, _, shapes = PROGRAMS[name]
    arguments = ", ".join(
        f'{at}: R.Tensor({shape}, "{NAMES[dtype]}")'
        for at, shape in zip("xyz", shapes, strict=False)
    )
    module = parse(PRODUCT.format(arguments=arguments, value=value))
    executable = xdsl_tvm.compile(module, target="cuda", **options)
    assert isinstance(executable, CudaExecutable)
    rng = np.random.default_rng(0)
    if dtype == "i1":
        arrays = [rng.integers(-128, 128, shape, "i1") for shape in shapes]
    else:
        arrays = [rng.uniform(-1, 1, shape).astype(dtype) for shape in shapes]
    wide = [each.astype("i4" if dtype == "i1" else "f8") for each in arrays]
    expected = exact(wide)
    most = {"i1": 0.0, "f2": 4e-3, "f4": 1e-5}[dtype] * np.abs(expected).max()
    for _ in range(2):
        found = executable["main"](*arrays).numpy()
        np.testing.assert_allclose(found.astype("f8"), expected, 0, most)
    return executable


@pytest.mark.parametrize(("name", "dtype"), CASES)
@apart(SECONDS)
def test_program(name: str, dtype: str) -> None:
    """Products are by warps, also on a GPU that has warpgroups."""
    is_hopper = default_driver().compute_capability() == (9, 0)
    check_program(name, dtype, arch="sm_90" if is_hopper else None)


@pytest.mark.parametrize(("name", "dtype"), ON_WARPGROUPS)
@apart(SECONDS)
def test_program_of_warpgroups(name: str, dtype: str) -> None:
    if default_driver().compute_capability() != (9, 0):
        pytest.skip("the GPU is no sm_90a")
    executable = check_program(name, dtype, arch="sm_90a")
    assert ("wgmma" in executable.ptx) == (name != "ragged product")


@apart(SECONDS)
def test_products_of_fewer_bits() -> None:
    """Operands have 10 bits of the fraction: relative errors of products are 2^-9."""
    rng = np.random.default_rng(0)
    x, y = (rng.uniform(0, 1, (256, 256)).astype("f4") for _ in range(2))
    arguments = ", ".join(f'{at}: R.Tensor((256, 256), "float32")' for at in "xy")
    module = parse(PRODUCT.format(arguments=arguments, value="R.matmul(x, y)"))
    executable = xdsl_tvm.compile(module, target="cuda", allow_tf32=True)
    found = executable["main"](x, y).numpy()
    np.testing.assert_allclose(found, x.astype("f8") @ y, 2**-8)


BRANCH = """
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((4,), "float32"), t: R.Tensor((2,), "int64")
    ) -> R.Tuple(R.Tensor((4,), "float32"), R.Shape(ndim=2)):
        c = R.greater(R.sum(x), R.const(4.0, "float32"))
        if c:
            y = R.add(x, x)
        else:
            y = R.multiply(x, x)
        return (y, R.tensor_to_shape(t))
"""


@pytest.mark.parametrize("graphs", [False, True])
@apart(SECONDS)
def test_elements_on_the_host(graphs: bool) -> None:
    executable = xdsl_tvm.compile(BRANCH, target="cuda", graphs=graphs)
    for value in (3.0, 0.5, 3.0, 0.5):
        x = np.full(4, value, "f4")
        y, shape = executable["main"](x, np.array([5, 7]))
        np.testing.assert_array_equal(y.numpy(), x + x if value > 1 else x * x)
        assert shape == (5, 7)


@apart(SECONDS)
def test_arrays_of_torch() -> None:
    torch = pytest.importorskip("torch")
    executable = xdsl_tvm.compile(SCALED, target="cuda")
    array = torch.ones(1000, device="cuda")
    executable["f"](array, 2.5)
    assert float(array.sum()) == 2500
    with pytest.raises(TypeError, match="must be an array on the GPU or of numpy"):
        executable["f"](torch.ones(1000), 2.5)
