"""Relax scripts: live definitions, details of what is read, and of the text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.ir import parse as parse_dialect
from support.live_scripts import import_text
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm import IRModule
from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax import VDeviceAttr
from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.passes.relax import DeadCodeElimination, LambdaLift
from xdsl_tvm.tools.cli import main
from xdsl_tvm.tvmscript import ScriptError, parse, print_script

HEADER = "# from tvm.script import tir as T\n# from tvm.script import relax as R\n\n"


def only(module: ModuleOp) -> relax.FuncOp:
    (op,) = module.body.block.ops
    assert isinstance(op, relax.FuncOp)
    return op


def text_of(body: str, result: str = "y") -> str:
    """The body of a printed function of `x` and `c`, without what it returns."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    text = print_script(
        parse(
            '@R.function(pure=False)\ndef f(x: R.Tensor((4,), "float32"), '
            f'c: R.Tensor((), "bool")):\n{lines}\n    return {result}\n'
        )
    )
    found = text[text.index(":\n", text.index("def f")) + 2 :]
    return "\n".join(line[8:] for line in found.splitlines()[:-1])


# ---- live definitions ----

LIVE = """\
N = 4

def activation(value):
    return R.nn.relu(value)

@R.function
def layer(x: R.Tensor((N, "m"), "float32")):
    m = T.int64()
    y = activation(x)
    return R.reshape(y, R.shape([N * m]))

@I.ir_module
class Model:
    layer = layer

    @T.prim_func(private=True)
    def twice(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
        for i in range(N):
            B[i] = A[i] + A[i]

    @R.function
    def main(x: R.Tensor((N, 3), "float32"), y: R.Tensor((N,), "float32")):
        cls = Model
        z = R.call_tir(cls.twice, (y,), R.Tensor((N,), "float32"))
        return (cls.layer(x), z)
"""


def test_live_definitions(tmp_path: Path) -> None:
    live = import_text(tmp_path, LIVE)
    assert isinstance(live.layer, relax.FuncOp)
    assert live.layer.parent is None
    assert isinstance(live.Model, IRModule)
    assert isinstance(live.Model["layer"], relax.FuncOp)
    assert isinstance(live.Model["twice"], tir.FuncOp)
    x, y = np.full((4, 3), -1, "float32"), np.ones(4, "float32")
    first, second = interpret(live.Model)["main"](x, y)
    assert first.tolist() == [0] * 12
    assert second.tolist() == [2] * 4
    module = IRModule({"main": live.layer})
    assert_structural_equal(parse(print_script(module)), parse(print_script(module)))
    assert isinstance(DeadCodeElimination()(live.Model), IRModule)


def test_text_is_a_live_file(tmp_path: Path) -> None:
    """What is printed is Python that reads as the same module, constants included."""
    constant = f"R.const({list(range(20))}, 'int64')"
    module = parse(f"@R.function\ndef f():\n    return {constant}\n")
    live = import_text(tmp_path, print_script(module))
    assert_structural_equal(live.Module, module)


# ---- what is read ----


def test_leaves_stand_at_the_start() -> None:
    """Once for equal ones, and where the script binds them to a name."""
    op = only(
        parse(
            '@R.function\ndef f(x: R.Tensor((4,), "float32")):\n'
            '    y = R.add(x, R.const(1, "float32"))\n'
            '    z = R.const(2, "float32")\n'
            '    return R.add(R.add(y, R.const(1, "float32")), z)\n'
        )
    )
    names = [each.name for each in op.body.block.ops]
    assert names == [
        "relax.constant",
        "relax.add",
        "relax.constant",
        "relax.add",
        "relax.add",
        "relax.return",
    ]


def test_types_that_are_declared() -> None:
    op = only(
        parse(
            '@R.function\ndef f(x: R.Tensor((4,), "float32")) -> R.Object:\n'
            "    y: R.Tensor(ndim=1) = R.exp(x)\n    z: R.Object = x\n    return y\n"
        )
    )
    exp, alias = list(op.body.block.ops)[:2]
    assert str(exp.results[0].type) == "tensor<?x!relax.any>"
    assert isinstance(alias, relax.AliasOp)
    assert op.output_type == relax.OBJECT


def test_devices_of_a_module() -> None:
    text = (
        "@I.ir_module\nclass M:\n    I.module_global_infos("
        '{"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 3)]})\n    @R.function\n'
        '    def main(x: R.Tensor((4,), "float32", "cuda:0")):\n        return x\n'
    )
    module = parse(text)
    devices = ArrayAttr([VDeviceAttr.of("llvm"), VDeviceAttr.of("cuda", 3)])
    assert module.attributes["relax.vdevices"] == devices
    assert 'vdevice="cuda:0:global"' in print_script(module)
    del module.attributes["relax.vdevices"]
    assert 'vdevice=I.vdevice("cuda", 3, "global")' in print_script(module)
    assert_structural_equal(parse(print_script(module)), module)


