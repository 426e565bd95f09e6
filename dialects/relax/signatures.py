"""How operators are called from Python: TVM's parameter names and defaults.

One table says it for all operators (spec relax-ops.md §1-§13), and both the builder and
TVMScript read it. `OPERATORS["nn.conv2d"]` makes the operation of a call, and tells the
arguments that an operation was made of:

    op = OPERATORS["reshape"].make([x, (2, -1)], {}, insert)
    OPERATORS["reshape"].arguments(op)     # {"x": x, "shape": value}

Operands are SSA values. A shape, a scalar or a tuple may be given as plain Python, too:
the operation that makes it is handed to `insert`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, SupportsIndex, TypeAlias, cast, get_args

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    NoneType,
    StringAttr,
    UnitAttr,
    f32,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.attributes import VDeviceAttr
from xdsl_tvm.dialects.relax.manipulate import reshape_dims
from xdsl_tvm.dialects.relax.operators import OperatorOp
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.dialects.tir.index_map import IndexFunction, IndexMapAttr
from xdsl_tvm.dialects.tir.types import parse_dtype

Kind: TypeAlias = Literal[
    "value",  # a tensor, or whatever value the operator takes
    "shape",  # a shape, or its dimensions
    "prim",  # a scalar, or a number
    "prims",  # a tuple of scalars, or their list
    "tensors",  # a tuple of tensors, or their list
    "int",
    "ints",
    "float",
    "floats",
    "bool",
    "str",
    "dtype",
    "map",
    "vdevice",
]
OPERAND_KINDS = frozenset(("value", "shape", "prim", "prims", "tensors"))
"""Kinds of the parameters that are operands; the others are attributes."""

Insert: TypeAlias = Callable[[Operation], SSAValue]
"""Puts an operation in its place and gives its only result."""


@dataclass(frozen=True)
class Device:
    """A device of the runtime: the number of its DLPack type, and which one of them.

    It may stand for both numbers of `hint_on_device`, as TVM's `Device` does.
    """

    dev_type: int
    dev_id: int = 0


_TABLE = """
abs(x)
acos(x)
acosh(x)
add(x1, x2)
arange(start: prim, end: prim = None, step: prim = 1, dtype: dtype = None)
argmax(x, axis: int = None, keepdims: bool = False)
argmin(x, axis: int = None, keepdims: bool = False)
argsort(data, axis: int = -1, descending: bool = False, dtype: dtype = "int32")
asin(x)
asinh(x)
astype(x, dtype: dtype)
atan(x)
atanh(x)
bitwise_and(x1, x2)
bitwise_not(x)
bitwise_or(x1, x2)
bitwise_xor(x1, x2)
broadcast_to(x, shape: shape)
builtin.stop_lift_params(x)
ccl.allgather(x, num_workers: int, in_group: bool = True)
ccl.allreduce(x, op_type: str = "sum", in_group: bool = True)
ccl.broadcast_from_worker0(x)
ccl.scatter_from_worker0(x, num_workers: int, axis: int = 0)
ceil(x)
clip(x, min: prim, max: prim)
collapse_sum_like(data, collapse_target)
collapse_sum_to(data, shape: shape)
concat(tensors: tensors, axis: int | None = 0)
cos(x)
cosh(x)
cumprod(data, axis: int = None, dtype: dtype = None, exclusive: bool = False)
cumsum(data, axis: int = None, dtype: dtype = None, exclusive: bool = False)
dequantize(data, scale, zero_point, axis: int = -1, out_dtype: dtype = "float32")
divide(x1, x2)
dynamic_strided_slice(x, begin, end, strides)
einsum(operands: tensors, subscripts: str)
equal(x1, x2)
erf(x)
ewise_fma(x1, x2, x3)
exp(x)
expand_dims(x, axis: ints)
eye(n: prim, m: prim = None, k: prim = 0, dtype: dtype = "float32")
eye_like(x, k: prim = 0, dtype: dtype = None)
flatten(x)
flip(data, axis: int)
floor(x)
floor_divide(x1, x2)
floor_mod(x1, x2)
full(shape: shape, fill_value, dtype: dtype = None)
full_like(x, fill_value, dtype: dtype = None)
gather_elements(data, indices, axis: int = 0)
gather_nd(data, indices, batch_dims: int = 0)
grad.end_checkpoint(input)
grad.no_grad(input)
grad.start_checkpoint(input)
greater(x1, x2)
greater_equal(x1, x2)
hint_on_device(data, dev_type: int, dev_id: int = 0)
image.resize2d(data, size: shape, roi: floats = (0.0, 0.0, 0.0, 0.0), \
layout: str = "NCHW", method: str = "linear", \
coordinate_transformation_mode: str = "half_pixel", rounding_method: str = "round", \
cubic_alpha: float = -0.5, cubic_exclude: int = 0, extrapolation_value: float = 0.0, \
out_dtype: dtype = None)
inspect.tensor_byte_offset(tensor)
inspect.tensor_dtype_bits(tensor)
inspect.tensor_dtype_code(tensor)
inspect.tensor_dtype_lanes(tensor)
inspect.tensor_elem_offset(tensor)
inspect.tensor_ndim(tensor)
inspect.tensor_shape_i(tensor, axis: prim)
inspect.tensor_stride_i(tensor, axis: prim)
isfinite(x)
isinf(x)
isnan(x)
layout_transform(x, index_map: map, pad_value: prim = None, axis_separators: ints = (), \
input_axis_separators: ints = ())
left_shift(x1, x2)
less(x1, x2)
less_equal(x1, x2)
log(x)
logical_and(x1, x2)
logical_not(x)
logical_or(x1, x2)
logical_xor(x1, x2)
matmul(x1, x2, out_dtype: dtype = None)
max(x, axis: ints = None, keepdims: bool = False)
maximum(x1, x2)
mean(x, axis: ints = None, keepdims: bool = False)
memory.ensure_zero_offset(data)
memory.view(data, shape: shape = None, dtype: dtype = None, \
relative_byte_offset: prim = None)
min(x, axis: ints = None, keepdims: bool = False)
minimum(x1, x2)
mod(x1, x2)
multinomial_from_uniform(prob, uniform_sample, sample_indices, dtype: dtype = "int64")
multiply(x1, x2)
negative(x)
nn.adaptive_avg_pool1d(data, output_size: ints = None, layout: str = "NCW", \
out_layout: str = None)
nn.adaptive_avg_pool2d(data, output_size: ints = None, layout: str = "NCHW", \
out_layout: str = None)
nn.adaptive_avg_pool3d(data, output_size: ints = None, layout: str = "NCDHW", \
out_layout: str = None)
nn.attention(query, key, value, bias = None, scale: float = None, \
causal_mask: str = None, window_size: int = None)
nn.attention_bias(query, key, value, bias = None, scale: float = None, \
causal_mask: str = None, window_size: int = None)
nn.attention_var_len(queries, keys, values, seqstart_q, max_seqlen_q, \
seqstart_k = None, max_seqlen_k = None, scale: float = None, causal_mask: str = None, \
window_size: int = None)
nn.avg_pool1d(data, pool_size: ints = 1, strides: ints = 1, padding: ints = 0, \
dilation: ints = 1, ceil_mode: bool = False, count_include_pad: bool = False, \
layout: str = "NCW", out_layout: str = None)
nn.avg_pool2d(data, pool_size: ints = 1, strides: ints = 1, padding: ints = 0, \
dilation: ints = 1, ceil_mode: bool = False, count_include_pad: bool = False, \
layout: str = "NCHW", out_layout: str = None)
nn.avg_pool3d(data, pool_size: ints = 1, strides: ints = 1, padding: ints = 0, \
dilation: ints = 1, ceil_mode: bool = False, count_include_pad: bool = False, \
layout: str = "NCDHW", out_layout: str = None)
nn.batch_norm(data, gamma, beta, moving_mean, moving_var, axis: int, \
epsilon: float = 1e-05, center: bool = True, scale: bool = True, \
momentum: float = 0.1, training: bool = True)
nn.conv1d(data, weight, strides: ints = 1, padding: ints = 0, dilation: ints = 1, \
groups: int = 1, data_layout: str = "NCW", kernel_layout: str = "OIW", \
out_layout: str = None, out_dtype: dtype = None)
nn.conv1d_transpose(data, weight, strides: ints = 1, padding: ints = 0, \
output_padding: ints = 0, dilation: ints = 1, groups: int = 1, \
data_layout: str = "NCW", kernel_layout: str = "IOW", out_layout: str = None, \
out_dtype: dtype = None)
nn.conv2d(data, weight, strides: ints = 1, padding: ints = 0, dilation: ints = 1, \
groups: int = 1, data_layout: str = "NCHW", kernel_layout: str = "OIHW", \
out_layout: str = None, out_dtype: dtype = None)
nn.conv2d_transpose(data, weight, strides: ints = 1, padding: ints = 0, \
output_padding: ints = 0, dilation: ints = 1, groups: int = 1, \
data_layout: str = "NCHW", kernel_layout: str = "IOHW", out_layout: str = None, \
out_dtype: dtype = None)
nn.conv3d(data, weight, strides: ints = 1, padding: ints = 0, dilation: ints = 1, \
groups: int = 1, data_layout: str = "NCDHW", kernel_layout: str = "OIDHW", \
out_layout: str = None, out_dtype: dtype = None)
nn.cross_entropy_with_logits(predictions, labels)
nn.dropout(data, rate: float = 0.5)
nn.gelu(data)
nn.gelu_tanh(data)
nn.group_norm(data, gamma, beta, num_groups: int, channel_axis: int, axes: ints, \
epsilon: float = 1e-05, center: bool = True, scale: bool = True)
nn.layer_norm(data, gamma, beta, axes: ints, epsilon: float = 1e-05, \
center: bool = True, scale: bool = True)
nn.leakyrelu(data, alpha: float = 0.01)
nn.log_softmax(data, axis: int = -1)
nn.max_pool1d(data, pool_size: ints = 1, strides: ints = 1, padding: ints = 0, \
dilation: ints = 1, ceil_mode: bool = False, count_include_pad: bool = False, \
layout: str = "NCW", out_layout: str = None)
nn.max_pool2d(data, pool_size: ints = 1, strides: ints = 1, padding: ints = 0, \
dilation: ints = 1, ceil_mode: bool = False, count_include_pad: bool = False, \
layout: str = "NCHW", out_layout: str = None)
nn.max_pool3d(data, pool_size: ints = 1, strides: ints = 1, padding: ints = 0, \
dilation: ints = 1, ceil_mode: bool = False, count_include_pad: bool = False, \
layout: str = "NCDHW", out_layout: str = None)
nn.nll_loss(predictions, targets, weights = None, reduction: str = "mean", \
ignore_index: int = -100)
nn.pad(data, pad_width: ints, pad_mode: str = "constant", pad_value: float = 0.0)
nn.relu(data)
nn.rms_norm(data, weight, axes: ints = -1, epsilon: float = 1e-05)
nn.selu(data)
nn.silu(data)
nn.softmax(data, axis: int = -1)
nn.softplus(data, beta: float = 1.0, threshold: float = 20.0)
nonzero(x)
not_equal(x1, x2)
one_hot(indices, on_value: prim, off_value: prim, depth: int, axis: int = -1)
ones(shape: shape, dtype: dtype)
ones_like(x, dtype: dtype = None)
permute_dims(x, axes: ints = None)
power(x1, x2)
prod(x, axis: ints = None, keepdims: bool = False)
quantize(data, scale, zero_point, axis: int = -1, out_dtype: dtype = "int8")
repeat(data, repeats: int, axis: int = None)
reshape(x, shape: shape)
right_shift(x1, x2)
round(x)
rsqrt(x)
scatter_elements(data, indices, updates, axis: int = 0, reduction: str = "update")
scatter_nd(data, indices, updates, reduction: str = "update")
shape_of(expr)
shape_to_tensor(expr)
sigmoid(x)
sign(x)
sin(x)
sinh(x)
sort(x, axis: int = -1, descending: bool = False)
split(x, indices_or_sections: ints, axis: int = 0)
sqrt(x)
square(x)
squeeze(x, axis: ints = None)
std(x, axis: ints = None, keepdims: bool = False)
strided_slice(x, axes: prims, begin: prims, end: prims, strides: prims = None, \
assume_inbound: bool = False)
subtract(x1, x2)
sum(x, axis: ints = None, keepdims: bool = False)
take(x, indices, axis: int = None)
tan(x)
tanh(x)
tensor_to_shape(expr)
tile(data, repeats: ints)
to_vdevice(data, dst_vdevice: vdevice)
topk(data, k: int = 1, axis: int = -1, ret_type: str = "both", largest: bool = True, \
dtype: dtype = "int32")
tril(x, k: prim = 0)
triu(x, k: prim = 0)
unique(x, sorted: prim = True, return_index: prim = False, \
return_inverse: prim = False, return_counts: prim = False, axis: prim = None)
variance(x, axis: ints = None, keepdims: bool = False)
where(condition, x1, x2)
wrap_param(data, dtype: dtype = "float32")
zeros(shape: shape, dtype: dtype)
zeros_like(x, dtype: dtype = None)
"""

_NEGATIONS = {
    "center": "no_center",
    "in_group": "all_groups",
    "largest": "smallest",
    "scale": "no_scale",
    "training": "inference",
}
"""Flags that are on by default: the property that says that they are off."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of an operator."""

    name: str
    kind: Kind
    is_required: bool
    default: object = None
    may_be_none: bool = False
    """Whether None is an argument of its own, not another word for the default."""

    @property
    def takes_none(self) -> bool:
        """Whether the operator can be without it."""
        return self.may_be_none or self.default is None

    @property
    def is_operand(self) -> bool:
        """Whether the argument is a value of the program, not an attribute."""
        return self.kind in OPERAND_KINDS


