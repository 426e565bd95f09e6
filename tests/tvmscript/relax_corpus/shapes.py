"""Types, symbolic dimensions and shapes as values."""

from xdsl_tvm.tvmscript import ir as I
from xdsl_tvm.tvmscript import relax as R
from xdsl_tvm.tvmscript import tir as T


@R.function
def symbols(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
    n = T.int64()
    y: R.Tensor((n, 4), "float32") = R.add(x, x)
    return y


@R.function
def expressions(
    x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n + 1", "m * 2 - n"), "float32")
):
    n, m = T.int64(), T.int64()
    z = R.reshape(x, R.shape([m, n]))
    w = R.reshape(x, (n * m,))
    v = R.zeros([n // 2, (m + 3) // 4, n % 4, T.min(n, 8), T.max(m, n)], "float32")
    u = R.zeros([T.ceildiv(n, 4)], "int8")
    return (z, w, v, u, y)


@R.function
def defined_later(x: R.Tensor(("n + 1",), "float32"), s: R.Shape(["n"])):
    return x


@R.function
def inferred_result(x: R.Tensor(("batch", 3), "float32")):
    batch = T.int64()
    return R.reshape(x, R.shape([batch * 3]))


@R.function
def casts(x: R.Tensor(ndim=2), y: R.Object):
    k, l = T.int64(), T.int64()
    a = R.match_cast(x, R.Tensor((k, 4), "float32"))
    b = R.match_cast(y, R.Tensor((k, l), "float32"))
    c = R.reshape(b, R.shape([l * k]))
    return (a, R.shape([l, k * 2]), c)


@R.function
def cast_of_result(x: R.Tensor((4,), "float32")) -> R.Tensor(ndim=1, dtype="float32"):
    k = T.int64()
    y = R.match_cast(R.exp(x), R.Tensor((k,), "float32"))
    return y


@R.function
def shapes(s: R.Shape(["n", 4]), t: R.Shape(ndim=2), u: R.Shape):
    n = T.int64()
    v = R.shape([n, n * 4])
    w = R.zeros(s, "float32")
    x = R.ones(v, "int32")
    y = R.full(R.shape([]), 2.5, "float32")
    return (s, t, u, w, x, y)


@R.function
def shape_tensors(x: R.Tensor(("n", 4), "float32"), i: R.Tensor((2,), "int64")):
    a = R.shape_of(x)
    b = R.shape_to_tensor(a)
    c = R.tensor_to_shape(i)
    return (b, c)


@R.function
def known_in_part(x: R.Tensor(("n", None), "float32"), s: R.Shape([None, 4])):
    return (x, s)


@R.function
def little_known(
    a: R.Tensor, b: R.Tensor("float32"), c: R.Tensor(ndim=3), d: R.Tensor(dtype="int8")
) -> R.Tuple(R.Tensor, R.Tensor, R.Tensor(ndim=3), R.Object):
    return (a, b, c, d)


@R.function
def rank_zero(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
    return R.exp(x)


@R.function
def prims(
    n: R.Prim(value="n"), x: R.Tensor(("n",), "float32"), k: R.Prim("int32", value=4)
):
    n_1 = R.prim_value(T.int64(3))
    return (n, x, n_1, k)


@R.function
def nested_types(
    t: R.Tuple(R.Tensor(("n",), "float32"), R.Tuple(R.Shape(["n"]), R.Object)),
):
    return t[1]


@R.function
def function_types(
    f: R.Callable((R.Tensor(("m",), "float32"),), R.Tensor(("m",), "float32")),
    g: R.Callable(ret=R.Object, purity=True),
    h: R.Callable((R.Prim("int64"), R.Shape(["a", "b"])), R.Tensor(("a",)), False),
    x: R.Tensor((4,), "float32"),
):
    y = f(x)
    return (y, g(x), f)


@R.function
def dtypes(
    a: R.Tensor((1,), "bool"),
    b: R.Tensor((1,), "uint8"),
    c: R.Tensor((1,), "bfloat16"),
    d: R.Tensor((1,), "float64"),
    e: R.Tensor((1,), "float8_e5m2"),
):
    return (a, b, c, d, e)
