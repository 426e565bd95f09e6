"""Kernels and networks on an NVIDIA GPU, against torch and what the GPU can do at most.

    python benchmarks/gpu.py --build OUT      anywhere: xdsl-tvm and a C compiler
    python OUT/gpu.py --run OUT               on a GPU: a driver, numpy and torch
    python benchmarks/gpu.py --build OUT --only softmax --arch sm_80

`--build` makes a folder per program, with the PTX of its kernels, a library of its host
code and a manifest, and copies this file and those that it runs with there. `--run`
checks each program against torch on random inputs, with outputs that are poisoned before,
then times it and torch, launched one by one and as a CUDA graph; it prints a table and
writes `results.json`, each program as it is done. A program that fails, hangs or ends the
process is reported, and the others go on.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, cast

from _gpu_programs import CASES, SMALL, Case, Tensor
from _gpu_run import DRIVER, TorchGpu, run, work

FILES = ("gpu.py", "_gpu_programs.py", "_gpu_run.py", "_gpu_torch.py")
"""What is copied to the machine with the GPU."""
Entry: TypeAlias = "tuple[Case, Callable[[], Any]]"
"""A program, and what makes its module."""


# ---- programs ----


def entries(cases: Sequence[Case]) -> list[Entry]:
    """Programs of one operator."""
    return [(case, partial(module_of, case)) for case in cases]


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
            result = bb.emit_output(_call(case, params))
        bb.emit_func_output(result)
    # The product of `linear` reads the weights as they are.
    return relax.transform.FuseTransposeMatmul()(bb.get())


def _call(case: Case, values: Sequence[Any]) -> Any:
    """What a program computes."""
    from xdsl_tvm.relax import op

    first, *rest = values
    match case.kind:
        case "matmul":
            return op.matmul(first, *rest)
        case "linear":
            return op.matmul(first, op.permute_dims(*rest), out_dtype="int32")
        case "bytes":
            return op.matmul(first, *rest, out_dtype="int32")
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
        case "depthwise":
            groups = case.inputs[1].shape[0]
            return op.nn.conv2d(first, *rest, padding=1, groups=groups)
        case "attention":
            return op.nn.attention(first, *rest)
        case "causal":
            return op.nn.attention(first, *rest, causal_mask="TopLeft")
        case kind:
            raise ValueError(f"there is no program '{kind}'")


MODELS = ("gpt2", "bert", "resnet18", "mobilenet_v2")


def models(*, small: bool = False) -> list[Entry]:
    """The networks of `examples/models` that torch has layers for."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
    from models import MODELS as known

    found = {name: known[name].small() if small else known[name]() for name in MODELS}
    return [(model_case(name, each), each.build) for name, each in found.items()]


def model_case(name: str, model: Any) -> Case:
    """A network as a program; results and symbols are those of its reference."""
    inputs = dict(zip(model.input_specs(), model.inputs(), strict=True))
    tensors = [_input(key, each, model) for key, each in inputs.items()]
    for key, each in model.network().named_parameters():
        scale = 0.1 if each.kind == "bias" else each.fan_in**-0.5
        draw = "positive" if each.kind == "scale" else "normal"
        tensors.append(Tensor(tuple(each.shape), "float32", key, scale, draw))
    symbols: tuple[int, ...] = ()
    if name in ("bert", "gpt2"):
        details: dict[str, Any] = {"heads": model.heads, "layers": model.layers}
        details["epsilon"] = sys.modules[type(model).__module__].EPSILON
    else:
        details = {"strides": [block[-1] for block in model.blocks]}
    if name == "bert":
        outputs = [Tensor(inputs["embedded"].shape, "float32")]
    elif name == "gpt2":
        batch, heads, past, width = inputs["keys0"].shape
        symbols = (past,)
        cache = Tensor((batch, heads, past + 1, width), "float32")
        logits = Tensor((1, model.vocabulary), "float32")
        outputs = [logits, *[cache] * (2 * model.layers)]
    else:
        outputs = [Tensor((len(inputs["image"]), model.classes), "float32")]
    return Case(
        f"model {name}",
        name,
        tuple(tensors),
        tuple(outputs),
        symbols=symbols,
        details=details,
    )


def _input(key: str, values: Any, model: Any) -> Tensor:
    """An input of a network: a mask hides nothing, and indices are those of words."""
    limits = {"token": "vocabulary", "position": "positions"}
    if key in limits:
        return Tensor(values.shape, "int64", key, getattr(model, limits[key]))
    return Tensor(
        values.shape, "float32", key, draw="ones" if key == "mask" else "normal"
    )


