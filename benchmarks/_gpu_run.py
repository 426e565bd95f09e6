"""Runs what `gpu.py --build` has left: the part that is on the machine with the GPU.

A process of its own measures the programs one after the other. If it ends or hangs, or
the GPU answers nothing more after a program that fails, another one goes on with the next
program. Needs a driver, numpy and torch.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import queue
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from _gpu_programs import TOLERANCES, Case, Tensor
from _gpu_torch import computed, random_array

ROUNDS = 5
SECONDS = 0.1
"""How long a round of launches takes at least."""

Message: TypeAlias = dict[str, Any]
"""What the measuring process says: `ceilings`, `begin`, `result`, `failure` or `end`."""
DRIVER = (
    "cuLaunchKernel",
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuStreamSynchronize",
    "cuTensorMapEncodeTiled",
)
"""The functions of the driver that host code calls; the machine with the GPU has no
`xdsl_tvm` to ask."""


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

    def peer(
        self, case: Case, arrays: Sequence[Any], *, tf32: bool = False
    ) -> Sequence[Any]:
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

    def capability(self) -> tuple[int, int]:
        """The major and minor number of its compute capability."""
        ...

    def is_alive(self) -> bool:
        """Whether it still does what it is asked; free what is not used."""
        ...


def check_gpu(manifest: Any, capability: tuple[int, int]) -> None:
    """Check that a GPU runs the kernels of a manifest. Raises RuntimeError."""
    least, newer = manifest["runs_on"]["compute_capability"], manifest["runs_on"]["newer"]
    major, minor = map(int, least.split("."))
    is_newer = capability > (major, minor) and (
        newer == "all" or (newer == "family" and capability[0] == major)
    )
    if capability != (major, minor) and not is_newer:
        here = ".".join(map(str, capability))
        raise RuntimeError(
            f"kernels for {manifest['arch']} run on compute capability {least}"
            f"{_NEWER[newer]}, and this GPU has {here}; build for it with --arch"
        )


_NEWER = {
    "all": " and newer",
    "family": " and newer of that major number",
    "none": " only",
}
"""Which GPUs newer than the least one run kernels, as `runs_on` of manifests says."""


@dataclass
class Program:
    """The host code of a folder, ready to be called."""

    gpu: Gpu
    folder: Path
    _held: list[Any] = field(default_factory=list[Any])

    def __post_init__(self) -> None:
        manifest = json.loads((self.folder / "manifest.json").read_text("utf-8"))
        check_gpu(manifest, self.gpu.capability())
        self._library = ctypes.CDLL(str((self.folder / "host.so").resolve()))
        for name, address in self.gpu.functions().items():
            self._set(f"driver_{name}", address)
        self.use_stream(self.gpu.stream())
        module = self.gpu.load((self.folder / "kernels.ptx").read_text("utf-8"))
        for each in manifest["kernels"]:
            handle = self.gpu.kernel(module, each["name"])
            self._set(f"tvm_gpu_kernel_{each['name']}", handle)
        self.kernels = len(manifest["kernels"])
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

    def __call__(self, *values: int) -> None:
        """Launch the program. Raises RuntimeError where the host code fails."""
        self._library["main"](*map(ctypes.c_uint64, values))
        if self._failed.value:
            text = ctypes.string_at(self._failed.value).decode(errors="replace")
            number = ctypes.c_int64.in_dll(self._library, "tvm_failed_number0").value
            self._failed.value = 0
            raise RuntimeError(text.replace("{tvm_failed_number0}", str(number)))


@dataclass
class Result:
    """What was measured of a program; times are in milliseconds, None where a capture
    failed."""

    name: str
    kernels: int
    error: float
    ours: float
    graph: float | None
    torch: float
    torch_graph: float | None
    rate: float
    unit: str
    of_ceiling: float | None
    notes: str = ""


def measured(gpu: Gpu, out: Path, case: Case, ceilings: Mapping[str, float]) -> Result:
    """Check a program, then time it. Raises RuntimeError for a wrong result."""
    program = Program(gpu, out / case.folder)
    inputs = [gpu.random(each) for each in case.inputs]
    outputs = [gpu.poisoned(each) for each in case.outputs]
    values = [*(gpu.address(each) for each in (*inputs, *outputs)), *case.symbols]
    program(*values)
    pairs = zip(outputs, gpu.peer(case, inputs), strict=True)
    # A NaN is the largest.
    error = max((gpu.error(*pair) for pair in pairs), key=lambda e: (e != e, e))
    if not error <= case.tolerance:
        raise RuntimeError(f"the result is wrong: the error is {error:.1e}")
    run = partial(program, *values)
    notes: list[str] = []

    def as_graph(run: Callable[[], object], use: Callable[[int], None]) -> float | None:
        try:
            return gpu.seconds(gpu.captured(run, use))
        except Exception as found:
            notes.append(f"no graph: {found}")
            return None
        finally:
            program.use_stream(gpu.stream())

    def theirs() -> object:
        return gpu.peer(case, inputs, tf32=case.tf32)

    ours, torch = gpu.seconds(run), gpu.seconds(theirs)
    graph = as_graph(run, program.use_stream)
    torch_graph = as_graph(theirs, lambda stream: None)
    best = min(each for each in (ours, graph) if each is not None)
    if case.flops:
        rate, unit, ceiling = case.flops / best / 1e12, "TFLOP/s", case.rate
    else:
        rate, unit, ceiling = case.bytes / best / 1e9, "GB/s", "copy"
    most = ceilings.get(ceiling)
    return Result(
        case.name,
        program.kernels,
        error,
        1e3 * ours,
        None if graph is None else 1e3 * graph,
        1e3 * torch,
        None if torch_graph is None else 1e3 * torch_graph,
        rate,
        unit,
        None if most is None else rate / most,
        "; ".join(notes),
    )


def cases_of(out: Path) -> list[Case]:
    """The programs of a folder."""
    found = json.loads((out / "cases.json").read_text("utf-8"))
    return [Case.of(each) for each in found]


# ---- the process that measures ----


def work(
    gpu: Gpu,
    out: Path,
    first: int,
    ceilings: Mapping[str, float] | None,
    say: Callable[[Message], object],
) -> None:
    """Measure the programs from the `first` on, and say what is found."""
    if ceilings is None:
        ceilings = gpu.ceilings() if isinstance(gpu, TorchGpu) else {}
        say({"ceilings": ceilings})
    for number, case in enumerate(cases_of(out)[first:], first):
        say({"begin": number})
        try:
            say({"result": asdict(measured(gpu, out, case, ceilings))})
        except Exception as error:
            say({"failure": str(error) or type(error).__name__})
        if not gpu.is_alive():
            return
    say({"end": True})


# ---- the process that waits ----


@dataclass
class Table:
    """What has been measured so far, printed and written as it comes."""

    out: Path
    ceilings: dict[str, float] = field(default_factory=dict[str, float])
    results: list[Message] = field(default_factory=list[Message])
    failures: dict[str, str] = field(default_factory=dict[str, str])

    def head(self) -> None:
        names = f"{'ms':>9} {'graph':>9} {'torch':>9} {'its graph':>9} {'rate':>9}"
        print(f"{'':40} {names}          torch  ceiling", flush=True)

    def add(self, result: Message) -> None:
        """A row."""
        self.results.append(result)
        keys = ("ours", "graph", "torch", "torch_graph")
        times = [result[key] for key in keys]
        shown = " ".join(f"{'-' if t is None else format(t, '.4f'):>9}" for t in times)
        ours, theirs = (
            min(t for t in times[at : at + 2] if t is not None) for at in (0, 2)
        )
        most = result["of_ceiling"]
        print(
            f"{result['name']:40} {shown} {result['rate']:9.1f} {result['unit']:8} "
            f"{theirs / ours:6.0%} {'' if most is None else format(most, '7.0%')}"
            f"{'  ' * bool(result['notes'])}{result['notes']}",
            flush=True,
        )
        self.write()

    def fail(self, name: str, text: str) -> None:
        """A program that was not measured."""
        self.failures[name] = text
        print(f"{name:40} failed: {text}", flush=True)
        self.write()

    def write(self) -> None:
        """All of it, in `results.json`."""
        found = {
            "ceilings": self.ceilings,
            "results": self.results,
            "failures": self.failures,
        }
        text = json.dumps(found, indent=1)
        (self.out / "results.json").write_text(text, encoding="utf-8")


def run(
    out: Path, command: Sequence[str], *, seconds: float = 60, most: float = 480
) -> Table:
    """Measure all programs of a folder by processes that `command` starts.

    It gets `--work N`, the number of the first program, and `--ceilings`, once they are
    known. A program may take so many seconds, and all of them `most`. Raises RuntimeError
    where a process ends before it measures, as without torch or without a GPU.
    """
    table, cases = Table(out), cases_of(out)
    first, end = 0, time.monotonic() + most
    table.head()
    while first < len(cases):
        if time.monotonic() >= end:
            for case in cases[first:]:
                table.fail(case.name, "no time is left")
            break
        first = _measured_by(command, table, cases, first, seconds, end)
    table.write()
    return table


def _measured_by(
    command: Sequence[str],
    table: Table,
    cases: Sequence[Case],
    first: int,
    seconds: float,
    end: float,
) -> int:
    """Let one process measure programs from the first on; the next for another one."""
    known = ["--ceilings", json.dumps(table.ceilings)] if table.ceilings else []
    process = subprocess.Popen(
        [*command, "--work", str(first), *known], stdout=subprocess.PIPE, text=True
    )
    current, is_done, has_begun = first, False, False
    # The first program waits for torch and for the ceilings.
    limit = _Limit(min(time.monotonic() + 2 * seconds, end))
    try:
        for message in _messages(process, limit):
            if "ceilings" in message:
                table.ceilings.update(message["ceilings"])
                texts = (f"{name} {at:.0f}" for name, at in table.ceilings.items())
                print(", ".join(texts), flush=True)
            elif "begin" in message:
                current, is_done, has_begun = message["begin"], False, True
                limit.at = min(time.monotonic() + seconds, end)
            elif "result" in message:
                is_done = True
                table.add(message["result"])
            elif "failure" in message:
                is_done = True
                table.fail(cases[current].name, message["failure"])
            else:
                return len(cases)
        text = f"the process ended with status {process.wait(5)}"
    except TimeoutError:
        text = "it did not end in time"
    except subprocess.TimeoutExpired:
        text = "the process closed its output"
    finally:
        process.kill()
        process.wait()
    if not has_begun:
        raise RuntimeError(f"no program has begun: {text}")
    if not is_done:
        table.fail(cases[current].name, text)
    return current + 1


@dataclass
class _Limit:
    """When a process has to have said something."""

    at: float

    @property
    def left(self) -> float:
        return max(self.at - time.monotonic(), 0.01)


def _messages(process: subprocess.Popen[str], limit: _Limit) -> Iterator[Message]:
    """What a process says, until it ends. Raises TimeoutError if it is silent."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert process.stdout is not None
        with process.stdout as output:
            for line in output:
                lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=limit.left)
        except queue.Empty:
            raise TimeoutError from None
        if line is None:
            return
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found


