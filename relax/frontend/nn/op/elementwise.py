"""Element-wise operators of models, each with TVM's name, parameters and defaults.

`name` is that of the variable of the result. Tensors may be given as numbers where there
are two; a number has the dtype of the other operand. All raise VerifyException for
operands that do not fit.
"""

from __future__ import annotations

from xdsl_tvm.relax.frontend.nn.tensor import Operand, Tensor, operate


def add(a: Operand, b: Operand, name: str = "add") -> Tensor:
    """The sum, broadcast as numpy does."""
    return operate("add", a, b, name=name)


def subtract(a: Operand, b: Operand, name: str = "subtract") -> Tensor:
    """The difference, broadcast."""
    return operate("subtract", a, b, name=name)


def multiply(a: Operand, b: Operand, name: str = "mul") -> Tensor:
    """The product, broadcast."""
    return operate("multiply", a, b, name=name)


def divide(a: Operand, b: Operand, name: str = "divide") -> Tensor:
    """The quotient, broadcast."""
    return operate("divide", a, b, name=name)


def less(a: Operand, b: Operand, name: str = "less") -> Tensor:
    """Where `a` is less than `b`, broadcast; a tensor of bool."""
    return operate("less", a, b, name=name)


def less_equal(a: Operand, b: Operand, name: str = "less_equal") -> Tensor:
    """Where `a` is at most `b`, broadcast; a tensor of bool."""
    return operate("less_equal", a, b, name=name)


def greater(a: Operand, b: Operand, name: str = "greater") -> Tensor:
    """Where `a` is greater than `b`, broadcast; a tensor of bool."""
    return operate("greater", a, b, name=name)


def greater_equal(a: Operand, b: Operand, name: str = "greater_equal") -> Tensor:
    """Where `a` is at least `b`, broadcast; a tensor of bool."""
    return operate("greater_equal", a, b, name=name)


def equal(a: Operand, b: Operand, name: str = "equal") -> Tensor:
    """Where the elements are equal, broadcast; a tensor of bool."""
    return operate("equal", a, b, name=name)


def not_equal(a: Operand, b: Operand, name: str = "not_equal") -> Tensor:
    """Where the elements differ, broadcast; a tensor of bool."""
    return operate("not_equal", a, b, name=name)


def maximum(x1: Operand, x2: Operand, name: str = "maximum") -> Tensor:
    """The larger element, broadcast."""
    return operate("maximum", x1, x2, name=name)


def minimum(x1: Operand, x2: Operand, name: str = "minimum") -> Tensor:
    """The smaller element, broadcast."""
    return operate("minimum", x1, x2, name=name)


def negative(x: Tensor, name: str = "neg") -> Tensor:
    """The elements with the other sign."""
    return operate("negative", x, name=name)


def exp(x: Tensor, name: str = "exp") -> Tensor:
    """The exponential function; a float dtype."""
    return operate("exp", x, name=name)


def log(x: Tensor, name: str = "log") -> Tensor:
    """The natural logarithm; a float dtype."""
    return operate("log", x, name=name)


def floor(x: Tensor, name: str = "floor") -> Tensor:
    """The largest integer that is not above; a float dtype."""
    return operate("floor", x, name=name)


def sqrt(x: Tensor, name: str = "sqrt") -> Tensor:
    """The square root; a float dtype."""
    return operate("sqrt", x, name=name)


def square(x: Tensor, name: str = "square") -> Tensor:
    """The square."""
    return operate("square", x, name=name)


def tanh(x: Tensor, name: str = "tanh") -> Tensor:
    """The hyperbolic tangent; a float dtype."""
    return operate("tanh", x, name=name)


def sigmoid(x: Tensor, name: str = "sigmoid") -> Tensor:
    """`1 / (1 + exp(-x))`; a float dtype."""
    return operate("sigmoid", x, name=name)


def relu(x: Tensor, name: str = "relu") -> Tensor:
    """`max(x, 0)`."""
    return operate("nn.relu", x, name=name)


def silu(x: Tensor, name: str = "silu") -> Tensor:
    """`x * sigmoid(x)`; a float dtype."""
    return operate("nn.silu", x, name=name)


def prelu(x: Tensor, alpha: Tensor, name: str = "prelu") -> Tensor:
    """The elements, times `alpha` where negative.

    `alpha` has one element, or one for each channel, the dimension 1 of `x`.
    """
    if x.ndim > 2:
        alpha = alpha.reshape(-1, *(1,) * (x.ndim - 2))
    return where(x >= 0, x, x * alpha, name=name)


def relu6(x: Tensor, name: str = "relu6") -> Tensor:
    """`min(max(x, 0), 6)`."""
    bounds = (0, 6) if x.dtype.startswith(("int", "uint")) else (0.0, 6.0)
    return operate("clip", x, *bounds, name=name)


def softplus(
    x: Tensor, beta: float = 1.0, threshold: float = 20.0, name: str = "softplus"
) -> Tensor:
    """`log(1 + exp(beta * x)) / beta`, and `x` above the threshold; a float dtype."""
    return operate("nn.softplus", x, beta, threshold, name=name)


def gelu(x: Tensor, approximate: str | None = None, name: str = "gelu") -> Tensor:
    """The Gaussian error linear unit; a float dtype.

    `approximate="tanh"` computes it by the hyperbolic tangent. Raises ValueError for
    another approximation.
    """
    if approximate not in (None, "none", "tanh"):
        raise ValueError(
            f"nn.op.gelu: approximate is None or 'tanh', not {approximate!r}"
        )
    return operate("nn.gelu_tanh" if approximate == "tanh" else "nn.gelu", x, name=name)


def astype(x: Tensor, dtype: str, name: str = "astype") -> Tensor:
    """The elements converted to a dtype; the tensor itself, if it has that dtype."""
    return x if x.dtype == dtype else operate("astype", x, dtype, name=name)


def where(condition: Tensor, x1: Operand, x2: Operand, name: str = "where") -> Tensor:
    """`x1` where the condition is not 0, else `x2`; all are broadcast.

    One of `x1` and `x2` may be a number.
    """
    if not isinstance(x1, Tensor) and isinstance(x2, Tensor):
        x1 = Tensor.from_scalar(x1, x2.dtype)
    if not isinstance(x2, Tensor) and isinstance(x1, Tensor):
        x2 = Tensor.from_scalar(x2, x1.dtype)
    return operate("where", astype(condition, "bool"), x1, x2, name=name)
