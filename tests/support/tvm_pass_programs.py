"""Programs on which passes over Relax are compared with those of TVM.

Each is TVMScript as users write it, in the parts that all versions of TVM spell alike;
`f32[2, 8]` is short for `R.Tensor((2, 8), "float32")`.
"""

from __future__ import annotations

import re

PROGRAMS = {
    "mlp": """
    @R.function
    def main(x: f32[2, 8], w: f32[8, 4], b: f32[4]):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.add(y, b)
            r = R.nn.relu(z)
            s = R.multiply(r, r)
            R.output(s)
        return s
""",
    "symbolic": """
    @R.function
    def main(x: f32["n", 8], w: f32[8, 4]):
        n = T.int64()
        with R.dataflow():
            y = R.exp(x)
            z = R.multiply(y, x)
            r = R.matmul(z, w)
            t = R.nn.gelu(r)
            u = R.reshape(t, R.shape([n * 4]))
            v = R.add(u, u)
            R.output(v)
        return v
""",
    "convolution": """
    @R.function
    def main(x: f32[1, 3, 8, 8], w: f32[4, 3, 3, 3], b: f32[1, 4, 1, 1]):
        with R.dataflow():
            c = R.nn.conv2d(x, w, padding=(1, 1))
            d = R.add(c, b)
            e = R.nn.relu(d)
            f = R.nn.max_pool2d(e, pool_size=(2, 2), strides=(2, 2))
            g = R.mean(f, axis=[2, 3])
            R.output(g)
        return g
""",
    "attention": """
    @R.function
    def main(q: f32[2, 4, 8], k: f32[2, 4, 8], v: f32[2, 4, 8]):
        with R.dataflow():
            t = R.permute_dims(k, axes=[0, 2, 1])
            s = R.matmul(q, t)
            d = R.divide(s, R.const(2.0, "float32"))
            p = R.nn.softmax(d, axis=-1)
            o = R.matmul(p, v)
            R.output(o)
        return o
""",
    "projections": """
    @R.function
    def main(x: f32[2, 8], u: f32[8, 2], v: f32[8, 3], w: f32[8, 4]):
        with R.dataflow():
            a = R.matmul(x, u)
            b = R.matmul(x, v)
            c = R.matmul(x, w)
            r = (a, b, c)
            R.output(r)
        return r
""",
    "normalization": """
    @R.function
    def main(x: f32[1, 2, 4, 4]):
        with R.dataflow():
            w = R.const([[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]], "float32")
            c = R.nn.conv2d(x, w)
            n = R.nn.batch_norm(
                c,
                R.const([1.0, 2.0], "float32"),
                R.const([3.0, 4.0], "float32"),
                R.const([5.0, 6.0], "float32"),
                R.const([7.0, 8.0], "float32"),
                axis=1,
                training=False,
            )
            y = n[0]
            R.output(y)
        return y
""",
    "constants": """
    @R.function
    def main(x: f32[4]):
        with R.dataflow():
            a = R.add(R.const([1.0, 2.0, 3.0, 4.0], "float32"), R.const(1.0, "float32"))
            b = R.multiply(a, a)
            c = R.subtract(x, b)
            R.output(c)
        return c
""",
    "duplicates": """
    @R.function
    def main(x: f32[4], c: R.Tensor((), "bool")):
        a = R.exp(x)
        b = R.exp(x)
        d = R.add(a, b)
        if c:
            e = R.exp(x)
            f = R.add(e, d)
            r = R.multiply(f, f)
        else:
            g = R.add(b, a)
            r = R.subtract(g, d)
        return r
""",
    "names": """
    @R.function
    def main(x: f32[4], y: f32["n"]):
        a = x
        t = (a, y)
        b = t[0]
        c = R.nn.relu(b)
        m = T.int64()
        d = R.match_cast(y, f32[m])
        e = R.exp(d)
        u = R.nn.relu(c)
        f = R.negative(e)
        return (c, f)
""",
    "effects": """
    @R.function(pure=False)
    def main(x: f32[4]):
        a = R.exp(x)
        b = R.nn.relu(a)
        R.print(b, format="{}")
        c = R.add(b, a)
        d = R.call_pure_packed("my.square", c, sinfo_args=(f32[4],))
        e = R.call_packed("my.mark", d, sinfo_args=(f32[4],))
        return e
""",
    "functions": """
    @R.function
    def main(x: f32[4], y: f32[4]):
        p = Module.pair((x, y), x)
        a = p[0]
        b = Module.last(x, a)
        return b

    @R.function(private=True)
    def pair(p: R.Tuple(f32[4], f32[4]), u: f32[4]) -> R.Tuple(f32[4], f32[4]):
        a = p[0]
        b = p[1]
        c = R.add(a, b)
        d = R.exp(c)
        return (c, d)

    @R.function(private=True)
    def last(x: f32[4], y: f32[4]) -> f32[4]:
        z = R.negative(y)
        return z

    @R.function(private=True)
    def unused(x: f32[4]) -> f32[4]:
        return x
""",
    "closures": """
    @R.function
    def main(x: f32[4], y: f32[4]):
        @R.function
        def scale(z: f32[4]) -> f32[4]:
            w = R.multiply(z, y)
            return w

        a = scale(x)
        return a
""",
    "order": """
    @R.function
    def main(x: f32[4], y: f32[4]):
        with R.dataflow():
            a = R.exp(x)
            b = R.exp(y)
            c = R.nn.relu(a)
            d = R.nn.relu(b)
            e = R.negative(a)
            f = R.add(c, d)
            g = R.add(e, f)
            R.output(g)
        return g
""",
    "external": """
    @R.function
    def main(x: f32[4]):
        a = R.exp(x)
        b = R.call_dps_packed("my.scale", (a,), out_sinfo=f32[4])
        c = R.call_dps_packed("my.split", (b,), out_sinfo=[f32[2], f32[2]])
        d = c[0]
        e = R.exp(d)
        return e
""",
    "weights": """
    @R.function
    def main(x: f32[2, 8], w: f32[8, 8], v: f32[8, 8]):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.matmul(a, v)
            c = R.matmul(b, w)
            R.output(c)
        return c
""",
    "bounded": """
    @R.function
    def main(x: f32["n", 4]):
        R.func_attr({"tir_var_upper_bound": {"n": 16}})
        with R.dataflow():
            a = R.exp(x)
            b = R.nn.relu(a)
            c = R.negative(b)
            d = R.exp(c)
            R.output(d)
        return d
""",
}
"""The programs by name: the members of a module."""


def script_of(name: str) -> str:
    """The module of a program."""
    members = re.sub(r"f32\[(.*?)\]", r'R.Tensor((\1,), "float32")', PROGRAMS[name])
    return f"@I.ir_module\nclass Module:{members}"
