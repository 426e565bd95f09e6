"""`tvm_llvm`: the LLVM operations that xDSL's llvm dialect lacks or holds in part.

Every operation is upstream's `llvm.<name>` under the prefix `tvm_llvm.`, with the
operands, properties and syntax of upstream, so that printing one for MLIR is a change
of prefix. Use xDSL's own llvm operation wherever it says all that is needed; the ones
here add:

- casts: `fptosi`, `fptoui`, `uitofp`, `addrspacecast`;
- values: `freeze`, `mlir.poison`, `extractelement`, `select` with a vector condition,
  `icmp` on pointers, `fcmp` on vectors and with fast-math flags that are kept;
- memory: `load` and `store` with orderings, scopes, volatile, nontemporal, invariant
  and alias scopes; `atomicrmw`, `cmpxchg`, `fence`;
- control: `switch`;
- `call_intrinsic`, whose memory effects are known for the intrinsics listed in
  `PURE_INTRINSICS`.

Two attributes carry metadata: `#tvm_llvm.loop` (under the key `tvm_llvm.loop` of the
branch that closes a loop) and `#tvm_llvm.alias_scope`.

Sources: the LLVM Language Reference for LLVM 22 and MLIR's LLVM dialect.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    I64,
    ArrayAttr,
    BFloat16Type,
    DenseArrayBase,
    DictionaryAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    Float80Type,
    Float128Type,
    IntegerAttr,
    IntegerType,
    SignlessIntegerConstraint,
    StringAttr,
    UnitAttr,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.dialects.llvm import (
    FastMathAttr,
    FCmpPredicateFlag,
    ICmpPredicateFlag,
    LLVMPointerType,
    LLVMStructType,
    is_compatible_type,
)
from xdsl.ir import (
    Attribute,
    Block,
    Dialect,
    Operation,
    ParametrizedAttribute,
    SSAValue,
)
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    result_def,
    successor_def,
    traits_def,
    var_operand_def,
    var_successor_def,
)
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    NoMemoryEffect,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

ORDERINGS: dict[str, int] = {
    "not_atomic": 0,
    "unordered": 1,
    "monotonic": 2,
    "acquire": 4,
    "release": 5,
    "acq_rel": 6,
    "seq_cst": 7,
}
"""Atomic orderings and the integers that properties hold (MLIR's numbering)."""

ORDERING_NAMES: dict[int, str] = {value: name for name, value in ORDERINGS.items()}

ATOMIC_BIN_OPS: tuple[str, ...] = (
    "xchg",
    "add",
    "sub",
    "_and",
    "nand",
    "_or",
    "_xor",
    "max",
    "min",
    "umax",
    "umin",
    "fadd",
    "fsub",
    "fmax",
    "fmin",
    "uinc_wrap",
    "udec_wrap",
)
"""Names of `atomicrmw` operations; the position is the value of `bin_op` (MLIR's)."""

_FLOAT_ATOMICS = frozenset({"fadd", "fsub", "fmax", "fmin"})

_PURE = """
    abs smax smin umax umin bswap bitreverse ctpop ctlz cttz fshl fshr
    sadd.sat uadd.sat ssub.sat usub.sat sshl.sat ushl.sat
    sadd.with.overflow uadd.with.overflow ssub.with.overflow usub.with.overflow
    smul.with.overflow umul.with.overflow
    fabs fma fmuladd sqrt exp exp2 exp10 log log2 log10 pow powi ldexp frexp
    sin cos tan asin acos atan atan2 sinh cosh tanh
    floor ceil trunc rint nearbyint round roundeven copysign is.fpclass
    minnum maxnum minimum maximum minimumnum maximumnum canonicalize
    vector.reduce.add vector.reduce.mul vector.reduce.and vector.reduce.or
    vector.reduce.xor vector.reduce.smax vector.reduce.smin vector.reduce.umax
    vector.reduce.umin vector.reduce.fadd vector.reduce.fmul vector.reduce.fmax
    vector.reduce.fmin vector.reduce.fmaximum vector.reduce.fminimum
    stepvector vscale get.active.lane.mask expect
    nvvm.ex2.approx.f nvvm.ex2.approx.ftz.f nvvm.lg2.approx.f nvvm.lg2.approx.ftz.f
    nvvm.rcp.approx.ftz.f nvvm.sqrt.approx.f nvvm.rsqrt.approx.f nvvm.sin.approx.f
    nvvm.cos.approx.f
"""

PURE_INTRINSICS: frozenset[str] = frozenset(f"llvm.{name}" for name in _PURE.split())
"""Intrinsics, without overload suffix, that neither touch memory nor trap."""


LLVM_FLOATS: tuple[type[Attribute], ...] = (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    Float80Type,
    Float128Type,
)
"""The float types that LLVM has."""


def is_pure_intrinsic(name: str) -> bool:
    """Whether `name`, with or without overload suffixes, touches no memory."""
    while name.count(".") > 1:
        if name in PURE_INTRINSICS:
            return True
        name = name.rpartition(".")[0]
    return name in PURE_INTRINSICS


def scalar_type(type: Attribute) -> Attribute:
    """The element type of a vector type; any other type as it is."""
    if isinstance(type, VectorType):
        return cast("VectorType[Attribute]", type).element_type
    return type


_READ = frozenset({EffectInstance(MemoryEffectKind.READ)})
_WRITE = frozenset({EffectInstance(MemoryEffectKind.WRITE)})
_READ_WRITE = _READ | _WRITE


class _OrderedEffect(MemoryEffect):
    """Effects of one access; an ordered or volatile one also orders its neighbours."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        ordering = op.properties.get("ordering")
        atomic = isinstance(ordering, IntegerAttr) and ordering.value.data != 0
        if atomic or "volatile_" in op.properties:
            return _READ_WRITE
        return _READ if isinstance(op, LoadOp) else _WRITE


class ReadWriteEffect(MemoryEffect):
    """Reads and writes memory, or orders the accesses around it."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return _READ_WRITE


class _IntrinsicEffect(MemoryEffect):
    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        name = op.properties.get("intrin")
        if isinstance(name, StringAttr) and is_pure_intrinsic(name.data):
            return frozenset()
        return _READ_WRITE


# ------------------------------------------------------------------ attributes

_LOOP_FLAGS = frozenset(
    {
        "mustprogress",
        "unroll.disable",
        "unroll.enable",
        "unroll.full",
        "unroll_and_jam.disable",
        "unroll_and_jam.enable",
        "licm.disable",
        "distribute.enable",
        "vectorize.enable",
        "vectorize.predicate.enable",
        "vectorize.scalable.enable",
    }
)
_LOOP_COUNTS = frozenset(
    {"unroll.count", "unroll_and_jam.count", "vectorize.width", "interleave.count"}
)
_LOOP_BOOLS = frozenset(
    {
        "distribute.enable",
        "vectorize.enable",
        "vectorize.predicate.enable",
        "vectorize.scalable.enable",
    }
)


@irdl_attr_definition
class LoopAttr(ParametrizedAttribute):
    """Hints for the loop that a branch closes, as `llvm.loop.*` metadata.

    `#tvm_llvm.loop<{unroll.count = 4 : i64, vectorize.enable = true}>`. Keys are the
    metadata names without `llvm.loop.`; counts are positive `i64`, the `vectorize.*`
    and `distribute.*` switches are booleans, the rest are unit attributes. Placed under
    the key `tvm_llvm.loop` of the back-edge branch.
    """

    name = "tvm_llvm.loop"

    hints: DictionaryAttr

    def verify(self) -> None:
        for key, value in self.hints.data.items():
            if key in _LOOP_COUNTS:
                if not isinstance(value, IntegerAttr) or value.value.data < 1:
                    raise VerifyException(
                        f"loop hint '{key}' must be a positive integer, got {value}"
                    )
            elif key in _LOOP_BOOLS:
                if (
                    not isinstance(value, IntegerAttr)
                    or cast(Attribute, value.type) != i1
                ):
                    raise VerifyException(
                        f"loop hint '{key}' must be true or false, got {value}"
                    )
            elif key not in _LOOP_FLAGS:
                raise VerifyException(f"unknown loop hint '{key}'")
            elif not isinstance(value, UnitAttr):
                raise VerifyException(f"loop hint '{key}' takes no value, got {value}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [DictionaryAttr(parser.parse_optional_dictionary_attr_dict())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attr_dict(self.hints.data)


@irdl_attr_definition
class AliasScopeAttr(ParametrizedAttribute):
    """A set of memory accesses, for the type `!alias.scope` and `!noalias` metadata.

    `#tvm_llvm.alias_scope<"A", "kernel">`: scope `A` of the domain `kernel`. Two scopes
    are the same exactly if both names agree.
    """

    name = "tvm_llvm.alias_scope"

    scope: StringAttr
    domain: StringAttr


def _verify_alignment(alignment: IntegerAttr | None) -> None:
    if alignment is None:
        return
    value = alignment.value.data
    if value < 1 or value & (value - 1):
        raise VerifyException(f"alignment must be a power of two, got {value}")


def _verify_scopes(scopes: ArrayAttr[Attribute] | None, name: str) -> None:
    for scope in scopes or ():
        if not isinstance(scope, AliasScopeAttr):
            raise VerifyException(
                f"'{name}' must hold #tvm_llvm.alias_scope attributes, got {scope}"
            )


# ----------------------------------------------------------------------- casts


def _same_shape(left: Attribute, right: Attribute) -> bool:
    if isinstance(left, VectorType) != isinstance(right, VectorType):
        return False
    if not isinstance(left, VectorType) or not isinstance(right, VectorType):
        return True
    return left.shape == right.shape and left.scalable_dims == right.scalable_dims


class _CastOperation(IRDLOperation, ABC):
    """A conversion between scalars, or between vectors of one shape."""

    arg = operand_def()
    res = result_def()

    traits = traits_def(Pure())

    assembly_format = "$arg attr-dict `:` type($arg) `to` type($res)"

    FROM_KIND: ClassVar[type[Attribute] | tuple[type[Attribute], ...]]
    TO_KIND: ClassVar[type[Attribute] | tuple[type[Attribute], ...]]

    def __init__(self, arg: SSAValue | Operation, res_type: Attribute):
        super().__init__(operands=[arg], result_types=[res_type])

    def verify_(self) -> None:
        source, target = self.arg.type, self.res.type
        fits = isinstance(scalar_type(source), self.FROM_KIND) and isinstance(
            scalar_type(target), self.TO_KIND
        )
        if not fits or not _same_shape(source, target):
            raise VerifyException(f"cannot convert {source} to {target}")


@irdl_op_definition
class FPToSIOp(_CastOperation):
    """Float to signed integer, rounding towards zero.

    A value outside the integer's range, NaN included, gives poison; use the intrinsic
    `llvm.fptosi.sat` where such values occur.
    """

    name = "tvm_llvm.fptosi"
    FROM_KIND: ClassVar = LLVM_FLOATS
    TO_KIND: ClassVar = IntegerType


@irdl_op_definition
class FPToUIOp(_CastOperation):
    """Float to unsigned integer, rounding towards zero; poison outside the range."""

    name = "tvm_llvm.fptoui"
    FROM_KIND: ClassVar = LLVM_FLOATS
    TO_KIND: ClassVar = IntegerType


@irdl_op_definition
class UIToFPOp(_CastOperation):
    """Unsigned integer to float, rounding to nearest even."""

    name = "tvm_llvm.uitofp"
    FROM_KIND: ClassVar = IntegerType
    TO_KIND: ClassVar = LLVM_FLOATS


@irdl_op_definition
class AddrSpaceCastOp(_CastOperation):
    """A pointer to the same location in another address space."""

    name = "tvm_llvm.addrspacecast"
    FROM_KIND: ClassVar = LLVMPointerType
    TO_KIND: ClassVar = LLVMPointerType

    def verify_(self) -> None:
        super().verify_()
        if self.arg.type == self.res.type:
            raise VerifyException(f"address space is unchanged: {self.arg.type}")


# ---------------------------------------------------------------------- values


@irdl_op_definition
class FreezeOp(IRDLOperation):
    """The operand, or an arbitrary fixed value where the operand is poison or undef."""

    T: ClassVar = VarConstraint("T", AnyAttr())

    name = "tvm_llvm.freeze"

    val = operand_def(T)
    res = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$val attr-dict `:` type($val)"

    def __init__(self, val: SSAValue | Operation):
        val = SSAValue.get(val)
        super().__init__(operands=[val], result_types=[val.type])


@irdl_op_definition
class PoisonOp(IRDLOperation):
    """A value whose every use is undefined behaviour or poison."""

    name = "tvm_llvm.mlir.poison"

    res = result_def()

    traits = traits_def(Pure())

    assembly_format = "attr-dict `:` type($res)"

    def __init__(self, type: Attribute):
        super().__init__(result_types=[type])

    def verify_(self) -> None:
        if not _is_llvm_type(self.res.type):
            raise VerifyException(f"{self.res.type} is not an LLVM type")


def _is_llvm_type(type: Attribute) -> bool:
    """Like xDSL's `is_compatible_type`, and scalable vectors too."""
    if isinstance(type, VectorType):
        vector = cast("VectorType[Attribute]", type)
        return vector.get_num_dims() == 1 and is_compatible_type(vector.element_type)
    return is_compatible_type(type)


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """One element of a 1-D vector; poison if the position is out of range."""

    T: ClassVar = VarConstraint("T", AnyAttr())

    name = "tvm_llvm.extractelement"

    vector = operand_def(VectorType.constr(T))
    position = operand_def(SignlessIntegerConstraint)
    res = result_def(T)

    traits = traits_def(Pure())

    assembly_format = (
        "$vector `[` $position `:` type($position) `]` attr-dict `:` type($vector)"
    )

    def __init__(self, vector: SSAValue | Operation, position: SSAValue | Operation):
        vector = SSAValue.get(vector)
        super().__init__(
            operands=[vector, position], result_types=[scalar_type(vector.type)]
        )

    def verify_(self) -> None:
        vector = cast("VectorType[Attribute]", self.vector.type)
        if vector.get_num_dims() != 1:
            raise VerifyException(f"expected a 1-D vector, got {vector}")


def _i1_like(type: Attribute) -> Attribute:
    if isinstance(type, VectorType):
        vector = cast("VectorType[Attribute]", type)
        return VectorType(i1, vector.shape, vector.scalable_dims)
    return i1


class _CompareOperation(IRDLOperation, ABC):
    """`"<predicate>" %lhs, %rhs : type`, giving `i1` or a vector of `i1`."""

    T: ClassVar = VarConstraint("T", AnyAttr())

    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def()
    predicate = prop_def(IntegerAttr[I64])

    FLAGS: ClassVar[tuple[str, ...]]

    def verify_(self) -> None:
        if self.res.type != _i1_like(self.lhs.type):
            raise VerifyException(
                f"comparing {self.lhs.type} gives {_i1_like(self.lhs.type)}, "
                f"not {self.res.type}"
            )
        if not 0 <= self.predicate.value.data < len(self.FLAGS):
            raise VerifyException(f"no predicate number {self.predicate.value.data}")
        if not self.accepts(scalar_type(self.lhs.type)):
            raise VerifyException(f"cannot compare values of type {self.lhs.type}")

    @staticmethod
    def accepts(type: Attribute) -> bool:
        """Whether values of the scalar type `type` can be compared."""
        raise NotImplementedError

    @property
    def predicate_name(self) -> str:
        """The predicate as LLVM spells it."""
        return self.FLAGS[self.predicate.value.data].lstrip("_")

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        predicate = parser.parse_str_literal()
        if predicate not in cls.FLAGS:
            parser.raise_error(f"unknown predicate '{predicate}'")
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        properties: dict[str, Attribute] = {
            "predicate": IntegerAttr(cls.FLAGS.index(predicate), i64)
        }
        if "fastmathFlags" in attributes:
            properties["fastmathFlags"] = attributes.pop("fastmathFlags")
        return cls.create(
            operands=parser.resolve_operands([lhs, rhs], [type, type], parser.pos),
            result_types=[_i1_like(type)],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{self.FLAGS[self.predicate.value.data]}" ')
        printer.print_operand(self.lhs)
        printer.print_string(", ")
        printer.print_operand(self.rhs)
        attributes = dict(self.attributes)
        flags = self.properties.get("fastmathFlags")
        if isinstance(flags, FastMathAttr) and flags.data:
            attributes["fastmathFlags"] = flags
        printer.print_op_attributes(attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)


@irdl_op_definition
class ICmpOp(_CompareOperation):
    """Compares integers or pointers, or vectors of them."""

    name = "tvm_llvm.icmp"
    FLAGS: ClassVar = tuple(str(flag) for flag in ICmpPredicateFlag)

    traits = traits_def(Pure())

    def __init__(
        self, predicate: str, lhs: SSAValue | Operation, rhs: SSAValue | Operation
    ):
        lhs = SSAValue.get(lhs)
        super().__init__(
            operands=[lhs, rhs],
            result_types=[_i1_like(lhs.type)],
            properties={"predicate": IntegerAttr(self.FLAGS.index(predicate), i64)},
        )

    @staticmethod
    def accepts(type: Attribute) -> bool:
        return isinstance(type, IntegerType | LLVMPointerType)


@irdl_op_definition
class FCmpOp(_CompareOperation):
    """Compares floats or vectors of floats; `o…` are false and `u…` true on NaN."""

    name = "tvm_llvm.fcmp"
    FLAGS: ClassVar = tuple(str(flag) for flag in FCmpPredicateFlag)

    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))

    traits = traits_def(Pure())

    def __init__(
        self,
        predicate: str,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        fastmath: FastMathAttr | None = None,
    ):
        lhs = SSAValue.get(lhs)
        super().__init__(
            operands=[lhs, rhs],
            result_types=[_i1_like(lhs.type)],
            properties={
                "predicate": IntegerAttr(self.FLAGS.index(predicate), i64),
                "fastmathFlags": fastmath or FastMathAttr(None),
            },
        )

    @staticmethod
    def accepts(type: Attribute) -> bool:
        return isinstance(type, LLVM_FLOATS)


@irdl_op_definition
class SelectOp(IRDLOperation):
    """Chooses per element; a scalar condition chooses whole values."""

    T: ClassVar = VarConstraint("T", AnyAttr())

    name = "tvm_llvm.select"

    condition = operand_def()
    true_value = operand_def(T)
    false_value = operand_def(T)
    res = result_def(T)

    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))

    traits = traits_def(Pure())

    irdl_options = (ParsePropInAttrDict(),)

    assembly_format = (
        "$condition `,` $true_value `,` $false_value attr-dict"
        " `:` type($condition) `,` type($res)"
    )

    def __init__(
        self,
        condition: SSAValue | Operation,
        true_value: SSAValue | Operation,
        false_value: SSAValue | Operation,
        fastmath: FastMathAttr | None = None,
    ):
        true_value = SSAValue.get(true_value)
        super().__init__(
            operands=[condition, true_value, false_value],
            result_types=[true_value.type],
            properties={"fastmathFlags": fastmath or FastMathAttr(None)},
        )

    def verify_(self) -> None:
        condition = self.condition.type
        if condition != i1 and condition != _i1_like(self.res.type):
            raise VerifyException(
                f"a condition of type {condition} cannot choose {self.res.type}"
            )