# ---- build ----


def build(out: Path, programs: Sequence[Entry], arch: str) -> int:
    """Compile programs into folders of `out`; returns how many are refused."""
    out.mkdir(parents=True, exist_ok=True)
    built: list[dict[str, Any]] = []
    for case, module in programs:
        start = time.perf_counter()
        try:
            write_program(out / case.folder, case, module(), arch)
        except Exception as error:
            print(f"{case.name:40} not built: {error}", flush=True)
            continue
        seconds = time.perf_counter() - start
        built.append({**asdict(case), "compiled_in": seconds})
        print(f"{case.name:40} {seconds:6.1f} s", flush=True)
    (out / "cases.json").write_text(json.dumps(built, indent=1), encoding="utf-8")
    here = Path(__file__).resolve().parent
    if here != out.resolve():
        for name in FILES:
            shutil.copy(here / name, out / name)
    return len(programs) - len(built)


_NOT_EVERYWHERE = "-avx512f,-avx2"
"""What processors that host code is made for may lack: it only launches kernels."""


def write_program(folder: Path, case: Case, module: Any, arch: str) -> None:
    """`kernels.ptx`, `manifest.json` and `host.so` of a program."""
    from xdsl_tvm.lowering.runtime_symbols import FAILED_ASSERT, failed_number
    from xdsl_tvm.lowering.to_llvm.convert_gpu_launch_to_driver import (
        STREAM,
        constant_address,
        kernel_handle,
    )
    from xdsl_tvm.runtime.cuda import GpuCode
    from xdsl_tvm.runtime.exported_library.linker import link_library
    from xdsl_tvm.runtime.llvm_jit import compile_object
    from xdsl_tvm.runtime.load import load_module
    from xdsl_tvm.runtime.native import Settings

    settings = Settings(allow_tf32=case.tf32)
    code = GpuCode(load_module(module), arch, settings)
    code.write(folder)
    host = compile_object(code.llvm_ir[0], 3, linked=True, mattr=_NOT_EVERYWHERE)
    (folder / "host.o").write_bytes(host)
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
        *(f"driver_{name}" for name in DRIVER),
    ]
    link_library(folder / "host.so", driver_source(), [host], exports)


_I32, _I64 = "unsigned", "unsigned long long"
_PARAMETERS = {
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
"""The parameters of the functions of the driver that host code calls."""


_VISIBLE = '__attribute__((visibility("default")))'


def driver_source() -> str:
    """C functions that call the driver at addresses which are filled in later."""
    lines: list[str] = []
    for name in DRIVER:
        types = _PARAMETERS[name]
        declared = ", ".join(f"{each} a{at}" for at, each in enumerate(types))
        passed = ", ".join(f"a{at}" for at in range(len(types)))
        parameters = ", ".join(types)
        lines.append(f"{_VISIBLE} int (*driver_{name})({parameters});")
        lines.append(f"int {name}({declared}) {{ return driver_{name}({passed}); }}")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Build, or run."""
    description = cast("str", __doc__).partition("\n")[0]
    parser = argparse.ArgumentParser(description=description)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--build", type=Path, metavar="DIR")
    mode.add_argument("--run", type=Path, metavar="DIR")
    add = parser.add_argument
    add("--arch", default="sm_90a")
    add("--only", default="", help="a part of the names of programs that are built")
    add("--small", action="store_true", help="sizes for tests")
    add("--seconds", type=float, default=60, help="that a program may take (default: 60)")
    add("--most", type=float, default=480, help="that all may take (default: 480)")
    add("--work", type=int, help=argparse.SUPPRESS)
    add("--ceilings", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.build is not None:
        programs = entries(SMALL if options.small else CASES)
        programs += models(small=options.small)
        programs = [each for each in programs if options.only in each[0].name]
        return int(build(options.build, programs, options.arch) > 0)
    if options.work is not None:

        def say(message: dict[str, Any]) -> None:
            print(json.dumps(message), flush=True)

        work(TorchGpu(), options.run, options.work, options.ceilings, say)
        return 0
    command = [sys.executable, __file__, "--run", str(options.run)]
    try:
        table = run(options.run, command, seconds=options.seconds, most=options.most)
    except RuntimeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return int(bool(table.failures))


if __name__ == "__main__":
    sys.exit(main())
