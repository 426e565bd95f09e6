"""PassContext, its options, and Sequential's choice of passes."""

from __future__ import annotations

import threading
from dataclasses import dataclass, fields
from typing import cast

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.passes import ModulePass
from xdsl.transforms.common_subexpression_elimination import (
    CommonSubexpressionElimination,
)
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.passes import infra
from xdsl_tvm.passes.infra import (
    CompilerPass,
    HoistExpressionConfig,
    PassContext,
    PassInfo,
    PassInstrument,
    Sequential,
    UnrollLoopConfig,
    construct_pass,
    module_pass,
    register_pass,
)
from xdsl_tvm.passes.tir.hoist_if_then_else import HoistIfThenElse


@dataclass(frozen=True)
class Mark(CompilerPass):
    """Adds its own mark to the module's attribute `marks`."""

    name = "tir-mark"

    mark: str = "mark"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        marks = op.attributes.get("marks", StringAttr(""))
        assert isinstance(marks, StringAttr)
        op.attributes["marks"] = StringAttr(marks.data + self.mark)


@dataclass(frozen=True)
class MarkThree(Mark):
    name = "tir-mark-three"
    tvm_name = "tir.Three"
    opt_level = 3

    mark: str = "3"


@dataclass(frozen=True)
class NeedsMark(Mark):
    name = "tir-needs-mark"
    required = ("transform.test.Mark",)

    mark: str = "needs"


@dataclass(frozen=True)
class Unroll(UnrollLoopConfig, CompilerPass):
    """Records its resolved options."""

    name = "tir-unroll"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = self.resolved_options(UnrollLoopConfig)
        op.attributes["options"] = StringAttr(str(options))


def marks(module: ModuleOp) -> str:
    attribute = module.attributes.get("marks", StringAttr(""))
    assert isinstance(attribute, StringAttr)
    return attribute.data


def leveled(level: int) -> infra.PythonModulePass:
    def mark(module: ModuleOp, context: PassContext) -> ModuleOp:
        Mark(str(level)).apply(Context(), module)
        return module

    return module_pass(mark, level, f"level{level}")


def test_default_level_selects_passes() -> None:
    # I.5 case 1
    levels = Sequential([leveled(0), leveled(2), leveled(3)])
    assert marks(levels(ModuleOp([]))) == "02"


def test_disabled_pass_is_skipped() -> None:
    # I.5 case 2
    passes = Sequential([leveled(0), leveled(2), leveled(3)])
    with PassContext(opt_level=3, disabled_pass=["level2"]):
        assert marks(passes(ModuleOp([]))) == "03"


def test_disabled_beats_required() -> None:
    with PassContext(required_pass=["level3"], disabled_pass=["level3"]):
        assert marks(Sequential([leveled(3)])(ModuleOp([]))) == ""


def test_required_pass_runs_and_is_not_asked_about() -> None:
    # I.5 case 3
    class Refuse(PassInstrument):
        def should_run(self, mod: ModuleOp, info: PassInfo) -> bool:
            return info.name == "sequential"

    with PassContext(0, required_pass=["level3"], instruments=[Refuse()]):
        assert marks(Sequential([leveled(0), leveled(3)])(ModuleOp([]))) == "3"


def test_a_direct_call_looks_at_neither_level_nor_lists() -> None:
    # I.5 case 4
    with PassContext(opt_level=0, disabled_pass=["level3"]):
        assert marks(leveled(3)(ModuleOp([]))) == "3"


def test_required_of_a_pass_run_first_each_time() -> None:
    # I.5 case 10
    register_pass("test.Mark", Mark)
    with PassContext(disabled_pass=["tir.Mark"]):
        result = Sequential([NeedsMark(), NeedsMark()])(ModuleOp([]))
    assert marks(result) == "markneedsmarkneeds"


