"""Calls of functions by symbol (spec relax-ir.md §4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import (
    FlatSymbolRefAttrConstr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    opt_result_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, OpTrait, Pure
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.assembly import OptionalDims
from xdsl_tvm.dialects.relax.attributes import DimsAttr
from xdsl_tvm.dialects.relax.symbolic import DimLike
from xdsl_tvm.dialects.relax.types import TensorInfo, TupleType, verify_type


class MayBeImpure(OpTrait):
    """The operation is a call with side effects, always or by its properties.

    An impure call stands neither in a dataflow block nor in a pure function.
    """

    def is_impure(self, op: Operation) -> bool:
        """Whether this very call has side effects."""
        return True


def is_impure(op: Operation) -> bool:
    """Whether an operation is a call with side effects."""
    trait = op.get_trait(MayBeImpure)
    return trait is not None and trait.is_impure(op)


class _ImpureByProperty(MayBeImpure):
    def is_impure(self, op: Operation) -> bool:
        return "impure" in op.properties


_EFFECTS = frozenset(
    (EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE))
)


class _EffectsIfImpure(MemoryEffect):
    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return _EFFECTS if "impure" in op.properties else frozenset()


def output_infos(type_: Attribute) -> tuple[TensorInfo, ...] | None:
    """The tensors that a call returns: one, or the fields of a tuple.

    None where the type is another one, or a tensor's shape or dtype is unknown.
    """
    types = type_.fields.data if isinstance(type_, TupleType) else (type_,)
    infos = tuple(
        info
        for t in types
        if (info := TensorInfo.of(t)) is not None
        and info.shape is not None
        and info.dtype is not None
    )
    return infos if len(infos) == len(types) else None


@irdl_op_definition
class CallTIROp(IRDLOperation):
    """Call a TIR function that writes its results into new tensors.

    The function's parameters are the arguments, one buffer per result, and one integer
    per entry of `tir_vars`, symbolic dimensions that no buffer tells. The call is pure:
    it allocates its results. Several results come as a tuple. TVM's `relax.call_tir`.

    ```mlir
    %r = relax.call_tir @scale(%a) [4] : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.call_tir"

    callee = prop_def(FlatSymbolRefAttrConstr)
    arguments = var_operand_def()
    tir_vars = opt_prop_def(DimsAttr)
    result = result_def()

    traits = traits_def(Pure())

    custom_directives = (OptionalDims,)
    assembly_format = (
        "$callee `(` $arguments `)` custom<OptionalDims>($tir_vars) attr-dict `:`"
        " functional-type($arguments, $result)"
    )

    def __init__(
        self,
        callee: str | SymbolRefAttr,
        arguments: Sequence[SSAValue | Operation],
        result_type: Attribute,
        tir_vars: Iterable[DimLike] | DimsAttr | None = None,
    ) -> None:
        if tir_vars is not None and not isinstance(tir_vars, DimsAttr):
            tir_vars = DimsAttr.of(tir_vars)
        super().__init__(
            operands=[arguments],
            result_types=[result_type],
            properties={
                "callee": SymbolRefAttr(callee) if isinstance(callee, str) else callee,
                "tir_vars": tir_vars,
            },
        )

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """The tensors that the function writes, in order."""
        infos = output_infos(self.result.type)
        assert infos is not None, "verified"
        return infos

    def verify_(self) -> None:
        verify_type(self.result.type)
        if output_infos(self.result.type) is None:
            raise VerifyException(
                f"{self.name}: the result must be tensors of known shape and dtype, "
                f"not {self.result.type}"
            )
        if self.tir_vars is not None and self.tir_vars.known is None:
            raise VerifyException(f"{self.name}: every tir_vars entry must be known")


@irdl_op_definition
class CallOp(IRDLOperation):
    """Call a function of the module.

    A Relax function takes and returns values; the call is `impure` exactly if the
    function is. A TIR function is called in destination-passing style: results are among
    the arguments, so the call is `impure` and returns nothing. TVM's `Call` of a
    `GlobalVar`.

    ```mlir
    %r = relax.call @layer(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    relax.call impure @scale(%a, %b) : (tensor<4x8xf32>, tensor<4x8xf32>) -> ()
    ```
    """

    name = "relax.call"

    impure = opt_prop_def(UnitAttr)
    callee = prop_def(FlatSymbolRefAttrConstr)
    arguments = var_operand_def()
    result = opt_result_def()

    traits = traits_def(_ImpureByProperty(), _EffectsIfImpure())

    assembly_format = (
        "(`impure` $impure^)? $callee `(` $arguments `)` attr-dict `:`"
        " functional-type($arguments, $result)"
    )

    def __init__(
        self,
        callee: str | SymbolRefAttr,
        arguments: Sequence[SSAValue | Operation],
        result_type: Attribute | None = None,
        impure: bool = False,
    ) -> None:
        super().__init__(
            operands=[arguments],
            result_types=[result_type],
            properties={
                "callee": SymbolRefAttr(callee) if isinstance(callee, str) else callee,
                "impure": UnitAttr() if impure else None,
            },
        )

    @property
    def is_pure(self) -> bool:
        """Whether the call has no side effect."""
        return self.impure is None

    def verify_(self) -> None:
        if self.result is not None:
            verify_type(self.result.type)
        elif self.is_pure:
            raise VerifyException(
                f"{self.name}: a pure call of {self.callee} without a result does nothing"
            )


OPS = (CallTIROp, CallOp)
