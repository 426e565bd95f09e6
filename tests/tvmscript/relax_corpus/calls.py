"""Modules: calls of TIR functions, of Relax functions, of the runtime."""

from xdsl_tvm.tvmscript import ir as I
from xdsl_tvm.tvmscript import relax as R
from xdsl_tvm.tvmscript import tir as T


@I.ir_module
class CallTIR:
    @T.prim_func(private=True)
    def scale(
        A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")
    ):
        for i in range(T.int64(4)):
            B[i] = A[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = CallTIR
        with R.dataflow():
            lv = R.call_tir(cls.scale, (x,), out_sinfo=R.Tensor((4,), "float32"))
            gv = R.call_tir(cls.scale, lv, R.Tensor((4,), "float32"))
            R.output(gv)
        return gv


@I.ir_module
class SeveralOutputs:
    @T.prim_func
    def both(a: T.handle, b: T.handle, c: T.handle, n: T.int64):
        A = T.match_buffer(a, (n,))
        B = T.match_buffer(b, (n,))
        C = T.match_buffer(c, (n,))
        for i in range(n):
            B[i] = A[i] + T.float32(1)
            C[i] = A[i] * T.Cast("float32", n)

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        t = R.call_tir(
            SeveralOutputs.both,
            (x,),
            out_sinfo=[R.Tensor((n,), "float32"), R.Tensor((n,), "float32")],
            tir_vars=R.shape([n]),
        )
        return R.add(t[0], t[1])


@I.ir_module
class InPlace:
    @T.prim_func
    def twice(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = A[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = InPlace
        y = R.exp(x)
        z = R.call_tir_inplace(
            cls.twice, (y,), inplace_indices=[0], out_sinfo=R.Tensor((4,), "float32")
        )
        return z


@I.ir_module
class Gradient:
    @T.prim_func
    def same(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i]

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Gradient
        return R.call_tir_with_grad(
            cls.same,
            (x,),
            out_sinfo=R.Tensor((4,), "float32"),
            te_grad_name="same_grad",
            te_grad_kwargs={"k": 1.5, "n": 2},
        )


@I.ir_module
class OwnFunctions:
    @R.function(private=True)
    def layer(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        return R.exp(x)

    @R.function
    def main(x: R.Tensor((3, 4), "float32")):
        cls = OwnFunctions
        y = cls.layer(x)
        return cls.without_annotation(y)

    @R.function
    def without_annotation(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        return R.reshape(OwnFunctions.layer(x), R.shape([n * 4]))


@I.ir_module
class Recursion:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")) -> R.Tensor(
        (4,), "float32"
    ):
        cls = Recursion
        if c:
            y = cls.main(R.less(R.sum(x), R.const(0.0, "float32")), R.negative(x))
        else:
            y = x
        return y


@I.ir_module
class Effects:
    @T.prim_func
    def scale(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * T.float32(2)

    @R.function(pure=False)
    def show(x: R.Tensor((4,), "float32")) -> R.Tuple:
        R.print(x)
        return R.tuple()

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")):
        cls = Effects
        y = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0))
        cls.scale(x, y)
        cls.show(y)
        return y


@I.ir_module
class Memory:
    @T.prim_func
    def scale(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * T.float32(2)

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")):
        cls = Memory
        storage = R.memory.alloc_storage(
            R.shape([32]), R.prim_value(0), R.str("global"), R.dtype("float32")
        )
        a = R.memory.alloc_tensor(
            storage, R.prim_value(0), R.shape([4]), R.dtype("float32")
        )
        b = R.memory.alloc_tensor(storage, 16, (4,), "float32")
        cls.scale(x, a)
        cls.scale(a, b)
        R.memory.kill_tensor(a)
        y = R.add(b, b)
        R.memory.kill_tensor(b)
        R.memory.kill_storage(storage)
        return y


@I.ir_module
class VirtualMachine:
    @T.prim_func
    def scale(a: T.handle, b: T.handle, n: T.int64):
        A = T.match_buffer(a, (n,))
        B = T.match_buffer(b, (n,))
        for i in range(n):
            B[i] = A[i] * T.float32(2)

    @R.function(pure=False)
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        cls = VirtualMachine
        storage = R.vm.alloc_storage(R.shape([n * 4]), R.prim_value(0), R.dtype("uint8"))
        y = R.vm.alloc_tensor(storage, R.prim_value(0), R.shape([n]), R.dtype("float32"))
        R.vm.call_tir_dyn(cls.scale, (x, y, R.shape([n])))
        R.vm.kill_object(storage)
        return y


@R.function(pure=False)
def packed(x: R.Tensor((4,), "float32")):
    a = R.call_packed("my.copy", x, sinfo_args=R.Tensor((4,), "float32"))
    b = R.call_packed("my.any", x, R.prim_value(3), sinfo_args=(R.Object,))
    R.call_packed("my.log", a, sinfo_args=(R.Tuple,))
    c: R.Tuple = R.call_packed("my.log", a, sinfo_args=[R.Tuple()])
    d = R.call_packed("my.pair", x, sinfo_args=(R.Object, R.Tensor((2,), "int8")))
    f = R.ExternFunc("my.other")
    e = f(x)
    g = R.call_builtin_with_ctx("vm.heap", (R.prim_value(4),), sinfo_args=(R.Object,))
    R.call_builtin_with_ctx("vm.drop", (g,))
    return (a, b, c, d, e)


@R.function
def pure_packed(x: R.Tensor((4,), "float32")):
    a = R.call_pure_packed("my.square", x, sinfo_args=(R.Tensor((4,), "float32"),))
    b = R.call_dps_packed("my.scale", (a,), out_sinfo=R.Tensor((4,), "float32"))
    c = R.call_dps_packed(
        "my.split",
        (b, x),
        out_sinfo=[R.Tensor((2,), "float32"), R.Tensor((2,), "float32")],
    )
    d = R.call_inplace_packed(
        "my.add", b, x, inplace_indices=[0], sinfo_args=(R.Tensor((4,), "float32"),)
    )
    e = R.call_dps_packed("my.new", (), out_sinfo=R.Tensor((), "float32"))
    return (c, d, e)


@I.ir_module
class Closures:
    @R.function
    def lifted(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor(
        (4,), "float32"
    ):
        return R.add(x, y)

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")):
        cls = Closures
        f = R.make_closure(cls.lifted, (x,))
        a = R.invoke_pure_closure(f, (x,), sinfo_args=(R.Tensor((4,), "float32"),))
        b = R.invoke_closure(f, (a,), sinfo_args=(R.Object,))
        n = R.null_value()
        g = cls.lifted
        return (a, g(a, a))


@I.ir_module
class Externs:
    heap = R.ExternFunc("vm.builtin.heap")

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")):
        return Externs.heap(x)


@I.ir_module
class Devices:
    I.module_attrs({"mod_name": "m"})
    I.module_global_infos(
        {
            "vdevice": [
                I.vdevice("llvm"),
                I.vdevice("cuda", 0),
                I.vdevice("cuda", 1, "shared"),
            ]
        }
    )

    @R.function
    def main(
        x: R.Tensor((4,), "float32", "llvm"),
        y: R.Tensor((4,), "float32", vdevice="cuda:1"),
    ):
        z = R.to_vdevice(x, dst_vdevice="cuda:0:global")
        w: R.Tensor((4,), "float32", "cuda:0") = R.add(z, z)
        return (w, R.hint_on_device(x, R.cuda(1)), y)


@R.macro
def doubled(x):
    y = R.add(x, x)
    return y


@R.function
def spliced(x: R.Tensor((4,), "float32")):
    a = doubled(x)
    return doubled(R.exp(a))


@I.ir_module(check_well_formed=False)
class Unchecked:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        R.print(x)
        return x


@R.function(pure=False)
def newer(x: R.Tensor((4,), "float32"), n: T.int64) -> R.Any:
    a = R.call_pure_packed("my.square", x, ty_args=(R.Tensor((4,), "float32"),))
    b = R.call_dps_packed("my.scale", (a,), out_ty=R.Tensor((4,), "float32"))
    c = R.match_cast(b, ty=R.Tensor((4,), "float32"))
    d = R.take(c, R.const([0, 1], "int64"), axis=0, mode="fast")
    return R.call_packed("my.any", d, ty_args=(R.Any,))


@I.ir_module
class CallsWithoutResult:
    @T.prim_func(private=True)
    def scale(
        A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")
    ):
        for i in range(T.int64(4)):
            B[i] = A[i] * T.float32(2)

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32"), out: R.Tensor((4,), "float32")):
        cls = CallsWithoutResult
        s = R.memory.alloc_storage(
            R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32")
        )
        _: R.Tuple() = cls.scale(x, out)
        _1: R.Tuple = R.print(x, format="{}")
        _2 = R.assert_op(R.const(True), format="never")
        _3 = R.memory.kill_tensor(x)
        _4 = R.memory.kill_storage(s)
        _5 = R.vm.call_tir_dyn(cls.scale, (out, out, R.shape([4])))
        nothing: R.Tuple() = cls.scale(out, out)
        return (out, nothing)


@R.function(pure=False)
def without_a_type(_1: R.Tensor((4,), "float32")):
    y = R.call_packed("ext.fill", _1)
    return y


@I.ir_module
class ListsOfOne:
    @T.prim_func(private=True)
    def scale(
        A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")
    ):
        for i in range(T.int64(4)):
            B[i] = A[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = ListsOfOne
        y = R.call_tir(cls.scale, (x,), out_sinfo=[R.Tensor((4,), "float32")])
        z = R.add(y, x)
        w = R.call_dps_packed("e", (z,), out_sinfo=[R.Tensor((4,), "float32")])
        t = R.call_dps_packed("e", (z,), out_sinfo=R.Tuple(R.Tensor((4,), "float32")))
        return R.add(w, t[0])


@I.ir_module
class PureTIR:
    @T.prim_func(private=True)
    def next_one(n: T.int64) -> T.int64:
        m = T.decl_buffer((1,), "int64")
        m[0] = n + T.int64(1)
        T.ret(m[0])

    @T.prim_func(private=True)
    def nothing(n: T.int64):
        T.evaluate(n)

    @R.function(pure=False)
    def impure(n: R.Prim("int64")) -> R.Prim("int64"):
        cls = PureTIR
        _: R.Tuple() = cls.nothing(n)
        return cls.next_one(n)

    @R.function
    def main(n: R.Prim("int64")) -> R.Prim("int64"):
        cls = PureTIR
        u: R.Tuple() = cls.nothing(n)
        with R.dataflow():
            y = cls.next_one(n)
            R.output(y)
        return y
