"""The example kernels on a GPU, against numpy. Skipped where there is no GPU."""

import numpy as np
import pytest
from models import MODELS
from models.__main__ import TOLERANCE, difference
from support import paths
from xdsl.utils.exceptions import DiagnosticException

import xdsl_tvm
from xdsl_tvm.runtime.cuda import CudaExecutable
from xdsl_tvm.runtime.cuda_driver import default_driver

KERNELS = paths.EXAMPLES / "kernels"


@pytest.fixture(scope="module", autouse=True)
def gpu() -> None:
    try:
        default_driver()
    except (DiagnosticException, RuntimeError) as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 100_003])
def test_vector_add(n: int) -> None:
    function = xdsl_tvm.compile(KERNELS / "vector_add.mlir", target="cuda")["vector_add"]
    rng = np.random.default_rng(n)
    a, b = rng.random(n, "f4"), rng.random(n, "f4")
    c = np.full(n, np.nan, "f4")
    function(a, b, c)
    np.testing.assert_array_equal(c, a + b)


def test_matmul_tile() -> None:
    function = xdsl_tvm.compile(KERNELS / "matmul_tile.mlir", target="cuda")[
        "matmul_tile"
    ]
    rng = np.random.default_rng(0)
    a, b = rng.random((256, 256), "f4"), rng.random((256, 256), "f4")
    c = np.full((256, 256), np.nan, "f4")
    function(a, b, c)
    np.testing.assert_allclose(c, a.astype("f8") @ b.astype("f8"), rtol=1e-5)


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
def test_repeated_calls(graphs: bool) -> None:
    """As graphs, they are what they are one by one."""
    executable = xdsl_tvm.compile(SCALED, target="cuda", graphs=graphs)
    assert isinstance(executable, CudaExecutable)
    array = executable.array(np.ones(1000, "f4"))
    for factor in (2.0, 2.0, 3.0, 2.0, 3.0, 3.0):
        executable["f"](array, factor)
    np.testing.assert_array_equal(array.numpy(), np.full(1000, 216, "f4"))


@pytest.mark.parametrize("graphs", [False, True])
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
def test_copies_through_pinned_memory(megabytes: int) -> None:
    executable = xdsl_tvm.compile(SCALED, target="cuda")
    assert isinstance(executable, CudaExecutable)
    values = np.random.default_rng(0).random(megabytes * (1 << 18) + 1, "f4")
    expected = values * np.float32(3)
    array = executable.array(values)
    values[:] = 0
    executable["f"](array, 3.0)
    np.testing.assert_array_equal(array.numpy(), expected)


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
def test_elements_on_the_host(graphs: bool) -> None:
    executable = xdsl_tvm.compile(BRANCH, target="cuda", graphs=graphs)
    for value in (3.0, 0.5, 3.0, 0.5):
        x = np.full(4, value, "f4")
        y, shape = executable["main"](x, np.array([5, 7]))
        np.testing.assert_array_equal(y.numpy(), x + x if value > 1 else x * x)
        assert shape == (5, 7)


def test_arrays_of_torch() -> None:
    torch = pytest.importorskip("torch")
    executable = xdsl_tvm.compile(SCALED, target="cuda")
    array = torch.ones(1000, device="cuda")
    executable["f"](array, 2.5)
    assert float(array.sum()) == 2500
    with pytest.raises(TypeError, match="must be an array on the GPU or of numpy"):
        executable["f"](torch.ones(1000), 2.5)
