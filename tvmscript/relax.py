"""The vocabulary of Relax in scripts: `from xdsl_tvm.tvmscript import relax as R`.

`R.function` reads the Python function that it decorates. The annotations (`R.Tensor`,
`R.Shape`, …) are here by name; operators and calls, such as `R.add`, `R.nn.conv2d` and
`R.call_tir`, are found by their names in TVM, which are those of the dialect's ops. They
make operations while a function is read, and cannot be called outside of one.
"""

from __future__ import annotations

from xdsl_tvm.dialects.tir.storage_scope import did_you_mean as _did_you_mean
from xdsl_tvm.tvmscript.decorators import function as function
from xdsl_tvm.tvmscript.decorators import macro as macro
from xdsl_tvm.tvmscript.decorators import rewriter as rewriter
from xdsl_tvm.tvmscript.nodes import relax_types as _relax_types
from xdsl_tvm.tvmscript.reading.relax_body import DataflowFrame as _DataflowFrame
from xdsl_tvm.tvmscript.reading.relax_values import const as const
from xdsl_tvm.tvmscript.reading.relax_values import const_data as const_data
from xdsl_tvm.tvmscript.reading.relax_vocabulary import vocabulary as _vocabulary
from xdsl_tvm.tvmscript.reading.rules import Namespace as _Namespace

Tensor = _relax_types.Tensor
Shape = _relax_types.Shape
Prim = _relax_types.Prim
Tuple = _relax_types.Tuple
Callable = _relax_types.Function
Object = Any = _relax_types.Object


def dataflow() -> _DataflowFrame:
    """A dataflow block: `with R.dataflow():`, ending with `R.output(...)`."""
    return _DataflowFrame()


def _find(name: str) -> object:
    known = _vocabulary()
    if name in known:
        return known[name]
    if any(each.startswith(f"{name}.") for each in known):
        return _Namespace(f"{name}.", _find, _names_after(f"{name}."))
    hint = _did_you_mean(name, sorted({*known, *_NAMES}))
    raise AttributeError(f"R has no {name}{hint}")


def _names_after(prefix: str) -> list[str]:
    return [name[len(prefix) :] for name in _vocabulary() if name.startswith(prefix)]


_NAMES = tuple(name for name in globals() if not name.startswith("_"))


def __getattr__(name: str) -> object:
    if name.startswith("_"):
        raise AttributeError(f"R has no {name}")
    return _find(name)


def __dir__() -> list[str]:
    return sorted({*_NAMES, *(name.partition(".")[0] for name in _vocabulary())})
