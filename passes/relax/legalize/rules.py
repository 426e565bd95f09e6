"""The rules of all operators: importing this module registers those of the package."""

from importlib import import_module
from pkgutil import iter_modules

from xdsl_tvm.passes.relax import legalize
from xdsl_tvm.passes.relax.legalize.registry import RULES as RULES

for _module in iter_modules(legalize.__path__, f"{legalize.__name__}."):
    if _module.name != __name__:
        import_module(_module.name)