# ---------------------------------------------------------------------- memory


class _MemoryAccess(IRDLOperation, ABC):
    """What `load` and `store` share: ordering, scope, hints and alias scopes."""

    alignment = opt_prop_def(IntegerAttr[I64])
    ordering = prop_def(IntegerAttr[I64], default_value=IntegerAttr(0, i64))
    syncscope = opt_prop_def(StringAttr)
    volatile_ = opt_prop_def(UnitAttr)
    nontemporal = opt_prop_def(UnitAttr)
    alias_scopes = opt_prop_def(ArrayAttr[Attribute])
    noalias_scopes = opt_prop_def(ArrayAttr[Attribute])

    HINT_NAMES: ClassVar[tuple[str, ...]] = (
        "alignment",
        "nontemporal",
        "alias_scopes",
        "noalias_scopes",
    )
    BAD_ORDERINGS: ClassVar[tuple[str, ...]]

    traits = traits_def(_OrderedEffect())

    def verify_access(self, type: Attribute) -> None:
        """Checks the properties against the accessed `type`."""
        _verify_alignment(self.alignment)
        _verify_scopes(self.alias_scopes, "alias_scopes")
        _verify_scopes(self.noalias_scopes, "noalias_scopes")
        name = ORDERING_NAMES.get(self.ordering.value.data)
        if name is None:
            raise VerifyException(f"no ordering number {self.ordering.value.data}")
        if name in self.BAD_ORDERINGS:
            raise VerifyException(f"'{self.name}' cannot have the ordering '{name}'")
        if name == "not_atomic":
            if self.syncscope is not None:
                raise VerifyException("a 'syncscope' needs an atomic ordering")
            return
        if self.alignment is None:
            raise VerifyException("an atomic access needs an 'alignment'")
        _verify_atomic_type(type)

    def print_ordering(self, printer: Printer) -> None:
        """Prints ` atomic syncscope("…") <ordering>`, or nothing."""
        ordering = self.ordering.value.data
        if ordering == 0:
            return
        printer.print_string(" atomic")
        _print_syncscope(printer, self.syncscope)
        printer.print_string(f" {ORDERING_NAMES[ordering]}")

    def print_hints(self, printer: Printer) -> None:
        """Prints the attribute dictionary with the hints among it."""
        hints = {
            name: self.properties[name]
            for name in self.HINT_NAMES
            if name in self.properties
        }
        printer.print_op_attributes({**hints, **self.attributes})


