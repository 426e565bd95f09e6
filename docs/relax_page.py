"""The page `relax.md`: the dialect, from the docstrings and definitions of its ops.

The examples of the ops are run by `tests/unit/dialects/relax/test_ops.py`, those of the
introduction by `tests/unit/dialects/relax/test_page.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from dialect_parts import (
    attribute_section,
    effects,
    links,
    parents,
    prose_and_example,
)
from markdown_parts import table, title
from xdsl.ir import TypeAttribute
from xdsl.irdl import IRDLOperation
from xdsl.traits import (
    ConstantLike,
    HasCanonicalizationPatternsTrait,
    HasFolder,
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoMemoryEffect,
    OpTrait,
    Pure,
    RecursivelySpeculatable,
    RecursiveMemoryEffect,
    ReturnLike,
    SymbolOpInterface,
    SymbolUserOpInterface,
)

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.function_like import FunctionLike
from xdsl_tvm.dialects.relax import types
from xdsl_tvm.dialects.relax.calls import (
    EffectsIfImpure,
    ImpureByProperty,
    MayBeImpure,
    WritesInPlace,
)
from xdsl_tvm.dialects.relax.memory import AllocatesResult, EndsLife
from xdsl_tvm.dialects.relax.operators import OperatorOp
from xdsl_tvm.dialects.relax.packed import MakesObjects
from xdsl_tvm.dialects.relax.signatures import OPERATORS
from xdsl_tvm.passes.relax.legalize.registry import REWRITES, RULES

_HEAD = '''\
# The Relax dialect

Written by `make docs` from the docstrings and definitions in `dialects/relax/`; the
examples are run by the tests. Elsewhere:

- [builder.md](builder.md#relax): programs built in Python;
- [tvmscript.md](tvmscript.md): programs in TVM's own syntax;
- [passes](passes): the passes, a page each.

## A program

A function computes a value from tensors, shapes, numbers and tuples of them. This one
works for any number of rows, `n`:

```python
import numpy as np
from xdsl.parser import Parser

import xdsl_tvm
from xdsl_tvm.registry import new_context

text = """
!rows = tensor<?x4xf32, #relax.dims<[n, 4]>>
!scores = tensor<?x3xf32, #relax.dims<[n, 3]>>

