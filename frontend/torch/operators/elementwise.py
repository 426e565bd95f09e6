"""Arithmetic, comparisons and functions of elements.

torch brings operands to one dtype, which for arithmetic is that of the result. For
comparisons `promoted` finds it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl_tvm import relax
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.frontend.torch.node import Converter, Node, Value, cast_to, converts
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr, call

_UNARY = {
    "abs": "abs",
    "acos": "acos",
    "acosh": "acosh",
    "asin": "asin",
    "asinh": "asinh",
    "atan": "atan",
    "atanh": "atanh",
    "cos": "cos",
    "cosh": "cosh",
    "erf": "erf",
    "exp": "exp",
    "log": "log",
    "neg": "negative",
    "relu": "nn.relu",
    "rsqrt": "rsqrt",
    "sigmoid": "sigmoid",
    "sign": "sign",
    "sin": "sin",
    "sinh": "sinh",
    "sqrt": "sqrt",
    "square": "square",
    "tan": "tan",
    "tanh": "tanh",
}
"""Operators of one tensor that Relax has, by its name."""

_ROUNDING = {"ceil": "ceil", "floor": "floor", "round": "round"}
"""The same, which leave integers as they are."""

_TESTS = {"isfinite": "isfinite", "isinf": "isinf", "isnan": "isnan"}
"""Questions about floats."""

_COMPARISONS = {
    "eq": "equal",
    "ge": "greater_equal",
    "gt": "greater",
    "le": "less_equal",
    "lt": "less",
    "ne": "not_equal",
}

_LOGICAL = {
    "logical_and": "logical_and",
    "logical_or": "logical_or",
    "logical_xor": "logical_xor",
}

_BITWISE = {
    "bitwise_and": ("bitwise_and", "logical_and"),
    "bitwise_or": ("bitwise_or", "logical_or"),
    "bitwise_xor": ("bitwise_xor", "logical_xor"),
}
"""Operators on bits, and the same on truth values."""


def _unary(name: str) -> Converter:
    return lambda node: call(name, cast_to(node.expr(), node.dtype))


def _rounding(name: str) -> Converter:
    def convert(node: Node) -> Value:
        x = node.expr()
        return call(name, x) if "float" in x.dtype else x

    return convert


def _test(name: str) -> Converter:
    def convert(node: Node) -> Value:
        x = node.expr()
        return call(name, x if "float" in x.dtype else op.astype(x, "float32"))

    return convert


def _comparison(name: str) -> Converter:
    def convert(node: Node) -> Value:
        return call(name, *compared(node, "self", "other"))

    return convert


def _logical(name: str) -> Converter:
    return lambda node: call(
        name, node.operand("self", "bool"), node.operand("other", "bool")
    )


def _bitwise(names: tuple[str, str]) -> Converter:
    def convert(node: Node) -> Value:
        name = names[1] if node.dtype == "bool" else names[0]
        return call(name, *operands(node))

    return convert


for _torch, _relax in _UNARY.items():
    converts(_torch)(_unary(_relax))
for _torch, _relax in _ROUNDING.items():
    converts(_torch)(_rounding(_relax))
for _torch, _relax in _TESTS.items():
    converts(_torch)(_test(_relax))
for _torch, _relax in _COMPARISONS.items():
    converts(f"{_torch}.Tensor", f"{_torch}.Scalar")(_comparison(_relax))
for _torch, _relax in _LOGICAL.items():
    converts(_torch)(_logical(_relax))
for _torch, _pair in _BITWISE.items():
    _names = (_torch, f"__{_torch.removeprefix('bitwise_')}__")
    converts(*(f"{_name}.{_kind}" for _name in _names for _kind in ("Tensor", "Scalar")))(
        _bitwise(_pair)
    )


# ---- dtypes ----


def operands(node: Node, first: str = "self", second: str = "other") -> tuple[Expr, Expr]:
    """Two arguments in the dtype of the result."""
    return node.operand(first, node.dtype), node.operand(second, node.dtype)


def compared(node: Node, *names: str) -> list[Expr]:
    """Arguments in the dtype that torch compares them in."""
    dtype = promoted([_kind(node, name) for name in names])
    return [node.operand(name, dtype) for name in names]


def _kind(node: Node, name: str) -> tuple[str, int]:
    """The dtype of an argument, and what it weighs: tensors, of rank 0, numbers."""
    value = node.argument(name)
    if isinstance(value, Expr):
        return value.dtype, 2 if value.shape else 1
    if isinstance(value, bool):
        return "bool", 0
    return ("int64" if isinstance(value, int | Dim) else "float32"), 0


def promoted(kinds: Sequence[tuple[str, int]]) -> str:
    """torch's dtype for several operands, each with its weight.

    An operand that weighs less counts only where it is of a higher category: truth
    values, integers, floats.
    """
    result, category = "bool", -1
    for weight in (2, 1, 0):
        found = [dtype for dtype, each in kinds if each == weight]
        if not found:
            continue
        here = found[0]
        for dtype in found[1:]:
            here = _wider(here, dtype)
        if _category(here) > category:
            result, category = here, _category(here)
    return result


def _category(dtype: str) -> int:
    return 0 if dtype == "bool" else 2 if "float" in dtype else 1


def _wider(lhs: str, rhs: str) -> str:
    """The dtype of two tensors of one weight."""
    if lhs == rhs:
        return lhs
    low, high = sorted((lhs, rhs), key=lambda dtype: (_category(dtype), _bits(dtype)))
    if _category(low) < _category(high):
        return high
    if _category(low) == 2:
        return "float32" if _bits(low) == _bits(high) == 16 else high
    if low.startswith("u") == high.startswith("u") or high.startswith("int"):
        is_wide = _bits(low) < _bits(high) or low.startswith("u") == high.startswith("u")
        return high if is_wide else f"int{_bits(high) * 2}"
    return f"int{_bits(high) * 2}"


def _bits(dtype: str) -> int:
    return int("".join(each for each in dtype.partition("_")[0] if each.isdigit()) or 8)


# ---- arithmetic ----


@converts("add.Tensor", "add.Scalar")
def _add(node: Node) -> Value:
    lhs, rhs = operands(node)
    if node.dtype == "bool":
        return op.logical_or(lhs, rhs)
    return op.add(lhs, _scaled(node, rhs))


@converts("sub.Tensor", "sub.Scalar")
def _sub(node: Node) -> Value:
    lhs, rhs = operands(node)
    return op.subtract(lhs, _scaled(node, rhs))


@converts("rsub.Tensor", "rsub.Scalar")
def _rsub(node: Node) -> Value:
    lhs, rhs = operands(node)
    return op.subtract(rhs, _scaled(node, lhs))


def _scaled(node: Node, x: Expr) -> Expr:
    """The operand times the argument `alpha`."""
    alpha = node.scalar("alpha")
    is_one = not isinstance(alpha, Dim) and alpha == 1
    return x if is_one else op.multiply(x, node.constant(alpha, node.dtype))


@converts("mul.Tensor", "mul.Scalar")
def _mul(node: Node) -> Value:
    lhs, rhs = operands(node)
    return (op.logical_and if node.dtype == "bool" else op.multiply)(lhs, rhs)


@converts("div.Tensor", "div.Scalar")
def _div(node: Node) -> Value:
    return op.divide(*operands(node))


@converts("div.Tensor_mode", "div.Scalar_mode")
def _div_mode(node: Node) -> Value:
    lhs, rhs = operands(node)
    if not node.has("rounding_mode"):
        return op.divide(lhs, rhs)
    mode = node.text("rounding_mode")
    if mode == "floor":
        return op.floor_divide(lhs, rhs)
    if mode != "trunc":
        raise node.error(f"rounding_mode must be floor or trunc, not {mode}")
    quotient = op.divide(lhs, rhs)
    return truncated(node, quotient) if "float" in node.dtype else quotient


@converts("floor_divide")
def _floor_divide(node: Node) -> Value:
    return op.floor_divide(*operands(node))


def truncated(node: Node, x: Expr) -> Expr:
    """Whole numbers, rounded toward zero."""
    x = node.emit(x)
    return op.where(op.less(x, node.constant(0, x.dtype)), op.ceil(x), op.floor(x))


@converts("trunc")
def _trunc(node: Node) -> Value:
    x = node.expr()
    return truncated(node, x) if "float" in x.dtype else x


@converts("round.decimals")
def _round_decimals(node: Node) -> Value:
    x = node.expr()
    if "float" not in x.dtype:
        return x
    scale = node.constant(10.0 ** abs(node.integer("decimals")), x.dtype)
    if node.integer("decimals") < 0:
        return op.multiply(op.round(op.divide(x, scale)), scale)
    return op.divide(op.round(op.multiply(x, scale)), scale)


@converts("fmod.Tensor", "fmod.Scalar")
def _fmod(node: Node) -> Value:
    return op.mod(*operands(node))


@converts("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def _remainder(node: Node) -> Value:
    lhs, rhs = operands(node)
    if "float" not in node.dtype:
        return op.floor_mod(lhs, rhs)
    # The rest with the sign of the divisor, exact, and right for an infinite divisor.
    rhs = node.emit(rhs)
    rest = node.emit(op.mod(lhs, rhs))
    zero = node.constant(0, node.dtype)
    differs = op.not_equal(op.less(rest, zero), op.less(rhs, zero))
    moves = op.logical_and(op.not_equal(rest, zero), differs)
    return op.where(moves, op.add(rest, rhs), rest)


@converts("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def _pow(node: Node) -> Value:
    exponent = node.argument("exponent")
    base = node.operand("self", node.dtype)
    if exponent == 2 and not isinstance(exponent, Expr):
        return op.square(base)
    if exponent == 0.5 and not isinstance(exponent, Expr) and "float" in node.dtype:
        # As torch computes it.
        return op.sqrt(base)
    return op.power(base, node.operand("exponent", node.dtype))


@converts("reciprocal")
def _reciprocal(node: Node) -> Value:
    x = cast_to(node.expr(), node.dtype)
    return op.divide(node.constant(1, node.dtype), x)


@converts("maximum")
def _maximum(node: Node) -> Value:
    lhs, rhs = operands(node)
    return (op.logical_or if node.dtype == "bool" else op.maximum)(lhs, rhs)


@converts("minimum")
def _minimum(node: Node) -> Value:
    lhs, rhs = operands(node)
    return (op.logical_and if node.dtype == "bool" else op.minimum)(lhs, rhs)


@converts("clamp", "clamp.Tensor")
def _clamp(node: Node) -> Value:
    x = node.operand("self", node.dtype)
    if node.has("min"):
        x = op.maximum(x, node.operand("min", node.dtype))
    return op.minimum(x, node.operand("max", node.dtype)) if node.has("max") else x


@converts("signbit")
def _signbit(node: Node) -> Value:
    return _is_negative(node, node.emit(node.expr()))


@converts("copysign.Tensor", "copysign.Scalar")
def _copysign(node: Node) -> Value:
    size, sign = operands(node)
    size = node.emit(op.abs(size))
    return op.where(_is_negative(node, node.emit(sign)), op.negative(size), size)


def _is_negative(node: Node, x: Expr) -> Expr:
    """Whether numbers have a sign, which -0.0 has, too."""
    zero = node.constant(0, x.dtype)
    if "float" not in x.dtype:
        return op.less(x, zero)
    # 1 / -0.0 is the negative infinity, and 1 / -inf is no number below 0.
    inverse = op.divide(node.constant(1, x.dtype), x)
    return op.logical_or(op.less(x, zero), op.less(inverse, zero))


# ---- logarithms, roots and angles ----


def _float(node: Node) -> Expr:
    return node.emit(cast_to(node.expr(), node.dtype))


@converts("log2", "log10")
def _log_of_base(node: Node) -> Value:
    base = 2 if "log2" in node.target else 10
    factor = node.constant(1 / math.log(base), node.dtype)
    return op.multiply(op.log(_float(node)), factor)


@converts("log1p")
def _log1p(node: Node) -> Value:
    """The logarithm of u = 1 + x, times what rounding left of x."""
    x = _float(node)
    one = node.constant(1, node.dtype)
    u = node.emit(op.add(x, one))
    log = node.emit(op.log(u))
    exact = op.multiply(log, op.divide(x, op.subtract(u, one)))
    large = op.where(op.isfinite(u), exact, log)
    return op.where(op.equal(u, one), x, large)


@converts("expm1")
def _expm1(node: Node) -> Value:
    """u - 1 of u = exp(x), times what rounding has changed x by."""
    x = _float(node)
    one = node.constant(1, node.dtype)
    u = node.emit(op.exp(x))
    less = node.emit(op.subtract(u, one))
    exact = op.multiply(less, op.divide(x, op.log(u)))
    is_plain = op.logical_or(op.logical_not(op.isfinite(u)), op.equal(less, -one))
    return op.where(op.equal(u, one), x, op.where(is_plain, less, exact))


@converts("exp2")
def _exp2(node: Node) -> Value:
    return op.power(node.constant(2, node.dtype), _float(node))


@converts("hypot")
def _hypot(node: Node) -> Value:
    return hypotenuse(node, *operands(node))


def hypotenuse(node: Node, *lengths: Expr) -> Expr:
    """The longer of two sides times a root of at most 2, which does not overflow."""
    sides = [op.abs(each) for each in lengths]
    longer = node.emit(op.maximum(*sides))
    zero, one = (node.constant(number, longer.dtype) for number in (0, 1))
    is_plain = op.logical_or(op.equal(longer, zero), op.isinf(longer))
    share = op.divide(op.minimum(*sides), op.where(is_plain, one, longer))
    length = op.multiply(longer, op.sqrt(op.add(one, op.square(share))))
    return op.where(is_plain, longer, length)


@converts("atan2")
def _atan2(node: Node) -> Value:
    """The angle of the quotient, moved by half a turn left of the origin."""
    y, x = (node.emit(node.operand(name, node.dtype)) for name in ("self", "other"))
    zero = node.constant(0, node.dtype)
    both = op.logical_and(op.isinf(y), op.isinf(x))
    tall = node.emit(op.where(both, op.sign(y), y))
    wide = node.emit(op.where(both, op.sign(x), x))
    is_below, is_left = _is_negative(node, y), _is_negative(node, x)
    half = op.where(is_below, node.constant(-math.pi, node.dtype), _pi(node))
    angle = op.atan(op.divide(tall, wide))
    turned = op.where(is_left, op.add(angle, half), angle)
    is_origin = op.logical_and(op.equal(y, zero), op.equal(x, zero))
    return op.where(is_origin, op.where(is_left, half, y), turned)


def _pi(node: Node) -> Expr:
    return node.constant(math.pi, node.dtype)


# ---- truth values, bits, choice ----


@converts("logical_not")
def _logical_not(node: Node) -> Value:
    return op.logical_not(node.operand("self", "bool"))


@converts("bitwise_not")
def _bitwise_not(node: Node) -> Value:
    x = node.expr()
    return (op.logical_not if x.dtype == "bool" else op.bitwise_not)(x)


@converts(
    "bitwise_left_shift.Tensor",
    "bitwise_left_shift.Tensor_Scalar",
    "__lshift__.Tensor",
    "__lshift__.Scalar",
)
def _left_shift(node: Node) -> Value:
    return op.left_shift(*operands(node))


@converts(
    "bitwise_right_shift.Tensor",
    "bitwise_right_shift.Tensor_Scalar",
    "__rshift__.Tensor",
    "__rshift__.Scalar",
)
def _right_shift(node: Node) -> Value:
    return op.right_shift(*operands(node))


@converts("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def _where(node: Node) -> Value:
    return op.where(node.operand("condition", "bool"), *operands(node))


@converts("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(node: Node) -> Value:
    mask, value = node.expr("mask"), node.operand("value", node.dtype)
    return op.where(mask, value, node.expr())


# ---- copies ----


@converts(
    "alias",
    "clone",
    "detach",
    "detach_copy",
)
def _identity(node: Node) -> Value:
    return node.expr()


@converts("_to_copy", "type_as")
def _to(node: Node) -> Value:
    return cast_to(node.expr(), node.dtype)


@converts("copy")
def _copy(node: Node) -> Value:
    return op.broadcast_to(node.operand("src", node.dtype), node.dims)


@converts("view.dtype")
def _view_dtype(node: Node) -> Value:
    return op.memory.view(node.expr(), relax.ShapeExpr(node.dims), node.dtype)