def test_undecorated_functions_are_of_tir() -> None:
    with pytest.raises(ScriptError, match="annotation of 'x' must be a dtype"):
        parse('def f(x: R.Tensor((4,), "float32")):\n    return x\n')


def test_several_functions_of_a_text() -> None:
    module = parse(
        "@R.function\ndef f(x: R.Object):\n    return x\n"
        "@T.prim_func\ndef g():\n    pass\n"
        "@R.function(private=True)\ndef h(x: R.Object):\n    return x\n"
    )
    symbols = [op.properties["sym_name"] for op in module.ops]
    assert symbols == [StringAttr(name) for name in ("g", "f", "h")]


# ---- the text ----


def test_text_of_a_function() -> None:
    func = parse_dialect(
        """
        !t = tensor<?xf32, #relax.dims<[n]>>
        relax.func @f<n>(%x: !t) -> !t attributes {global_symbol = "f"} {
          %0 = relax.add %x, %x : (!t, !t) -> !t
          relax.return %0 : !t
        }
        """
    )
    assert print_script(only(func)) == HEADER + (
        "@R.function\n"
        'def f(x: R.Tensor(("n",), dtype="float32")) -> '
        'R.Tensor(("n",), dtype="float32"):\n'
        "    n = T.int64()\n"
        '    gv: R.Tensor((n,), dtype="float32") = R.add(x, x)\n'
        "    return gv\n"
    )


TEXTS = {
    "names": (
        "y = R.exp(x)\ny = R.exp(y)",
        'y: R.Tensor((4,), dtype="float32") = R.exp(x)\n'
        'y_1: R.Tensor((4,), dtype="float32") = R.exp(y)',
    ),
    "operator with attributes": (
        "y = R.sum(x, axis=0)",
        'y: R.Tensor((), dtype="float32") = R.sum(x, axis=[0], keepdims=False)',
    ),
    "branch": (
        "if c:\n    y = R.exp(x)\nelse:\n    y = x",
        'if c:\n    y: R.Tensor((4,), dtype="float32") = R.exp(x)\nelse:\n    y = x',
    ),
    "effects": (
        'R.print(x, format="x")\nR.assert_op(c, x)\ny = x',
        'R.print(x, format="x")\nR.assert_op(c, [x], format="")\n'
        'y: R.Tensor((4,), dtype="float32") = x',
    ),
    "device": (
        "y = R.hint_on_device(x, R.cuda(1))",
        'y: R.Tensor((4,), dtype="float32") = '
        "R.hint_on_device(x, R.device(dev_type=2, dev_id=1))",
    ),
    "tuple": (
        "t = (x, c)\ny = t[0]",
        't: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((), dtype="bool")) = '
        '(x, c)\ny: R.Tensor((4,), dtype="float32") = t[0]',
    ),
}


@pytest.mark.parametrize(("body", "text"), TEXTS.values(), ids=TEXTS)
def test_text(body: str, text: str) -> None:
    assert text_of(body) == text


def test_versions() -> None:
    module = parse(
        "@R.function\ndef f(x: R.Object):\n"
        '    return R.call_pure_packed("g", x, sinfo_args=(R.Object,))\n'
    )
    assert "sinfo_args=(R.Object,)" in print_script(module)
    assert "ty_args=(R.Any,)" in print_script(module, version="0.27")


def test_newer_scalars() -> None:
    """TVM 0.27 reads a bare float as a float64."""
    module = parse("@R.function\ndef f():\n    return R.prim_value(2.5)\n")
    assert "R.prim_value(2.5)" in print_script(module)
    assert "R.prim_value(T.float32(2.5))" in print_script(module, version="0.27")


FLAGS = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def f(a: T.handle):
        T.func_attr({"tir.noalias": True, "tir.is_scheduled": 1, "op_pattern": 2})
        T.evaluate(0)

    @R.function(private=True)
    def g(x: R.Tensor((4,), "float32")):
        R.func_attr({"Primitive": 1, "num_input": 1})
        return x
