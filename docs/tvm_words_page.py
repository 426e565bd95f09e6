"""The page `docs/tvm-words.md`: TVM's names, and why some are not here."""

from __future__ import annotations

import importlib
import importlib.util
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any, Final, NamedTuple

from markdown_parts import table, title

from xdsl_tvm.tvm_words import WORDS, module_of, reason, words

_MEASURED: Final = "27 November 2026"
_ROWS: Final[tuple[tuple[str, int, dict[str, int]], ...]] = (
    ("get_started: quick_start", 17, {}),
    ("get_started: ir_module", 49, {"GPU": 7}),
    ("how_to: e2e_opt_model", 26, {"packages": 6, "tuning": 6, "GPU": 1}),
    (
        "how_to: customize_opt",
        29,
        {"external libraries": 1, "raised by the program": 1, "GPU": 9},
    ),
    (
        "how_to: optimize_llm",
        68,
        {
            "te/topi": 7,
            "GPU": 10,
            "packages": 11,
            "raised by the program": 1,
        },
    ),
    ("how_to: cross_compilation_and_rpc", 27, {"te/topi": 15}),
    ("deep_dive: tir_creation", 34, {"te/topi": 18}),
    ("deep_dive: tir_transformation", 29, {"schedules by hand": 16}),
    ("deep_dive: relax_creation", 30, {"te/topi": 6}),
    ("deep_dive: relax_transformation", 15, {}),
)
"""Statements of TVM's tutorials, and those that do not run by what they need."""

_HEAD: Final = """\
# TVM's words

A Python program of TVM v0.20 runs with its imports changed, as far as it uses names that
are here:

| TVM | here |
|---|---|
| `import tvm` | `import xdsl_tvm as tvm` |
| `from tvm import relax, tir` | `from xdsl_tvm import relax, tir` |
| `from tvm.script import ir as I` | `from xdsl_tvm.script import ir as I` |

```python
import numpy as np

import xdsl_tvm as tvm
from xdsl_tvm import relax
from xdsl_tvm.script import ir as I, relax as R, tir as T


@I.ir_module
class Module:
    @T.prim_func
    def relu(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n, 8), "float32")
        Y = T.match_buffer(y, (n, 8), "float32")
        for i, j in T.grid(n, 8):
            with T.block("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.max(X[vi, vj], T.float32(0))

    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 8), "float32")):
        n = T.int64()
        cls = Module
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.call_tir(cls.relu, (y,), out_sinfo=R.Tensor((n, 8), "float32"))
            R.output(z)
        return z


Module.show()
print(Module.get_global_vars())

target = tvm.target.Target("llvm")
with tvm.transform.PassContext(opt_level=3):
    executable = relax.build(relax.get_pipeline("zero")(Module), target)
vm = relax.VirtualMachine(executable, tvm.cpu())
x = tvm.nd.array(np.ones((2, 4), "float32"))
w = tvm.nd.array(np.full((4, 8), -1, "float32"))
tvm.testing.assert_allclose(vm["main"](x, w).numpy(), np.zeros((2, 8)))
print(vm.time_evaluator("main", tvm.cpu(), number=3)(x, w).mean, "seconds")
```

[examples/tvm_words](../examples/tvm_words/README.md) has longer programs. The commands of
`xdsl-tvm` run a program with TVM's own imports by `--execute`: `import tvm` finds this
package then ([tvmscript.md](tvmscript.md#on-the-command-line)).

## Bring a program

`xdsl-tvm port` runs a program with TVM's own imports statement by statement, and goes on
after one that fails. It lists the statements that did not run, with the error and the
earlier statement that they depend on:

```sh
$ xdsl-tvm port program.py
program.py: 4 statements, 2 run, te/topi 2
  2: from tvm import relax, te
    te/topi: xdsl_tvm has no 'te': there are no tensor expressions; write T.prim_func, …
  3: A = te.placeholder((4,), name="A")
    te/topi, as line 2 did not run: NameError: name 'te' is not defined
```

- An import of several names binds those that are here. A branch at the top of the program
  is followed, and its statements are counted.
- A name that a failed statement was to bind has no value afterwards, unless the statement
  uses it: after a pass that fails, `mod = Pass()(mod)`, the module is what it was before.
- What a statement needs is its class: te/topi, schedules by hand, tuning, external
  libraries, other machines, a GPU, a package that is not installed, or the network.
  `raised by the program` is an error of a `raise` in it. All else is `failed`, and the
  exit status is 1 then.
- `--show-output` shows what the program prints. `-o FILE.py` writes the program with its
  imports changed, and nothing else, and does not run it. `--table` writes a row of the
  table below.

### TVM's tutorials

<!-- tutorials -->
## What is different

- A module is a `builtin.module` of xDSL, and its functions are operations, `tir.func` and
  `relax.func`: what works on those, such as `op.walk()`, works on them, and TVM's methods
  do, too. TVM's objects of statements and bindings are not there. What `tir.Add(x, y)`,
  `tir.Buffer(shape)` and their kin make is an expression of scripts; they are functions,
  not classes, so `isinstance` asks for `tir.PrimExpr`.
- `print(mod)` writes the text of MLIR, `mod.show()` and `mod.script()` TVMScript.
- Modules and functions can be changed. `mod[name] = func` and `update_func` do, and what
  begins with `with_` or `without_` returns a copy. A pass leaves its argument as it is.
- `attrs` are values of Python; `func.params` are values of xDSL, with `name_hint` and
  `type`.
- Compiled functions are machine code: `VirtualMachine` calls them, with `NDArray`s, and
  what returns several values returns a tuple. They take arrays of numpy as well, and of
  any library by DLPack; `executable["main"](x)` returns arrays of numpy.
- Functions of Python that programs call by name are known to modules that are compiled
  after `register_func`. Of TVM's own there is `vm.builtin.reshape`.
- Errors are `ValueError`, `TypeError`, `VerifyException` or `PassFailedException`, of one
  line. A name that is not here is an `AttributeError` that says why.
"""