@dataclass(frozen=True)
class Signature:
    """How one operator is called."""

    name: str
    """TVM's name without `relax.`."""
    op_class: type[OperatorOp]
    parameters: tuple[Parameter, ...]

    def bind(
        self, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> dict[str, object]:
        """The argument of every parameter, by name and in order, defaults included.

        Raises VerifyException for arguments that are missing, unknown or given twice.
        """
        names = [parameter.name for parameter in self.parameters]
        if len(args) > len(names):
            raise self._error(f"takes {len(names)} arguments, {len(args)} are given")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names:
                raise self._error(f"there is no parameter '{name}' in {self}")
            if name in given:
                raise self._error(f"the argument '{name}' is given twice")
            given[name] = value
        for parameter in self.parameters:
            if parameter.name not in given and parameter.is_required:
                raise self._error(f"the argument '{parameter.name}' is missing")
        return {p.name: given.get(p.name, p.default) for p in self.parameters}

    def make(
        self, args: Sequence[object], kwargs: Mapping[str, object], insert: Insert
    ) -> OperatorOp:
        """The operation of a call, its result type inferred.

        The operation is not inserted; what it needs that is given as plain Python (a
        shape, a scalar, a tuple, a number to fill with) goes through `insert` first.
        Raises VerifyException for arguments that do not fit.
        """
        bound = self.bind(args, kwargs)
        if self.name in _ATTENTION:
            name = _ATTENTION[0 if bound["bias"] is None else 1]
            return OPERATORS[name].construct(bound, insert)
        if (prepare := _PREPARATIONS.get(self.name)) is not None:
            prepare(bound, insert)
        return self.construct(bound, insert)

    def construct(self, bound: Mapping[str, object], insert: Insert) -> OperatorOp:
        """The operation of arguments that are all there, by name.

        Raises VerifyException for arguments that do not fit.
        """
        # The constructors of the operators take the same parameters in the same order.
        values = [self._convert(p, bound[p.name], insert) for p in self._constructed]
        return cast("Callable[..., OperatorOp]", self.op_class)(*values)

    @property
    def _constructed(self) -> Sequence[Parameter]:
        """The parameters of the operation, which another one may have more of."""
        if self.name != _ATTENTION[0]:
            return self.parameters
        return [p for p in self.parameters if p.name != "bias"]

    def __getitem__(self, name: str) -> Parameter:
        """The parameter of that name; KeyError if there is none."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise KeyError(name)

    def _convert(self, parameter: Parameter, value: object, insert: Insert) -> object:
        if value is None:
            if parameter.is_required:
                raise self._error(f"the argument '{parameter.name}' cannot be None")
            if parameter.takes_none:
                return None
            value = parameter.default
        converted = _CONVERSIONS[parameter.kind](value, insert)
        may_be_void = parameter.kind == "dtype" and not parameter.is_required
        if converted is None and not may_be_void:
            raise self._error(
                f"the argument '{parameter.name}' must be "
                f"{_DESCRIPTIONS[parameter.kind]}, not {value!r}"
            )
        return converted

    def _error(self, reason: str) -> VerifyException:
        return VerifyException(f"relax.{self.name}: {reason}")

    def arguments(self, op: Operation) -> dict[str, object]:
        """What the operation was made of, by parameter, in order.

        Operands are SSA values, attributes plain Python, except dtypes, maps and devices,
        which stay attributes; what is absent is None, or the dtype `none` where None
        would be another default.
        """
        names = self.operand_names
        parameters = self._constructed
        # Most operands have other names than the parameters, and the same order.
        taken = {parameter.name for parameter in parameters}
        others = iter([name for name in names if name not in taken])
        result: dict[str, object] = {}
        for parameter in parameters:
            if parameter.is_operand:
                name = parameter.name if parameter.name in names else next(others)
                result[parameter.name] = getattr(op, name)
            else:
                result[parameter.name] = _attribute_argument(op, parameter)
        return result

    @property
    def operand_names(self) -> list[str]:
        """The operands as the operation's class calls them, in order."""
        return [name for name, _ in self.op_class.get_irdl_definition().operands]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(_parameter_text, self.parameters))})"