"""


def test_newer_flags() -> None:
    module = parse(FLAGS)
    text = print_script(module, version="0.27")
    assert '{"op_pattern": 2, "tirx.is_scheduled": 1, "tirx.noalias": True}' in text
    assert '{"Primitive": True, "num_input": 1}' in text
    assert '"tir.noalias": T.bool(True)' in print_script(parse(text))


DEVICE = """
@R.function(pure=False)
def f():
    s = R.memory.alloc_storage(R.shape([16]), 1, R.str("global"), R.dtype("float32"))
    y = R.memory.alloc_tensor(s, 0, R.shape([4]), R.dtype("float32"){device})
    return y
"""


@pytest.mark.parametrize("device", ["", ", 1"])
def test_device_of_a_tensor(device: str) -> None:
    """Newer TVM says it once more, where it is not the first one."""
    module = parse(DEVICE.replace("{device}", device))
    assert 'R.dtype("float32"))' in print_script(module)
    newer = print_script(module, version="0.27")
    assert 'R.dtype("float32"), R.prim_value(1))' in newer
    assert_structural_equal(parse(newer), module)


def test_another_device_of_a_tensor() -> None:
    with pytest.raises(ScriptError, match="the device is that of the storage"):
        parse(DEVICE.replace("{device}", ", 2"))


NOT_PRINTED = {
    "foreign operation": (
        "relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        '  %y = "test.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>\n'
        "  relax.return %y : tensor<4xf32>\n}",
        "test.op: has no form in TVMScript",
    ),
    "attribute": (
        "relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %y = relax.exp %x {note} : (tensor<4xf32>) -> tensor<4xf32>\n"
        "  relax.return %y : tensor<4xf32>\n}",
        "relax.exp: the attribute 'note' has no place in TVMScript",
    ),
    "dtype": (
        "relax.func @f(%x: tensor<4xindex>) -> tensor<4xindex> {\n"
        "  relax.return %x : tensor<4xindex>\n}",
        "type index has no TVM dtype name",
    ),
    "scalar of another dtype": (
        "relax.func @f<n>(%x: tensor<?xf32, #relax.dims<[n]>>) -> !relax.prim<i32, n> {\n"
        "  %y = relax.prim_value n : i32\n  relax.return %y : !relax.prim<i32, n>\n}",
        "relax.prim_value: n of dtype i32 has no form in TVMScript",
    ),
}


@pytest.mark.parametrize(("text", "message"), NOT_PRINTED.values(), ids=NOT_PRINTED)
def test_what_has_no_text(text: str, message: str) -> None:
    with pytest.raises(DiagnosticException) as caught:
        print_script(parse_dialect(text))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_symbols_that_are_words_of_python() -> None:
    module = parse_dialect(
        "relax.func @f<is>(%T: tensor<?xf32, #relax.dims<[is]>>) -> "
        "tensor<?xf32, #relax.dims<[is]>> {\n"
        "  relax.return %T : tensor<?xf32, #relax.dims<[is]>>\n}"
    )
    text = print_script(module)
    assert 'def f(T_1: R.Tensor(("is_",), dtype="float32"))' in text
    assert only(parse(text)).symbol_names == ("is_",)


def test_names_that_are_none_in_python() -> None:
    text = (
        'relax.func @"a.b"(%x: !relax.object) -> !relax.object attributes '
        '{global_symbol = "a.b"} { relax.return %x : !relax.object }\n'
        'tir.func @for() attributes {global_symbol = "for"} {}\n'
    )
    back = parse(print_script(parse_dialect(text)))
    assert isinstance(back, ModuleOp)
    symbols = {
        op.sym_name.data: op.attributes["global_symbol"]
        for op in back.ops
        if isinstance(op, relax.FuncOp | tir.FuncOp)
    }
    assert symbols == {"a_b": StringAttr("a.b"), "for_": StringAttr("for")}
    with pytest.raises(DiagnosticException, match=r"^the functions @a_b and @a\.b would"):
        print_script(parse_dialect(text + "tir.func @a_b() {}"))


def test_small_negative_numbers() -> None:
    module = parse(
        "@R.function\n"
        'def f() -> R.Tensor((2,), "int4"):\n'
        '    return R.const([1, -2], "int4")\n'
    )
    assert "dense<[1, -2]> : tensor<2xi4>" in str(module)
    assert "R.const([1, -2]" in print_script(module)


# ---- tools ----


def test_translate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "model.py"
    file.write_text(
        "from tvm.script import relax as R\n\n\n@R.function\n"
        'def f(x: R.Tensor((4,), "float32")):\n    return R.exp(x)\n'
    )
    assert main(["translate", str(file)]) == 0
    text = capsys.readouterr().out
    assert "relax.exp" in text
    assert main(["translate", str(file), "--execute"]) == 0
    assert "relax.exp" in capsys.readouterr().out
    mlir = tmp_path / "model.mlir"
    mlir.write_text(text)
    assert main(["translate", str(mlir)]) == 0
    assert_structural_equal(parse(capsys.readouterr().out), parse(file.read_text()))


def test_target_of_opt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "model.py"
    file.write_text(
        '@R.function\ndef f(x: R.Tensor((4,), "float32")):\n'
        "    y = R.exp(x)\n    return x\n"
    )
    passes = "relax-dead-code-elimination"
    assert main(["opt", str(file), "-p", passes, "-t", "tvmscript"]) == 0
    text = capsys.readouterr().out
    assert "R.exp" not in text
    assert "return x" in text


LITERALS = {
    "an operand": "y: R.Tensor((4,), 'float32') -> R.Tensor((4,), 'float32')|"
    "return R.add(y, R.sum(R.exp(x), axis=[0]))|R.sum(x, axis=[0])",
    "a dimension": "y: R.Tensor((4,), 'float32') -> R.Tensor((4,), 'float32')|"
    "return R.add(y, R.sum(R.add(x, R.ones((n, 4), 'float32')), axis=[0]))|"
    "R.sum(x, axis=[0])",
    "a parameter": "y: R.Tensor((n, 4), 'float32') -> R.Tensor((n, 4), 'float32')|"
    "s: R.Tensor((n, 4), 'float32') = R.add(x, y); return s|x",
    "a result": "y: R.Tensor((4,), 'float32') -> R.Tensor((n, 4), 'float32')|"
    "return R.add(x, y)|R.sum(x, axis=[0])",
    "a parameter of its name": "x: R.Tensor((n, 4), 'float32') -> "
    "R.Tensor((n, 4), 'float32')|"
    "return R.add(x, R.ones((n, 4), 'float32'))|R.multiply(x, x)",
    "a sum of two": "y: R.Tensor((4,), 'float32') -> R.Tensor((4,), 'float32')|"
    "d = R.concat([c, c]); return R.add(R.sum(d, axis=[0]), R.sum(R.exp(x), axis=[0]))|"
    "R.sum(x, axis=[0])",
}


@pytest.mark.parametrize("name", LITERALS)
def test_literals_use_symbols_of_the_function_around(name: str):
    signature, body, argument = LITERALS[name].split("|")
    params, result = signature.split(" -> ")
    module = parse(f"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        c = R.concat([x, x])
        @R.function
        def inner({params}) -> {result}:
            {body}
        z = inner({argument})
        return z
""")
    module.verify()
    # What was read before the symbols were missed uses nothing.
    for op in module.walk():
        for result_value in (*op.results, *(a for r in op.regions for a in r.block.args)):
            assert all(use.operation.parent for use in result_value.uses)
    assert_structural_equal(parse(module.script()), module)
    x = np.arange(8, dtype=np.float32).reshape(2, 4) / 8
    total = x.sum(0)
    expected = {
        "an operand": total + np.exp(x).sum(0),
        "a dimension": total * 2 + 2,
        "a parameter": x + x,
        "a result": x + total,
        "a parameter of its name": x * x + 1,
        "a sum of two": total * 4 + np.exp(x).sum(0),
    }[name]
    for each in (module, LambdaLift()(module)):
        np.testing.assert_allclose(interpret(each)["main"](x), expected, rtol=1e-6)


