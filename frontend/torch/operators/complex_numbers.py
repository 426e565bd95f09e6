"""Complex numbers, as tensors of real and imaginary parts along one more axis, the last.

They appear within a program only: what it is passed and what it returns is real.
"""

from __future__ import annotations

from xdsl_tvm.frontend.fourier import transformed
from xdsl_tvm.frontend.torch.graph import PARTS
from xdsl_tvm.frontend.torch.node import Node, Value, cast_to, converts_complex
from xdsl_tvm.frontend.torch.operators.elementwise import hypotenuse
from xdsl_tvm.frontend.torch.operators.layout import reshaped, transposed
from xdsl_tvm.relax import const, op
from xdsl_tvm.relax.expr import Expr


def _along(node: Node, x: Expr, axis: int, *, inverse: bool) -> Expr:
    """The transform of complex numbers along an axis, and as many frequencies."""
    length = x.shape[axis].value
    if length is None:
        raise node.error("the transformed dimensions must be known numbers")
    scale = _scale(node, length)
    return transformed(x, axis, length, inverse=inverse, one_sided=False, scale=scale)


def _scale(node: Node, length: int) -> float:
    """What an axis of the result is multiplied by."""
    kind = node.integer("normalization")
    return length ** (0.0, -0.5, -1.0)[kind]


@converts_complex("_fft_r2c")
def _fft_r2c(node: Node) -> Value:
    x = node.expr()
    rank = len(x.shape)
    *axes, last = node.axes("dim", rank)
    x, length = op.expand_dims(x, [rank]), x.shape[last].value
    if length is None:
        raise node.error("the transformed dimensions must be known numbers")
    one_sided = node.flag("onesided")
    scale = _scale(node, length)
    x = transformed(x, last, length, inverse=False, one_sided=one_sided, scale=scale)
    for axis in axes:
        x = _along(node, x, axis, inverse=False)
    return x


@converts_complex("_fft_c2c")
def _fft_c2c(node: Node) -> Value:
    x = node.expr()
    for axis in node.axes("dim", len(x.shape) - 1):
        x = _along(node, x, axis, inverse=not node.flag("forward"))
    return x


@converts_complex("_fft_c2r")
def _fft_c2r(node: Node) -> Value:
    x = node.expr()
    *axes, last = node.axes("dim", len(x.shape) - 1)
    for axis in axes:
        x = _along(node, x, axis, inverse=True)
    length = node.integer("last_dim_size")
    scale = _scale(node, length)
    if x.shape[last].value is None:
        raise node.error("the transformed dimensions must be known numbers")
    x = transformed(x, last, length, inverse=True, one_sided=True, scale=scale)
    return op.squeeze(x, [-1])


@converts_complex("view_as_real", "view_as_complex", "alias", "clone", "detach")
def _same(node: Node) -> Value:
    return node.expr()


@converts_complex("_to_copy")
def _to_copy(node: Node) -> Value:
    x = node.expr()
    if node.dtype not in PARTS:
        raise node.error("complex numbers are converted to no real ones; take .real")
    if node.is_complex("self"):
        return cast_to(x, PARTS[node.dtype])
    real = node.emit(cast_to(x, PARTS[node.dtype]))
    return _joined(real, op.zeros_like(real))


def parts_of(x: Expr) -> tuple[Expr, Expr]:
    """The real and the imaginary parts of complex numbers."""
    axis = len(x.shape) - 1
    real, imaginary = (op.take(x, const(index, "int64"), axis) for index in (0, 1))
    return real, imaginary


def _joined(real: Expr, imaginary: Expr) -> Expr:
    """The complex numbers of real and imaginary parts."""
    axis = len(real.shape)
    return op.concat([op.expand_dims(part, [axis]) for part in (real, imaginary)], axis)


def _operands(node: Node) -> list[tuple[Expr, Expr | None]]:
    """Two arguments by parts, of which a real one has no imaginary part."""
    dtype = PARTS[node.dtype]
    found: list[tuple[Expr, Expr | None]] = []
    for name in ("self", "other"):
        value = node.argument(name)
        if node.is_complex(name):
            real, imaginary = map(node.emit, parts_of(node.expr(name)))
            found.append((real, imaginary))
        elif isinstance(value, Expr):
            found.append((node.emit(cast_to(value, dtype)), None))
        else:
            found.append((node.constant(node.scalar(name), dtype), None))
    return found


@converts_complex("mul.Tensor", "mul.Scalar")
def _mul(node: Node) -> Value:
    (a, b), (c, d) = _operands(node)
    if b is None or d is None:
        real, imaginary = (a, d) if b is None else (c, b)
        assert imaginary is not None
        return _joined(op.multiply(a, c), op.multiply(imaginary, real))
    real = op.subtract(op.multiply(a, c), op.multiply(b, d))
    return _joined(real, op.add(op.multiply(a, d), op.multiply(b, c)))


@converts_complex("add.Tensor", "sub.Tensor")
def _add(node: Node) -> Value:
    if node.has("alpha") and node.number("alpha") != 1:
        raise node.error("alpha is not converted for complex numbers")
    (a, b), (c, d) = _operands(node)
    is_sum = "add" in node.target
    function = op.add if is_sum else op.subtract
    zero = node.constant(0, a.dtype)
    dims = node.dims
    imaginary = function(zero if b is None else b, zero if d is None else d)
    real, imaginary = (
        op.broadcast_to(part, dims) if dims else part
        for part in (function(a, c), imaginary)
    )
    return _joined(real, imaginary)


@converts_complex("neg")
def _neg(node: Node) -> Value:
    return op.negative(node.expr())


@converts_complex("abs")
def _abs(node: Node) -> Value:
    return hypotenuse(node, *parts_of(node.expr()))


@converts_complex("permute")
def _permute(node: Node) -> Value:
    x = node.expr()
    rank = len(x.shape) - 1
    return transposed(x, [*node.axes("dims", rank), rank])


@converts_complex("transpose.int")
def _transpose(node: Node) -> Value:
    x = node.expr()
    order = list(range(len(x.shape)))
    first, second = (node.axis(name, len(order) - 1) for name in ("dim0", "dim1"))
    order[first], order[second] = second, first
    return transposed(x, order)


@converts_complex("view", "unsqueeze", "squeeze.dims", "squeeze.dim")
def _view(node: Node) -> Value:
    x = node.expr()
    return reshaped(x, [*node.dims, x.shape[-1]])


@converts_complex("slice.Tensor")
def _slice(node: Node) -> Value:
    x = node.expr()
    axis, step = node.axis("dim", len(x.shape) - 1), node.integer("step")
    extent = x.shape[axis].value
    if extent is None:
        raise node.error("the dimension must be a known number")
    start = node.integer("start") if node.has("start") else 0
    end = node.integer("end") if node.has("end") else extent
    begin, finish, _ = slice(start, end, step).indices(extent)
    return op.strided_slice(x, [axis], [begin], [max(finish, begin)], [step])


@converts_complex("select.int")
def _select(node: Node) -> Value:
    x = node.expr()
    index = node.integer("index")
    axis = node.axis("dim", len(x.shape) - 1)
    if index < 0:
        extent = x.shape[axis].value
        if extent is None:
            raise node.error("the dimension must be a known number")
        index += extent
    return op.take(x, const(index, "int64"), axis)