def test_required_of_a_pass_does_not_recurse_and_a_direct_call_ignores_it() -> None:
    register_pass("test.Mark", Mark)
    register_pass("test.NeedsMark", NeedsMark)

    outer = module_pass(lambda module, _: module, 0, "outer", required=["test.NeedsMark"])
    assert marks(Sequential([outer])(ModuleOp([]))) == "needs"
    assert marks(NeedsMark()(ModuleOp([]))) == "needs"


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("tir.transform.NoSuch", "tir.transform.NoSuch"),
        ("NoSuch", "transform.NoSuch"),
        ("tir.NoSuch", "transform.tir.NoSuch"),
    ],
)
def test_unknown_required_pass(name: str, full: str) -> None:
    # I.5 case 10
    identity = module_pass(lambda module, _: module, 0, "p", required=[name])
    with pytest.raises(ValueError, match=f"Cannot use {full} to create the pass"):
        Sequential([identity])(ModuleOp([]))
    identity(ModuleOp([]))


def test_required_pass_that_needs_arguments() -> None:
    @dataclass(frozen=True)
    class NeedsArgument(Mark):
        mark: str = "x"
        bits: int = 0

        def __post_init__(self) -> None:
            if not self.bits:
                raise TypeError("bits is missing")

    register_pass("test.NeedsArgument", NeedsArgument)
    with pytest.raises(ValueError, match="bits is missing"):
        construct_pass("test.NeedsArgument")


def test_struct_config_keeps_other_defaults() -> None:
    # I.5 case 11
    context = PassContext(config={"tir.UnrollLoop": {"auto_max_step": 10}})
    unroll = context.config["tir.UnrollLoop"]
    assert unroll == UnrollLoopConfig(auto_max_step=10)
    assert isinstance(unroll, UnrollLoopConfig)
    assert unroll.explicit_unroll is True
    assert context.get_config("tir.UnrollLoop", UnrollLoopConfig) is unroll
    given = PassContext(config={"tir.UnrollLoop": unroll})
    assert given.config["tir.UnrollLoop"] is unroll


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"tir.UnrollLoop": {"no_such": 1}}, "has no field 'no_such'"),
        ({"tir.NoSuch": 1}, "Invalid config option 'tir.NoSuch' candidates are: cuda"),
        ({"tir.disable_vectorise": 1}, r"\(did you mean 'tir.disable_vectorize'\?\)"),
        ({"tir.UnrollLoop": {"max_step": 1}}, r"\(did you mean 'auto_max_step'\?\)"),
        (
            {"tir.UnrollLoop": 1},
            "expect config tir.UnrollLoop to have type UnrollLoopConfig, but got 1",
        ),
        ({"tir.UnrollLoop": None}, "tir.UnrollLoop is None"),
        (
            {"tir.UnrollLoop": {"auto_max_step": "8"}},
            "expect config tir.UnrollLoop.auto_max_step to have type int",
        ),
        ({"tir.noalias": "yes"}, "expect config tir.noalias to have type bool"),
        ({"tir.vtcm_capacity": 1.5}, "expect config tir.vtcm_capacity to have type"),
        ({"cuda.kernels_output_dir": 3}, "to have type str"),
        ({"tir.add_lower_pass": "x"}, "to have type tuple"),
        (
            {"tir.UnrollLoop": HoistExpressionConfig()},
            "expect config tir.UnrollLoop to have type UnrollLoopConfig",
        ),
    ],
)
def test_bad_config(config: dict[str, object], message: str) -> None:
    # I.5 case 11
    with pytest.raises(AttributeError, match=message):
        PassContext(config=config)


def test_scalar_config() -> None:
    context = PassContext(
        config={
            "tir.disable_vectorize": 1,
            "tir.vtcm_capacity": 8,
            "cuda.kernels_output_dir": "out",
            "tir.add_lower_pass": [[0, "f"]],
        }
    )
    assert context.config["tir.disable_vectorize"] is True
    assert context.get_config("tir.disable_vectorize", bool) is True
    assert context.get_config("tir.vtcm_capacity", int) == 8
    assert context.get_config("cuda.kernels_output_dir", str) == "out"
    assert context.config["tir.add_lower_pass"] == ([0, "f"],)
    assert context.get_config("tir.noalias", bool) is True
    assert context.get_config("tir.enable_buffer_level_predication", bool) is None
    hoist = context.get_config("tir.HoistExpression", HoistExpressionConfig)
    assert hoist == HoistExpressionConfig(7, 7)
    with pytest.raises(TypeError, match="has type bool, not int"):
        context.get_config("tir.noalias", int)
    with pytest.raises(AttributeError, match="Invalid config option"):
        context.get_config("tir.NoSuch", int)