def _parameter_text(parameter: Parameter) -> str:
    if parameter.is_required:
        return parameter.name
    return f"{parameter.name}={parameter.default!r}"


def _attribute_argument(op: Operation, parameter: Parameter) -> object:
    properties = op.properties
    if parameter.kind == "bool":
        negation = _NEGATIONS.get(parameter.name)
        if negation is not None:
            return negation not in properties
        return isinstance(properties.get(parameter.name), UnitAttr)
    if parameter.name == "indices_or_sections":
        return _plain(properties.get("sections") or properties["indices"])
    attribute = properties.get(parameter.name)
    if attribute is None and parameter.kind == "dtype" and parameter.default is not None:
        return NoneType()
    return _plain(attribute)


def _plain(attribute: Attribute | None) -> object:
    if isinstance(attribute, IntegerAttr | FloatAttr):
        return attribute.value.data
    if isinstance(attribute, StringAttr):
        return attribute.data
    if isinstance(attribute, DenseArrayBase):
        return list(attribute.get_values())
    if isa(attribute, ArrayAttr[FloatAttr]):
        return [number.value.data for number in attribute]
    return attribute


# ---- from Python to what constructors take; None says that a value does not fit ----


def _value(value: object, insert: Insert) -> SSAValue | None:
    return cast("SSAValue", value) if isinstance(value, SSAValue) else None


