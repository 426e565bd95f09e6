"""Where a function uses its variables and buffers, for the printer.

What nothing in the function defines, such as symbolic sizes, has to be defined in the
script before it is used: in the innermost body that holds all uses, before the first
statement there that has one (docs/spec/tvmscript.md §10.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from xdsl_tvm.tvmscript.nodes import statements as st
from xdsl_tvm.tvmscript.nodes.expressions import (
    BufferLoad,
    Call,
    Expr,
    Let,
    Reducer,
    Var,
    operands,
)

Name: TypeAlias = Var | st.Buffer
"""What has a name in a script."""
Anchor: TypeAlias = "st.Stmt | st.Buffer | list[st.IterVar] | list[st.Stmt]"
"""What is printed as a statement: one, the declaration of a buffer, the regions of a
block, which its iteration variables stand for, or its init."""


@dataclass
class _UseSite:
    """The bodies around the first use, and how many of them hold all uses."""

    path: list[tuple[object, Anchor]]
    depth: int


@dataclass
class Usage:
    """What one pass over a function finds."""

    counts: dict[Name, int] = field(default_factory=dict[Name, int])
    """How often each is used, besides its definition: once, or more often."""
    shared_threads: set[Var] = field(default_factory=set[Var])
    """Thread variables that `T.env_thread` has to define."""
    free: dict[int, list[Name]] = field(default_factory=dict[int, list[Name]])
    """What has to be defined before an anchor, by the anchor's id."""

    def free_before(self, anchor: Anchor) -> Sequence[Name]:
        """What has to be defined before a statement, in the order of use."""
        return self.free.get(id(anchor), ())


def usage_of(function: st.PrimFunc) -> Usage:
    """The usage of a function's variables and buffers."""
    walk = _UsageWalk()
    walk.function(function)
    return walk.finish()


