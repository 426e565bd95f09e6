"""A module whose main function calls another one for each element."""

from xdsl_tvm.tvmscript import ir as I
from xdsl_tvm.tvmscript import tir as T


@I.ir_module
class TwoFunctions:
    @T.prim_func(private=True)
    def collatz_steps(start: T.int32) -> T.int32:
        value = T.decl_buffer((1,), "int32", scope="local")
        steps = T.decl_buffer((1,), "int32", scope="local")
        value[0] = start
        steps[0] = 0
        while value[0] > 1:
            value[0] = T.if_then_else(value[0] % 2 == 0, value[0] // 2, value[0] * 3 + 1)
            steps[0] = steps[0] + 1
        return steps[0]

    @T.prim_func
    def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
        for i in T.parallel(16):
            B[i] = TwoFunctions.collatz_steps(A[i])
