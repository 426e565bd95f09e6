"""Passes made of Python callables, over modules and over TIR functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp as StockFuncOp
from xdsl.parser import Parser

from xdsl_tvm.dialects.tir import FuncOp
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes import relax, tir
from xdsl_tvm.passes.infra import (
    ApplyPassToFunction,
    CompilerPass,
    PassContext,
    PassInfo,
    PassInstrument,
    PrintIR,
    PythonModulePass,
    Sequential,
    construct_pass,
    module_pass,
)
from xdsl_tvm.passes.tir import Apply, Filter, PrimFuncPass, prim_func_pass
from xdsl_tvm.registry import new_context

MODULE = """
builtin.module attributes {kept = "yes"} {
  tir.func @first() attributes {global_symbol = "first", calling_conv = 2 : i32} {
    %0 = tir.const 1 : i32
  }
  func.func @stock() {
    func.return
  }
  tir.func @second() attributes {calling_conv = 0 : i32} {
    %0 = tir.const 2 : i32
  }
}
"""


def parse(text: str) -> ModuleOp:
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module


def names(module: ModuleOp) -> list[str]:
    return [op.sym_name.data for op in module.ops if isinstance(op, FuncOp | StockFuncOp)]


def functions(module: ModuleOp) -> list[FuncOp]:
    return [op for op in module.ops if isinstance(op, FuncOp)]


def attribute(module: ModuleOp, function: str, key: str) -> str | None:
    (func,) = (f for f in functions(module) if f.sym_name.data == function)
    found = func.attributes.get(key)
    return found.data if isinstance(found, StringAttr) else None


def identity(func: FuncOp, module: ModuleOp, context: PassContext) -> FuncOp | None:
    return func


@prim_func_pass(opt_level=1)
class ReplaceAll:
    """Replaces every function."""

    def __init__(self, new_func: FuncOp) -> None:
        self.new_func = new_func

    def transform_function(
        self, func: FuncOp, module: ModuleOp, context: PassContext
    ) -> FuncOp:
        return self.new_func


def test_class_form_replaces_functions_by_a_stored_one() -> None:
    # CASE: PrimFuncPass.1
    stored = parse("tir.func @stored() {\n  %0 = tir.const 7 : i32\n}").ops.first
    assert isinstance(stored, FuncOp)
    stored.detach()
    module = parse(MODULE)
    before = str(module)
    result = ReplaceAll(stored)(module)
    result.verify()
    assert names(result) == ["first", "stock", "second"]
    for func in functions(result):
        assert func.body.is_structurally_equivalent(stored.body)
        assert func is not stored
    assert stored.parent is None
    assert stored.sym_name.data == "stored"
    assert str(module) == before


def test_function_form_returning_its_argument() -> None:
    # CASE: PrimFuncPass.2
    module = parse(MODULE)
    result = prim_func_pass(identity, opt_level=0)(module)
    assert result.is_structurally_equivalent(module)
    assert str(result) == str(module)
    assert names(result) == ["first", "stock", "second"]


def test_positional_call() -> None:
    # CASE: PrimFuncPass.3
    made = prim_func_pass(identity, 0)
    assert isinstance(made, PrimFuncPass)
    assert made.info.opt_level == 0


def test_metadata() -> None:
    # CASE: PrimFuncPass.4
    @prim_func_pass(opt_level=2)
    def by_name(func: FuncOp, module: ModuleOp, context: PassContext) -> FuncOp:
        return func

    assert isinstance(by_name, PrimFuncPass)
    assert by_name.info == PassInfo(2, "by_name", [], False)
    assert str(by_name) == "PrimFuncPass(by_name, opt_level=2)"
    named = prim_func_pass(identity, 1, "mine", ["tir.transform.X"], traceable=True)
    assert named.info == PassInfo(1, "mine", ["tir.transform.X"], True)
    assert prim_func_pass(lambda f, m, c: f, 0).info.name == "<lambda>"
    assert prim_func_pass(functools.partial(identity), 0).info.name == "partial"
    assert prim_func_pass(identity, 0, required=("a",)).info.required == ["a"]


def test_returning_none_deletes() -> None:
    # CASE: PrimFuncPass.5
    module = parse(MODULE)
    result = prim_func_pass(
        lambda func, m, c: None if func.sym_name.data == "first" else func, 0
    )(module)
    assert names(result) == ["stock", "second"]
    assert names(module) == ["first", "stock", "second"]


@pytest.mark.parametrize(
    ("decorator", "kind"), [(prim_func_pass, "function"), (module_pass, "module")]
)
def test_decorator_errors(decorator: Callable[..., Any], kind: str) -> None:
    # CASE: PrimFuncPass.6
    with pytest.raises(ValueError, match=f"provide opt_level for the {kind} pass"):
        decorator(identity)
    with pytest.raises(ValueError, match="Please provide opt_level"):
        decorator()
    with pytest.raises(TypeError, match="Required is expected to be the type of list"):
        decorator(opt_level=0, required="x")
    with pytest.raises(TypeError, match="pass_func must be a callable for Module pass"):
        decorator("identity", opt_level=0)
    with pytest.raises(TypeError, match="pass_func must be a callable for Module pass"):
        decorator(opt_level=0)(3)


def test_other_module_members_stay() -> None:
    # CASE: PrimFuncPass.7
    module = parse(MODULE)
    result = prim_func_pass(lambda f, m, c: None, 0)(module)
    (stock,) = result.ops
    (original,) = (op for op in module.ops if isinstance(op, StockFuncOp))
    assert str(stock) == str(original)
    assert result.attributes == module.attributes


def test_pass_class_shows_the_user_object() -> None:
    # CASE: PrimFuncPass.8
    func, missing = functions(parse(MODULE))[0], "no_such"
    made = ReplaceAll(func)
    assert made.new_func is func
    with pytest.raises(AttributeError, match="no_such"):
        getattr(made, missing)
    assert isinstance(made, PrimFuncPass)
    assert made.info == PassInfo(1, "ReplaceAll", [], False)
    assert ReplaceAll.__name__ == "ReplaceAll"
    assert ReplaceAll.__doc__ == "Replaces every function."
    assert ReplaceAll.__module__ == __name__
    assert made == made
    assert made != ReplaceAll(func)


def test_what_a_callable_sees_of_the_module() -> None:
    seen: list[list[str | None]] = []

    def mark(func: FuncOp, module: ModuleOp, context: PassContext) -> FuncOp:
        assert func.parent is None
        assert context is PassContext.current()
        seen.append([f"{f.sym_name.data}{len(f.attributes)}" for f in functions(module)])
        return func.with_attr("mark", StringAttr("x"))

    prim_func_pass(mark, 0)(parse(MODULE))
    assert seen == [["second1"], ["first3"]]


def test_a_raising_callable_leaves_the_module_alone() -> None:
    module = parse(MODULE)
    before = str(module)

    def fail(func: FuncOp, m: ModuleOp, context: PassContext) -> FuncOp:
        func.attributes["broken"] = StringAttr("yes")
        if func.sym_name.data == "second":
            raise OSError("second")
        return func

    with pytest.raises(OSError, match="second"):
        prim_func_pass(fail, 0)(module)
    assert str(module) == before


def test_a_callable_must_return_a_function() -> None:
    wrong = cast("Callable[[FuncOp], FuncOp]", str)
    message = "pass Apply must return a tir.func or None for @first, not str"
    with pytest.raises(TypeError, match=message):
        Apply(wrong)(parse(MODULE))


def test_a_new_function_takes_the_name_of_the_old_one() -> None:
    def rename(func: FuncOp) -> FuncOp:
        func.sym_name = StringAttr("other")
        return func

    assert names(Apply(rename)(parse(MODULE))) == ["first", "stock", "second"]


def test_function_pass_in_place() -> None:
    module = parse(MODULE)
    context = Context()
    Filter(lambda f: f.sym_name.data == "first").apply(context, module)
    assert names(module) == ["first", "stock"]


def test_apply_sets_attributes() -> None:
    # CASE: Apply.1
    module = parse(MODULE)
    result = Sequential(
        [
            Apply(lambda f: f.with_attr("target", Target.parse("llvm"))),
            Apply(lambda f: f.with_attr("global_symbol", StringAttr("main"))),
            Apply(lambda f: f.without_attr("calling_conv")),
        ]
    )(module)
    for function in ("first", "second"):
        (func,) = (f for f in functions(result) if f.sym_name.data == function)
        assert func.attributes["target"] == Target.parse("llvm")
        assert attribute(result, function, "global_symbol") == "main"
        (func,) = (f for f in functions(module) if f.sym_name.data == function)
        assert "target" not in func.attributes
    assert all("calling_conv" not in f.attributes for f in functions(result))
    assert Apply(lambda f: f).info == PassInfo(0, "Apply", [], False)


def test_apply_identity() -> None:
    # CASE: Apply.2
    seen: list[FuncOp] = []

    def remember(func: FuncOp) -> FuncOp:
        seen.append(func)
        return func

    result = Apply(remember)(parse(MODULE))
    assert seen == functions(result)


def test_apply_removes() -> None:
    # CASE: Apply.3
    module = parse(MODULE)
    assert names(Apply(lambda func: None)(module)) == ["stock"]
    assert names(module) == ["first", "stock", "second"]


def calling_conv(func: FuncOp) -> int:
    value = func.attributes["calling_conv"]
    assert isinstance(value, IntegerAttr)
    return value.value.data


def test_filter_keeps_all() -> None:
    # CASE: Filter.1
    module = parse(MODULE)
    result = Filter(lambda func: True)(module)
    assert result.is_structurally_equivalent(module)
    assert Filter(lambda func: True).info == PassInfo(0, "tir.Filter", [], False)


def test_filter_by_attribute() -> None:
    # CASE: Filter.2
    symbol = StringAttr("first")
    keep = Filter(lambda func: func.attributes.get("global_symbol") == symbol)
    assert names(keep(parse(MODULE))) == ["first", "stock"]


def test_filter_keeps_none() -> None:
    # CASE: Filter.3
    result = Filter(lambda func: False)(parse(MODULE))
    assert functions(result) == []
    assert names(result) == ["stock"]


def test_filtering_everything_leaves_an_empty_module() -> None:
    # CASE: Filter.4
    module = parse("tir.func @main() {\n}")
    result = Filter(lambda func: False)(module)
    assert result.is_structurally_equivalent(ModuleOp([]))
    assert names(module) == ["main"]


def test_filter_splits_a_module_by_calling_convention() -> None:
    # CASE: Filter.5
    module = parse(MODULE)
    device = Filter(lambda func: calling_conv(func) == 2)(module)
    host = Filter(lambda func: calling_conv(func) != 2)(module)
    assert [f.sym_name.data for f in functions(device)] == ["first"]
    assert [f.sym_name.data for f in functions(host)] == ["second"]


def test_filter_condition_must_be_a_bool() -> None:
    condition = cast("Callable[[FuncOp], bool]", calling_conv)
    message = "tir.Filter: the condition must return a bool for @first, not int"
    with pytest.raises(TypeError, match=message):
        Filter(condition)(parse(MODULE))


@module_pass(opt_level=1, name="wrap")
class Wrap:
    def __init__(self, mark: str) -> None:
        self.mark = mark

    def transform_module(self, module: ModuleOp, context: PassContext) -> ModuleOp:
        module.attributes["mark"] = StringAttr(self.mark)
        return module


def test_module_pass_of_a_class() -> None:
    module = ModuleOp([])
    made = Wrap("x")
    assert made.mark == "x"
    assert isinstance(made, PythonModulePass)
    assert made(module).attributes == {"mark": StringAttr("x")}
    assert module.attributes == {}
    assert str(made) == "Run Module pass: wrap at the optimization level 1"


def test_modules_must_be_set() -> None:
    keep = module_pass(lambda module, context: module, 0)
    with pytest.raises(ValueError, match="The input module must be set"):
        keep(cast(ModuleOp, None))
    with pytest.raises(TypeError, match=r"accepts a builtin\.module, not str"):
        keep(cast(ModuleOp, "module"))
    for result, error, message in (
        (None, ValueError, "The return value of a module pass must be set"),
        (3, TypeError, r"must return a builtin\.module, not int"),
    ):
        wrong = module_pass(lambda m, c, r=result: cast(ModuleOp, r), 0)
        with pytest.raises(error, match=message):
            wrong(ModuleOp([]))


def test_print_ir(capsys: pytest.CaptureFixture[str]) -> None:
    module = ModuleOp([])
    assert PrintIR("here").info == PassInfo(0, "PrintIR")
    assert PrintIR("here")(module) is module
    assert capsys.readouterr().err == "PrintIR(here):\nbuiltin.module {\n}\n"
    Sequential([PrintIR("", show_meta_data=True)]).apply(Context(), module)
    assert "loc(unknown)" in capsys.readouterr().err


@dataclass(frozen=True)
class MarkAll(CompilerPass):
    """Marks every function, and says what it sees of each."""

    name = "tir-mark-all"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            body = "declared" if func.is_declaration else "defined"
            symbol = func.attributes.get("global_symbol")
            func.attributes["mark"] = StringAttr(f"{body} {symbol}")
        op.attributes["marked"] = StringAttr("yes")
        if "added" not in [func.sym_name.data for func in functions(op)]:
            op.body.block.add_op(FuncOp("added", ([], [])))


def test_apply_pass_to_function() -> None:
    module = parse(MODULE)
    made = ApplyPassToFunction(MarkAll(), "sec.*")
    assert made.info == PassInfo(0, "ApplyPassTosec.*")
    result = made(module)
    result.verify()
    assert names(result) == ["first", "stock", "second", "added"]
    assert attribute(result, "second", "mark") == 'defined "second"'
    assert attribute(result, "second", "global_symbol") is None
    assert attribute(result, "first", "mark") is None
    assert not functions(result)[0].is_declaration
    assert "marked" in result.attributes
    assert names(module) == ["first", "stock", "second"]
    assert "marked" not in module.attributes


def test_apply_pass_to_function_shows_other_functions_as_declarations() -> None:
    shown: list[str] = []

    def show(module: ModuleOp, context: PassContext) -> ModuleOp:
        shown.append(str(module))
        return Filter(lambda func: False)(module)

    module = parse(MODULE)
    made = ApplyPassToFunction(module_pass(show, 0), "first")
    assert made(module).is_structurally_equivalent(module)
    assert "tir.func @second() -> () attributes" in shown[0]
    assert "tir.const 2" not in shown[0]
    assert "tir.const 1" in shown[0]


def test_apply_pass_to_function_exposes_private_functions() -> None:
    visibility: list[object] = []

    def look(module: ModuleOp, context: PassContext) -> ModuleOp:
        visibility.extend(func.sym_visibility for func in functions(module))
        return module

    module = parse("tir.func private @main() {\n}")
    result = ApplyPassToFunction(module_pass(look, 0), "main")(module)
    assert visibility == [None]
    assert result.is_structurally_equivalent(module)


def test_apply_pass_to_function_matches_the_full_name() -> None:
    module = parse(MODULE)
    assert ApplyPassToFunction(MarkAll(), "fir")(module) is module
    message = r"No function matched regex 'fir', out of functions \[first, stock, sec"
    with pytest.raises(ValueError, match=message):
        ApplyPassToFunction(MarkAll(), "fir", True)(module)


def test_apply_pass_to_function_within_a_sequence() -> None:
    held: list[tuple[ModuleOp, str]] = []

    class Hold(PassInstrument):
        def run_after_pass(self, mod: ModuleOp, info: PassInfo) -> None:
            held.append((mod, str(mod)))

    part = Sequential([ApplyPassToFunction(MarkAll(), "first"), MarkAll()])
    expected = 'defined "first"'
    module = parse(MODULE)
    result = part(module)
    assert attribute(result, "first", "mark") == expected
    with PassContext(instruments=[Hold()]):
        assert str(part(module)) == str(result)
    assert len(held) == 4
    assert all(str(module) == text for module, text in held)
    part.apply(Context(), module)
    assert str(module) == str(result)


def test_passes_by_class_name() -> None:
    from xdsl_tvm import passes

    assert passes.tir.prim_func_pass is prim_func_pass
    for module, missing in (
        (tir, "NoSuchPass"),
        (relax, "NoSuchPass"),
        (tir, "__no_such__"),
    ):
        with pytest.raises(AttributeError, match=f"has no attribute '{missing}'"):
            getattr(module, missing)
    misspelled = "Simplfy"
    with pytest.raises(AttributeError, match="did you mean 'Simplify'"):
        getattr(tir, misspelled)
    with pytest.raises(TypeError, match="not FuncOp; give the module that it is in"):
        passes.tir.Simplify()(cast("Any", next(iter(parse(MODULE).ops))))


def test_a_pass_of_the_package_by_its_name() -> None:
    made = tir.LowerInitBlock()
    assert made.info.name == "tir.LowerInitBlock"
    assert type(made) is type(construct_pass("tir.transform.LowerInitBlock"))
    module = parse(MODULE)
    required = module_pass(
        lambda m, c: m, 0, "needs", required=["tir.transform.LowerInitBlock"]
    )
    pipeline = "tir-lower-init-block,cse"
    for passes in (
        Sequential([required, made]),
        Sequential.from_pipeline(pipeline),
    ):
        assert functions(passes(module))
