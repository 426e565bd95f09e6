"""Patterns by name, for `relax.transform.FuseOpsByPattern`."""

from xdsl_tvm.analysis.relax.dataflow_patterns.fusion import (
    get_pattern,
    get_patterns_with_prefix,
    register_patterns,
)

__all__ = ["get_pattern", "get_patterns_with_prefix", "register_patterns"]