relax.func @main<n>(%x: !rows, %w: tensor<4x3xf32>) -> !scores
    attributes {global_symbol = "main"} {
  %y = relax.dataflow -> (!scores) {
    %h = relax.matmul %x, %w : (!rows, tensor<4x3xf32>) -> !scores
    %s = relax.nn.softmax %h axis -1 : (!scores) -> !scores
    relax.output %s : !scores
  }
  relax.return %y : !scores
}
"""
x, w = np.eye(2, 4, dtype=np.float32), np.ones((4, 3), np.float32)

module = Parser(new_context(), text).parse_module()
np.testing.assert_allclose(xdsl_tvm.interpret(module)["main"](x, w), 1 / 3, rtol=1e-6)
np.testing.assert_allclose(xdsl_tvm.compile(text)["main"](x, w), 1 / 3, rtol=1e-6)
```

- **Tensors** are builtin tensors. A dimension that is no number is a symbol or an
  expression of symbols in the encoding, `#relax.dims`, and `?` in the shape; `?` in both
  is unknown.
- **Symbols** belong to a function. A parameter defines those that are dimensions of its
  type by themselves, and `relax.match_cast` defines more, checked when the program runs.
  They are never negative.
- **Operators** are pure. The type of a result follows from operands and attributes; a
  result may be declared with a less precise type, or one that is more precise where
  nothing proves it wrong.
- **Dataflow** blocks hold no control flow and nothing that has effects, so passes may
  move and merge what is in them. `relax.output` says what is visible after one.
- **Purity.** A function is pure unless `impure` is written, and a pure one makes no
  impure call.
- **Kernels** are functions of TIR that `relax.call_tir` calls; `relax-legalize-ops` makes
  them of operators. They take integers for symbols that no buffer tells.
- **Memory** is implicit until `relax-call-tir-rewrite` allocates tensors,
  `relax-static-plan-block-memory` lets them share storages, and
  `relax-kill-after-last-use` ends their lives.

Constants may be shared, and stock `cse` and `dce` may run at any time. Ops that these
must leave alone say so by their effects.

## Types

'''
_TYPES = """
Of two types, one may contain the other: a tensor of unknown shape contains all tensors
of its dtype, and `!relax.object` everything. `xdsl_tvm.dialects.relax.algebra` compares
them (`base_check`, `is_base_of`), finds the least type that contains two (`common_base`),
and takes symbols out of one that leaves their scope (`erase_symbols`).
"""
_OPERATORS = """
Each operator is a function of [the builder](builder.md#relax), shown with its
parameters, and of TVMScript. Operands of different but known dtypes are an error where
nothing else is said, and so are dimensions that are provably different. Where TVM fails
on an operand of unknown rank, the result is unknown. Dimensions count as different if the
difference of their expressions has a sign; that `2 * n` is not 1 is not seen.

Results are numpy's on NaN, infinities, zeros and the limits of dtypes, as far as an
operator does not say otherwise: NaN propagates, `maximum`, `max` and `clip` included, and
is the greatest element of a sort. The sign of a zero that is the greater or lesser of two
zeros is not specified. Arithmetic on integers wraps around, but what TIR leaves undefined
stays so for signed integers of 32 and 64 bits: LLVM may use that sums and products do not
overflow. Shifts are by 0 to the width of the dtype less 1. Indices and divisors that
operators cannot compute with are errors of the call in compiled code and of the
interpreter alike, which name the operator
([`relax-insert-operand-checks`](passes/relax-insert-operand-checks.md)). The interpreter
computes floats in f64 and rounds once where code rounds each step: what overflows in
between differs. In compiled code `sin`, `cos` and `tan` of an f64 beyond 2^45 are NaN,
and `argmax` and `argmin` of no elements are 0, which is an error of the interpreter.

"""
_RULES = """\
Functions verify their symbols, that values are defined before their uses, purity and
calls, and operators their results. What well-formed programs keep to besides, such as
that nothing uses a tensor whose life has ended, is checked by
[`relax-verify-well-formed`](passes/relax-verify-well-formed.md).
"""

Op: TypeAlias = type[IRDLOperation]
_MODULES: dict[str, tuple[str, ...]] = {
    "Functions and control flow": ("functions", "lambdas"),
    "Values": ("values",),
    "Calls": ("calls", "packed"),
    "Memory": ("memory", "vm"),
    "At run time": ("runtime", "inspect"),
    "Arithmetic": ("unary", "elementwise", "logic", "ternary"),
    "Creation": ("creation", "datatype"),
    "Shapes and places": ("manipulate", "layout_transform", "indexing", "gather"),
    "Reductions and sorting": ("reductions", "sorting"),
    "Linear algebra": ("linear_algebra",),
    "Neural networks": (
        *("nn", "activations", "convolution", "pooling", "normalization"),
        *("attention", "losses"),
    ),
    "Images, quantization, devices, gradients": (
        *("image", "quantize", "collective", "gradient"),
    ),
}
"""The Python modules whose operations are in each section."""


def relax_page() -> str:
    """The text of the page. Raises ValueError if an op is in no section."""
    groups = {name: _ops_of(modules) for name, modules in _MODULES.items()}
    if sum(map(len, groups.values())) != len(list(relax.Relax.operations)):
        raise ValueError("docs/relax_page.py: _MODULES must name every module with ops")
    parts = [_HEAD, _types_table(), _TYPES]
    attributes = sorted(
        relax.Relax.attributes, key=lambda one: not issubclass(one, TypeAttribute)
    )
    parts += map(attribute_section, attributes)
    parts += [title("Operations"), _OPERATORS, _index(groups), _without_kernels(groups)]
    for name, ops in groups.items():
        parts += [title(name), *map(_op, ops)]
    parts += [title("Rules"), _RULES]
    return re.sub("\n{3,}", "\n\n", "".join(parts))


def _ops_of(modules: Sequence[str]) -> list[Op]:
    return [
        op
        for module in modules
        for op in relax.Relax.operations
        if issubclass(op, IRDLOperation) and op.__module__.split(".")[-1] == module
    ]


def _types_table() -> str:
    """How TVM's struct infos are written, as the docstring of `types` says."""
    text = types.__doc__ or ""
    return "\n".join(line for line in text.splitlines() if line.startswith("|")) + "\n"


def _index(groups: dict[str, list[Op]]) -> str:
    return table(("Group", "Operations"), [(k, links(v)) for k, v in groups.items()])


def _without_kernels(groups: dict[str, list[Op]]) -> str:
    """The operators that no TIR function computes."""
    operators = [
        op for ops in groups.values() for op in ops if issubclass(op, OperatorOp)
    ]
    left = [op for op in operators if op not in RULES and op not in REWRITES]
    return (
        "\n`relax-legalize-ops` makes TIR functions of operators, but for these: "
        f"{links(left)}. Of them, `inspect`, shapes and views are part of the code "
        "around the kernels; the others are for passes, and only the interpreter runs "
        "them. So it is with `relax.unique` and `relax.nonzero`, of whose results an "
        "extent is known at run time only.\n"
    )


def _op(op: Op) -> str:
    prose, example = prose_and_example(op)
    around = [f"`{name}`" for name in parents(op)]
    words = [effects(op, _TRAITS)]
    if around:
        words.append(f"Stands in {' or '.join(around)}.")
    call = OPERATORS.get(op.name.removeprefix("relax."))
    if call is not None:
        prose += f"Python: `relax.op.{call}`.\n"
    facts = " ".join(filter(None, words))
    return f"\n### {op.name}\n\n{prose}{facts}\n\n{example}\n"


_TRAITS: dict[type[OpTrait], str] = {
    Pure: "",
    NoMemoryEffect: "May be merged and dropped; may fail, so not moved before a "
    "condition.",
    ImpureByProperty: "Has effects if it is marked `impure`.",
    MayBeImpure: "Has effects.",
    EffectsIfImpure: "",
    WritesInPlace: "Reads its arguments and writes some of them.",
    AllocatesResult: "The result is new memory.",
    MakesObjects: "",
    EndsLife: "Ends the life of its operand.",
    MemoryReadEffect: "Reads memory.",
    MemoryWriteEffect: "Writes memory.",
    RecursiveMemoryEffect: "Has the effects of what its regions hold.",
    RecursivelySpeculatable: "",
    IsTerminator: "Ends its region.",
    ReturnLike: "",
    ConstantLike: "A constant.",
    HasFolder: "Folds.",
    HasCanonicalizationPatternsTrait: "Has canonicalization patterns.",
    IsolatedFromAbove: "Uses no value from outside.",
    SymbolOpInterface: "A symbol of the module.",
    SymbolUserOpInterface: "The symbol must be in the module.",
    FunctionLike: "",
    HasParent: "",
}
"""What traits mean for a user; the first class that fits a trait counts. Most ops are
pure, which is not said."""
