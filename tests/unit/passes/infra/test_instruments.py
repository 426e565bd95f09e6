"""Instruments: what they are told, in which order, and the ones that come built in."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

from xdsl_tvm.passes.infra import (
    DumpIR,
    PassContext,
    PassInfo,
    PassInstrument,
    PassPrintingInstrument,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    Sequential,
    module_pass,
    pass_instrument,
)


@dataclass
class Log(PassInstrument):
    """Writes down what it is told; raises at `fail`, refuses the pass `refuse`."""

    label: str
    log: list[str]
    fail: str = ""
    refuse: str = ""

    def note(self, event: str) -> None:
        self.log.append(f"{self.label}.{event}")
        if event == self.fail:
            raise OSError(self.log[-1])

    def enter_pass_ctx(self) -> None:
        self.note("enter")

    def exit_pass_ctx(self) -> None:
        self.note("exit")

    def should_run(self, mod: ModuleOp, info: PassInfo) -> bool:
        self.note("should")
        return info.name != self.refuse

    def run_before_pass(self, mod: ModuleOp, info: PassInfo) -> None:
        self.note("before")

    def run_after_pass(self, mod: ModuleOp, info: PassInfo) -> None:
        self.note("after")


class Names(PassInstrument):
    def __init__(self) -> None:
        self.log: list[str] = []

    def run_before_pass(self, mod: ModuleOp, info: PassInfo) -> None:
        self.log.append(f"+{info.name}")

    def run_after_pass(self, mod: ModuleOp, info: PassInfo) -> None:
        self.log.append(f"-{info.name}")


def logging_pass(log: list[str], name: str = "pass"):
    def run(module: ModuleOp, context: PassContext) -> ModuleOp:
        log.append(name)
        module.attributes["ran"] = StringAttr(name)
        return module

    return module_pass(run, 0, name)


def test_refused_pass_is_skipped() -> None:
    # I.5 case 5
    log: list[str] = []
    module = ModuleOp([])
    with PassContext(instruments=[Log("a", log, refuse="pass")]):
        assert logging_pass(log)(module) is module
    assert log == ["a.enter", "a.should", "a.exit"]


def test_order_of_two_instruments() -> None:
    # I.5 case 6
    log: list[str] = []
    a, b = Log("a", log), Log("b", log)
    with PassContext(instruments=[a, b]):
        log.clear()
        logging_pass(log)(ModuleOp([]))
        assert log == [
            *("a.should", "b.should", "a.before", "b.before"),
            *("pass", "a.after", "b.after"),
        ]


def test_every_instrument_is_asked() -> None:
    log: list[str] = []
    instruments = [Log("a", log, refuse="pass"), Log("b", log)]
    with PassContext(instruments=instruments):
        log.clear()
        logging_pass(log)(ModuleOp([]))
        assert log == ["a.should", "b.should"]


def test_sequential_appears_around_its_members() -> None:
    # I.5 case 7
    names = Names()
    with PassContext(instruments=[names]):
        Sequential([logging_pass([], "p"), logging_pass([], "q")])(ModuleOp([]))
    assert names.log == ["+sequential", "+p", "-p", "+q", "-q", "-sequential"]


def test_failing_enter() -> None:
    # I.5 case 8
    log: list[str] = []
    instruments = [Log("a", log), Log("b", log), Log("c", log, "enter"), Log("d", log)]
    context = PassContext(instruments=instruments)
    default = PassContext.current()
    with pytest.raises(OSError, match=r"c\.enter"), context:
        log.append("body")
    assert log == ["a.enter", "b.enter", "c.enter", "b.exit", "a.exit"]
    assert context.instruments == []
    assert PassContext.current() is default


def test_failing_exit() -> None:
    # I.5 case 8
    log: list[str] = []
    context = PassContext(instruments=[Log("a", log, "exit"), Log("b", log)])
    default = PassContext.current()
    with pytest.raises(OSError, match=r"a\.exit"), context:
        log.append("body")
    assert log == ["a.enter", "b.enter", "body", "a.exit"]
    assert context.instruments == []
    assert PassContext.current() is default


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ("should", ["a.should"]),
        ("before", ["a.should", "b.should", "a.before"]),
        (
            "after",
            ["a.should", "b.should", "a.before", "b.before", "pass", "a.after"],
        ),
    ],
)
def test_failing_callbacks_of_a_pass(event: str, expected: list[str]) -> None:
    # I.5 case 8
    log: list[str] = []
    instruments = [Log("a", log, event), Log("b", log)]
    with (
        pytest.raises(OSError, match=rf"a\.{event}"),
        PassContext(instruments=instruments),
    ):
        logging_pass(log)(ModuleOp([]))
    assert log == ["a.enter", "b.enter", *expected, "a.exit", "b.exit"]


def test_raising_pass_is_not_reported_as_done() -> None:
    log: list[str] = []

    def fail(module: ModuleOp, context: PassContext) -> ModuleOp:
        raise OSError("pass")

    with (
        pytest.raises(OSError, match="pass"),
        PassContext(instruments=[Log("a", log)]),
    ):
        module_pass(fail, 0)(ModuleOp([]))
    assert log == ["a.enter", "a.should", "a.before", "a.exit"]


def test_override_instruments() -> None:
    # I.5 case 9
    log: list[str] = []
    with PassContext(instruments=[Log("a", log), Log("b", log)]) as context:
        context.override_instruments([Log("c", log), Log("d", log)])
    assert log == [
        *("a.enter", "b.enter", "a.exit", "b.exit", "c.enter", "d.enter"),
        *("c.exit", "d.exit"),
    ]


def test_instruments_of_the_default_context_stay() -> None:
    names = Names()
    PassContext.current().override_instruments([names])
    try:
        logging_pass([], "p")(ModuleOp([]))
        with PassContext():
            logging_pass([], "q")(ModuleOp([]))
        logging_pass([], "r")(ModuleOp([]))
    finally:
        PassContext.current().override_instruments([])
    assert names.log == ["+p", "-p", "+r", "-r"]


def test_decorated_class() -> None:
    log: list[str] = []

    @pass_instrument
    class Counts:
        """Counts."""

        def __init__(self, start: int) -> None:
            self.count = start

        def run_before_pass(self, mod: ModuleOp, info: PassInfo) -> None:
            self.count += 1
            log.append(f"{info.name} {self.count}")

    instrument = Counts(5)
    assert isinstance(instrument, PassInstrument)
    assert instrument.name == "Counts"
    assert instrument.__doc__ == "Counts."
    with PassContext(instruments=[instrument]):
        logging_pass([], "p")(ModuleOp([]))
        logging_pass([], "q")(ModuleOp([]))
    assert log == ["p 6", "q 7"]


def test_decorating_an_instrument_class_or_no_class() -> None:
    assert pass_instrument(Names) is Names
    assert pass_instrument()(Names) is Names
    with pytest.raises(TypeError, match="pi_cls must be a class"):
        pass_instrument(cast("type[object]", "Names"))


def test_print_all_instruments(capsys: pytest.CaptureFixture[str]) -> None:
    # I.5 case 12
    passes = Sequential(
        [logging_pass([], "tir.A"), logging_pass([], "tir.B")], name="_pipeline"
    )
    with PassContext(instruments=[PrintBeforeAll(), PrintAfterAll()]):
        passes(ModuleOp([]))
    printed = capsys.readouterr().out
    events = re.findall(r"(Before|After) Running Pass: .* pass name: ([^,]*)", printed)
    assert events == [
        *(("Before", "_pipeline"), ("Before", "tir.A"), ("After", "tir.A")),
        *(("Before", "tir.B"), ("After", "tir.B"), ("After", "_pipeline")),
    ]
    before_b = printed.split("Before Running Pass:")[3]
    assert 'attributes {ran = "tir.A"}' in before_b


def test_results_are_written_to_files(tmp_path: Path) -> None:
    folder = tmp_path / "ir"
    for refresh in (False, True):
        with PassContext(instruments=[DumpIR(folder, refresh=refresh)]):
            Sequential([logging_pass([], "tir.A/b")], name="_all")(ModuleOp([]))
        (folder / "mine.mlir").touch()
        (folder / "005_old.mlir").touch()
    with PassContext(instruments=[DumpIR(folder, refresh=True)]):
        Sequential([logging_pass([], "tir.A/b")], name="_all")(ModuleOp([]))
    files = sorted(file.name for file in folder.iterdir())
    assert files == ["000_tir.A_b.mlir", "001__all.mlir", "mine.mlir"]
    text = (folder / files[0]).read_text()
    assert text == 'builtin.module attributes {ran = "tir.A/b"} {\n}\n'


def test_printing_instrument(capsys: pytest.CaptureFixture[str]) -> None:
    with PassContext(instruments=[PassPrintingInstrument(["a"], ["b"])]):
        Sequential([logging_pass([], n) for n in "ab"])(ModuleOp([]))
    assert capsys.readouterr().out == (
        "Print IR before: a\nbuiltin.module {\n}\n\n\n"
        'Print IR after: b\nbuiltin.module attributes {ran = "b"} {\n}\n\n\n'
    )


def test_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    # I.5 case 14
    times = iter([0, 1_000, 31_000, 40_000, 50_000, 100_000, 200_000, 300_000])
    monkeypatch.setattr("time.perf_counter_ns", lambda: next(times))
    with PassContext(instruments=[PassTimingInstrument()]):
        Sequential([logging_pass([], n) for n in "pq"])(ModuleOp([]))
        logging_pass([], "r")(ModuleOp([]))
        assert PassTimingInstrument.render() == (
            "sequential: 100us [60us] (50.00%; 50.00%)\n"
            "\tp: 30us [30us] (15.00%; 30.00%)\n"
            "\tq: 10us [10us] (5.00%; 10.00%)\n"
            "r: 100us [100us] (50.00%; 50.00%)\n"
        )
    with pytest.warns(UserWarning, match="no passes have been profiled"):
        assert PassTimingInstrument.render() == ""


def test_timing_inside_of_a_pass() -> None:
    def render(module: ModuleOp, context: PassContext) -> ModuleOp:
        PassTimingInstrument.render()
        return module

    with (
        pytest.raises(RuntimeError, match="while still in a pass"),
        PassContext(instruments=[PassTimingInstrument()]),
    ):
        module_pass(render, 0)(ModuleOp([]))
    with pytest.warns(UserWarning, match="no passes have been profiled"):
        PassTimingInstrument.render()


def modifies_its_input(hidden: Callable[[], ModuleOp]):
    def run(module: ModuleOp, context: PassContext) -> ModuleOp:
        hidden().attributes["modified"] = StringAttr("yes")
        return module

    return module_pass(run, 0, "bad")


def test_immutable_module() -> None:
    from xdsl.utils.exceptions import PassFailedException

    module = ModuleOp([])
    with PassContext(config={"testing.immutable_module": True}):
        logging_pass([])(module)
        with pytest.raises(
            PassFailedException,
            match="Immutable module has been modified in pass: bad",
        ):
            modifies_its_input(lambda: module)(module)