_PLACE: Final = "<!-- tutorials -->"


class Area(NamedTuple):
    """A page of TVM's documentation, and the words that its programs use."""

    title: str
    words: str


AREAS: Final = (
    Area(
        "get_started: quick start",
        """
        nn.Module nn.Linear nn.ReLU nn.Module.export_tvm nn.spec.Tensor IRModule.show
        relax.get_pipeline tvm.target.Target relax.build tvm.cpu relax.VirtualMachine
        tvm.nd.array VirtualMachine.__getitem__ NDArray.numpy tvm.nd.from_dlpack
        NDArray.to_dlpack
        """,
    ),
    Area(
        "get_started: IRModule",
        """
        relax.frontend.torch.from_exported_program relax.frontend.detach_params
        IRModule.show nn.Module nn.Linear nn.Module.export_tvm nn.spec.Tensor I.ir_module
        R.function R.Tensor R.func_attr R.dataflow R.permute_dims R.matmul R.add R.nn.relu
        R.output IRModule.get_global_vars IRModule.__getitem__ relax.transform.LegalizeOps
        relax.get_pipeline tvm.compile tvm.cpu relax.VirtualMachine tvm.nd.array
        NDArray.numpy tvm.target.Target tvm.dlight.ApplyDefaultSchedule
        tvm.dlight.gpu.Matmul tvm.dlight.gpu.Fallback tvm.device
        """,
    ),
    Area(
        "how_to: end-to-end optimization",
        """
        relax.frontend.torch.from_exported_program relax.frontend.detach_params
        IRModule.show tvm.target.Target relax.get_pipeline IRModule.__getitem__
        relax.Function.show relax.build tvm.device relax.VirtualMachine tvm.nd.array
        NDArray.numpy
        """,
    ),
    Area(
        "how_to: customized optimization",
        """
        tvm.IRModule nn.Module nn.Linear nn.ReLU nn.Module.export_tvm IRModule.show
        tvm.transform.module_pass tvm.transform.PassContext tvm.get_global_func
        relax.backend.get_pattern relax.transform.FuseOpsByPattern
        relax.transform.RunCodegen tvm.cuda tvm.target.Target.from_device
        Target.__enter__ tvm.ir.transform.Sequential relax.get_pipeline
        relax.transform.MetaScheduleTuneTIR relax.transform.MetaScheduleApplyDatabase
        tvm.dlight.ApplyDefaultSchedule tvm.dlight.gpu.Matmul tvm.dlight.gpu.GEMV
        tvm.dlight.gpu.Reduction tvm.dlight.gpu.GeneralReduction tvm.dlight.gpu.Fallback
        relax.build tvm.device relax.VirtualMachine tvm.nd.array NDArray.numpy
        """,
    ),
    Area(
        "how_to: language models",
        """
        tvm.device tvm.target.Target.from_device nn.Module nn.Linear nn.RMSNorm
        nn.Embedding nn.ModuleList nn.Tensor nn.op.split nn.op.silu nn.op.reshape
        nn.op.tensor_expr_op nn.spec.Object nn.spec.ModuleSpec.from_raw
        nn.llm.kv_cache.PagedKVCache nn.llm.kv_cache.TIRPagedKVCache tir.Var
        relax.ShapeExpr relax.PrimValue te.compute relax.Function.script
        relax.register_pipeline relax.get_pipeline tvm.transform.module_pass
        tvm.transform.Sequential relax.transform.FuseTransposeMatmul
        relax.transform.LegalizeOps relax.transform.AnnotateTIROpPattern
        relax.transform.FoldConstant relax.transform.FuseOps relax.transform.FuseTIR
        relax.transform.DeadCodeElimination tvm.dlight.ApplyDefaultSchedule
        relax.transform.RewriteDataflowReshape relax.transform.ToNonDataflow
        relax.transform.RemovePurityChecking relax.transform.CallTIRRewrite
        relax.transform.StaticPlanBlockMemory relax.transform.RewriteCUDAGraph
        relax.transform.LowerAllocTensor relax.transform.KillAfterLastUse
        relax.transform.LowerRuntimeBuiltin relax.transform.VMShapeLower
        relax.transform.AttachGlobalSymbol relax.transform.AttachExternModules tvm.compile
        relax.VirtualMachine tvm.nd.array tvm.runtime.ShapeTuple tvm.get_global_func
        """,
    ),
    Area(
        "how_to: cross compilation and RPC",
        """
        te.placeholder te.compute te.create_prim_func tir.PrimFunc.with_attr
        tvm.IRModule.from_expr tvm.compile Executable.export_library
        tvm.runtime.load_module tvm.rpc.connect tvm.nd.array tvm.cpu
        Executable.time_evaluator BenchmarkResult.mean NDArray.numpy tvm.target.Target
        """,
    ),
    Area(
        "deep_dive: TensorIR creation",
        """
        I.ir_module T.prim_func T.Buffer T.alloc_buffer T.block T.axis.spatial
        T.axis.reduce T.axis.remap T.reads T.writes T.init T.grid T.float32 T.max T.cast
        T.handle T.int32 T.match_buffer tvm.ir.structural_equal tvm.compile tvm.nd.array
        NDArray.numpy tvm.runtime.Module te.placeholder te.reduce_axis te.compute te.sum
        te.max te.create_prim_func tir.PrimFunc.with_attr tvm.IRModule IRModule.show
        """,
    ),
    Area(
        "deep_dive: TensorIR transformation",
        """
        I.ir_module T.prim_func T.func_attr T.block T.reads T.writes T.alloc_buffer T.grid
        tvm.nd.array tvm.tir.build Executable.time_evaluator tvm.cpu tir.Schedule
        IRModule.show
        """,
    ),
    Area(
        "deep_dive: Relax creation",
        """
        I.ir_module R.function R.Tensor R.dataflow R.matmul R.permute_dims R.nn.relu
        R.output T.prim_func T.match_buffer T.grid T.block T.axis.remap R.call_tir
        IRModule.show nn.Module nn.Linear nn.ReLU nn.Module.export_tvm nn.spec.Tensor
        nn.extern nn.Tensor.placeholder nn.tensor_expr_op nn.tensor_ir_op topi.nn.relu
        relax.BlockBuilder T.int64 relax.Var relax.BlockBuilder.function
        relax.BlockBuilder.dataflow relax.BlockBuilder.emit relax.op.matmul
        relax.op.permute_dims relax.op.nn.relu relax.BlockBuilder.emit_output
        relax.BlockBuilder.emit_func_output relax.BlockBuilder.get relax.call_dps_packed
        relax.TensorStructInfo relax.BlockBuilder.emit_te relax.BlockBuilder.add_func
        relax.call_tir
        """,
    ),
    Area(
        "deep_dive: Relax transformation",
        """
        nn.Module nn.Linear nn.Module.export_tvm IRModule.show relax.transform.LegalizeOps
        tvm.ir.transform.Sequential relax.transform.AnnotateTIROpPattern
        relax.transform.FuseOps relax.transform.FuseTIR relax.expr_functor.PyExprMutator
        relax.expr_functor.mutator relax.Call relax.op.nn.gelu tvm.transform.module_pass
        tvm.transform.PassContext IRModule.functions_items relax.Function
        IRModule.update_func
        """,
    ),
    Area(
        "arch: pass infrastructure",
        """
        tvm.transform.PassContext tvm.transform.PassContext.current
        tvm.transform.Sequential tvm.transform.PassInfo tvm.transform.module_pass
        relax.transform.function_pass relax.transform.dataflowblock_pass
        tir.transform.prim_func_pass tvm.transform.PrintIR tvm.instrument.pass_instrument
        tvm.instrument.PassTimingInstrument tvm.instrument.PrintBeforeAll
        tvm.instrument.PrintAfterAll
        """,
    ),
)
"""What the programs of TVM's pages use, by page, in v0.20's words."""

