"""Products and convolutions read half precision; what follows them may keep it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.context import Context
from xdsl.dialects.builtin import Float16Type, Float32Type, FloatAttr, ModuleOp, f16, f32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.relax.memory_sharing import Writers, values_with_written_memory
from xdsl_tvm.dialects import dtypes, relax
from xdsl_tvm.dialects.located_builder import LocatedBuilder
from xdsl_tvm.dialects.relax.convolution import AnyConvolutionOp
from xdsl_tvm.dialects.relax.operators import OperatorOp
from xdsl_tvm.dialects.relax.types import PrimType, TensorInfo, TupleType
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax._mixed_precision.policies import (
    ALWAYS,
    FOLLOW,
    fits_half,
    is_number_in_range,
)
from xdsl_tvm.passes.relax.rewriting.call_sites import update_signature
from xdsl_tvm.passes.relax.rewriting.insertion import by_function
from xdsl_tvm.passes.relax.rewriting.signatures import only_calls, references
from xdsl_tvm.passes.relax.rewriting.symbols import hide_symbols

_DTYPES = {"float16": f16, "float32": f32}


@dataclass(frozen=True)
class ToMixedPrecision(CompilerPass):
    """Summary: Lets products and convolutions read f16, and keeps f16 in the operators
        after them that allow it.

    TVM name: relax.ToMixedPrecision (v0.20)
    Input form: any
    Output form: the same; in dataflow blocks the operators that always profit from f16
        read f16
    Options: `out_dtype`: what these operators accumulate in, "float32" or "float16"
        (float32); `fp16_input_names`: f32 parameters that become f16 ones, by name or
        position (none)
    Rewrites: before

            %c = relax.nn.conv2d %x, %w ... : (!x, !w) -> tensor<2x4x26x26xf32>
            %r = relax.nn.relu %c : ...
            relax.output %r : ...

        after

            %x0 = relax.astype %x dtype f16 : ...
            %w0 = relax.astype %w dtype f16 : ...
            %c = relax.nn.conv2d %x0, %w0 ... out_dtype f32 : ... -> tensor<2x4x26x26xf32>
            %c0 = relax.astype %c dtype f16 : ...
            %r0 = relax.nn.relu %c0 : (tensor<2x4x26x26xf16>) -> tensor<2x4x26x26xf16>
            %r = relax.astype %r0 dtype f32 : ...
            relax.output %r : ...

        `relax.matmul`, convolutions and attention always read f16. Elementwise
        operators, normalizations, pooling, and rearrangements of elements follow: they
        compute in f16 if all operands are available in it, numbers and constants of at
        most 65504 in magnitude among them, and else in their own dtype. All others, and
        what is after the block, get the dtypes that were written. Results of the first
        kind are stored in f16, unless the block outputs them. A tensor is cast once,
        where it is first needed. `relax.wrap_param` of an f16 tensor is the tensor. A
        parameter in `fp16_input_names` changes the signature, and calls in the module
        cast. Time is linear in the size of the module.
    Leaves alone: what is outside of dataflow blocks; operators with tensors of an unknown
        dtype, or of floats other than f16 and f32; memory that something writes in
        place; tensors that a function literal takes from outside with symbols
    Errors: another `out_dtype`; a name in `fp16_input_names` of no parameter, of one that
        is not a tensor of f32, or of one that something writes in place; a function with
        such a parameter that the module uses without calling it
    Attributes: read: none; created: none; removed: none
    Differs from TVM: a tensor is not cast twice to one dtype. Attention keeps its bias,
        scale and mask, which TVM drops. An operator whose dtypes were f16 before stays
        f16 where TVM widens it. Names that no parameter has are an error.
    """

    name = "relax-to-mixed-precision"

    out_dtype: str = "float32"
    fp16_input_names: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        out_dtype = _DTYPES.get(self.out_dtype)
        if out_dtype is None:
            raise PassFailedException(
                f"{self.name}: out_dtype must be float16 or float32, not "
                f"'{self.out_dtype}'"
            )
        casts = self._convert_parameters(op)
        parameters: dict[SSAValue, SSAValue] = {c.result: c.data for c in casts}
        for blocks, written in by_function(op, relax.DataflowOp):
            known = {k: v for k, v in parameters.items() if v not in written}
            for dataflow in blocks:
                conversion = _Conversion(out_dtype, written, dict(known))
                conversion.versions |= {(v, k.type): k for k, v in known.items()}
                conversion.convert(dataflow.body.block)
        for cast in casts:
            if cast.result.first_use is None:
                Rewriter.erase_op(cast)

    def _convert_parameters(self, module: ModuleOp) -> list[relax.AstypeOp]:
        """Make parameters f16; gives the casts back to f32 for what uses them."""
        names = set(self.fp16_input_names)
        if not names:
            return []
        found = dict.fromkeys(names, False)
        casts: list[relax.AstypeOp] = []
        used: dict[str, list[Operation]] | None = None
        writers = Writers(module)
        for func in module.ops:
            if not isinstance(func, relax.FuncOp) or not func.body.blocks:
                continue
            chosen = [a for a in func.args if not names.isdisjoint(_names_of(a))]
            if not chosen:
                continue
            written = values_with_written_memory(func, writers)
            for arg in chosen:
                if arg in written:
                    raise PassFailedException(
                        f"{self.name}: memory of parameter {arg.index} of "
                        f"@{func.sym_name.data} is written, which an f16 copy would not "
                        "be; leave it out of fp16_input_names"
                    )
                found.update((name, True) for name in _names_of(arg) if name in names)
                casts.append(self._convert_parameter(func, arg))
            update_signature(func)
            used = references(module) if used is None else used
            self._convert_calls(func, used.get(func.sym_name.data, ()), chosen)
        if missing := sorted(name for name, is_there in found.items() if not is_there):
            raise PassFailedException(
                f"{self.name}: no function has a parameter '{missing[0]}' to become f16; "
                "give its name or its position"
            )
        return casts

    def _convert_parameter(
        self, func: relax.FuncOp, arg: BlockArgument
    ) -> relax.AstypeOp:
        info = TensorInfo.of(arg.type)
        if info is None or info.dtype != f32:
            raise PassFailedException(
                f"{self.name}: parameter {arg.index} of @{func.sym_name.data} is "
                f"{arg.type}, which cannot become f16; leave it out of fp16_input_names"
            )
        hint, declared = arg.name_hint, arg.type
        narrow = Rewriter.replace_value_with_new_type(arg, replace(info, dtype=f16).type)
        cast = relax.AstypeOp(narrow, f32, declared)
        cast.location = func.location
        narrow.replace_all_uses_with(cast.result)
        cast.operands[0] = narrow
        narrow.name_hint = hint
        Rewriter.insert_op(cast, InsertPoint.at_start(func.body.block))
        return cast

    def _convert_calls(
        self,
        func: relax.FuncOp,
        users: Sequence[Operation],
        chosen: Sequence[BlockArgument],
    ) -> None:
        for user in only_calls(func, users, self.name):
            for arg in chosen:
                cast = relax.AstypeOp(user.arguments[arg.index], f16)
                cast.location = user.location
                Rewriter.insert_op(cast, InsertPoint.before(user))
                user.operands[arg.index] = cast.result


def _names_of(arg: BlockArgument) -> tuple[str, ...]:
    hint = () if arg.name_hint is None else (arg.name_hint,)
    return (str(arg.index), *hint)


@dataclass
class _Conversion:
    """One walk over a dataflow block."""

    out_dtype: Float16Type | Float32Type
    written: set[SSAValue]
    """Tensors whose memory something writes; each stays memory of its own."""
    current: dict[SSAValue, SSAValue]
    """Values that are available with other dtypes than were written, and how."""
    versions: dict[tuple[SSAValue, Attribute], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, Attribute], SSAValue]
    )
    """Casts that were made, by value and type."""
    replaced: list[Operation] = field(default_factory=list[Operation])

    def convert(self, block: Block) -> None:
        unused = {op for op in block.ops if _is_unused(op)}
        for op in list(block.ops):
            if not (self._visit_structure(op) or self._visit_operator(op)):
                self._restore(op)
        for op in reversed(self.replaced):
            Rewriter.erase_op(op)
        for op in reversed(list(block.ops)):
            if _is_unused(op) and op not in unused:
                Rewriter.erase_op(op)

    # ---- values ----

    def _as(self, value: SSAValue, type_: Attribute, user: Operation) -> SSAValue:
        """A value as one of a type that differs in dtypes, made before `user`."""
        if value.type == type_:
            return value
        key = (value, type_)
        if key not in self.versions:
            if isinstance(type_, TupleType):
                made = self._tuple_as(value, type_, user)
            else:
                dtype = _dtype(type_)
                assert dtype is not None, "of a tensor"
                made = _before(user, relax.AstypeOp(value, dtype, type_))
                made.name_hint = value.name_hint
            self.versions[key] = made
        return self.versions[key]

    def _tuple_as(self, value: SSAValue, type_: TupleType, user: Operation) -> SSAValue:
        if isinstance(value.owner, relax.TupleOp):
            fields = list(value.owner.operands)
        else:
            count = range(len(type_.fields.data))
            fields = [_before(user, relax.GetItemOp(value, k)) for k in count]
        cast = [self._as(f, t, user) for f, t in zip(fields, type_.fields, strict=True)]
        return _before(user, relax.TupleOp(cast))

    def _written(self, value: SSAValue, user: Operation) -> SSAValue:
        """A value as it was written."""
        found = self.current.get(value)
        return value if found is None else self._as(found, value.type, user)

    # ---- operations ----

    def _restore(self, op: Operation) -> None:
        """Give an operation, and what it holds, operands as they were written."""
        for inner in op.walk():
            for index, operand in enumerate(inner.operands):
                written = self._written(operand, op)
                if written is not operand:
                    inner.operands[index] = written

    def _visit_structure(self, op: Operation) -> bool:
        """Tuples, their fields, and other names for values."""
        if isinstance(op, relax.WrapParamOp) and op.data not in self.written:
            if _dtype(op.data.type) != f16 or op.dtype != f32:
                return False
            self.current[op.result] = op.data
            self.replaced.append(op)
            return True
        if not isinstance(op, relax.TupleOp | relax.GetItemOp | relax.AliasOp):
            return False
        if all(operand not in self.current for operand in op.operands):
            return False
        operands = [self.current.get(operand, operand) for operand in op.operands]
        match op:
            case relax.TupleOp():
                new = relax.TupleOp(operands)
            case relax.GetItemOp():
                new = relax.GetItemOp(operands[0], op.index.value.data)
            case relax.AliasOp():
                type_ = _with_dtypes(op.result.type, operands[0].type)
                new = relax.AliasOp(operands[0], type_)
        self._take_over(op, new)
        return True

    def _visit_operator(self, op: Operation) -> bool:
        if not isinstance(op, OperatorOp) or not isinstance(op, (*ALWAYS, *FOLLOW)):
            return False
        is_always = isinstance(op, ALWAYS)
        if not self._is_convertible(op):
            return False
        if not is_always and not all(self._is_available(v) for v in op.operands):
            return False
        operands = [self._half(value, op, is_always) for value in op.operands]
        if isinstance(op, relax.AstypeOp) and operands[0].type == op.result.type:
            self.current[op.result] = operands[0]
            self.replaced.append(op)
            return True
        properties = dict(op.properties)
        if isinstance(op, relax.MatmulOp | AnyConvolutionOp):
            properties["out_dtype"] = self.out_dtype
        new = type(op).create(
            operands=operands,
            result_types=[op.result.type],
            properties=properties,
            attributes=op.attributes,
        )
        inferred = _with_dtypes(op.result.type, new.infer_result_type())
        Rewriter.replace_value_with_new_type(new.result, inferred)
        self._take_over(op, new)
        if is_always:
            self._store(op, new.result)
        return True

    def _is_convertible(self, op: OperatorOp) -> bool:
        """Whether an operator reads f32, and could read f16 as far as types say."""
        leaves = [leaf for value in op.operands for leaf in _leaves(value.type)]
        if f32 not in leaves:
            return False
        leaves += _leaves(op.result.type)
        return (
            all(leaf in (f16, f32) or _is_no_float(leaf) for leaf in leaves)
            and self.written.isdisjoint((*op.operands, op.result))
            and not hide_symbols(op.operands, op)
        )

    def _store(self, op: OperatorOp, value: SSAValue) -> None:
        """Store a result in f16, or as it was written if the block outputs it."""
        is_output = any(isinstance(u.operation, relax.OutputOp) for u in op.result.uses)
        type_ = op.result.type if is_output else _narrowed(value.type)
        stored = self._as(value, type_, op)
        self.current[op.result] = stored

    def _is_available(self, value: SSAValue) -> bool:
        """Whether f16 holds a value without a cast of more than numbers."""
        if isinstance(value.type, PrimType):
            return value.type.dtype != f32 or is_number_in_range(value)
        found = self.current.get(value, value)
        if isinstance(found.owner, relax.ConstantOp):
            return fits_half(found.owner)
        if isinstance(found.owner, relax.TupleOp):
            return all(self._is_available(each) for each in found.owner.operands)
        return f32 not in _leaves(found.type)

    def _half(self, value: SSAValue, user: Operation, is_always: bool) -> SSAValue:
        """A value with f16 in the place of f32.

        An operator that always reads f16 reads what was widened to f32 as it was before.
        """
        if isinstance(value.type, PrimType):
            if value.type.dtype != f32:
                return value
            number = value.owner
            assert isinstance(number, relax.PrimValueOp), "available"
            assert isinstance(number.value, FloatAttr), "a float"
            key = (value, f16)
            if key not in self.versions:
                attribute = FloatAttr(number.value.value.data, f16)
                made = _before(user, relax.PrimValueOp(attribute))
                self.versions[key] = made
            return self.versions[key]
        found = self.current.get(value, value)
        narrow, widening = _narrowed(found.type), found.owner
        if is_always and isinstance(widening, relax.AstypeOp):
            source = widening.data
            if source.type == narrow and source not in self.written:
                return source
        return self._as(found, narrow, user)

    def _take_over(self, op: Operation, new: Operation) -> None:
        """Let `new` compute what `op` did."""
        result = _before(op, new)
        result.name_hint = op.results[0].name_hint
        self.current[op.results[0]] = result
        self.replaced.append(op)


def _before(user: Operation, op: Operation) -> SSAValue:
    return LocatedBuilder(user).insert(op)


def _is_unused(op: Operation) -> bool:
    return isinstance(op, relax.TupleOp | relax.GetItemOp) and op.result.first_use is None


def _dtype(type_: Attribute) -> Attribute | None:
    info = TensorInfo.of(type_)
    return None if info is None else info.dtype


def _leaves(type_: Attribute) -> list[Attribute | None]:
    """The dtypes of the tensors in a type, None where one is unknown."""
    if isinstance(type_, TupleType):
        return [leaf for field in type_.fields.data for leaf in _leaves(field)]
    info = TensorInfo.of(type_)
    return [] if info is None else [info.dtype]


def _is_no_float(dtype: Attribute | None) -> bool:
    """Whether a dtype is known to be one of no floats."""
    return dtype is not None and not dtypes.is_float(dtype)


def _narrowed(type_: Attribute) -> Attribute:
    """The type with f16 in the place of f32."""
    if isinstance(type_, TupleType):
        return TupleType.of(map(_narrowed, type_.fields.data))
    info = TensorInfo.of(type_)
    if info is None or info.dtype != f32:
        return type_
    return replace(info, dtype=f16).type


def _with_dtypes(type_: Attribute, other: Attribute) -> Attribute:
    """A type with the dtypes of another one."""
    if isinstance(type_, TupleType) and isinstance(other, TupleType):
        fields = zip(type_.fields.data, other.fields.data, strict=True)
        return TupleType.of(_with_dtypes(one, another) for one, another in fields)
    info, dtypes = TensorInfo.of(type_), TensorInfo.of(other)
    if info is None or dtypes is None:
        return type_
    return replace(info, dtype=dtypes.dtype).type
