"""Kernels and networks on an NVIDIA GPU, against torch and what the GPU can do at most.

    python benchmarks/gpu.py --build OUT      anywhere: xdsl-tvm and a C compiler
    python OUT/gpu.py --run OUT               on a GPU: a driver, numpy and torch
    python benchmarks/gpu.py --build OUT --only softmax --arch sm_80

`--build` makes a folder per program, with the PTX of its kernels, a library of its host
code for processors like the one it is built on, and a manifest, and copies this file
there. `--run` checks each program against torch on random inputs, with outputs that are
poisoned before, then times it, launched one by one and as a CUDA graph, and writes
`results.json`. A program that fails is reported, and the others go on.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, Protocol, cast

TOLERANCES = {"float16": 5e-3, "float32": 1e-4, "tf32": 2e-3, "int32": 0.0}
"""How much a result may differ from torch's, as a part of its norm."""
SIZES = {"float16": 2, "float32": 4, "int8": 1, "int32": 4}
"""Bytes of an element."""
ROUNDS = 5
SECONDS = 0.1
"""How long a round of launches takes at least."""


@dataclass(frozen=True)
class Tensor:
    """A parameter or result of a program."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def bytes(self) -> int:
        """The bytes of all elements."""
        return prod(self.shape) * SIZES[self.dtype]


@dataclass(frozen=True)
class Case:
    """A program, and what is known of the work that it does."""

    name: str
    kind: str
    """Which of torch's functions does the same."""
    inputs: tuple[Tensor, ...]
    output: Tensor
    flops: int = 0
    """Floating point operations, for programs that they bound; else bytes do."""
    tf32: bool = False
    """Whether products of f32 may be those of tensor cores, in torch as well."""

    @property
    def rate(self) -> str:
        """Which of the library's products bounds it, and how much results may differ."""
        return "tf32" if self.tf32 else self.output.dtype

    @property
    def bytes(self) -> int:
        """What is read and written once."""
        return sum(each.bytes for each in (*self.inputs, self.output))

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return self.name.replace(" ", "_")


def _matmul(m: int, n: int, k: int, dtype: str) -> Case:
    name = f"matmul {m}x{n}x{k} {dtype}"
    inputs = Tensor((m, k), dtype), Tensor((k, n), dtype)
    return Case(name, "matmul", inputs, Tensor((m, n), dtype), 2 * m * n * k)


def _tf32(size: int) -> Case:
    inputs = Tensor((size, size), "float32"), Tensor((size, size), "float32")
    name = f"matmul {size}x{size}x{size} tf32"
    return Case(name, "matmul", inputs, inputs[0], 2 * size**3, tf32=True)


def _linear(m: int, n: int, k: int) -> Case:
    """Integers of 8 bits, with weights by rows."""
    inputs = Tensor((m, k), "int8"), Tensor((n, k), "int8")
    name = f"linear {m}x{n}x{k} int8"
    return Case(name, "linear", inputs, Tensor((m, n), "int32"), 2 * m * n * k)


def _rows(kind: str, rows: int, columns: int) -> Case:
    tensor = Tensor((rows, columns), "float32")
    scale = Tensor((columns,), "float32")
    inputs = (tensor, scale, scale) if kind == "layer_norm" else (tensor,)
    shapes = {"transpose": (columns, rows), "row_sum": (rows,), "column_sum": (columns,)}
    output = Tensor(shapes.get(kind, tensor.shape), "float32")
    return Case(f"{kind} {rows}x{columns}", kind, inputs, output)


def _conv2d(batch: int, channels: int, size: int, filters: int) -> Case:
    data = Tensor((batch, channels, size, size), "float32")
    weight = Tensor((filters, channels, 3, 3), "float32")
    output = Tensor((batch, filters, size, size), "float32")
    name = f"conv2d {batch}x{channels}x{size}x{size} to {filters}"
    flops = 2 * prod(output.shape) * channels * 9
    return Case(name, "conv2d", (data, weight), output, flops)


