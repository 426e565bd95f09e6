"""TVM's `tvm.tir.transform`: the passes of `xdsl_tvm.passes.tir` by TVM's names.

from xdsl_tvm.tir.transform import LowerInitBlock, prim_func_pass
"""

from collections.abc import Callable

from xdsl_tvm.passes import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir import Apply as Apply
from xdsl_tvm.passes.tir import Filter as Filter
from xdsl_tvm.passes.tir import prim_func_pass as prim_func_pass


def __getattr__(name: str) -> Callable[..., CompilerPass]:
    return getattr(tir, name)