def test_list_configs() -> None:
    configs = PassContext.list_configs()
    assert configs["tir.UnrollLoop"] == {"type": "UnrollLoopConfig"}
    assert configs["tir.use_async_copy"] == {"type": "bool"}
    assert len(configs) == 39


def test_own_options_come_before_the_context() -> None:
    def options(pass_: Unroll) -> str:
        attribute = pass_(ModuleOp([])).attributes["options"]
        assert isinstance(attribute, StringAttr)
        return attribute.data

    assert options(Unroll()) == str(UnrollLoopConfig())
    config = {"tir.UnrollLoop": {"auto_max_step": 10, "auto_max_depth": 3}}
    with PassContext(config=config):
        assert options(Unroll()) == str(UnrollLoopConfig(10, 3))
        assert options(Unroll(auto_max_step=0, explicit_unroll=False)) == str(
            UnrollLoopConfig(0, 3, explicit_unroll=False)
        )
    with pytest.raises(TypeError, match="pass tir-mark has no config_key"):
        Mark().resolved_options(UnrollLoopConfig)
    with pytest.raises(TypeError, match="has type UnrollLoopConfig"):
        Unroll().resolved_options(HoistExpressionConfig)


def test_the_options_of_a_pass_are_the_fields_of_its_struct() -> None:
    assert Unroll.config_key == UnrollLoopConfig.key
    assert [(each.name, each.type, each.default) for each in fields(Unroll)] == [
        (each.name, f"{each.type} | None", None) for each in fields(UnrollLoopConfig)
    ]
    assert str(Unroll(auto_max_step=3)) == "tir-unroll{auto_max_step=3}"
    assert HoistIfThenElse("basic").variant == "basic"
    with pytest.raises(AttributeError, match="to have type UnrollLoopConfig"):
        PassContext(config={"tir.UnrollLoop": Unroll()})


def test_nested_contexts_replace_each_other() -> None:
    # I.5 case 13
    default = PassContext.current()
    assert (default.opt_level, dict(default.config)) == (2, {})
    outer = PassContext(3, ["a"], ["b"], config={"tir.noalias": False})
    with outer:
        assert PassContext.current() is outer
        with PassContext() as inner:
            assert PassContext.current() is inner
            assert inner.opt_level == 2
            assert inner.required_pass == inner.disabled_pass == []
            assert dict(inner.config) == {}
        assert PassContext.current() is outer
    assert PassContext.current() is default


def test_a_context_belongs_to_its_thread() -> None:
    seen: list[PassContext] = []
    with PassContext(3):
        thread = threading.Thread(target=lambda: seen.append(PassContext.current()))
        thread.start()
        thread.join()
    assert seen[0].opt_level == 2
    assert seen[0] is not PassContext.current()


def test_disabled_names_that_match_nothing() -> None:
    # I.5 case 15
    with PassContext(disabled_pass=["no.such"], required_pass=iter(["nor.this"])):
        assert marks(Sequential([Mark()])(ModuleOp([]))) == "mark"


def test_a_string_is_no_list_of_names() -> None:
    with pytest.raises(TypeError, match="disabled_pass is expected to be a list"):
        PassContext(disabled_pass="tir.Simplify")


def test_pass_metadata() -> None:
    assert Mark().info == PassInfo(0, "tir.Mark", [], False)
    assert MarkThree().info == PassInfo(3, "tir.Three", [], False)
    assert str(Mark("x")) == 'tir-mark{mark="x"}'
    assert str(Mark().info) == (
        "The meta data of the pass - pass name: tir.Mark, opt_level: 0, "
        "required passes: []\n"
    )
    assert str(PassInfo(1, "p", ["a", "b"])).endswith("required passes: [\na, \nb, \n]\n")


