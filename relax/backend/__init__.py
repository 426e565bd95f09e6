"""What code generators are told of: `relax.backend.pattern_registry` of TVM."""

from xdsl_tvm.relax.backend.pattern_registry import (
    get_pattern,
    get_patterns_with_prefix,
    register_patterns,
)

__all__ = ["get_pattern", "get_patterns_with_prefix", "register_patterns"]
