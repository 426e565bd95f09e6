"""Passes in TVM's words: made by decorators, in a row, watched, and as a pipeline."""

import xdsl_tvm as tvm
from xdsl_tvm import IRModule, relax, tir
from xdsl_tvm.script import ir as I
from xdsl_tvm.script import relax as R
from xdsl_tvm.script import tir as T


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def twice(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + A[i]

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.twice, (x,), out_sinfo=R.Tensor((4,), "float32"))
            z = R.nn.relu(y)
            R.output(z)
        return z


@tvm.transform.module_pass(opt_level=0, name="MarkMain")
class MarkMain:
    def __init__(self, mark):
        self.mark = mark

    def transform_module(
        self, mod: IRModule, _ctx: tvm.transform.PassContext
    ) -> IRModule:
        for gv, func in mod.functions_items():
            if isinstance(func, relax.Function):
                mod.update_func(gv, func.with_attr("mark", self.mark))
        return mod


@tir.transform.prim_func_pass(opt_level=0)
def count(func, _mod, _ctx):
    return func.with_attr("params", len(func.params))


@relax.transform.function_pass(opt_level=1, name="Skipped")
def skipped(func, _mod, _ctx):
    raise AssertionError("the level of the pass is above that of the context")


seen = []


@tvm.instrument.pass_instrument
class Names:
    def run_before_pass(self, _mod, info):
        seen.append(info.name)


row = tvm.ir.transform.Sequential([MarkMain("x"), count, skipped], name="row")
with tvm.transform.PassContext(opt_level=0, instruments=[Names()]):
    assert tvm.transform.PassContext.current().opt_level == 0
    changed = row(Module)
assert seen == ["row", "MarkMain", "count"]
assert changed["main"].attrs["mark"] == "x"
assert changed["twice"].attrs["params"] == 2
assert "mark" not in Module["main"].attrs


@relax.register_pipeline("examples.tvm_words")
def pipeline(mark="y"):
    @tvm.transform.module_pass(opt_level=0)
    def run(mod, _ctx):
        return tvm.transform.Sequential(
            [MarkMain(mark), relax.transform.LegalizeOps(), tir.transform.Simplify()]
        )(mod)

    return run


with tvm.target.Target("llvm"):
    lowered = relax.get_pipeline("examples.tvm_words", mark="z")(Module)
assert lowered["main"].attrs["mark"] == "z"
assert [gv.name_hint for gv in lowered] == ["twice", "main", "relu"]
lowered.show()
relax.build(Module, "llvm", relax_pipeline="examples.tvm_words")