@pytest.mark.parametrize("in_sequence", [False, True])
def test_the_argument_of_a_call_stays_as_it_is(in_sequence: bool) -> None:
    @dataclass(frozen=True)
    class Breaks(Mark):
        def apply(self, ctx: Context, op: ModuleOp) -> None:
            super().apply(ctx, op)
            raise PassFailedException("no")

    module = ModuleOp([])
    good = Sequential([Mark(), Mark("2")]) if in_sequence else Mark()
    bad = Sequential([Mark(), Breaks()]) if in_sequence else Breaks()
    assert marks(good(module)) == ("mark2" if in_sequence else "mark")
    with pytest.raises(PassFailedException):
        bad(module)
    assert marks(module) == ""


def test_a_sequence_copies_the_module_once() -> None:
    seen: list[ModuleOp] = []

    @dataclass(frozen=True)
    class Look(Mark):
        def apply(self, ctx: Context, op: ModuleOp) -> None:
            seen.append(op)

    result = Sequential([Look(), Sequential([Look()]), Look()])(ModuleOp([]))
    assert seen == [result] * 3


def test_what_others_may_hold_is_never_edited() -> None:
    held: list[ModuleOp] = []

    def hold(module: ModuleOp, context: PassContext) -> ModuleOp:
        held.append(module)
        return module

    class Hold(PassInstrument):
        def run_after_pass(self, mod: ModuleOp, info: PassInfo) -> None:
            held.append(mod)

    holding = Sequential([Mark(), module_pass(hold, 0), Mark()])
    assert marks(holding(ModuleOp([]))) == "markmark"
    assert [marks(module) for module in held] == ["mark"]
    held.clear()
    with PassContext(instruments=[Hold()]):
        Sequential([Mark(), Mark()])(ModuleOp([]))
    assert [marks(module) for module in held] == ["mark", "markmark", "markmark"]


def test_sequential_in_place_with_xdsl_passes() -> None:
    module = ModuleOp([])
    passes = Sequential([Mark(), CommonSubexpressionElimination(), leveled(0)])
    passes.apply(Context(), module)
    assert marks(module) == "mark0"
    assert passes.passes[1].info.name == "cse"
    assert marks(passes(module)) == "mark0mark0"
    assert marks(module) == "mark0"


def test_in_place_replacement_by_a_module_that_is_kept_elsewhere() -> None:
    kept = ModuleOp([ModuleOp([])], {"kept": UnitAttr()})
    replace = module_pass(lambda module, context: kept, 0, "replace")
    module = ModuleOp([])
    Sequential([replace, Mark()]).apply(Context(), module)
    assert marks(module) == "mark"
    assert "kept" in module.attributes
    assert len(module.ops) == 1
    assert marks(kept) == ""
    assert len(kept.ops) == 1


def test_sequential_from_pipeline_text() -> None:
    passes = Sequential.from_pipeline("canonicalize,cse")
    assert [each.info.name for each in passes.passes] == ["canonicalize", "cse"]
    with pytest.raises(ValueError, match="Unrecognized passes"):
        Sequential.from_pipeline("no-such-pass")


def test_sequential_text_and_metadata() -> None:
    passes = Sequential([Mark(), leveled(3)], 1, "both", ["a"], traceable=True)
    assert passes.info == PassInfo(1, "both", ["a"], True)
    assert str(passes) == (
        "Run Sequential pass: both at the optimization level 1. "
        "The passes will be executed are: [tir.Mark level3 ]"
    )
    assert Sequential().info == PassInfo(0, "sequential", [], False)


def test_a_nested_sequential_is_chosen_by_its_own_metadata() -> None:
    inner = Sequential([Mark()], opt_level=3, name="inner")
    assert marks(Sequential([inner])(ModuleOp([]))) == ""
    assert marks(inner(ModuleOp([]))) == "mark"
    with PassContext(3, disabled_pass=["tir.Mark"]):
        assert marks(Sequential([inner])(ModuleOp([]))) == ""


@pytest.mark.parametrize("passes", [Mark(), {1: Mark()}, [Mark], ["tir-mark"]])
def test_sequential_takes_a_list_of_passes(passes: object) -> None:
    with pytest.raises(TypeError, match="passes must be a list of Pass objects"):
        Sequential(cast("list[ModulePass]", passes))


def test_sequential_takes_a_list_of_required_names() -> None:
    with pytest.raises(TypeError, match="Required is expected to be the type of list"):
        Sequential([], required=cast("list[str]", "tir.transform.Simplify"))