def _map(count: int) -> Case:
    tensor = Tensor((count,), "float32")
    return Case(f"add_relu {count}", "add_relu", (tensor, tensor), tensor)


CASES = (
    _matmul(8192, 8192, 8192, "float16"),
    _matmul(4096, 4096, 4096, "float16"),
    _matmul(1024, 1024, 1024, "float16"),
    _matmul(4095, 4095, 4095, "float16"),
    _matmul(128, 4096, 4096, "float16"),
    _matmul(16, 4096, 4096, "float16"),
    _matmul(1, 16384, 16384, "float16"),
    _matmul(4096, 4096, 4096, "float32"),
    _matmul(1024, 1024, 1024, "float32"),
    _tf32(4096),
    _linear(4096, 4096, 4096),
    _rows("softmax", 65536, 4096),
    _rows("layer_norm", 65536, 4096),
    _rows("row_sum", 65536, 4096),
    _rows("column_sum", 65536, 4096),
    _rows("transpose", 16384, 16384),
    _map(1 << 28),
    _conv2d(32, 64, 56, 64),
    _conv2d(32, 256, 14, 256),
)
SMALL = (
    _matmul(32, 16, 24, "float32"),
    _rows("softmax", 8, 64),
    _rows("layer_norm", 8, 64),
    _rows("row_sum", 8, 64),
    _rows("column_sum", 8, 64),
    _rows("transpose", 8, 64),
    _map(512),
    _conv2d(1, 4, 6, 8),
    _linear(32, 16, 64),
)
"""The programs in sizes for tests."""


# ---- build ----


def module_of(case: Case) -> Any:
    """The program in Relax."""
    from xdsl_tvm import relax

    params = [
        relax.Var(f"x{at}", relax.TensorStructInfo(each.shape, each.dtype))
        for at, each in enumerate(case.inputs)
    ]
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            result = bb.emit_output(_call(case.kind, params))
        bb.emit_func_output(result)
    # The product of `linear` reads the weights as they are.
    return relax.transform.FuseTransposeMatmul()(bb.get())


def _call(kind: str, values: Sequence[Any]) -> Any:
    """What a program computes."""
    from xdsl_tvm.relax import op

    first, *rest = values
    match kind:
        case "matmul":
            return op.matmul(first, *rest)
        case "linear":
            return op.matmul(first, op.permute_dims(*rest), out_dtype="int32")
        case "softmax":
            return op.nn.softmax(first)
        case "layer_norm":
            return op.nn.layer_norm(first, *rest, axes=[-1])
        case "row_sum":
            return op.sum(first, 1)
        case "column_sum":
            return op.sum(first, 0)
        case "transpose":
            return op.permute_dims(first)
        case "add_relu":
            return op.nn.relu(op.add(first, *rest))
        case "conv2d":
            return op.nn.conv2d(first, *rest, padding=1)
        case _:
            raise ValueError(f"there is no program '{kind}'")


def build(out: Path, cases: Sequence[Case], arch: str) -> int:
    """Compile programs into folders of `out`; returns how many are refused."""
    out.mkdir(parents=True, exist_ok=True)
    built: list[dict[str, Any]] = []
    for case in cases:
        start = time.perf_counter()
        try:
            write_program(out / case.folder, case, arch)
        except Exception as error:
            print(f"{case.name:40} not built: {error}", flush=True)
            continue
        seconds = time.perf_counter() - start
        built.append({**asdict(case), "compiled_in": seconds})
        print(f"{case.name:40} {seconds:6.1f} s", flush=True)
    (out / "cases.json").write_text(json.dumps(built, indent=1), encoding="utf-8")
    if Path(__file__).resolve() != (out / "gpu.py").resolve():
        shutil.copy(__file__, out / "gpu.py")
    return len(cases) - len(built)


