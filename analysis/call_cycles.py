"""Which functions of a module reach themselves by calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


def callees_first(calls: Mapping[str, Sequence[str]]) -> list[str]:
    """The functions that do not reach themselves, each after those that it calls.

    `calls` holds the functions that each function calls; names that it does not have as a
    key are ignored. Linear in the number of calls.
    """
    return _Search(calls).order


@dataclass
class _Search:
    """Tarjan's search for strongly connected components, without recursion."""

    edges: Mapping[str, Sequence[str]]
    order: list[str] = field(default_factory=list[str])
    """Nodes that are on no cycle, after all that they reach of these."""
    _low: dict[str, int] = field(default_factory=dict[str, int])
    _stack: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        for name in self.edges:
            if name not in self._low:
                self._visit(name)

    def _visit(self, start: str) -> None:
        index: dict[str, int] = {}
        todo = [(start, iter(self._enter(start, index)))]
        while todo:
            name, rest = todo[-1]
            for other in rest:
                if other not in self._low:
                    todo.append((other, iter(self._enter(other, index))))
                    break
                self._low[name] = min(self._low[name], self._low[other])
            else:
                todo.pop()
                self._leave(name, index)
                if todo:
                    above = todo[-1][0]
                    self._low[above] = min(self._low[above], self._low[name])

    def _enter(self, name: str, index: dict[str, int]) -> list[str]:
        self._low[name] = index[name] = len(self._low)
        self._stack.append(name)
        return [other for other in self.edges[name] if other in self.edges]

    def _leave(self, name: str, index: dict[str, int]) -> None:
        if self._low[name] != index[name]:
            return
        # The component is at the end of the stack.
        component: list[str] = []
        while not component or component[-1] != name:
            component.append(self._stack.pop())
        for each in component:
            self._low[each] = len(self.edges)
        if len(component) == 1 and name not in self.edges[name]:
            self.order.append(name)
