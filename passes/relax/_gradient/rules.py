"""The rules of all operators: importing this module registers those of the package."""

from importlib import import_module

from xdsl_tvm.passes.relax import _gradient
from xdsl_tvm.passes.relax._gradient.builder import RULES as RULES
from xdsl_tvm.passes.relax._gradient.builder import TUPLE_RULES as TUPLE_RULES

for _family in ("elementwise", "networks", "tensors", "windows"):
    import_module(f"{_gradient.__name__}.{_family}")