class _UsageWalk:
    def __init__(self) -> None:
        self._usage = Usage()
        self._bound: set[Name] = set()
        self._sites: dict[Name, _UseSite] = {}
        self._path: list[tuple[object, Anchor]] = []
        self._launches: dict[Var, int] = {}
        self._open: dict[Var, int] = {}
        self._outside: set[Var] = set()

    def finish(self) -> Usage:
        usage = self._usage
        for var, count in self._launches.items():
            if count > 1 or var in self._outside:
                usage.shared_threads.add(var)
        for name, site in self._sites.items():
            if name not in self._launches or name in usage.shared_threads:
                _, anchor = site.path[site.depth - 1]
                usage.free.setdefault(id(anchor), []).append(name)
        return usage

    # ---- uses ----

    def _use(self, name: Name) -> None:
        counts = self._usage.counts
        counts[name] = counts.get(name, 0) + 1
        if isinstance(name, Var) and name in self._open:
            return self._place(name)
        if isinstance(name, Var) and name in self._launches:
            self._outside.add(name)
        if name not in self._bound:
            self._place(name)
        return None

    def _place(self, name: Name) -> None:
        site = self._sites.get(name)
        if site is None:
            self._sites[name] = _UseSite(list(self._path), len(self._path))
            return
        depth = min(site.depth, len(self._path))
        while site.path[depth - 1][0] is not self._path[depth - 1][0]:
            depth -= 1
        site.depth = depth

    def _expressions(self, *roots: Expr | None) -> None:
        stack: list[Expr | Reducer] = [
            root for root in reversed(roots) if root is not None
        ]
        seen: dict[int, int] = {}
        while stack:
            node = stack.pop()
            # More than twice is no news, and shared parts may be in many places.
            if seen.setdefault(id(node), 0) == 2:
                continue
            seen[id(node)] += 1
            match node:
                case Var():
                    self._use(node)
                    continue
                case Reducer():
                    self._bound.update((*node.lhs, *node.rhs))
                    stack += reversed((*node.identity, *node.result))
                    continue
                case BufferLoad():
                    self._use(node.buffer)
                case Let():
                    self._use(node.var)
                case Call():
                    stack += reversed(node.args)
                    continue
                case _:
                    pass
            stack += reversed(operands(node))

    def _ranges(self, ranges: Iterable[st.Range]) -> None:
        for each in ranges:
            self._expressions(each.min, each.extent)

    def _region(self, region: st.BufferRegion) -> None:
        self._use(region.buffer)
        self._ranges(region.region)

    def _value(self, value: object) -> None:
        """An annotation's value, or the node of an attribute."""
        match value:
            case Expr() | Reducer():
                self._expressions(cast(Expr, value))
            case st.Buffer():
                self._use(value)
            case dict():
                self._values(cast("dict[str, object]", value).values())
            case list() | tuple():
                self._values(cast("list[object]", value))
            case _:
                pass

    def _values(self, values: Iterable[object]) -> None:
        for each in values:
            self._value(each)

    # ---- definitions ----

    def _buffer(self, buffer: st.Buffer, *, binds_data: bool) -> None:
        if binds_data and buffer.data not in self._bound:
            self._bound.add(buffer.data)
        else:
            self._use(buffer.data)
        self._expressions(*buffer.shape, *buffer.strides)
        if buffer.has_offset:
            self._expressions(buffer.elem_offset)
        self._bound.add(buffer)

    def function(self, function: st.PrimFunc) -> None:
        self._bound.update(function.params)
        frame = object()
        for buffer in (*function.buffer_map.values(), *function.alloc_buffers):
            self._path.append((frame, buffer))
            self._buffer(buffer, binds_data=True)
            self._path.pop()
        self._body(function.body, frame)

    def _body(self, body: Sequence[st.Stmt], frame: object | None = None) -> None:
        frame = frame or object()
        for stmt in body:
            self._path.append((frame, stmt))
            self._stmt(stmt)
            self._path.pop()

    def _stmt(self, stmt: st.Stmt) -> None:
        match stmt:
            case st.LetStmt():
                self._expressions(stmt.value)
                self._bound.add(stmt.var)
            case st.AssertStmt():
                self._expressions(stmt.condition, stmt.message)
            case st.BufferStore():
                self._expressions(stmt.value)
                self._use(stmt.buffer)
                self._expressions(*stmt.indices, stmt.predicate)
            case st.Evaluate() | st.Return():
                self._expressions(stmt.value)
            case st.Allocate():
                self._expressions(*stmt.extents, stmt.condition)
                self._value(stmt.annotations)
                self._bound.add(stmt.var)
            case st.AllocateConst():
                self._value(stmt.annotations)
                self._bound.add(stmt.var)
            case st.DeclBuffer():
                self._expressions(stmt.data)
                self._buffer(stmt.buffer, binds_data=stmt.data is not None)
            case st.BufferRealize():
                self._use(stmt.buffer)
                self._ranges(stmt.bounds)
                self._expressions(stmt.condition)
            case st.Prefetch():
                self._region(stmt.region)
            case _:
                self._nested(stmt)

    def _nested(self, stmt: st.Stmt) -> None:
        match stmt:
            case st.AttrStmt():
                self._value(stmt.node)
                self._expressions(stmt.value)
            case st.LaunchThread():
                self._launch(stmt)
                return
            case st.For():
                self._expressions(stmt.min, stmt.extent)
                self._value(stmt.annotations)
                self._bound.add(stmt.var)
            case st.While() | st.If():
                self._expressions(stmt.condition)
            case st.Block():
                self._block(stmt)
                return
            case _:
                pass
        for body in st.bodies(stmt):
            self._body(body)

    def _launch(self, stmt: st.LaunchThread) -> None:
        self._expressions(stmt.extent)
        var = stmt.var
        if var in self._sites and var not in self._launches:
            self._outside.add(var)
        self._launches[var] = self._launches.get(var, 0) + 1
        self._place(var)
        self._open[var] = self._open.get(var, 0) + 1
        self._body(stmt.body)
        self._open[var] -= 1
        if not self._open[var]:
            del self._open[var]

    def _block(self, stmt: st.Block) -> None:
        for each in stmt.iters:
            self._expressions(each.dom.min, each.dom.extent, each.binding)
        self._expressions(stmt.predicate)
        self._bound.update(each.var for each in stmt.iters)
        # What only the block uses is defined inside of it.
        frame = object()
        self._path.append((frame, stmt.iters))
        for region in (*(stmt.reads or ()), *(stmt.writes or ())):
            self._region(region)
        self._value(stmt.annotations)
        self._path.pop()
        for buffer in stmt.alloc_buffers:
            self._path.append((frame, buffer))
            self._buffer(buffer, binds_data=True)
            self._path.pop()
        for match_ in stmt.match_buffers:
            self._path.append((frame, match_.buffer))
            self._region(match_.source)
            self._buffer(match_.buffer, binds_data=True)
            self._path.pop()
        if stmt.init is not None:
            self._path.append((frame, stmt.init))
            self._body(stmt.init)
            self._path.pop()
        self._body(stmt.body, frame)
