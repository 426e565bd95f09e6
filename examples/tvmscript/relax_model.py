"""A graph of operators, one of them a TIR function, with a symbolic batch size."""

from xdsl_tvm.tvmscript import ir as I
from xdsl_tvm.tvmscript import relax as R
from xdsl_tvm.tvmscript import tir as T


@I.ir_module
class Model:
    @T.prim_func(private=True)
    def scale(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(8)))
        B = T.match_buffer(b, (n, T.int64(8)))
        for i, j in T.grid(n, T.int64(8)):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(0.5)

    @R.function
    def main(
        x: R.Tensor(("n", 16), "float32"), w: R.Tensor((16, 8), "float32")
    ) -> R.Tensor(("n", 8), "float32"):
        n = T.int64()
        cls = Model
        with R.dataflow():
            y = R.nn.relu(R.matmul(x, w))
            z = R.call_tir(cls.scale, (y,), out_sinfo=R.Tensor((n, 8), "float32"))
            out = R.nn.softmax(z, axis=-1)
            R.output(out)
        return out