def _access_properties(
    alignment: int | None, ordering: str, syncscope: str | None
) -> dict[str, Attribute]:
    properties: dict[str, Attribute] = {"ordering": IntegerAttr(ORDERINGS[ordering], i64)}
    if alignment is not None:
        properties["alignment"] = IntegerAttr(alignment, i64)
    if syncscope is not None:
        properties["syncscope"] = StringAttr(syncscope)
    return properties


def _set_units(properties: dict[str, Attribute], **units: bool) -> None:
    properties.update({name: UnitAttr() for name, value in units.items() if value})


def _verify_atomic_type(type: Attribute) -> None:
    if isinstance(type, IntegerType):
        if type.bitwidth < 8 or type.bitwidth & (type.bitwidth - 1):
            raise VerifyException(
                f"an atomic access needs a power-of-two width of 8 or more, got {type}"
            )
    elif not isinstance(type, (LLVMPointerType, *LLVM_FLOATS)):
        raise VerifyException(f"no atomic access of type {type}")


def _parse_syncscope(parser: Parser) -> StringAttr | None:
    if parser.parse_optional_keyword("syncscope") is None:
        return None
    with parser.in_parens():
        return StringAttr(parser.parse_str_literal())


def _print_syncscope(printer: Printer, scope: StringAttr | None) -> None:
    if scope is not None:
        printer.print_string(" syncscope(")
        printer.print_string_literal(scope.data)
        printer.print_string(")")