_ROOTS: Final[Mapping[str, str]] = {
    "BenchmarkResult": "xdsl_tvm.runtime.time_evaluator.BenchmarkResult",
    "Executable": "xdsl_tvm.runtime.native.NativeExecutable",
    "I": "xdsl_tvm.script.ir",
    "IRModule": "xdsl_tvm.IRModule",
    "NDArray": "xdsl_tvm.nd.NDArray",
    "R": "xdsl_tvm.script.relax",
    "T": "xdsl_tvm.script.tir",
    "Target": "xdsl_tvm.target.Target",
    "VirtualMachine": "xdsl_tvm.relax.VirtualMachine",
    "nn": "xdsl_tvm.relax.frontend.nn",
    "relax": "xdsl_tvm.relax",
    "te": "xdsl_tvm.te",
    "tir": "xdsl_tvm.tir",
    "topi": "xdsl_tvm.topi",
    "tvm": "xdsl_tvm",
}
"""What the first part of a word stands for."""


_REASONS: Final[Mapping[str, str]] = {
    "relax.BlockBuilder.emit_te": "there are no tensor expressions",
    "relax.transform.AttachExternModules": "external code is not linked",
    "relax.transform.MetaSchedule": "there is no tuning",
    "relax.transform.RunCodegen": "external libraries of kernels are not called",
}
"""Why words that begin so are not here, where the error does not say it."""


