"""Calls: TIR's builtins by name, and functions of the module.

One table says what each builtin may do (spec `tir-builtins.md`); ops that passes match
have classes of their own elsewhere (`tir.if_then_else`, `tir.address_of`, `tir.ret`).
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import IntEnum

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_result_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    SymbolTable,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tir.effects import MARKER, PURE, READ, UPDATE, UpdateEffect
from xdsl_tvm.dialects.tir.expressions import require_expression
from xdsl_tvm.dialects.tir.functions import FuncOp


class CallEffect(IntEnum):
    """TVM's call effect kinds, in its order (spec tir-ir.md §4.1)."""

    EXPR_ANNOTATION = 0
    """A hint; the value is the operand."""
    PURE = 1
    READ_STATE = 2
    UPDATE_STATE = 3
    SPECIAL_CALL_ARG = 4
    """Means something as operand of another call only."""
    EMBED_INFO = 5
    """Carries facts, without an effect at run time."""
    CONTROL_JUMP = 6


@dataclass(frozen=True)
class Intrinsic:
    """What is known of a builtin: its effect, and whether it works lane by lane."""

    effect: CallEffect
    vectorizable: bool = False


def _table() -> dict[str, Intrinsic]:
    pure, update = CallEffect.PURE, CallEffect.UPDATE_STATE
    table: dict[str, Intrinsic] = {}

    def add(names: str, effect: CallEffect, *, vectorizable: bool = False) -> None:
        for name in names.split():
            table[name] = Intrinsic(effect, vectorizable)

    add(
        "bitwise_and bitwise_or bitwise_xor bitwise_not shift_left shift_right popcount "
        "fma q_multiply_shift q_multiply_shift_per_axis exp exp2 exp10 log log2 log10 "
        "sqrt sigmoid tanh sin cos tan sinh cosh floor ceil round trunc fabs pow "
        "call_llvm_pure_intrin",
        pure,
        vectorizable=True,
    )
    add(
        "clz large_uint_imm reinterpret dp4a isnan isnullptr ignore_loop_partition "
        "tvm_thread_invariant log1p erf rsqrt asin acos atan asinh acosh atanh nearbyint "
        "fmod atan2 hypot copysign nextafter ldexp type_annotation call_pure_extern "
        "call_spirv_pure_glsl450 tvm_check_return ptx_ldg32 vectorlow vectorhigh "
        "vectorcombine vscale get_active_lane_mask",
        pure,
    )
    add("likely", CallEffect.EXPR_ANNOTATION, vectorizable=True)
    add("assume tvm_tuple", CallEffect.EMBED_INFO)
    add("tvm_access_ptr tvm_static_handle", CallEffect.SPECIAL_CALL_ARG)
    add(
        "undef tvm_struct_get tvm_context_id anylist_getitem tvm_load_matrix_sync",
        CallEffect.READ_STATE,
    )
    add(
        "tvm_struct_set tvm_stack_alloca tvm_stack_make_shape tvm_stack_make_array "
        "lookup_param nd_mem_alloc_with_scope texture2d_store texture2d_load prefetch "
        "dma_copy dma_wait dma_start_group dma_end_group TVMBackendAllocWorkspace "
        "TVMBackendFreeWorkspace call_extern call_llvm_intrin tvm_call_packed "
        "tvm_call_cpacked tvm_call_trace_packed tvm_call_packed_lowered "
        "tvm_call_cpacked_lowered tvm_call_trace_packed_lowered tvm_throw_last_error "
        "tvm_thread_context start_profile_intrinsic end_profile_intrinsic "
        "anylist_resetitem anylist_setitem_call_packed anylist_setitem_call_cpacked "
        "TVMBackendAnyListSetPackedArg TVMBackendAnyListMoveFromPackedReturn "
        "tvm_storage_sync tvm_warp_shuffle tvm_warp_shuffle_up tvm_warp_shuffle_down "
        "tvm_warp_activemask cuda.__shfl_sync cuda.__shfl_up_sync cuda.__shfl_down_sync "
        "cuda.__activemask metal.simd_shuffle metal.simd_shuffle_up "
        "metal.simd_shuffle_down tvm_thread_allreduce tvm_global_barrier_kinit "
        "atomic_add tvm_store_matrix_sync tvm_fill_fragment tvm_mma_sync tvm_bmma_sync "
        "ptx_mma ptx_mma_sp ptx_ldmatrix mma_store mma_fill ptx_cp_async "
        "ptx_cp_async_bulk ptx_commit_group ptx_wait_group ptx_cp_async_barrier "
        "create_barriers ptx_init_barrier_thread_count ptx_arrive_barrier "
        "ptx_arrive_barrier_expect_tx ptx_wait_barrier",
        update,
    )
    return table


