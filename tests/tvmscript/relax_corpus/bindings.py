"""Bindings: names, types that are declared, constants, tuples, sugar."""

from xdsl_tvm.tvmscript import ir as I
from xdsl_tvm.tvmscript import relax as R
from xdsl_tvm.tvmscript import tir as T


@R.function
def returns_parameter(x: R.Tensor((4,), "float32")):
    return x


@R.function
def chain(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
    a = R.add(x, y)
    b = R.multiply(a, y)
    return R.subtract(b, a)


@R.function
def nested_calls(x: R.Tensor((4,), "float32")):
    return R.add(R.multiply(x, x), R.exp(R.negative(x)))


@R.function
def same_name_again(x: R.Tensor((4,), "float32")):
    y = R.add(x, x)
    y = R.add(y, x)
    y = R.add(y, y)
    return y


@R.function
def augmented(x: R.Tensor((4,), "float32")):
    y = R.exp(x)
    y += x
    y *= R.const(2.0, "float32")
    return y


@R.function
def sugar(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
    a = x + y - x * y
    b = a / R.const(2.0, "float32") // y
    c = -b % y
    d = c**x
    return d.astype("float16")


@R.function
def compared(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
    a = R.logical_and(x < y, x <= y)
    b = R.logical_or(x > y, x >= y)
    return (a, b)


@R.function
def another_name(x: R.Tensor((4,), "float32")):
    y = x
    z = y
    return z


@R.function
def less_known(x: R.Tensor((4, 8), "float32")) -> R.Tensor(ndim=2):
    y: R.Tensor(ndim=2, dtype="float32") = x
    z: R.Tensor = R.add(y, y)
    w: R.Object = z
    v: R.Tensor("float32") = R.exp(x)
    return y


@R.function
def constants(x: R.Tensor((2, 2), "float32")):
    a = R.add(x, R.const(1, "float32"))
    b = R.add(a, R.const([[1.5, 2], [-3e-7, 4]], "float32"))
    c = R.const(7)
    d = R.const([True, False])
    e = R.const(0.1, "float64")
    f = R.const([1, 255], "uint8")
    return (b, c, d, e, f)


@R.function
def special_constants():
    a = R.const(float("inf"), "float32")
    b = R.const(-float("inf"), "float16")
    c = R.const(float("nan"), "float64")
    return (a, b, c)


@R.function
def small_floats():
    return (R.const([1.5, -0.25], "bfloat16"), R.const([0.5, 448], "float8_e4m3fn"))


@R.function
def long_constants(x: R.Tensor((32,), "int32")):
    a = R.const(
        [
            *(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16),
            *(17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32),
        ],
        "int32",
    )
    b = R.add(x, a)
    return R.multiply(b, a)


@R.function
def empty_constant():
    return R.const([], "float32")


@R.function
def numbers():
    x = 3
    y = 2.5
    return (x, y, True)


@R.function
def tuples(x: R.Tensor((4,), "float32"), y: R.Tensor((2,), "int32")):
    t = (x, (y, x))
    u = t[1]
    v = R.tuple(u[0], t)
    return v


@R.function
def taken_apart(x: R.Tensor((4,), "float32")):
    a, b = R.split(x, 2)
    (c, d), e = ((a, b), a)
    return R.add(R.add(c, d), e)


@R.function
def nothing() -> R.Tuple():
    return R.tuple()


@R.function
def scalars(n: R.Prim("int64"), x: R.Prim("float32"), b: R.Prim("bool")):
    m = R.prim_value(3)
    f = R.prim_value(2.5)
    h = R.prim_value(T.float16(0.5))
    i = R.prim_value(T.int32(-4))
    return (n, m, x, f, b, h, i, R.prim_value(True))


@R.function
def names_of_python(len: R.Tensor((4,), "float32"), T_: R.Tensor((4,), "float32")):
    lv_1 = R.add(len, T_)
    lv = R.add(lv_1, lv_1)
    return lv


@R.function(check_well_formed=False)
def unused_values(x: R.Tensor((4,), "float32")):
    a = R.exp(x)
    s = R.shape([4, 5])
    c = R.const(1)
    t = (a, c)
    return x
