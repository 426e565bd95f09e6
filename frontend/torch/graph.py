"""An exported program without torch: inputs, nodes and outputs as plain values.

`reading.py` makes it of an `ExportedProgram`, and `convert.py` converts it. So what is
converted can be written, and tested, where torch is not installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.interpreters.relax.values import Array

DTYPES = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
)
"""The dtypes that are converted, whose names in torch are TVM's."""

PARTS = {"complex64": "float32", "complex128": "float64"}
"""The dtypes of the parts of complex numbers, which appear within a program only."""

RANDOM = frozenset(
    f"aten.{name}"
    for name in (
        "bernoulli.p",
        "exponential.default",
        "multinomial.default",
        "native_dropout.default",
        "normal.float_float",
        "normal_functional.default",
        "rand.default",
        "rand_like.default",
        "randint.default",
        "randint.low",
        "randint_like.default",
        "randint_like.low_dtype",
        "randn.default",
        "randn_like.default",
        "randperm.default",
        "uniform.default",
    )
)
"""Operators whose results are random, which are converted where a seed is given."""

SKIPPED = frozenset(
    {
        "aten._assert_async.msg",
        "aten._assert_scalar.default",
        "aten._assert_tensor_metadata.default",
        "aten.sym_constrain_range.default",
        "aten.sym_constrain_range_for_size.default",
        "aten.sym_is_contiguous.default",
    }
)
"""Checks of sizes, which follow from the types of the module, and questions that torch
has answered."""


COND = "cond"
"""The target of `torch.cond`: a condition, two graphs as branches, and their inputs."""


@dataclass(frozen=True)
class Ref:
    """The value of an input or of a node, as an argument."""

    name: str


@dataclass(frozen=True)
class TensorMeta:
    """What torch knows of a tensor: dimensions, and the name of the dtype."""

    dims: tuple[Dim, ...]
    dtype: str
    is_contiguous: bool = True
    """Whether the elements are in memory in row-major order, without gaps."""
    layout: str = "strided"


@dataclass(frozen=True)
class Other:
    """What is neither a tensor nor an integer, such as a truth value of sizes."""

    kind: str


Meta: TypeAlias = "TensorMeta | Dim | Other | None"
"""What torch knows of a value; a dimension is a value that is an integer."""


@dataclass(frozen=True)
class GraphNode:
    """A call of an operator.

    `arguments` holds all parameters of the operator's schema by name: `Ref`, numbers,
    dimensions, text, names of dtypes, None, and lists of those.
    """

    name: str
    target: str
    """The operator and its overload, `aten.add.Tensor`; `getitem` is a result's part."""
    arguments: Mapping[str, object]
    result: Meta | Sequence[Meta]
    where: str = ""
    """File and line of the call, where torch knows them."""

    @property
    def is_random(self) -> bool:
        """Whether the result is random, which that of all or no elements is not."""
        if self.target == "aten.native_dropout.default":
            is_plain = self.arguments.get("train") is False
            return not is_plain and self.arguments.get("p") not in (0, 1)
        return self.target in RANDOM

    def __str__(self) -> str:
        at = f" at {self.where}" if self.where else ""
        return f"node '{self.name}' ({self.target}){at}"


@dataclass(frozen=True)
class Input:
    """An input of the graph, which the user passes or the program holds."""

    name: str
    kind: Literal["user", "parameter", "buffer", "constant"]
    meta: Meta
    target: str = ""
    """The name of a parameter or buffer in the module."""
    array: Array | None = None
    """The elements of what the program holds."""


@dataclass(frozen=True)
class Graph:
    """A program: the nodes in their order, and what is returned."""

    inputs: Sequence[Input]
    nodes: Sequence[GraphNode]
    outputs: Sequence[object]
    """Arguments as those of nodes."""
    ranges: Mapping[str, tuple[int, int | None]] = field(
        default_factory=dict[str, "tuple[int, int | None]"]
    )
    """The least and the greatest values of symbols; None is any."""
    mutations: Sequence[tuple[str, object]] = ()
    """The buffers and inputs that the program changes, by the names of their inputs, and
    their new values."""
