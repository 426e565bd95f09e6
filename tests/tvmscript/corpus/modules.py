"""Modules: functions that call each other, attributes, global infos."""

from xdsl_tvm.tvmscript import ir as I
from xdsl_tvm.tvmscript import tir as T


@I.ir_module
class One:
    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        for i in range(4):
            A[i] = i


@I.ir_module
class Several:
    @T.prim_func
    def twice(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for i in range(8):
            B[i] = A[i] * 2

    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        T.func_attr({"tir.noalias": True})
        for i in range(8):
            B[i] = A[i] + 1


@I.ir_module
class Calls:
    @T.prim_func(private=True)
    def square(x: T.int32) -> T.int32:
        return x * x

    @T.prim_func
    def main(A: T.Buffer((8,), "int32")):
        for i in range(8):
            A[i] = Calls.square(A[i]) + Calls.square(i)


@I.ir_module
class CallsBefore:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32")):
        for i in range(8):
            A[i] = CallsBefore.three(i)

    @T.prim_func(private=True)
    def three(x: T.int32) -> T.int32:
        return x * 3


@I.ir_module
class CallsWithPointers:
    @T.prim_func(private=True)
    def fill(p: T.handle("float32"), n: T.int32) -> T.int32:
        P = T.decl_buffer((8,), data=p)
        for i in range(8):
            P[i] = T.Cast("float32", n + i)
        return 0

    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        T.evaluate(CallsWithPointers.fill(A.data, 3))


@I.ir_module
class CallsWithoutArguments:
    @T.prim_func(private=True)
    def seven() -> T.int64:
        return T.int64(7)

    @T.prim_func
    def main(A: T.Buffer((1,), "int64")):
        A[0] = CallsWithoutArguments.seven()


@I.ir_module
class Attributes:
    I.module_attrs({"runtime": "x", "count": 3, "flag": True, "list": [1, 2]})

    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        A[0] = 1


@I.ir_module
class Infos:
    I.module_attrs({"external_mods": []})
    I.module_global_infos(
        {
            "vdevice": [
                I.vdevice("llvm"),
                I.vdevice("cuda", 0),
                I.vdevice({"kind": "cuda", "arch": "sm_80"}, 1, "global"),
                I.vdevice(),
            ],
        }
    )

    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        A[0] = 1


@I.ir_module(check_well_formed=False)
class Unchecked:
    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        A[0] = 1


@I.ir_module
class HostAndDevice:
    @T.prim_func
    def kernel(p: T.handle("float32"), n: T.int32):
        T.func_attr({"calling_conv": 2, "target": T.target("cuda")})
        P = T.Buffer((64,), data=p)
        tx = T.launch_thread("threadIdx.x", 64)
        if tx < n:
            P[tx] = T.float32(1)

    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), n: T.int32):
        T.func_attr({"target": T.target("llvm")})
        T.evaluate(HostAndDevice.kernel(A.data, n))


@I.ir_module
class Names:
    @T.prim_func
    def f(A: T.Buffer((4,), "int32"), A_1: T.Buffer((4,), "int32")):
        for i in range(4):
            A_1[i] = A[i]

    @T.prim_func
    def g(a: T.handle):
        T.func_attr({"global_symbol": "other_name"})
        A = T.match_buffer(a, (4,), "int32")
        A[0] = 3
