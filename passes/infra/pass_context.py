"""The context that passes run under, TVM's way."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType, TracebackType
from typing import Self, TypeVar

from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.passes.infra.instruments import PassInstrument
from xdsl_tvm.passes.infra.pass_config import (
    ConfigValue,
    config_option,
    list_configs,
    validate_config,
)
from xdsl_tvm.passes.infra.pass_info import PassInfo

_T = TypeVar("_T")


def _names(parameter: str, names: Iterable[str] | None) -> list[str]:
    if isinstance(names, str):
        raise TypeError(
            f"{parameter} is expected to be a list of pass names, not the string "
            f"'{names}': write ['{names}']"
        )
    return [] if names is None else list(names)


class PassContext:
    """Which passes of a Sequential run, with which options, watched by what.

    Entered with `with`; contexts nest per thread, and an inner one takes nothing over
    from the outer one. Outside of any, a persistent default context per thread holds
    (level 2, nothing else set).

    `required_pass` and `disabled_pass` name passes by `info.name`, for instance
    `tir.UnrollLoop`; names that match nothing are fine. `config` maps registered keys
    (see `list_configs`) to values. Raises AttributeError for a bad `config`, TypeError
    for a string where a list of names belongs.
    """

    opt_level: int
    required_pass: list[str]
    disabled_pass: list[str]
    instruments: list[PassInstrument]
    config: Mapping[str, ConfigValue]

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Iterable[str] | None = None,
        disabled_pass: Iterable[str] | None = None,
        instruments: Iterable[PassInstrument] | None = None,
        config: Mapping[str, object] | None = None,
    ) -> None:
        self.opt_level = opt_level
        self.required_pass = _names("required_pass", required_pass)
        self.disabled_pass = _names("disabled_pass", disabled_pass)
        self.instruments = [] if instruments is None else list(instruments)
        self.config = MappingProxyType(validate_config(config or {}))

    @staticmethod
    def current() -> PassContext:
        """The innermost context that this thread has entered, or its default one."""
        return _STATE.stack[-1] if _STATE.stack else _STATE.default

    @staticmethod
    def list_configs() -> dict[str, dict[str, str]]:
        """Every config key -> `{"type": type name}`."""
        return list_configs()

    def get_config(self, key: str, kind: type[_T]) -> _T | None:
        """The value of `key`, or its registered default, which may be None.

        Raises AttributeError if `key` is not registered, TypeError if its values are
        not of type `kind`.
        """
        option = config_option(key)
        if option.kind is not kind:
            raise TypeError(
                f"config {key} has type {option.type_name}, not {kind.__name__}"
            )
        value = self.config.get(key, option.default)
        return value if isinstance(value, kind) else None

    def fingerprint(self) -> str:
        """What decides which passes run, and with which options, as text.

        What instruments answer is not part of it.
        """
        disabled, required = set(self.disabled_pass), set(self.required_pass)
        return repr(
            (
                sorted(self.config.items()),
                self.opt_level,
                sorted(disabled),
                sorted(required - disabled),
            )
        )

    def without_instruments(self) -> PassContext:
        """A context in which the same passes run, and nothing watches them."""
        return PassContext(
            self.opt_level, self.required_pass, self.disabled_pass, config=self.config
        )

    def applied(self) -> AbstractContextManager[object]:
        """Has the passes of this context run in the body, for what is lowered later.

        Where the current context has the same ones it stays, with its instruments.
        """
        is_current = PassContext.current().fingerprint() == self.fingerprint()
        return nullcontext() if is_current else self

    def enabled(self, info: PassInfo) -> bool:
        """Whether a Sequential runs the pass; being disabled beats being required."""
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or self.opt_level >= info.opt_level

    def override_instruments(self, instruments: Iterable[PassInstrument]) -> None:
        """Exit the present instruments, then enter `instruments` in their place."""
        self._exit_instruments()
        self.instruments = list(instruments)
        self._enter_instruments()

    def run_before_pass(self, module: ModuleOp, info: PassInfo) -> bool:
        """Whether the instruments let the pass run; if so they have been told.

        Every instrument is asked, also after one said no. An instrument's exception
        propagates at once.
        """
        if info.name not in self.required_pass:
            answers = [each.should_run(module, info) for each in self.instruments]
            if not all(answers):
                return False
        for instrument in self.instruments:
            instrument.run_before_pass(module, info)
        return True

    def run_after_pass(self, module: ModuleOp, info: PassInfo) -> None:
        """Show the pass's result to the instruments."""
        for instrument in self.instruments:
            instrument.run_after_pass(module, info)

    def __enter__(self) -> Self:
        self._enter_instruments()
        _STATE.stack.append(self)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _STATE.stack.pop()
        self._exit_instruments()

    def _enter_instruments(self) -> None:
        entered: list[PassInstrument] = []
        try:
            for instrument in self.instruments:
                instrument.enter_pass_ctx()
                entered.append(instrument)
        except BaseException:
            self.instruments = []
            for instrument in reversed(entered):
                instrument.exit_pass_ctx()
            raise

    def _exit_instruments(self) -> None:
        try:
            for instrument in self.instruments:
                instrument.exit_pass_ctx()
        except BaseException:
            self.instruments = []
            raise


class _ThreadState(threading.local):
    """The contexts that one thread has entered, outermost first."""

    def __init__(self) -> None:
        self.stack: list[PassContext] = []
        self.default = PassContext()


_STATE = _ThreadState()