def write_program(folder: Path, case: Case, arch: str) -> None:
    """`kernels.ptx`, `manifest.json` and `host.so` of a program."""
    from xdsl_tvm.lowering.runtime_symbols import FAILED_ASSERT, failed_number
    from xdsl_tvm.lowering.to_llvm.convert_gpu_launch_to_driver import (
        STREAM,
        constant_address,
        kernel_handle,
    )
    from xdsl_tvm.runtime.cuda import GpuCode
    from xdsl_tvm.runtime.exported_library.linker import link_library
    from xdsl_tvm.runtime.load import load_module
    from xdsl_tvm.runtime.native import Settings

    settings = Settings(allow_tf32=case.tf32)
    code = GpuCode(load_module(module_of(case)), arch, settings)
    code.write(folder)
    kernels = [each["name"] for each in code.manifest["kernels"]]
    constants = [each["name"] for each in code.manifest["constants"]]
    exports = [
        "main",
        STREAM,
        FAILED_ASSERT,
        failed_number(0),
        *map(kernel_handle, kernels),
        *map(constant_address, constants),
        *constants,
        *(f"driver_{name}" for name in _DRIVER),
    ]
    link_library(
        folder / "host.so", driver_source(), [(folder / "host.o").read_bytes()], exports
    )


_I32, _I64 = "unsigned", "unsigned long long"
_DRIVER = {
    "cuLaunchKernel": (_I64, *(_I32,) * 7, _I64, "void *", _I64),
    "cuMemAllocAsync": ("void *", _I64, _I64),
    "cuMemFreeAsync": ("void *", _I64),
    "cuMemcpyDtoDAsync_v2": ("void *", "void *", _I64, _I64),
    "cuMemcpyDtoHAsync_v2": ("void *", "void *", _I64, _I64),
    "cuMemcpyHtoDAsync_v2": ("void *", "void *", _I64, _I64),
    "cuStreamSynchronize": (_I64,),
    "cuTensorMapEncodeTiled": (
        *("void *", _I32, _I32, _I64, "void *", "void *", "void *", "void *"),
        *(_I32,) * 4,
    ),
}
"""The functions of the driver that host code calls, with their parameters."""


_VISIBLE = '__attribute__((visibility("default")))'


def driver_source() -> str:
    """C functions that call the driver at addresses which are filled in later."""
    lines: list[str] = []
    for name, types in _DRIVER.items():
        declared = ", ".join(f"{each} a{at}" for at, each in enumerate(types))
        passed = ", ".join(f"a{at}" for at in range(len(types)))
        parameters = ", ".join(types)
        lines.append(f"{_VISIBLE} int (*driver_{name})({parameters});")
        lines.append(f"int {name}({declared}) {{ return driver_{name}({passed}); }}")
    return "\n".join(lines) + "\n"


# ---- run ----


class Gpu(Protocol):
    """What running programs needs of a GPU and of torch."""

    def functions(self) -> Mapping[str, int]:
        """The addresses of the driver's functions, by name."""
        ...

    def load(self, ptx: str) -> int:
        """Load kernels; the handle of the module."""
        ...

    def kernel(self, module: int, name: str) -> int:
        """The handle of a kernel, which may use all shared memory."""
        ...

    def stream(self) -> int:
        """The stream that programs run on."""
        ...

    def random(self, tensor: Tensor) -> Any:
        """An array of random elements."""
        ...

    def poisoned(self, tensor: Tensor) -> Any:
        """An array of NaN."""
        ...

    def uploaded(self, data: bytes) -> Any:
        """An array of bytes."""
        ...

    def address(self, array: Any) -> int:
        """Where the elements of an array are."""
        ...

    def peer(self, kind: str, arrays: Sequence[Any], *, tf32: bool = False) -> Any:
        """What torch computes, with `tf32` with products of fewer bits."""
        ...

    def error(self, found: Any, expected: Any) -> float:
        """The norm of the difference of arrays, as a part of that of the second."""
        ...

    def seconds(self, program: Callable[[], object]) -> float:
        """How long a program takes on the GPU."""
        ...

    def captured(
        self, program: Callable[[], object], use_stream: Callable[[int], None]
    ) -> Callable[[], object]:
        """A program as a CUDA graph; it is captured on the stream that is used."""
        ...


