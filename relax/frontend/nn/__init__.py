"""Models written as classes, TVM's `relax.frontend.nn`: `nn.Module`, `nn.Linear`, ….

    from xdsl_tvm.relax.frontend import nn

    class Model(nn.Module):
        def __init__(self):
            self.fc = nn.Linear(8, 4)

        def forward(self, x: nn.Tensor):
            return nn.op.softmax(self.fc(x))

    x = nn.spec.Tensor(["n", 8], "float32")
    module, params = Model().export_tvm({"forward": {"x": x}})

`nn.op` has the operators, `nn.spec` the types of inputs. What an operator computes is
that of `relax.op`; docs/nn.md shows the use.
"""

import importlib
from typing import Any

from xdsl_tvm.relax.frontend.nn import op, spec
from xdsl_tvm.relax.frontend.nn.core import Module, ModuleList, Mutator, Parameter
from xdsl_tvm.relax.frontend.nn.effects import Effect
from xdsl_tvm.relax.frontend.nn.modules import (
    GELU,
    Attention,
    Conv1D,
    Conv2D,
    Conv3D,
    ConvTranspose1D,
    Embedding,
    GroupNorm,
    Identity,
    IOEffect,
    KVCache,
    LayerNorm,
    Linear,
    MultiLinear,
    ReLU,
    RMSNorm,
    SiLU,
    TimestepEmbedding,
    Timesteps,
)
from xdsl_tvm.relax.frontend.nn.subroutine import SubroutineMixin
from xdsl_tvm.relax.frontend.nn.tensor import (
    Object,
    Tensor,
    get_default_dtype,
    set_default_dtype,
)
from xdsl_tvm.tvm_words import has_word, missing

__all__ = [
    "GELU",
    "Attention",
    "Conv1D",
    "Conv2D",
    "Conv3D",
    "ConvTranspose1D",
    "Effect",
    "Embedding",
    "GroupNorm",
    "IOEffect",
    "Identity",
    "KVCache",
    "LayerNorm",
    "Linear",
    "Module",
    "ModuleList",
    "MultiLinear",
    "Mutator",
    "Object",
    "Parameter",
    "RMSNorm",
    "ReLU",
    "SiLU",
    "SubroutineMixin",
    "Tensor",
    "TimestepEmbedding",
    "Timesteps",
    "get_default_dtype",
    "op",
    "set_default_dtype",
    "spec",
]


def __getattr__(name: str) -> Any:
    # The operators are names of `nn`, too.
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "llm":
        return importlib.import_module(f"{__name__}.llm")
    if has_word("relax.frontend.nn", name):
        raise missing("relax.frontend.nn", name)
    return getattr(op, name)
