"""IRModule: functions by name, through passes."""

from __future__ import annotations

from typing import cast

import pytest
from support.ir import parse
from xdsl.dialects import arith
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, i32
from xdsl.ir import Operation

from xdsl_tvm import IRModule
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.global_var import GlobalVar
from xdsl_tvm.passes.infra import PassContext, module_pass
from xdsl_tvm.passes.relax import DeadCodeElimination

MODULE = """
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "f"} {
  relax.return %x : tensor<4xf32>
}
"""


def test_functions_by_name() -> None:
    source = parse(MODULE)
    (func,) = source.ops
    mod = IRModule({"main": func, "other": func, "tir": tir.FuncOp("g", ([i32], []))})
    mod.verify()
    assert [str(op.properties["sym_name"]) for op in mod.ops] == [
        '"main"',
        '"other"',
        '"tir"',
    ]
    assert isinstance(mod["main"], relax.FuncOp)
    assert mod["main"].parent_op() is mod
    assert str(source) == str(parse(MODULE))
    with pytest.raises(KeyError, match="'missing'; the module has main, other, tir"):
        mod["missing"]


def test_it_stays_one_through_passes() -> None:
    (func,) = parse(MODULE).ops
    mod = IRModule({"main": func})
    result = DeadCodeElimination()(mod)
    assert isinstance(result, IRModule)
    assert str(result["main"]) == str(mod["main"])


def test_it_stays_one_where_a_pass_gives_another_module() -> None:
    other = parse(MODULE.replace("@f", "@new"))

    @module_pass(opt_level=0, name="replace")
    def replace(_module: ModuleOp, _context: PassContext) -> ModuleOp:
        return other

    result = replace(IRModule({}))
    assert isinstance(result["new"], relax.FuncOp)
    assert len(other.ops) == 1
    assert replace(parse(MODULE)) is other


def test_what_is_no_function() -> None:
    with pytest.raises(TypeError, match="IRModule: 'main' must be a function, not str"):
        IRModule({"main": cast(Operation, "text")})
    with pytest.raises(TypeError, match="not ConstantOp"):
        IRModule({"main": arith.ConstantOp.from_int_and_width(1, i32)})


def _module() -> IRModule:
    (func,) = parse(MODULE).ops
    return IRModule({"main": func, "g": tir.FuncOp("g", ([i32], []))})


def test_variables_of_functions() -> None:
    mod = _module()
    main, g = mod.get_global_vars()
    assert [main.name_hint, g.name_hint] == ["main", "g"]
    assert mod[main] is mod["main"]
    assert mod.get_global_var("g") == g != main
    assert repr(g) == 'I.GlobalVar("g")'
    assert g.struct_info is None
    assert main.struct_info == cast(relax.FuncOp, mod["main"]).struct_info
    assert list(mod) == [main, g] == list(mod.functions)
    assert mod.functions[g] is mod["g"]
    assert [name.name_hint for name, _ in mod.functions_items()] == ["g", "main"]
    assert "main" in mod
    assert g in mod
    assert "f" not in mod
    assert 3 not in mod
    with pytest.raises(ValueError, match="there is no function 'f'; it has main, g"):
        mod.get_global_var("f")
    with pytest.raises(TypeError, match="a string or a GlobalVar as its name, not int"):
        mod[cast(str, 3)]


def test_functions_are_set_and_deleted() -> None:
    mod = _module()
    old = mod.clone()
    mod["g"] = tir.FuncOp("other", ([], []))
    mod[GlobalVar("h")] = mod["main"]
    assert [var.name_hint for var in mod] == ["main", "g", "h"]
    assert len(cast(tir.FuncOp, mod["g"]).params) == 0
    assert mod["h"] is not mod["main"]
    del mod["h"]
    assert "h" not in mod
    mod.update_func(mod.get_global_var("g"), old["g"])
    assert str(mod) == str(old)
    mod.update({"k": tir.FuncOp("k", ([], []))})
    mod.update(old)
    assert [var.name_hint for var in mod] == ["main", "g", "k"]
    mod.verify()
    with pytest.raises(KeyError, match="h"):
        del mod["h"]


def test_attributes_of_modules_and_functions() -> None:
    mod = _module()
    changed = mod.with_attr("level", 3).with_attrs({"names": ["a", "b"], "on": True})
    assert isinstance(changed, IRModule)
    assert changed.attrs == {"level": 3, "names": ["a", "b"], "on": True}
    assert changed.get_attr("level") == 3
    assert changed.without_attr("level").get_attr("level") is None
    assert mod.attrs == {}
    assert IRModule({}, attrs={"k": "v"}).attrs == {"k": "v"}
    func = cast(tir.FuncOp, mod["g"])
    other = func.with_attr("a", 1).with_attr({"b": "x", "c": 2.5})
    assert other.attrs == {"a": 1, "b": "x", "c": 2.5}
    assert other.without_attr("a").attrs == {"b": "x", "c": 2.5}
    assert func.with_attrs({"d": None, "e": True}).attrs == {"d": None, "e": True}
    assert func.attrs == {}
    assert [param.type for param in func.params] == [i32]
    with pytest.raises(ValueError, match="a value of type object cannot be"):
        func.with_attr("a", object())


def test_module_of_one_function() -> None:
    func = tir.FuncOp("f", ([], []))
    assert "main" in IRModule.from_expr(func)
    assert "name" in IRModule.from_expr(func.with_attr("global_symbol", "name"))


def test_global_infos() -> None:
    mod = IRModule({})
    mod.attributes["tir.global_infos"] = DictionaryAttr({"dummy": ArrayAttr([])})
    assert mod.global_infos == {"dummy": ()}