def _parse_ordering(parser: Parser) -> IntegerAttr[I64]:
    keyword = parser.parse_identifier("atomic ordering")
    if keyword not in ORDERINGS:
        parser.raise_error(f"unknown atomic ordering '{keyword}'")
    return IntegerAttr(ORDERINGS[keyword], i64)


def _parse_atomic(parser: Parser, properties: dict[str, Attribute]) -> None:
    if parser.parse_optional_keyword("atomic") is None:
        return
    if (scope := _parse_syncscope(parser)) is not None:
        properties["syncscope"] = scope
    properties["ordering"] = _parse_ordering(parser)


def _split_hints(
    attributes: dict[str, Attribute],
    properties: dict[str, Attribute],
    names: Sequence[str],
) -> None:
    """Moves the attributes called `names` to `properties`."""
    for name in names:
        if name in attributes:
            properties[name] = attributes.pop(name)


@irdl_op_definition
class LoadOp(_MemoryAccess):
    """Reads memory.

    `tvm_llvm.load volatile %p atomic syncscope("device") acquire invariant
    {alignment = 4 : i64} : !llvm.ptr -> f32`. `invariant` promises that nothing writes
    the location while the program runs.
    """

    name = "tvm_llvm.load"

    addr = operand_def(LLVMPointerType)
    res = result_def()
    invariant = opt_prop_def(UnitAttr)

    BAD_ORDERINGS: ClassVar = ("release", "acq_rel")

    def __init__(
        self,
        addr: SSAValue | Operation,
        type: Attribute,
        *,
        alignment: int | None = None,
        ordering: str = "not_atomic",
        syncscope: str | None = None,
        volatile: bool = False,
        nontemporal: bool = False,
        invariant: bool = False,
    ):
        properties = _access_properties(alignment, ordering, syncscope)
        _set_units(
            properties,
            volatile_=volatile,
            nontemporal=nontemporal,
            invariant=invariant,
        )
        super().__init__(operands=[addr], result_types=[type], properties=properties)

    def verify_(self) -> None:
        self.verify_access(self.res.type)

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        properties: dict[str, Attribute] = {"ordering": IntegerAttr(0, i64)}
        if parser.parse_optional_keyword("volatile") is not None:
            properties["volatile_"] = UnitAttr()
        addr = parser.parse_unresolved_operand()
        _parse_atomic(parser, properties)
        if parser.parse_optional_keyword("invariant") is not None:
            properties["invariant"] = UnitAttr()
        attributes = parser.parse_optional_attr_dict()
        _split_hints(attributes, properties, cls.HINT_NAMES)
        parser.parse_punctuation(":")
        operand = parser.resolve_operand(addr, parser.parse_type())
        parser.parse_punctuation("->")
        return cls.create(
            operands=[operand],
            result_types=[parser.parse_type()],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        if self.volatile_ is not None:
            printer.print_string(" volatile")
        printer.print_string(" ")
        printer.print_operand(self.addr)
        self.print_ordering(printer)
        if self.invariant is not None:
            printer.print_string(" invariant")
        self.print_hints(printer)
        printer.print_string(" : ")
        printer.print_attribute(self.addr.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.res.type)


@irdl_op_definition
class StoreOp(_MemoryAccess):
    """Writes memory: `tvm_llvm.store %v, %p atomic release … : f32, !llvm.ptr`."""

    name = "tvm_llvm.store"

    value = operand_def()
    addr = operand_def(LLVMPointerType)

    BAD_ORDERINGS: ClassVar = ("acquire", "acq_rel")

    def __init__(
        self,
        value: SSAValue | Operation,
        addr: SSAValue | Operation,
        *,
        alignment: int | None = None,
        ordering: str = "not_atomic",
        syncscope: str | None = None,
        volatile: bool = False,
        nontemporal: bool = False,
    ):
        properties = _access_properties(alignment, ordering, syncscope)
        _set_units(properties, volatile_=volatile, nontemporal=nontemporal)
        super().__init__(operands=[value, addr], properties=properties)

    def verify_(self) -> None:
        self.verify_access(self.value.type)

    @classmethod
    def parse(cls, parser: Parser) -> StoreOp:
        properties: dict[str, Attribute] = {"ordering": IntegerAttr(0, i64)}
        if parser.parse_optional_keyword("volatile") is not None:
            properties["volatile_"] = UnitAttr()
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        addr = parser.parse_unresolved_operand()
        _parse_atomic(parser, properties)
        attributes = parser.parse_optional_attr_dict()
        _split_hints(attributes, properties, cls.HINT_NAMES)
        parser.parse_punctuation(":")
        value_operand = parser.resolve_operand(value, parser.parse_type())
        parser.parse_punctuation(",")
        return cls.create(
            operands=[
                value_operand,
                parser.resolve_operand(addr, parser.parse_type()),
            ],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        if self.volatile_ is not None:
            printer.print_string(" volatile")
        printer.print_string(" ")
        printer.print_operand(self.value)
        printer.print_string(", ")
        printer.print_operand(self.addr)
        self.print_ordering(printer)
        self.print_hints(printer)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_string(", ")
        printer.print_attribute(self.addr.type)


@irdl_op_definition
class AtomicRMWOp(IRDLOperation):
    """Replaces a memory cell by a function of itself and gives the old value.

    `tvm_llvm.atomicrmw fadd %p, %v syncscope("device") monotonic
    {alignment = 4 : i64} : !llvm.ptr, f32`.
    """

    T: ClassVar = VarConstraint("T", AnyAttr())

    name = "tvm_llvm.atomicrmw"

    bin_op = prop_def(IntegerAttr[I64])
    ptr = operand_def(LLVMPointerType)
    val = operand_def(T)
    ordering = prop_def(IntegerAttr[I64])
    syncscope = opt_prop_def(StringAttr)
    alignment = opt_prop_def(IntegerAttr[I64])
    volatile_ = opt_prop_def(UnitAttr)
    res = result_def(T)

    traits = traits_def(ReadWriteEffect())

    def __init__(
        self,
        bin_op: str,
        ptr: SSAValue | Operation,
        val: SSAValue | Operation,
        ordering: str = "monotonic",
        *,
        syncscope: str | None = None,
        alignment: int | None = None,
        volatile: bool = False,
    ):
        val = SSAValue.get(val)
        properties = _access_properties(alignment, ordering, syncscope)
        properties["bin_op"] = IntegerAttr(ATOMIC_BIN_OPS.index(bin_op), i64)
        _set_units(properties, volatile_=volatile)
        super().__init__(
            operands=[ptr, val], result_types=[val.type], properties=properties
        )

    @property
    def bin_op_name(self) -> str:
        """The operation as LLVM spells it."""
        return ATOMIC_BIN_OPS[self.bin_op.value.data].lstrip("_")

    def verify_(self) -> None:
        _verify_alignment(self.alignment)
        if not 0 <= self.bin_op.value.data < len(ATOMIC_BIN_OPS):
            raise VerifyException(f"no atomic operation {self.bin_op.value.data}")
        if self.ordering.value.data < ORDERINGS["monotonic"]:
            raise VerifyException("'atomicrmw' must be at least 'monotonic'")
        if self.ordering.value.data not in ORDERING_NAMES:
            raise VerifyException(f"no ordering number {self.ordering.value.data}")
        type = self.val.type
        _verify_atomic_type(type)
        name = self.bin_op_name
        if name != "xchg" and isinstance(type, LLVM_FLOATS) != (name in _FLOAT_ATOMICS):
            raise VerifyException(f"'atomicrmw {name}' cannot take {type}")

    @classmethod
    def parse(cls, parser: Parser) -> AtomicRMWOp:
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("volatile") is not None:
            properties["volatile_"] = UnitAttr()
        bin_op = parser.parse_identifier("atomic operation")
        if bin_op not in ATOMIC_BIN_OPS:
            parser.raise_error(f"unknown atomic operation '{bin_op}'")
        properties["bin_op"] = IntegerAttr(ATOMIC_BIN_OPS.index(bin_op), i64)
        ptr = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        val = parser.parse_unresolved_operand()
        if (scope := _parse_syncscope(parser)) is not None:
            properties["syncscope"] = scope
        properties["ordering"] = _parse_ordering(parser)
        attributes = parser.parse_optional_attr_dict()
        _split_hints(attributes, properties, ("alignment",))
        parser.parse_punctuation(":")
        ptr_operand = parser.resolve_operand(ptr, parser.parse_type())
        parser.parse_punctuation(",")
        type = parser.parse_type()
        return cls.create(
            operands=[ptr_operand, parser.resolve_operand(val, type)],
            result_types=[type],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        if self.volatile_ is not None:
            printer.print_string(" volatile")
        printer.print_string(f" {ATOMIC_BIN_OPS[self.bin_op.value.data]} ")
        printer.print_operand(self.ptr)
        printer.print_string(", ")
        printer.print_operand(self.val)
        _print_syncscope(printer, self.syncscope)
        printer.print_string(f" {ORDERING_NAMES[self.ordering.value.data]}")
        attributes = dict(self.attributes)
        if self.alignment is not None:
            attributes["alignment"] = self.alignment
        printer.print_op_attributes(attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.ptr.type)
        printer.print_string(", ")
        printer.print_attribute(self.val.type)


@irdl_op_definition
class CmpXchgOp(IRDLOperation):
    """Replaces a memory cell if it holds `cmp`; gives the old value and an `i1`.

    `tvm_llvm.cmpxchg weak %p, %cmp, %new syncscope("device") acq_rel monotonic
    : !llvm.ptr, i32` has the result `!llvm.struct<(i32, i1)>`.
    """

    T: ClassVar = VarConstraint("T", AnyAttr())

    name = "tvm_llvm.cmpxchg"

    ptr = operand_def(LLVMPointerType)
    cmp = operand_def(T)
    val = operand_def(T)
    success_ordering = prop_def(IntegerAttr[I64])
    failure_ordering = prop_def(IntegerAttr[I64])
    syncscope = opt_prop_def(StringAttr)
    alignment = opt_prop_def(IntegerAttr[I64])
    weak = opt_prop_def(UnitAttr)
    volatile_ = opt_prop_def(UnitAttr)
    res = result_def(LLVMStructType)

    traits = traits_def(ReadWriteEffect())

    def __init__(
        self,
        ptr: SSAValue | Operation,
        cmp: SSAValue | Operation,
        val: SSAValue | Operation,
        success_ordering: str = "acq_rel",
        failure_ordering: str = "monotonic",
        *,
        syncscope: str | None = None,
        alignment: int | None = None,
        weak: bool = False,
        volatile: bool = False,
    ):
        val = SSAValue.get(val)
        properties = _access_properties(alignment, success_ordering, syncscope)
        properties["success_ordering"] = properties.pop("ordering")
        properties["failure_ordering"] = IntegerAttr(ORDERINGS[failure_ordering], i64)
        _set_units(properties, weak=weak, volatile_=volatile)
        super().__init__(
            operands=[ptr, cmp, val],
            result_types=[LLVMStructType.from_type_list([val.type, i1])],
            properties=properties,
        )

    def verify_(self) -> None:
        _verify_alignment(self.alignment)
        success = self.success_ordering.value.data
        failure = self.failure_ordering.value.data
        if success not in ORDERING_NAMES or failure not in ORDERING_NAMES:
            raise VerifyException("unknown atomic ordering")
        if min(success, failure) < ORDERINGS["monotonic"]:
            raise VerifyException("'cmpxchg' orderings must be at least 'monotonic'")
        if ORDERING_NAMES[failure] in ("release", "acq_rel"):
            raise VerifyException(
                "the failure ordering of 'cmpxchg' cannot be 'release' or 'acq_rel'"
            )
        type = self.val.type
        if isinstance(type, LLVM_FLOATS):
            raise VerifyException(f"'cmpxchg' takes integers and pointers, not {type}")
        _verify_atomic_type(type)
        if self.res.type != LLVMStructType.from_type_list([type, i1]):
            raise VerifyException(f"'cmpxchg' cannot have the result {self.res.type}")

    @classmethod
    def parse(cls, parser: Parser) -> CmpXchgOp:
        properties: dict[str, Attribute] = {}
        for keyword, name in (("weak", "weak"), ("volatile", "volatile_")):
            if parser.parse_optional_keyword(keyword) is not None:
                properties[name] = UnitAttr()
        ptr = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        cmp = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        val = parser.parse_unresolved_operand()
        if (scope := _parse_syncscope(parser)) is not None:
            properties["syncscope"] = scope
        properties["success_ordering"] = _parse_ordering(parser)
        properties["failure_ordering"] = _parse_ordering(parser)
        attributes = parser.parse_optional_attr_dict()
        _split_hints(attributes, properties, ("alignment",))
        parser.parse_punctuation(":")
        ptr_type = parser.parse_type()
        parser.parse_punctuation(",")
        type = parser.parse_type()
        return cls.create(
            operands=parser.resolve_operands(
                [ptr, cmp, val], [ptr_type, type, type], parser.pos
            ),
            result_types=[LLVMStructType.from_type_list([type, i1])],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        if self.weak is not None:
            printer.print_string(" weak")
        if self.volatile_ is not None:
            printer.print_string(" volatile")
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        _print_syncscope(printer, self.syncscope)
        printer.print_string(
            f" {ORDERING_NAMES[self.success_ordering.value.data]}"
            f" {ORDERING_NAMES[self.failure_ordering.value.data]}"
        )
        attributes = dict(self.attributes)
        if self.alignment is not None:
            attributes["alignment"] = self.alignment
        printer.print_op_attributes(attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.ptr.type)
        printer.print_string(", ")
        printer.print_attribute(self.val.type)


@irdl_op_definition
class FenceOp(IRDLOperation):
    """Orders the memory accesses around it: `tvm_llvm.fence syncscope("agent") …`."""

    name = "tvm_llvm.fence"

    ordering = prop_def(IntegerAttr[I64])
    syncscope = opt_prop_def(StringAttr)

    traits = traits_def(ReadWriteEffect())

    def __init__(self, ordering: str = "seq_cst", *, syncscope: str | None = None):
        super().__init__(properties=_access_properties(None, ordering, syncscope))

    def verify_(self) -> None:
        if ORDERING_NAMES.get(self.ordering.value.data) not in (
            "acquire",
            "release",
            "acq_rel",
            "seq_cst",
        ):
            raise VerifyException(
                "a fence must be 'acquire', 'release', 'acq_rel' or 'seq_cst'"
            )

    @classmethod
    def parse(cls, parser: Parser) -> FenceOp:
        properties: dict[str, Attribute] = {}
        if (scope := _parse_syncscope(parser)) is not None:
            properties["syncscope"] = scope
        properties["ordering"] = _parse_ordering(parser)
        return cls.create(
            properties=properties, attributes=parser.parse_optional_attr_dict()
        )

    def print(self, printer: Printer) -> None:
        _print_syncscope(printer, self.syncscope)
        printer.print_string(f" {ORDERING_NAMES[self.ordering.value.data]}")
        printer.print_op_attributes(self.attributes)


# --------------------------------------------------------------------- control


@irdl_op_definition
class SwitchOp(IRDLOperation):
    """Jumps to the block of the case that equals `value`, else to the default.

    `tvm_llvm.switch %v : i32, ^bb0(%a : i32) [ 1: ^bb1, 5: ^bb2(%b : f32) ]`.
    `case_values` holds the cases in order; all must differ and fit the type of `value`.
    """

    name = "tvm_llvm.switch"

    value = operand_def(SignlessIntegerConstraint)
    default_operands = var_operand_def()
    case_operands = var_operand_def()
    case_values = prop_def(DenseArrayBase.constr(i64))
    case_operand_segments = prop_def(DenseArrayBase.constr(i32))
    default_destination = successor_def()
    case_destinations = var_successor_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    traits = traits_def(IsTerminator(), NoMemoryEffect())

    def __init__(
        self,
        value: SSAValue | Operation,
        default_destination: Block,
        default_operands: Sequence[SSAValue | Operation] = (),
        case_values: Sequence[int] = (),
        case_destinations: Sequence[Block] = (),
        case_operands: Sequence[Sequence[SSAValue | Operation]] = (),
    ):
        if not case_operands:
            case_operands = [()] * len(case_values)
        super().__init__(
            operands=[
                value,
                default_operands,
                [operand for operands in case_operands for operand in operands],
            ],
            properties={
                "case_values": DenseArrayBase.from_list(i64, case_values),
                "case_operand_segments": DenseArrayBase.from_list(
                    i32, [len(operands) for operands in case_operands]
                ),
            },
            successors=[default_destination, case_destinations],
        )

    @property
    def cases(self) -> list[tuple[int, Block, Sequence[SSAValue]]]:
        """Each case's value, block and block arguments."""
        found: list[tuple[int, Block, Sequence[SSAValue]]] = []
        start = 0
        for value, block, size in zip(
            self.case_values.get_values(),
            self.case_destinations,
            self.case_operand_segments.get_values(),
            strict=True,
        ):
            operands = self.case_operands[start : start + int(size)]
            found.append((int(value), block, operands))
            start += int(size)
        return found

    def verify_(self) -> None:
        values = self.case_values.get_values()
        sizes = self.case_operand_segments.get_values()
        if not len(values) == len(sizes) == len(self.case_destinations):
            raise VerifyException(
                f"{len(values)} case values, {len(sizes)} operand segments and "
                f"{len(self.case_destinations)} case blocks do not agree"
            )
        if sum(sizes) != len(self.case_operands):
            raise VerifyException("case_operand_segments do not add up")
        type = cast(IntegerType, self.value.type)
        low, high = -(1 << (type.bitwidth - 1)), 1 << type.bitwidth
        for value in values:
            if not low <= value < high:
                raise VerifyException(f"case {value} does not fit {type}")
        if len({value % high for value in values}) != len(values):
            raise VerifyException("two cases have the same value")

    @classmethod
    def parse(cls, parser: Parser) -> SwitchOp:
        unresolved = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        value = parser.resolve_operand(unresolved, parser.parse_type())
        parser.parse_punctuation(",")
        default, default_operands = _parse_destination(parser)

        def parse_case() -> tuple[int, Block, Sequence[SSAValue]]:
            case = parser.parse_integer()
            parser.parse_punctuation(":")
            return (case, *_parse_destination(parser))

        cases = parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, parse_case)
        attributes = parser.parse_optional_attr_dict()
        op = cls(
            value,
            default,
            default_operands,
            [case[0] for case in cases],
            [case[1] for case in cases],
            [case[2] for case in cases],
        )
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.value)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_string(", ")
        _print_destination(printer, self.default_destination, self.default_operands)
        printer.print_string(" [")
        for number, (value, block, operands) in enumerate(self.cases):
            printer.print_string(", " if number else "")
            printer.print_string(f"{value}: ")
            _print_destination(printer, block, operands)
        printer.print_string("]")
        printer.print_op_attributes(self.attributes)


def _parse_destination(parser: Parser) -> tuple[Block, Sequence[SSAValue]]:
    block = parser.parse_successor()
    if parser.parse_optional_punctuation("(") is None:
        return block, ()
    operands: list[UnresolvedOperand] = parser.parse_comma_separated_list(
        Parser.Delimiter.NONE, parser.parse_unresolved_operand
    )
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    return block, parser.resolve_operands(operands, types, parser.pos)


def _print_destination(
    printer: Printer, block: Block, operands: Sequence[SSAValue]
) -> None:
    printer.print_block_name(block)
    if operands:
        with printer.in_parens():
            printer.print_list(operands, printer.print_operand)
            printer.print_string(" : ")
            printer.print_list(
                [operand.type for operand in operands], printer.print_attribute
            )


# ------------------------------------------------------------------ intrinsics


@irdl_op_definition
class CallIntrinsicOp(IRDLOperation):
    """Calls an LLVM intrinsic: `tvm_llvm.call_intrinsic "llvm.smin"(%a, %b) : …`.

    The name may carry the overload suffix or not: the emitter derives the suffix of the
    intrinsics it knows from the types. The call reads and writes memory unless the
    intrinsic is one of `PURE_INTRINSICS`, so common subexpressions and dead calls of
    those go away.
    """

    name = "tvm_llvm.call_intrinsic"

    intrin = prop_def(StringAttr)
    args = var_operand_def()
    res = opt_result_def()
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))

    traits = traits_def(_IntrinsicEffect())

    irdl_options = (ParsePropInAttrDict(),)

    assembly_format = (
        "$intrin `(` $args `)` attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        intrin: str,
        args: Sequence[SSAValue | Operation],
        result_type: Attribute | None = None,
        fastmath: FastMathAttr | None = None,
    ):
        super().__init__(
            operands=[args],
            result_types=[[] if result_type is None else [result_type]],
            properties={
                "intrin": StringAttr(intrin),
                "fastmathFlags": fastmath or FastMathAttr(None),
            },
        )

    def verify_(self) -> None:
        if not self.intrin.data.startswith("llvm."):
            raise VerifyException(
                f"an intrinsic's name starts with 'llvm.', got '{self.intrin.data}'"
            )


