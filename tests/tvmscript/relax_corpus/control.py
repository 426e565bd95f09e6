"""Dataflow blocks, branches, effects, functions as values."""

from xdsl_tvm.tvmscript import ir as I
from xdsl_tvm.tvmscript import relax as R
from xdsl_tvm.tvmscript import tir as T


@R.function
def dataflow(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        lv = R.add(x, x)
        gv = R.multiply(lv, lv)
        R.output(gv)
    return gv


@R.function
def several_outputs(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        a = R.add(x, x)
        b = R.multiply(a, R.const(3.0, "float32"))
        c = R.exp(b)
        R.output(a, c)
    return R.add(a, c)


@R.function
def several_blocks(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        a = R.add(x, x)
        R.output(a)
    b = R.exp(a)
    with R.dataflow():
        a = R.add(b, a)
        R.output(a)
    return a


@R.function
def no_outputs(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        a = R.add(x, x)
        R.output()
    return x


@R.function
def symbol_of_block(x: R.Tensor(ndim=1, dtype="float32")):
    k = T.int64()
    with R.dataflow():
        a = R.match_cast(x, R.Tensor((k,), "float32"))
        b = R.reshape(a, R.shape([k, 1]))
        R.output(b)
    return R.reshape(b, R.shape([1, k]))


@R.function
def alias_out(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        a = R.exp(x)
        b = a
        c = x
        R.output(a, b, c)
    return (a, b, c)


@R.function
def branches(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
    if c:
        y = R.exp(x)
    else:
        z = R.negative(x)
        y = R.exp(z)
    return y


@R.function
def branches_of_names(
    c: R.Prim("bool"), x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")
):
    if c:
        z = x
    else:
        z = y
    return z


@R.function
def branches_of_leaves(c: R.Tensor((), "bool")):
    if c:
        z = R.const(1.0, "float32")
    else:
        z = R.const(2.0, "float32")
    if c:
        s = R.shape([4])
    else:
        s = R.shape([5])
    return (z, s)


@R.function
def nested_branches(
    c: R.Tensor((), "bool"), d: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")
):
    if c:
        if d:
            y = R.exp(x)
        else:
            y = x
    elif d:
        y = R.sin(x)
    else:
        a = R.cos(x)
        y = R.add(a, a)
    return y


@R.function
def block_in_branch(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
    if c:
        with R.dataflow():
            a = R.exp(x)
            b = R.add(a, a)
            R.output(b)
        y = b
    else:
        y = x
    return y


@R.function
def less_known_result(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
    if c:
        y: R.Tensor(ndim=1) = x
    else:
        y: R.Tensor(ndim=1) = x
    if c:
        z = R.exp(x)
    else:
        z = R.const([1.0], "float32")
    return (y, z)


@R.function
def symbols_of_branches(c: R.Tensor((), "bool"), x: R.Tensor(ndim=1, dtype="float32")):
    k = T.int64()
    if c:
        y = R.match_cast(x, R.Tensor((k,), "float32"))
    else:
        a = R.match_cast(x, R.Tensor((k,), "float32"))
        y = R.zeros(R.shape([k * 2]), "float32")
    return y


@R.function(pure=False)
def effects(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
    R.print(x, c, format="x = {}, c = {}")
    R.assert_op(c, x, format="wrong: {}")
    R.assert_op(c)
    if c:
        R.print(format="yes")
        y = R.exp(x)
    else:
        y = x
    return y


@R.function
def forced(x: R.Tensor((4,), "float32")):
    R.func_attr({"relax.force_pure": True})
    R.print(x)
    return x


@R.function(private=True)
def private(x: R.Tensor((4,), "float32")):
    return x


@R.function
def attributes(x: R.Tensor((4,), "float32")):
    R.func_attr({"num_input": 1, "tir_var_upper_bound": {"n": 16}, "rate": 0.5})
    R.func_attr(
        {"names": ["a", "b\n"], "small": T.int32(3), "half": T.float16(0.5), "on": True}
    )
    R.func_attr({"global_symbol": "other"})
    return x


@R.function
def literals(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
    @R.function
    def scale(z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        w = R.multiply(z, y)
        return R.add(w, R.const(1.0, "float32"))

    a = scale(x)
    f = scale
    return (f(a), scale)


@R.function(pure=False)
def impure_literal(x: R.Tensor((4,), "float32")):
    @R.function(pure=False)
    def show(z: R.Tensor(("n",), "float32")):
        n = T.int64()
        R.print(z)
        return R.reshape(z, R.shape([n, 1]))

    return show(x)


@R.function
def recursive_literal(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
    @R.function
    def again(z: R.Tensor((4,), "float32"), d: R.Tensor((), "bool")) -> R.Tensor(
        (4,), "float32"
    ):
        if d:
            r = again(R.negative(z), R.less(R.sum(z), R.sum(x)))
        else:
            r = R.exp(z)
        return r

    return again(x, c)


@R.function
def literal_of_branch(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
    if c:

        @R.function
        def f(z: R.Tensor((4,), "float32")):
            return R.exp(z)
    else:

        @R.function
        def f(z: R.Tensor((4,), "float32")):
            return R.sin(z)

    return f(x)