def _shape(value: object, insert: Insert) -> SSAValue | None:
    if (given := _value(value, insert)) is not None:
        return given
    dims = _list(value)
    if dims is None or not isa(dims, list[Dim | int | str]):
        return None
    try:
        return insert(relax.ShapeOp(dims))
    except ValueError:  # a name that no symbol can have
        return None


def _prim(value: object, insert: Insert) -> SSAValue | None:
    """An `i1` of a bool, an `i64` of other integers, an `f32` of a float, as TVM's."""
    match value:
        case bool():
            return insert(relax.PrimValueOp(int(value), i1))
        case int() | Dim():
            return insert(relax.PrimValueOp(value))
        case float():
            return insert(relax.PrimValueOp(FloatAttr(value, f32)))
        case _:
            return _value(value, insert)


def _tuple(element: Callable[[object, Insert], SSAValue | None]) -> _Conversion:
    def convert(value: object, insert: Insert) -> SSAValue | None:
        if (given := _list(value)) is None:
            return _value(value, insert)
        elements = [e for v in given if (e := element(v, insert)) is not None]
        if len(elements) != len(given):
            return None
        return insert(relax.TupleOp(elements))

    return convert


def _list(value: object) -> list[object] | None:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(cast("Sequence[object]", value))
    return None


def _int(value: object, insert: Insert) -> int | None:
    if isinstance(value, Dim):
        return value.value
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        return value.__index__()
    return None