# ---- the GPU ----


class TorchGpu:
    """The first GPU, by torch and the driver's own functions."""

    def __init__(self) -> None:
        self.torch: Any = importlib.import_module("torch")
        if not self.torch.cuda.is_available():
            raise RuntimeError("torch finds no GPU; run this on a machine with one")
        self.torch.zeros(1, device="cuda")  # makes the context
        self.torch.backends.cuda.matmul.allow_tf32 = False
        self.torch.backends.cudnn.allow_tf32 = False
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
            for name in DRIVER
        }

    def load(self, ptx: str) -> int:
        log, module = ctypes.create_string_buffer(4096), ctypes.c_void_p()
        # CU_JIT_ERROR_LOG_BUFFER and CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES.
        names = (ctypes.c_int * 2)(5, 6)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        code = ptx.encode() + b"\0"
        try:
            self._call("cuModuleLoadDataEx", ctypes.byref(module), code, 2, names, values)
        except RuntimeError as error:
            details = " ".join(log.value.decode(errors="replace").split())
            raise RuntimeError(f"{error} {details}".rstrip()) from None
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
        return random_array(self.torch, tensor)

    def poisoned(self, tensor: Tensor) -> Any:
        dtype = getattr(self.torch, tensor.dtype)
        poison = -(1 << 31) if tensor.dtype == "int32" else float("nan")
        return self.torch.full(tensor.shape, poison, device="cuda", dtype=dtype)

    def uploaded(self, data: bytes) -> Any:
        held = bytearray(data)
        return self.torch.frombuffer(held, dtype=self.torch.uint8).cuda()

    def address(self, array: Any) -> int:
        return array.data_ptr()

    def capability(self) -> tuple[int, int]:
        return self.torch.cuda.get_device_capability()

    def peer(
        self, case: Case, arrays: Sequence[Any], *, tf32: bool = False
    ) -> Sequence[Any]:
        self.torch.backends.cuda.matmul.allow_tf32 = tf32
        with self.torch.inference_mode():
            return computed(self.torch, case, arrays)

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
        return graph.replay

    def is_alive(self) -> bool:
        try:
            self.torch.cuda.synchronize()
            self.torch.cuda.empty_cache()
            self.torch.zeros(1, device="cuda").item()
        except RuntimeError:
            return False
        return True

    def ceilings(self) -> dict[str, float]:
        """GB/s of a copy, and TFLOP/s of the library's products of 8192 by dtype; without
        those that fail."""
        torch = self.torch
        x = torch.zeros(1 << 29, device="cuda")
        y = torch.zeros_like(x)
        found = {"copy": 8 * x.numel() / self.seconds(partial(y.copy_, x)) / 1e9}
        del x, y
        for name in TOLERANCES:
            dtype = {"tf32": "float32", "int32": "int8"}.get(name, name)
            tensor = Tensor((8192, 8192), dtype)
            kind = "linear" if dtype == "int8" else "matmul"
            case = Case(name, kind, (tensor, tensor), (tensor,))
            try:
                a = self.random(tensor)
                product = partial(self.peer, case, [a, a], tf32=name == "tf32")
                found[name] = 2 * 8192**3 / self.seconds(product) / 1e12
            except RuntimeError:
                continue
        return found