def lookup(word: str) -> str | None:
    """What keeps a word of an area from being here, None if it is.

    Raises KeyError for a word that is not here and has no reason.
    """
    first, _, rest = word.partition(".")
    path = f"{_ROOTS[first]}.{rest}" if rest else _ROOTS[first]
    found: Any = importlib.import_module("xdsl_tvm")
    for part in path.split(".")[1:]:
        try:
            found = _part(found, part)
        except AttributeError as error:
            return _why(word, error)
    return None


def _why(word: str, error: AttributeError) -> str:
    _, _, said = str(error).partition(": ")
    if said:
        return said
    for beginning, why in _REASONS.items():
        if word.startswith(beginning):
            return why
    raise KeyError(f"{word} is not here, and has no reason: {error}")


def _part(found: Any, name: str) -> Any:
    try:
        return getattr(found, name)
    except AttributeError:
        if not isinstance(found, ModuleType):
            raise
        path = f"{found.__name__}.{name}"
        if importlib.util.find_spec(path) is None:
            raise
        return importlib.import_module(path)


def area_counts(area: Area) -> tuple[int, int, dict[str, list[str]]]:
    """How many words of an area are here, of how many, and the others by reason."""
    used = list(dict.fromkeys(area.words.split()))
    missing: defaultdict[str, list[str]] = defaultdict(list)
    for word in used:
        if (why := lookup(word)) is not None:
            missing[why].append(word)
    return len(used) - sum(map(len, missing.values())), len(used), dict(missing)


def _area_rows() -> Iterator[tuple[str, str, str]]:
    for area in AREAS:
        here, count, missing = area_counts(area)
        whys = (f"{_code(names)}: {why}" for why, names in missing.items())
        yield area.title, f"{here} of {count}", "; ".join(whys)


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _namespace(name: str) -> str:
    refused: defaultdict[str, list[str]] = defaultdict(list)
    here: list[str] = []
    for word in words(name):
        why = reason(name, word)
        if why is None:
            here.append(word)
        else:
            refused[why].append(word)
    heading = f"### tvm.{name}" if name else "### tvm"
    count = f"{len(here)} of {len(words(name))} names are in `{module_of(name)}`"
    text = f"{heading}\n\n{count}: {_code(here)}.\n\n"
    if refused:
        rows = ((_code(names), why) for why, names in refused.items())
        text += table(("not here", "why"), rows) + "\n"
    return text


def _tutorials() -> str:
    """The table of tutorials, which are not part of this project."""
    rows = [
        (
            name,
            str(count),
            str(count - sum(others.values())),
            ", ".join(f"{kind} {number}" for kind, number in others.items()),
        )
        for name, count, others in _ROWS
    ]
    return (
        "The programs of TVM's pages, in versions near v0.20, as `xdsl-tvm port` ran "
        f"them on\n{_MEASURED}, with PyTorch, and without torchvision, transformers and "
        "a GPU. None of the\nstatements fails for another reason. What the programs "
        "raise is that cuBLAS and the weights\nare missing.\n\n"
        + table(("tutorial", "statements", "run", "others, by what they need"), rows)
    )


def tvm_words_page() -> str:
    """The page: an example, differences, words of tutorials, names by namespace."""
    areas = table(("page", "here", "not here"), _area_rows())
    names = "".join(map(_namespace, WORDS))
    return (
        f"{_HEAD.replace(_PLACE, _tutorials())}{title('By page')}"
        "How many of the words that programs of TVM's pages use are here, and what keeps "
        f"others\nfrom being here.\n\n{areas}{title('By namespace')}"
        f"{names.rstrip()}\n"
    )
