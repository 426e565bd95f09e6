"""Calls of functions by symbol (docs/spec/relax-ir.md §4)."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i64,
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
from xdsl_tvm.dialects.relax.symbolic import DimLike, provably_equal
from xdsl_tvm.dialects.relax.types import TensorInfo, TupleType, verify_type

__all__ = [
    "AnyCallTIROp",
    "CallOp",
    "CallTIRInplaceOp",
    "CallTIROp",
    "CallTIRWithGradOp",
    "MayBeImpure",
    "is_impure",
]


class MayBeImpure(OpTrait):
    """The operation is a call with side effects, always or by its properties.

    An impure call is neither in a dataflow block nor in a pure function.
    """

    def is_impure(self, op: Operation) -> bool:
        """Whether this very call has side effects."""
        return True


def is_impure(op: Operation) -> bool:
    """Whether an operation is a call with side effects."""
    trait = op.get_trait(MayBeImpure)
    return trait is not None and trait.is_impure(op)


class ImpureByProperty(MayBeImpure):
    """The call has side effects exactly if it is marked `impure`."""

    def is_impure(self, op: Operation) -> bool:
        return "impure" in op.properties


_EFFECTS = frozenset(
    (EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE))
)


class EffectsIfImpure(MemoryEffect):
    """The memory effects of `ImpureByProperty`."""

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


class AnyCallTIROp(IRDLOperation, ABC):
    """A call of a TIR function that writes its results into tensors it is given."""

    callee = prop_def(FlatSymbolRefAttrConstr)
    arguments = var_operand_def()
    tir_vars = opt_prop_def(DimsAttr)
    result = result_def()

    custom_directives = (OptionalDims,)

    def _make(
        self,
        callee: str | SymbolRefAttr,
        arguments: Sequence[SSAValue | Operation],
        result_type: Attribute,
        tir_vars: Iterable[DimLike] | DimsAttr | None,
        properties: Mapping[str, Attribute],
    ) -> None:
        if tir_vars is not None and not isinstance(tir_vars, DimsAttr):
            tir_vars = DimsAttr.of(tir_vars)
        super().__init__(
            operands=[arguments],
            result_types=[result_type],
            properties={
                "callee": SymbolRefAttr(callee) if isinstance(callee, str) else callee,
                "tir_vars": tir_vars,
                **properties,
            },
        )

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """The tensors that the function writes, in order."""
        infos = output_infos(self.result.type)
        assert infos is not None, "verified"
        return infos

    @property
    def output_arguments(self) -> tuple[int, ...]:
        """Per output the argument that it is, -1 for a new tensor."""
        return (-1,) * len(self.outputs)

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
class CallTIROp(AnyCallTIROp):
    """Call a TIR function that writes its results into new tensors.

    The function's parameters are the arguments, one buffer per result, and one integer
    per entry of `tir_vars`, symbolic dimensions that no buffer tells. The call is pure:
    it allocates its results. Several results come as a tuple. TVM's `relax.call_tir`.

    ```mlir
    %r = relax.call_tir @scale(%a) [4] : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.call_tir"

    traits = traits_def(Pure())

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
        self._make(callee, arguments, result_type, tir_vars, {})


@irdl_op_definition
class CallTIRWithGradOp(AnyCallTIROp):
    """As `relax.call_tir`, with the name of what computes the gradient.

    `te_grad_name` is that of a registered tensor expression, `te_grad_kwargs` holds its
    further arguments. TVM's `relax.call_tir_with_grad`.

    ```mlir
    %r = relax.call_tir_with_grad @scale(%a) grad "scale_grad" {factor = 2 : i64} :
      (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.call_tir_with_grad"

    te_grad_name = prop_def(StringAttr)
    te_grad_kwargs = prop_def(DictionaryAttr)

    traits = traits_def(Pure())

    assembly_format = (
        "$callee `(` $arguments `)` custom<OptionalDims>($tir_vars) `grad` $te_grad_name"
        " $te_grad_kwargs attr-dict-with-keyword `:`"
        " functional-type($arguments, $result)"
    )

    def __init__(
        self,
        callee: str | SymbolRefAttr,
        arguments: Sequence[SSAValue | Operation],
        result_type: Attribute,
        te_grad_name: str,
        te_grad_kwargs: Mapping[str, Attribute] | None = None,
        tir_vars: Iterable[DimLike] | DimsAttr | None = None,
    ) -> None:
        properties = {
            "te_grad_name": StringAttr(te_grad_name),
            "te_grad_kwargs": DictionaryAttr(te_grad_kwargs or {}),
        }
        self._make(callee, arguments, result_type, tir_vars, properties)


class WritesInPlace(MemoryEffect):
    """Arguments that are outputs are written, all arguments are read."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        """The effects on the arguments."""
        effects = {EffectInstance(MemoryEffectKind.READ)}
        indices = op.properties["inplace_indices"]
        assert isinstance(indices, DenseArrayBase)
        for index in indices.iter_values():
            if 0 <= index < len(op.operands):
                effects.add(EffectInstance(MemoryEffectKind.WRITE, op.operands[index]))
        return effects


def verify_inplace_indices(
    op: IRDLOperation, indices: Sequence[int], arguments: int, outputs: int
) -> None:
    """Check that each output is new or an argument of its own, and one is an argument.

    Raises VerifyException otherwise.
    """
    if len(indices) != outputs:
        raise VerifyException(
            f"{op.name}: {len(indices)} inplace_indices are given for {outputs} outputs"
        )
    used = [index for index in indices if index != -1]
    for index in used:
        if not 0 <= index < arguments:
            raise VerifyException(
                f"{op.name}: there is no argument {index} to write, {arguments} are given"
            )
    if len(set(used)) != len(used):
        raise VerifyException(f"{op.name}: an argument can only be one output")
    if not used:
        raise VerifyException(f"{op.name}: at least one output must be an argument")


@irdl_op_definition
class CallTIRInplaceOp(AnyCallTIROp):
    """Call a TIR function that writes some of its arguments.

    Output `i` is the argument `inplace_indices[i]`, or a new tensor for -1. A written
    argument must not be used any more, under no name: the call counts as pure.
    TVM's `relax.call_tir_inplace`.

    ```mlir
    %r = relax.call_tir_inplace @scale(%a) inplace [0] :
      (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.call_tir_inplace"

    inplace_indices = prop_def(DenseArrayBase.constr(i64))

    traits = traits_def(WritesInPlace())

    assembly_format = (
        "$callee `(` $arguments `)` custom<OptionalDims>($tir_vars)"
        " `inplace` $inplace_indices attr-dict `:`"
        " functional-type($arguments, $result)"
    )

    def __init__(
        self,
        callee: str | SymbolRefAttr,
        arguments: Sequence[SSAValue | Operation],
        result_type: Attribute,
        inplace_indices: Sequence[int],
        tir_vars: Iterable[DimLike] | DimsAttr | None = None,
    ) -> None:
        indices = DenseArrayBase.from_list(i64, inplace_indices)
        properties = {"inplace_indices": indices}
        self._make(callee, arguments, result_type, tir_vars, properties)

    @property
    def output_arguments(self) -> tuple[int, ...]:
        return tuple(self.inplace_indices.get_values())

    def verify_(self) -> None:
        super().verify_()
        indices = self.output_arguments
        verify_inplace_indices(self, indices, len(self.arguments), len(self.outputs))
        for index, output in zip(indices, self.outputs, strict=True):
            if index >= 0:
                self._verify_inplace(index, output)

    def _verify_inplace(self, index: int, output: TensorInfo) -> None:
        info = TensorInfo.of(self.arguments[index].type)
        if (
            info is None
            or info.dtype != output.dtype
            or info.shape is None
            or output.shape is None
            or len(info.shape) != len(output.shape)
            or not all(map(provably_equal, info.shape, output.shape))
        ):
            raise VerifyException(
                f"{self.name}: argument {index} must have the output's shape and dtype, "
                f"{output}, not {self.arguments[index].type}"
            )


@irdl_op_definition
class CallOp(IRDLOperation):
    """Call a function of the module.

    A Relax function accepts and returns values; the call is `impure` exactly if the
    function is. A TIR function is called in destination-passing style: results are among
    the arguments, so the call is `impure` and returns nothing. Only of one that writes
    nothing but its own memory, as a function of scalars, the call may be pure.
    TVM's `Call` of a `GlobalVar`.

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

    traits = traits_def(ImpureByProperty(), EffectsIfImpure())

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
