"""A model in TVM's words: built, optimized, compiled, called and exported."""

import tempfile
from pathlib import Path

import numpy as np

import xdsl_tvm as tvm
from xdsl_tvm import relax
from xdsl_tvm.script import relax as R
from xdsl_tvm.script import tir as T


@T.prim_func
def shift(x: T.handle, y: T.handle):
    n, m = T.int64(), T.int64()
    X = T.match_buffer(x, (n, m), "float32")
    Y = T.match_buffer(y, (n, m), "float32")
    for i, j in T.grid(n, m):
        with T.block("shift"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = X[vi, vj] + T.float32(1)


@tvm.register_func("example.scale")
def scale(x: tvm.nd.NDArray, out: tvm.nd.NDArray) -> None:
    out.copyfrom(x.numpy() * 2)


# A layer, a function of TIR, and a function of Python.
bb = relax.BlockBuilder()
n = T.int64()
x = relax.Var("x", R.Tensor((n, 4), "float32"))
w = relax.Var("w", R.Tensor((3, 4), "float32"))
b = relax.Var("b", R.Tensor((3,), "float32"))
shift_gv = bb.add_func(shift, "shift")
row = relax.TensorStructInfo((n, 3), "float32")
with bb.function("main", [x, w, b]):
    with bb.dataflow():
        layer = bb.emit(relax.op.matmul(x, relax.op.permute_dims(w)) + b)
        relu = bb.emit(relax.op.nn.relu(layer))
        shifted = bb.emit(relax.call_tir(shift_gv, [relu], out_sinfo=row))
        gv = bb.emit(relax.call_dps_packed("example.scale", [shifted], out_sinfo=row))
        bb.emit_output(gv)
    bb.emit_func_output(gv)
mod = bb.get()
mod.show()
print(mod.get_global_vars())

# A pass, and a pipeline of passes.
mod = relax.transform.LegalizeOps()(mod)
mod = relax.get_pipeline("zero")(mod)
mod["main"].show()

target = tvm.target.Target("llvm", host="llvm")
with target, tvm.transform.PassContext(opt_level=3):
    ex = relax.build(mod, target)
dev = tvm.device("cpu", 0)
vm = relax.VirtualMachine(ex, dev)
rng = np.random.default_rng(1)
given = [rng.normal(size=size).astype("float32") for size in ((2, 4), (3, 4), (3,))]
data, *params = [tvm.nd.array(each, device=dev) for each in given]
result = vm["main"](data, *params)
expected = (np.maximum(given[0] @ given[1].T + given[2], 0) + 1) * 2
tvm.testing.assert_allclose(result.numpy(), expected, rtol=1e-5, atol=1e-5)

vm.set_input("main", data, *params)
vm.invoke_stateful("main")
tvm.testing.assert_allclose(vm.get_outputs("main"), expected, rtol=1e-5, atol=1e-5)
print(vm.time_evaluator("main", dev, number=3)(data, *params).mean, "seconds")

# A library for programs that have tvm_ffi only; it calls no functions of Python.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "shift.so"
    try:
        tvm.compile(shift, target=target).export_library(path)
        loaded = tvm.runtime.load_module(path)
    except Exception as error:  # there may be no C compiler, or no tvm_ffi
        print(error)
    else:
        out = tvm.nd.empty((2, 4), "float32")
        loaded["shift"](data, out)
        tvm.testing.assert_allclose(out, given[0] + 1)