def test_symbols_that_nothing_in_a_literal_defines():
    with pytest.raises(ScriptError, match="'n' has no value here; a parameter or a m"):
        parse("""
@R.function
def main(x: R.Tensor(("n", 4), "float32")):
    n = T.int64()
    @R.function
    def inner(y: R.Tensor((4,), "float32")):
        return R.zeros((n,), "float32")
    return inner(R.sum(x, axis=[0]))
""")


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("R.Callable((R.Tensor((4,), 'float32'),), R.Tensor((4,), 'float32'), True)", ""),
        ("R.Object", ""),
        (
            "R.Callable((R.Tensor((4,), 'float32'),), R.Tensor((5,), 'float32'), True)",
            "which is not always the declared",
        ),
        ("R.Tensor((4,), 'float32')", "but tensor<4xf32> is declared|is not always"),
    ],
)
def test_closures_are_declared_as_functions(declared: str, message: str):
    text = f"""
@I.ir_module
class Module:
    @R.function
    def add(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        return R.add(x, y)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Module
        f: {declared} = R.make_closure(cls.add, (x,))
        return f
"""
    if message:
        with pytest.raises(ScriptError, match=message):
            parse(text)
        return
    module = parse(text)
    assert_structural_equal(parse(module.script()), module)
    assert f"f: {declared.replace(chr(39), chr(34))[:10]}" in module.script()
