"""The check that the VTCM of a device suffices."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.tir.allocated_bytes import allocated_bytes
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass, PassContext
from xdsl_tvm.passes.tir.rewriting.default_targets import parsed_target

_SCOPE = "global.vtcm"
_CAPACITY = "vtcm-capacity"


@dataclass(frozen=True)
class VerifyVTCMLimit(CompilerPass):
    """Summary: Checks that functions allocate no more VTCM at a time than there is.

    TVM name: tir.VerifyVTCMLimit (v0.20)
    Input form: loops and buffers or later; before LowerVtcmAlloc
    Output form: the same
    Options: `limit`: the target of functions that have none, as `Target.parse` takes it;
        the name is TVM's
    Rewrites: none
    Leaves alone: everything. The capacity is the `vtcm-capacity` of the target, if that
        is positive, else the configuration `tir.vtcm_capacity`; without a positive
        capacity, and for a function without any target, nothing is checked. Memory counts
        from its allocation to the end of the block that holds it; sizes that are no
        constants count as 0. Only the scope `global.vtcm` itself counts. Time is linear
        in the size of the module.
    Errors: a function that allocates more, with both numbers; a target that does not
        parse
    Attributes: read: `target`; created: none; removed: none
    Differs from TVM: nothing
    """

    name = "tir-verify-vtcm-limit"

    limit: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        configured = PassContext.current().config.get("tir.vtcm_capacity", 0)
        assert isinstance(configured, int), "the context checks the types of its options"
        default = parsed_target(self.name, self.limit)
        for func in ops_of(op, tir.FuncOp):
            own = func.attributes.get("target")
            target = own if isinstance(own, tir.Target) else default
            if target is None:
                continue
            capacity = _capacity_of(target) or configured
            used = allocated_bytes(func).get(_SCOPE, 0) if capacity > 0 else 0
            if used > max(capacity, 0):
                raise PassFailedException(
                    f"{func.name} @{func.sym_name.data}: The {_SCOPE} memory allocation "
                    f"limit has been exceeded (allocated: {used}, limit: {capacity}); "
                    "cache less at a time, or raise the capacity of the target"
                )


def _capacity_of(target: tir.Target) -> int:
    """The bytes of VTCM that a target states, 0 where it states none."""
    if _CAPACITY not in target.kind.options:
        return 0
    return max(0, target.int_attr(_CAPACITY, 0))