def _ints(value: object, insert: Insert) -> int | list[int] | None:
    if (given := _list(value)) is None:
        return _int(value, insert)
    numbers = [n for v in given if (n := _int(v, insert)) is not None]
    return numbers if len(numbers) == len(given) else None


def _float(value: object, insert: Insert) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return None


def _floats(value: object, insert: Insert) -> list[float] | None:
    given = _list(value) or []
    numbers = [n for v in given if (n := _float(v, insert)) is not None]
    return numbers if given and len(numbers) == len(given) else None


def _bool(value: object, insert: Insert) -> bool | None:
    return bool(value) if isinstance(value, int) else None


def _str(value: object, insert: Insert) -> str | None:
    return value if isinstance(value, str) else None


def dtype_of(value: object) -> Attribute | None:
    """The type of a dtype given as TVM's name or as the type itself; `void` is None.

    Raises VerifyException for an unknown name and for anything else.
    """
    if isinstance(value, str):
        try:
            value = parse_dtype(value)
        except ValueError as error:
            raise VerifyException(str(error)) from None
    if not isinstance(value, Attribute):
        raise VerifyException(f"a dtype is a name as 'float32' or a type, not {value!r}")
    return None if isinstance(value, NoneType) else value


def _dtype(value: object, insert: Insert) -> Attribute | None:
    return dtype_of(value)


