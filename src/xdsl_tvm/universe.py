"""What this package adds to every xDSL tool in its environment.

All plugins are loaded by every start of `xdsl-opt`, so this module imports nothing
but xDSL's universe: dialects, passes and targets are imported when they are asked for.
"""

from xdsl.universe import Universe

from xdsl_tvm.registry import all_dialects, all_passes, all_targets

XDSL_TVM_UNIVERSE = Universe(
    all_dialects=all_dialects(),
    all_passes=all_passes(),
    all_targets=all_targets(),
)
