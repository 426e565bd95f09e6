"""What names mean while a script is read."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from xdsl_tvm.dialects.tir.storage_scope import did_you_mean
from xdsl_tvm.tvmscript.reading.rules import LIVE, Rules, UndefinedName


class Redefinition(NameError):
    """A second value for a name in one body."""


class Scope:
    """Names of the bodies around a place, then those of Python around the script.

    `rules` say what names mean that nothing defines, and what expressions may do.
    Names of a body are forgotten when it ends. In one body a name keeps its value;
    bodies inside may give it another (docs/spec/tvmscript.md §1).
    """

    def __init__(
        self,
        environment: Mapping[str, object],
        translate: Callable[[object], object] = lambda value: value,
        rules: Rules = LIVE,
    ) -> None:
        self.rules = rules
        self._environment = environment
        self._translate = translate
        self._frames: list[dict[str, object]] = [{}]
        self._held: dict[int, int] = {}

    @contextmanager
    def body(self) -> Generator[None]:
        """Names defined inside of it are forgotten at its end."""
        self._frames.append({})
        try:
            yield
        finally:
            for value in self._frames.pop().values():
                self._held[id(value)] -= 1

    def define(self, name: str, value: object, *, shadow: bool = False) -> None:
        """Gives `name` a value in the innermost body.

        Raises Redefinition for another value than it has there, unless `shadow`.
        """
        frame = self._frames[-1]
        if name in frame:
            if frame[name] is value:
                return
            if not shadow:
                self.check_new(name, value)
            self._held[id(frame[name])] -= 1
        frame[name] = value
        self._held[id(value)] = self._held.get(id(value), 0) + 1

    def check_new(self, name: str, value: object) -> None:
        """Raises Redefinition if `name` has another value in the innermost body."""
        frame = self._frames[-1]
        if name in frame and frame[name] is not value:
            raise Redefinition(
                f"'{name}' is already defined in this body; a name keeps its value, "
                "choose another one"
            )

    def holds(self, value: object) -> bool:
        """Whether a name of the bodies around has this very value."""
        return self._held.get(id(value), 0) > 0

    def __getitem__(self, name: str) -> object:
        """The value of a name.

        Raises UndefinedName, with the closest name there is.
        """
        for frame in reversed(self._frames):
            if name in frame:
                return frame[name]
        if name in self._environment:
            return self._translate(self._environment[name])
        if self.rules.has_builtin(name):
            return self.rules.builtin(name)
        hint = did_you_mean(name, sorted(self._known()))
        reason = self.rules.reason_for_unknown(name)
        raise UndefinedName(f"undefined variable '{name}'{reason or hint}")

    def __contains__(self, name: str) -> bool:
        return any(name in frame for frame in self._frames) or (
            name in self._environment or self.rules.has_builtin(name)
        )

    def _known(self) -> set[str]:
        known = {known for frame in self._frames for known in frame}
        return known | set(self._environment)