def _map(value: object, insert: Insert) -> IndexMapAttr | None:
    if not callable(value) or isinstance(value, IndexMapAttr):
        return value if isinstance(value, IndexMapAttr) else None
    try:
        return IndexMapAttr.of(cast("IndexFunction", value))
    except (TypeError, ValueError) as error:
        raise VerifyException(f"relax.layout_transform: index_map: {error}") from None


def _vdevice(value: object, insert: Insert) -> VDeviceAttr | None:
    if isinstance(value, str):
        target, _, rest = value.partition(":")
        index, _, scope = rest.partition(":")
        try:
            return VDeviceAttr.of(target, int(index or 0), scope or "global")
        except ValueError:
            return None
    return value if isinstance(value, VDeviceAttr) else None


_Conversion: TypeAlias = Callable[[object, Insert], object]
_CONVERSIONS: Mapping[Kind, _Conversion] = {
    "value": _value,
    "shape": _shape,
    "prim": _prim,
    "prims": _tuple(_prim),
    "tensors": _tuple(_value),
    "int": _int,
    "ints": _ints,
    "float": _float,
    "floats": _floats,
    "bool": _bool,
    "str": _str,
    "dtype": _dtype,
    "map": _map,
    "vdevice": _vdevice,
}
_DESCRIPTIONS: Mapping[Kind, str] = {
    "value": "a value",
    "shape": "a shape or a list of dimensions",
    "prim": "a scalar or a number",
    "prims": "a tuple of scalars or a list of numbers",
    "tensors": "a tuple or a list of tensors",
    "int": "an integer",
    "ints": "an integer or a list of integers",
    "float": "a number",
    "floats": "a list of numbers",
    "bool": "a bool",
    "str": "a string",
    "dtype": "a dtype",
    "map": "an index map",
    "vdevice": "a virtual device",
}


# ---- what some operators' Python functions do first ----


_ATTENTION = "nn.attention", "nn.attention_bias"
"""One function of Python, without and with a bias."""


def _prepare_attention(bound: dict[str, object], insert: Insert) -> None:
    """Keys are cut into sequences as queries are, unless it is said how."""
    for of_keys, of_queries in (
        ("seqstart_k", "seqstart_q"),
        ("max_seqlen_k", "max_seqlen_q"),
    ):
        if bound[of_keys] is None:
            bound[of_keys] = bound[of_queries]