TVMLLVM = Dialect(
    "tvm_llvm",
    [
        AddrSpaceCastOp,
        AtomicRMWOp,
        CallIntrinsicOp,
        CmpXchgOp,
        ExtractElementOp,
        FCmpOp,
        FPToSIOp,
        FPToUIOp,
        FenceOp,
        FreezeOp,
        ICmpOp,
        LoadOp,
        PoisonOp,
        SelectOp,
        StoreOp,
        SwitchOp,
        UIToFPOp,
    ],
    [AliasScopeAttr, LoopAttr],
)
"""LLVM operations and attributes beyond xDSL's llvm dialect."""

__all__ = [
    "ATOMIC_BIN_OPS",
    "LLVM_FLOATS",
    "ORDERINGS",
    "ORDERING_NAMES",
    "PURE_INTRINSICS",
    "TVMLLVM",
    "AddrSpaceCastOp",
    "AliasScopeAttr",
    "AtomicRMWOp",
    "CallIntrinsicOp",
    "CmpXchgOp",
    "ExtractElementOp",
    "FCmpOp",
    "FPToSIOp",
    "FPToUIOp",
    "FenceOp",
    "FreezeOp",
    "ICmpOp",
    "LoadOp",
    "LoopAttr",
    "PoisonOp",
    "ReadWriteEffect",
    "SelectOp",
    "StoreOp",
    "SwitchOp",
    "UIToFPOp",
    "is_pure_intrinsic",
    "scalar_type",
]
