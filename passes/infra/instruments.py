"""Instruments: what watches passes run, TVM's way."""

from __future__ import annotations

import inspect
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import new_class
from typing import TypeVar, cast, overload

from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.passes.infra.pass_info import PassInfo


class PassInstrument:
    """Base of instruments; override what is of interest.

    The name of an instrument is the name of its class.
    """

    @property
    def name(self) -> str:
        return type(self).__name__

    def enter_pass_ctx(self) -> None:
        """Called before the context that holds the instrument becomes current."""

    def exit_pass_ctx(self) -> None:
        """Called after the context that holds the instrument was left."""

    def should_run(self, mod: ModuleOp, info: PassInfo) -> bool:
        """Whether the pass runs; not asked for a pass that the context requires."""
        return True

    def run_before_pass(self, mod: ModuleOp, info: PassInfo) -> None:
        """Called with the pass's input."""

    def run_after_pass(self, mod: ModuleOp, info: PassInfo) -> None:
        """Called with the pass's result, unless the pass was skipped or raised."""


_Instrument = TypeVar("_Instrument", bound=PassInstrument)


def _as_instrument_class(pi_cls: object) -> Callable[..., PassInstrument]:
    if not inspect.isclass(pi_cls):
        raise TypeError("pi_cls must be a class")
    if issubclass(pi_cls, PassInstrument):
        return pi_cls
    namespace = {
        "__doc__": pi_cls.__doc__,
        "__module__": pi_cls.__module__,
        "__qualname__": pi_cls.__qualname__,
    }
    wrapped = new_class(
        pi_cls.__name__,
        (pi_cls, PassInstrument),
        exec_body=lambda ns: ns.update(namespace),
    )
    return cast("type[PassInstrument]", wrapped)


@overload
def pass_instrument(pi_cls: type[_Instrument]) -> type[_Instrument]: ...
@overload
def pass_instrument(pi_cls: type[object]) -> Callable[..., PassInstrument]: ...
@overload
def pass_instrument(
    pi_cls: None = None,
) -> Callable[[type[object]], Callable[..., PassInstrument]]: ...
def pass_instrument(pi_cls: object = None) -> object:
    """Class decorator that makes an instrument of a class with some of its methods.

    A class that derives from PassInstrument already is returned unchanged. Raises
    TypeError for anything but a class.
    """
    return _as_instrument_class if pi_cls is None else _as_instrument_class(pi_cls)


class PassPrintingInstrument(PassInstrument):
    """Prints the module before and after the passes named in the two lists."""

    def __init__(
        self,
        print_before_pass_names: Sequence[str] = (),
        print_after_pass_names: Sequence[str] = (),
    ) -> None:
        self.print_before_pass_names = frozenset(print_before_pass_names)
        self.print_after_pass_names = frozenset(print_after_pass_names)

    def run_before_pass(self, mod: ModuleOp, info: PassInfo) -> None:
        if info.name in self.print_before_pass_names:
            print(f"Print IR before: {info.name}\n{mod!s}\n\n")

    def run_after_pass(self, mod: ModuleOp, info: PassInfo) -> None:
        if info.name in self.print_after_pass_names:
            print(f"Print IR after: {info.name}\n{mod!s}\n\n")


class PrintBeforeAll(PassInstrument):
    """Prints every pass's metadata and input."""

    def run_before_pass(self, mod: ModuleOp, info: PassInfo) -> None:
        print("Before Running Pass:", info)
        print(mod)


class PrintAfterAll(PassInstrument):
    """Prints every pass's metadata and result."""

    def run_after_pass(self, mod: ModuleOp, info: PassInfo) -> None:
        print("After Running Pass:", info)
        print(mod)


class DumpIR(PassInstrument):
    """Writes the result of every pass to a file of a folder, `000_LegalizeOps.mlir`."""

    def __init__(self, dump_dir: str | Path, refresh: bool = False) -> None:
        """With `refresh`, files that were written before are removed.

        Raises OSError for a folder that cannot be made.
        """
        self.dump_dir = Path(dump_dir)
        self.dump_dir.mkdir(parents=True, exist_ok=True)
        self._count = 0
        if refresh:
            for file in self.dump_dir.glob("[0-9][0-9][0-9]_*.mlir"):
                file.unlink()

    def run_after_pass(self, mod: ModuleOp, info: PassInfo) -> None:
        name = "".join(c if c.isalnum() or c in "-_." else "_" for c in info.name)
        file = self.dump_dir / f"{self._count:03d}_{name}.mlir"
        file.write_text(f"{mod!s}\n", encoding="utf-8")
        self._count += 1


@dataclass
class _Profile:
    """One run of a pass; times in nanoseconds."""

    name: str
    start: int
    end: int = 0
    children: list[_Profile] = field(default_factory=list["_Profile"])

    @property
    def duration(self) -> int:
        return self.end - self.start

    def lines(self, depth: int, total: int, parent: int) -> Iterator[str]:
        duration = self.duration
        own = duration - sum(child.duration for child in self.children)
        yield (
            "\t" * depth + f"{self.name}: {duration / 1000:.0f}us [{own / 1000:.0f}us] "
            f"({_percentage(duration, total)}; {_percentage(duration, parent)})\n"
        )
        for child in self.children:
            yield from child.lines(depth + 1, total, duration)


def _percentage(part: int, whole: int) -> str:
    return f"{100 * part / whole if whole else 0:.2f}%"


class _ThreadProfiles(threading.local):
    """The finished and the running passes of one thread."""

    def __init__(self) -> None:
        self.finished: list[_Profile] = []
        self.running: list[_Profile] = []


class PassTimingInstrument(PassInstrument):
    """Measures how long each pass takes; one tree of passes per thread.

    Leaving the context clears the tree, so `render()` belongs inside of it. A pass that
    raised stays open until then; TVM keeps it open for ever.
    """

    _profiles = _ThreadProfiles()

    def exit_pass_ctx(self) -> None:
        self._profiles.finished.clear()
        self._profiles.running.clear()

    def run_before_pass(self, mod: ModuleOp, info: PassInfo) -> None:
        self._profiles.running.append(_Profile(info.name, time.perf_counter_ns()))

    def run_after_pass(self, mod: ModuleOp, info: PassInfo) -> None:
        profiles = self._profiles
        profile = profiles.running.pop()
        profile.end = time.perf_counter_ns()
        parent = profiles.running[-1].children if profiles.running else None
        (profiles.finished if parent is None else parent).append(profile)

    @staticmethod
    def render() -> str:
        """One line per pass in execution order, indented by a tab per level.

        `<name>: <total>us [<self>us] (<of everything>%; <of the enclosing pass>%)`.
        Raises RuntimeError inside of a pass; warns and returns "" if no pass ran.
        """
        profiles = PassTimingInstrument._profiles
        if profiles.running:
            raise RuntimeError("cannot print pass profile while still in a pass!")
        if not profiles.finished:
            warnings.warn("no passes have been profiled", stacklevel=2)
            return ""
        total = sum(profile.duration for profile in profiles.finished)
        return "".join(
            line
            for profile in profiles.finished
            for line in profile.lines(0, total, total)
        )
