"""Parts of large language models, TVM's `relax.frontend.nn.llm`."""

from typing import Any

from xdsl_tvm.relax.frontend.nn.llm import kv_cache
from xdsl_tvm.tvm_words import missing

__all__ = ["kv_cache"]


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise missing("relax.frontend.nn.llm", name)
