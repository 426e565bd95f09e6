"""The page `docs/pipelines.md`, from the list of the default pipeline."""

from __future__ import annotations

from markdown_parts import table

from xdsl_tvm.lowering.pipelines import (
    gpu_host_pipeline,
    gpu_pipeline,
    kernel_pipeline,
    llvm_pipeline,
)
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.passes.relax.default_pipeline import ROWS as RELAX_ROWS
from xdsl_tvm.passes.relax.default_pipeline import Row as RelaxRow
from xdsl_tvm.passes.tir.default_pipeline import ROWS, Row

_HEAD = """# Pipelines

Written by `python docs/generate.py`.

## TVM's default pipeline

`tir-default-pipeline{target="llvm"}` binds the target to the functions that have none,
with [BindTarget](passes/tir-bind-target.md), as TVM's build does, and then runs the
passes of TVM v0.20's default TIR pipeline, in its order; `xdsl-tvm opt --print-pipeline
-p tir-default-pipeline` prints them as text for `-p`. `debug=true` runs after every pass
the verifiers of all ops, the rules of well-formed programs, and the check of the form
that programs have there. A `PassContext` reaches the passes: it can disable some, add
those with a configuration key, set their options, and show them to instruments.

After the list, functions have the packed convention: `xdsl_tvm.interpret` and
`xdsl_tvm.compile` call them with the arguments that they had before. For a GPU it leaves
a kernel and a function of the host that launches it, which the interpreter runs together.
`tir-default-pipeline{target="cuda" until="MakePackedAPI"}` ends before that row, where
functions still have their own parameters. So does the road of `xdsl_tvm.compile` to CPU
code, which calls functions by their own signature, and stores bfloat16 and 8-bit floats
as integers itself.

TVM's build runs two more lists at the end, one on the functions of the host, one on those
of devices: [tir-finalize-host-passes](passes/tir-finalize-host-passes.md) and
[tir-finalize-device-passes](passes/tir-finalize-device-passes.md).

"""

_RELAX = """
## TVM's default Relax pipelines

`relax-default-pipeline` runs the passes of TVM v0.20's default pipeline for the CPU or,
with `target="cuda"`, for GPUs, as far as they exist: `pipeline=target`, the one of the
target, is what `xdsl_tvm.compile` takes; `default_build` is TVM's `default` and
`default_build`, without fusion; `zero` ends before memory. `xdsl-tvm opt --print-pipeline
-p relax-default-pipeline` prints the list.

{rows}
*Replaced* passes prepare functions for TVM's virtual machine. Here functions become
machine code, and `relax-convert-to-memref` does what they do:

- LowerRuntimeBuiltin: memory, shapes and closures are compiled with the function, not
  calls of a runtime;
- ComputePrimValue and VMShapeLower: symbolic dimensions are integers in registers, which
  are passed with the tensors, computed where they are needed, and checked where types
  meet;
- AttachGlobalSymbol: only public functions are called by name;
- ApplyDefaultSchedule, of TVM's dlight package:
  [tir-inline-blocks](passes/tir-inline-blocks.md) and
  [tir-default-gpu-schedule](passes/tir-default-gpu-schedule.md) are in its place.

The row with *GPU only* does nothing for a CPU.
"""

_ROADS = """
## Roads to machine code

The passes of `xdsl_tvm.lowering.pipelines`. `xdsl_tvm.compile` takes the first of them
with the vectors of the machine (and Relax passes only where a module has Relax
functions), and with `optimize=False` the second, which compiles loops as they are
written, and Relax operators one by one, as the targets of `xdsl-tvm opt -t` do.

- `llvm_pipeline(relax=True, vector_bytes=64)`:
  {optimized}
- `llvm_pipeline(relax=True)`:
  {plain}
- `gpu_pipeline(relax=True)`, then `kernel_pipeline("sm_80")` on the GPU modules, and
  `gpu_host_pipeline()` on the rest ([cuda.md](cuda.md)):
  {gpu}; {kernel}; {host}
"""


def _condition(row: Row) -> str:
    parts = [
        f"`{key}={str(value).lower()}`"
        for key, value in row.options(PassContext()).items()
    ]
    if row.when is not None:
        parts.append(f"with `{row.when}`")
    if row.by_target is not None:
        parts.append("or, where that is not set, for CUDA of `sm_80` or later")
    if row.unless is not None:
        parts.append(f"unless `{row.unless}`")
    return ", ".join(parts)


def _line(number: int, row: Row) -> tuple[str, str, str, str]:
    name = f"[{row.name}](passes/{row.find().name}.md)"
    form = "" if row.form is None else f"[`{row.form}`](tir.md#forms)"
    return str(number), name, _condition(row), form


def _relax_cell(pipeline: str, name: str) -> str:
    """What a pipeline does with a pass: its place in the order, or nothing."""
    names = [row.name for row in RELAX_ROWS[pipeline]]
    return str(names.index(name) + 1) if name in names else ""


def _relax_rows() -> str:
    rows = {row.name: row for name in _RELAX_ORDER for row in RELAX_ROWS[name]}
    pipelines = list(RELAX_ROWS)
    return table(
        ("Pass", *(f"`{name}`" for name in pipelines)),
        (
            (_relax_name(row), *(_relax_cell(each, row.name) for each in pipelines))
            for row in rows.values()
        ),
    )


_RELAX_ORDER = ("cuda", "default_build", "target")


def _relax_name(row: RelaxRow) -> str:
    found = row.find()
    if found is not None:
        return f"[{row.name}](passes/{found.name}.md)"
    if row.replaced:
        return f"{row.name}, *replaced*"
    return f"{row.name}, *{'GPU only' if row.device_only else 'missing'}*"


def _list(text: str) -> str:
    return ",\n  ".join(f"`{name}`" for name in text.split(","))


def pipelines_page() -> str:
    """The text of the page."""
    columns = ("", "Pass", "Options, condition", "Form after it")
    rows = table(columns, (_line(number, row) for number, row in enumerate(ROWS, 1)))
    return f"{_HEAD}{rows}{_RELAX.format(rows=_relax_rows())}" + _ROADS.format(
        optimized=_list(llvm_pipeline(relax=True, vector_bytes=64)),
        plain=_list(llvm_pipeline(relax=True)),
        gpu=_list(gpu_pipeline(relax=True)),
        kernel=_list(kernel_pipeline()),
        host=_list(gpu_host_pipeline()),
    )