INTRINSICS = _table()
"""The builtins by TVM name, without its `tir.` prefix.

`start_profile_intrinsic` and `end_profile_intrinsic` count as updates, though TVM
registers them as pure: reading a clock twice must not be merged into one. So does
`cuda.__activemask`, whose value depends on where it stands.
"""

_EFFECTS: dict[CallEffect, AbstractSet[EffectInstance]] = {
    CallEffect.EXPR_ANNOTATION: PURE,
    CallEffect.PURE: PURE,
    CallEffect.READ_STATE: READ,
    CallEffect.UPDATE_STATE: UPDATE,
    CallEffect.SPECIAL_CALL_ARG: PURE,
    CallEffect.EMBED_INFO: MARKER,
    CallEffect.CONTROL_JUMP: UPDATE,
}


class IntrinsicEffect(MemoryEffect):
    """The effect that the table gives to the builtin a `tir.call` names."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        assert isinstance(op, CallOp)
        known = INTRINSICS.get(op.callee.data)
        return UPDATE if known is None else _EFFECTS[known.effect]


@irdl_op_definition
class CallOp(IRDLOperation):
    """A call of a builtin, named without TVM's `tir.` prefix.

    The result type is the call's dtype; a call of dtype void has no result. String
    operands are `tir.string` values. A name that the table of builtins does not list is
    taken to read and write memory.

    ```mlir
    %1 = tir.call "exp"(%0) : (f32) -> f32
    tir.call "tvm_storage_sync"(%scope) : (!tir.handle) -> ()
    ```
    """

    name = "tir.call"

    callee = prop_def(StringAttr)
    args = var_operand_def()
    result = opt_result_def()

    assembly_format = (
        "$callee `(` $args `)` attr-dict `:` functional-type($args, results)"
    )

    traits = traits_def(IntrinsicEffect())

    def __init__(
        self,
        callee: str | StringAttr,
        args: Sequence[SSAValue | Operation],
        result_type: Attribute | None = None,
    ) -> None:
        super().__init__(
            operands=[args],
            properties={
                "callee": StringAttr(callee) if isinstance(callee, str) else callee
            },
            result_types=[result_type],
        )

    def verify_(self) -> None:
        name = self.callee.data
        if not name or name.startswith("tir."):
            raise VerifyException(
                'tir.call: name the builtin without the prefix, as in "exp", got '
                f"{self.callee}"
            )
        if self.result is not None:
            require_expression(self, self.result.type)


class _CalleeExists(SymbolUserOpInterface):
    def verify(self, op: Operation) -> None:
        assert isinstance(op, CallFuncOp)
        callee = SymbolTable.lookup_symbol(op, op.callee)
        if callee is None:
            raise VerifyException(f"tir.call_func: no function {op.callee} in the module")
        if not isinstance(callee, FuncOp):
            return
        inputs = tuple(arg.type for arg in op.args)
        outputs = tuple(result.type for result in op.results)
        expected = callee.function_type
        if inputs != expected.inputs.data or outputs != expected.outputs.data:
            raise VerifyException(
                f"tir.call_func: {op.callee} has type {expected}, called with "
                f"({', '.join(map(str, inputs))}) -> ({', '.join(map(str, outputs))})"
            )


@irdl_op_definition
class CallFuncOp(IRDLOperation):
    """A call of a function of the module: a `Call` whose op is a `GlobalVar`.

    ```mlir
    tir.call_func @kernel(%p, %n) : (!tir.ptr<f32>, i32) -> ()
    ```
    """

    name = "tir.call_func"

    callee = prop_def(SymbolRefAttr)
    args = var_operand_def()
    result = opt_result_def()

    assembly_format = (
        "$callee `(` $args `)` attr-dict `:` functional-type($args, results)"
    )

    traits = traits_def(UpdateEffect(), _CalleeExists())

    def __init__(
        self,
        callee: str | SymbolRefAttr,
        args: Sequence[SSAValue | Operation],
        result_type: Attribute | None = None,
    ) -> None:
        super().__init__(
            operands=[args],
            properties={
                "callee": SymbolRefAttr(callee) if isinstance(callee, str) else callee
            },
            result_types=[result_type],
        )