@dataclass
class Program:
    """The host code of a folder, ready to be called."""

    gpu: Gpu
    folder: Path
    _held: list[Any] = field(default_factory=list[Any])

    def __post_init__(self) -> None:
        manifest = json.loads((self.folder / "manifest.json").read_text("utf-8"))
        self._library = ctypes.CDLL(str((self.folder / "host.so").resolve()))
        for name, address in self.gpu.functions().items():
            self._set(f"driver_{name}", address)
        self.use_stream(self.gpu.stream())
        module = self.gpu.load((self.folder / "kernels.ptx").read_text("utf-8"))
        for each in manifest["kernels"]:
            handle = self.gpu.kernel(module, each["name"])
            self._set(f"tvm_gpu_kernel_{each['name']}", handle)
        for each in manifest["constants"]:
            data = (ctypes.c_uint8 * each["bytes"]).in_dll(self._library, each["name"])
            self._held.append(self.gpu.uploaded(bytes(data)))
            address = self.gpu.address(self._held[-1])
            self._set(f"tvm_gpu_constant_{each['name']}", address)
        self._failed = ctypes.c_uint64.in_dll(self._library, "tvm_failed_assert")

    def use_stream(self, stream: int) -> None:
        """Let calls launch on a stream."""
        self._set("tvm_gpu_stream", stream)

    def _set(self, name: str, value: int) -> None:
        ctypes.c_uint64.in_dll(self._library, name).value = value

    def __call__(self, *addresses: int) -> None:
        """Launch the program. Raises RuntimeError where the host code fails."""
        self._library["main"](*map(ctypes.c_uint64, addresses))
        if self._failed.value:
            text = ctypes.string_at(self._failed.value).decode(errors="replace")
            number = ctypes.c_int64.in_dll(self._library, "tvm_failed_number0").value
            self._failed.value = 0
            raise RuntimeError(text.replace("{tvm_failed_number0}", str(number)))


@dataclass
class Result:
    """What was measured of a program; times are in milliseconds."""

    name: str
    error: float
    ours: float
    graph: float
    torch: float
    rate: float
    unit: str
    of_ceiling: float


def measured(gpu: Gpu, out: Path, case: Case, ceilings: Mapping[str, float]) -> Result:
    """Check a program, then time it. Raises RuntimeError for a wrong result."""
    program = Program(gpu, out / case.folder)
    inputs = [gpu.random(each) for each in case.inputs]
    output = gpu.poisoned(case.output)
    addresses = [gpu.address(each) for each in (*inputs, output)]
    program(*addresses)
    error = gpu.error(output, gpu.peer(case.kind, inputs))
    if not error <= TOLERANCES[case.rate]:
        raise RuntimeError(f"the result is wrong: the error is {error:.1e}")
    run = partial(program, *addresses)
    ours = gpu.seconds(run)
    graph = gpu.seconds(gpu.captured(run, program.use_stream))
    theirs = gpu.seconds(lambda: gpu.peer(case.kind, inputs, tf32=case.tf32))
    best = min(ours, graph)
    if case.flops:
        rate, unit, ceiling = case.flops / best / 1e12, "TFLOP/s", case.rate
    else:
        rate, unit, ceiling = case.bytes / best / 1e9, "GB/s", "copy"
    return Result(
        case.name,
        error,
        1e3 * ours,
        1e3 * graph,
        1e3 * theirs,
        rate,
        unit,
        rate / ceilings[ceiling],
    )