def _prepare_arange(bound: dict[str, object], insert: Insert) -> None:
    """`arange(n)` counts from 0."""
    if bound["end"] is None:
        bound["start"], bound["end"] = 0, bound["start"]


def _prepare_hint(bound: dict[str, object], insert: Insert) -> None:
    """A device says both numbers; newer TVM has a memory scope behind it."""
    device = bound["dev_type"]
    if not isinstance(device, Device):
        return
    if bound["dev_id"] not in (0, "global"):
        raise VerifyException(
            'relax.hint_on_device: the memory scope can be "global" only, not '
            f"{bound['dev_id']!r}; give it to relax.to_vdevice"
        )
    bound["dev_type"], bound["dev_id"] = device.dev_type, device.dev_id


def _prepare_eye(bound: dict[str, object], insert: Insert) -> None:
    """A matrix is square unless its columns are given."""
    if bound["m"] is None:
        bound["m"] = bound["n"]


def _prepare_layout_transform(bound: dict[str, object], insert: Insert) -> None:
    """A number to pad with has the tensor's dtype."""
    x, pad = _value(bound["x"], insert), bound["pad_value"]
    info = None if x is None else TensorInfo.of(x.type)
    dtype = None if info is None else info.dtype
    if dtype is None or not isinstance(pad, int | float):
        return
    if isinstance(dtype, AnyFloat):
        bound["pad_value"] = insert(relax.PrimValueOp(FloatAttr(float(pad), dtype)))
    elif isinstance(pad, int):
        bound["pad_value"] = insert(relax.PrimValueOp(int(pad), dtype))


def _prepare_reshape(bound: dict[str, object], insert: Insert) -> None:
    """0 is the operand's dimension, -1 what is left."""
    x, shape = _value(bound["x"], insert), _list(bound["shape"])
    if x is not None and isa(shape, list[Dim | int | str]):
        bound["shape"] = list(reshape_dims(x.type, shape))


def _prepare_resize(bound: dict[str, object], insert: Insert) -> None:
    """One number stands for height and width, and for all four of `roi`."""
    size, roi = bound["size"], bound["roi"]
    if isinstance(size, int | Dim) and not isinstance(size, bool):
        size = [size]
    if (dims := _list(size)) is not None and len(dims) == 1:
        bound["size"] = dims * 2
    if isinstance(roi, float):
        bound["roi"] = [roi] * 4


_PREPARATIONS: Mapping[str, Callable[[dict[str, object], Insert], None]] = {
    "arange": _prepare_arange,
    "eye": _prepare_eye,
    "hint_on_device": _prepare_hint,
    "image.resize2d": _prepare_resize,
    "layout_transform": _prepare_layout_transform,
    "nn.attention_var_len": _prepare_attention,
    "reshape": _prepare_reshape,
}


# ---- the table ----


def _signatures() -> Iterator[Signature]:
    classes = {op.name: op for op in relax.Relax.operations}
    for row in _TABLE.strip().splitlines():
        name, _, parameters = row.partition("(")
        op_class = classes[f"relax.{name}"]
        assert issubclass(op_class, OperatorOp)
        yield Signature(name, op_class, tuple(_parameters(parameters.removesuffix(")"))))


def _parameters(text: str) -> Iterator[Parameter]:
    function = ast.parse(f"def f({text}): ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    arguments = function.args
    required = len(arguments.args) - len(arguments.defaults)
    for index, argument in enumerate(arguments.args):
        annotation = argument.annotation
        may_be_none = isinstance(annotation, ast.BinOp)
        if isinstance(annotation, ast.BinOp):
            annotation = annotation.left
        kind = annotation.id if isinstance(annotation, ast.Name) else "value"
        assert kind in get_args(Kind)
        is_required, default = index < required, None
        if not is_required:
            default = ast.literal_eval(arguments.defaults[index - required])
        name = argument.arg
        yield Parameter(name, cast("Kind", kind), is_required, default, may_be_none)


OPERATORS: Mapping[str, Signature] = {
    signature.name: signature for signature in _signatures()
}
"""The signatures by TVM's names without `relax.`."""