def run(gpu: Gpu, out: Path, ceilings: Mapping[str, float]) -> list[Result]:
    """Measure all programs that `build` has left in a folder, and print a table."""
    results: list[Result] = []
    failures: dict[str, str] = {}
    print(
        f"{'':36} {'ms':>9} {'graph':>9} {'torch':>9} {'rate':>9}          torch  ceiling"
    )
    for each in json.loads((out / "cases.json").read_text("utf-8")):
        case = _case(each)
        try:
            result = measured(gpu, out, case, ceilings)
        except Exception as error:
            failures[case.name] = str(error)
            print(f"{case.name:36} failed: {error}", flush=True)
            continue
        results.append(result)
        best = min(result.ours, result.graph)
        print(
            f"{case.name:36} {result.ours:9.4f} {result.graph:9.4f} {result.torch:9.4f} "
            f"{result.rate:9.1f} {result.unit:8} {result.torch / best:6.0%} "
            f"{result.of_ceiling:7.0%}",
            flush=True,
        )
    found = {
        "ceilings": dict(ceilings),
        "results": [asdict(each) for each in results],
        "failures": failures,
    }
    (out / "results.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    return results


def _case(found: dict[str, Any]) -> Case:
    def tensor(each: dict[str, Any]) -> Tensor:
        return Tensor(tuple(each["shape"]), each["dtype"])

    inputs = tuple(map(tensor, found["inputs"]))
    output = tensor(found["output"])
    more = found["flops"], found["tf32"]
    return Case(found["name"], found["kind"], inputs, output, *more)


class TorchGpu:
    """The first GPU, by torch and the driver's own functions."""

    def __init__(self) -> None:
        self.torch: Any = importlib.import_module("torch")
        if not self.torch.cuda.is_available():
            raise RuntimeError("torch finds no GPU; run this on a machine with one")
        self.torch.zeros(1, device="cuda")  # makes the context
        self._driver = ctypes.CDLL("libcuda.so.1")

    def _call(self, name: str, *arguments: Any) -> None:
        status = self._driver[name](*arguments)
        if status:
            text = ctypes.c_char_p()
            self._driver["cuGetErrorName"](status, ctypes.byref(text))
            raise RuntimeError(f"{name} failed: {(text.value or b'?').decode()}")

    def functions(self) -> Mapping[str, int]:
        return {
            name: ctypes.cast(self._driver[name], ctypes.c_void_p).value or 0
            for name in _DRIVER
        }

    def load(self, ptx: str) -> int:
        module = ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), ptx.encode() + b"\0")
        return module.value or 0

    def kernel(self, module: int, name: str) -> int:
        function = ctypes.c_void_p()
        handle = ctypes.c_void_p(module)
        self._call("cuModuleGetFunction", ctypes.byref(function), handle, name.encode())
        static, most = ctypes.c_int(), ctypes.c_int()
        # The numbers are CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
        # CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN and
        # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES.
        self._call("cuFuncGetAttribute", ctypes.byref(static), 1, function)
        self._call("cuDeviceGetAttribute", ctypes.byref(most), 97, 0)
        self._call("cuFuncSetAttribute", function, 8, most.value - static.value)
        return function.value or 0

    def stream(self) -> int:
        return self.torch.cuda.current_stream().cuda_stream

    def random(self, tensor: Tensor) -> Any:
        dtype = getattr(self.torch, tensor.dtype)
        if tensor.dtype == "int8":
            shape = tensor.shape
            return self.torch.randint(-128, 128, shape, device="cuda", dtype=dtype)
        return self.torch.randn(*tensor.shape, device="cuda").to(dtype)

    def poisoned(self, tensor: Tensor) -> Any:
        dtype = getattr(self.torch, tensor.dtype)
        poison = -(1 << 31) if tensor.dtype == "int32" else float("nan")
        return self.torch.full(tensor.shape, poison, device="cuda", dtype=dtype)

    def uploaded(self, data: bytes) -> Any:
        held = bytearray(data)
        return self.torch.frombuffer(held, dtype=self.torch.uint8).cuda()

    def address(self, array: Any) -> int:
        return array.data_ptr()

    def peer(self, kind: str, arrays: Sequence[Any], *, tf32: bool = False) -> Any:
        functions = self.torch.nn.functional
        self.torch.backends.cuda.matmul.allow_tf32 = tf32
        first, *rest = arrays
        match kind:
            case "linear":
                # torch has no other product of integers.
                return self.torch._int_mm(first, rest[0].T)
            case "matmul":
                return self.torch.matmul(first, *rest)
            case "softmax":
                return functions.softmax(first, -1)
            case "layer_norm":
                return functions.layer_norm(first, rest[0].shape, *rest)
            case "row_sum":
                return first.sum(1)
            case "column_sum":
                return first.sum(0)
            case "transpose":
                return first.T.contiguous()
            case "add_relu":
                return functions.relu(first + rest[0])
            case "conv2d":
                return functions.conv2d(first, *rest, padding=1)
            case _:
                raise ValueError(f"there is no program '{kind}'")

    def error(self, found: Any, expected: Any) -> float:
        found, expected = found.double(), expected.double()
        return float((found - expected).norm() / expected.norm())

    def seconds(self, program: Callable[[], object]) -> float:
        cuda = self.torch.cuda
        program()
        cuda.synchronize()
        start = time.perf_counter()
        program()
        cuda.synchronize()
        once = max(time.perf_counter() - start, 1e-6)
        count = max(3, min(1000, int(SECONDS / once)))
        times: list[float] = []
        for _ in range(ROUNDS):
            first, last = (cuda.Event(enable_timing=True) for _ in range(2))
            first.record()
            for _ in range(count):
                program()
            last.record()
            last.synchronize()
            times.append(first.elapsed_time(last) / count / 1e3)
        return statistics.median(times)

    def captured(
        self, program: Callable[[], object], use_stream: Callable[[int], None]
    ) -> Callable[[], object]:
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            use_stream(self.stream())
            program()
        use_stream(self.stream())
        return graph.replay

    def ceilings(self) -> dict[str, float]:
        """GB/s of a copy, and TFLOP/s of the library's products of 8192 by dtype."""
        torch = self.torch
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        print(torch.cuda.get_device_name(), "torch", torch.__version__)
        x = torch.zeros(1 << 29, device="cuda")
        y = torch.zeros_like(x)
        found = {"copy": 8 * x.numel() / self.seconds(partial(y.copy_, x)) / 1e9}
        del x, y
        for name in TOLERANCES:
            dtype = {"tf32": "float32", "int32": "int8"}.get(name, name)
            a = self.random(Tensor((8192, 8192), dtype))
            kind = "linear" if dtype == "int8" else "matmul"
            product = partial(self.peer, kind, [a, a], tf32=name == "tf32")
            found[name] = 2 * 8192**3 / self.seconds(product) / 1e12
        print(", ".join(f"{name} {value:.0f}" for name, value in found.items()))
        return found


def main() -> int:
    """Build, or run."""
    description = cast("str", __doc__).partition("\n")[0]
    parser = argparse.ArgumentParser(description=description)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--build", type=Path, metavar="DIR")
    mode.add_argument("--run", type=Path, metavar="DIR")
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--only", default="", help="a part of the names of programs")
    parser.add_argument("--small", action="store_true", help="sizes for tests")
    options = parser.parse_args()
    if options.build is not None:
        cases = [c for c in (SMALL if options.small else CASES) if options.only in c.name]
        return int(build(options.build, cases, options.arch) > 0)
    gpu = TorchGpu()
    count = len(json.loads((options.run / "cases.json").read_text("utf-8")))
    return len(run(gpu, options.run, gpu.ceilings())) != count


if __name__ == "__main__":
    sys.exit(main())
