"""Statements, buffers and functions of TVMScript: what scripts build of expressions.

They mirror TVM's nodes (spec tir-ir.md §6 to §9), with one difference that the `tir`
dialect shares: lets, allocations, declarations and asserts have no body of their own, but
hold for the rest of the list that they stand in. `Scope` bounds them where TVM's node
ends before the list does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from xdsl.ir import Attribute

from xdsl_tvm.dialects import tir
from xdsl_tvm.tvmscript.expressions import Expr, ScriptTypeError, Var

Annotations: TypeAlias = Mapping[str, object]
"""Names to Python values: bool, int, float, str, lists, dicts, expressions."""


@dataclass(frozen=True, eq=False, slots=True)
class Range:
    """The integers from `min` on, `extent` of them."""

    min: Expr
    extent: Expr


@dataclass(eq=False, slots=True)
class Buffer:
    """A buffer: its fields as in spec tir-ir.md §7.1, in elements of `type`.

    `data` is the pointer that it views; one that a function or a block binds has a
    pointer variable of its own. Names may change until the script is read.
    """

    name: str
    shape: tuple[Expr, ...]
    type: Attribute
    """The element type."""
    data: Var
    scope: str = "global"
    strides: tuple[Expr, ...] = ()
    elem_offset: Expr | None = None
    """None for the constant 0 of the index dtype."""
    data_alignment: int = 64
    offset_factor: int = 1
    kind: tir.BufferKind = tir.BufferKind.DEFAULT
    axis_separators: tuple[int, ...] = ()

    @property
    def dtype(self) -> str:
        """TVM's name of the element dtype."""
        return tir.dtype_name(self.type)


@dataclass(frozen=True, eq=False, slots=True)
class BufferRegion:
    """A box of a buffer, one range per dimension."""

    buffer: Buffer
    region: tuple[Range, ...]

    def __post_init__(self) -> None:
        if len(self.region) != len(self.buffer.shape):
            raise ScriptTypeError(
                f"buffer {self.buffer.name} has {len(self.buffer.shape)} dimensions, its "
                f"region has {len(self.region)}"
            )


@dataclass(frozen=True, eq=False, slots=True)
class MatchBufferRegion:
    """A buffer that views the region of another one inside a block."""

    buffer: Buffer
    source: BufferRegion


@dataclass(frozen=True, eq=False, slots=True)
class IterVar:
    """A block's iteration variable: domain, kind, and the value it is bound to."""

    var: Var
    dom: Range
    kind: tir.IterKind
    binding: Expr


@dataclass(eq=False, slots=True)
class Stmt:
    """A statement; `line` and `column` are where the script has it, None elsewhere."""

    line: int | None = field(default=None, kw_only=True)
    column: int | None = field(default=None, kw_only=True)


@dataclass(eq=False, slots=True)
class LetStmt(Stmt):
    """Binds `var` to `value` for the rest of the list."""

    var: Var
    value: Expr


@dataclass(eq=False, slots=True)
class AssertStmt(Stmt):
    """States that a condition holds from here on."""

    condition: Expr
    message: Expr


@dataclass(eq=False, slots=True)
class BufferStore(Stmt):
    """Stores `value` at `indices`; the predicate masks the lanes of a vector."""

    buffer: Buffer
    value: Expr
    indices: tuple[Expr, ...]
    predicate: Expr | None = None


@dataclass(eq=False, slots=True)
class Evaluate(Stmt):
    """Evaluates an expression for its effect."""

    value: Expr


@dataclass(eq=False, slots=True)
class Return(Stmt):
    """Returns from the function, TVM's `Evaluate(ret(value))`."""

    value: Expr


@dataclass(eq=False, slots=True)
class Allocate(Stmt):
    """Allocates the product of `extents` elements for the rest of the list."""

    var: Var
    """A pointer; its type tells element and scope."""
    extents: tuple[Expr, ...]
    condition: Expr | None = None
    annotations: Annotations = field(default_factory=dict[str, object])


@dataclass(eq=False, slots=True)
class AllocateConst(Stmt):
    """Read-only memory with contents: a numpy array of the pointer's element dtype and of
    the shape `extents`, or an index into the module's constants."""

    var: Var
    extents: tuple[int, ...]
    data: Any
    annotations: Annotations = field(default_factory=dict[str, object])


@dataclass(eq=False, slots=True)
class DeclBuffer(Stmt):
    """Declares a buffer that views a pointer, for the rest of the list.

    `implicit` ones are `T.Buffer` objects, which TVM has no statement for. `data`, where
    it is given, is the pointer expression that the buffer's pointer variable stands for.
    """

    buffer: Buffer
    data: Expr | None = None
    implicit: bool = False


@dataclass(eq=False, slots=True)
class BufferRealize(Stmt):
    """A buffer that exists over `bounds` from here on, if `condition` holds."""

    buffer: Buffer
    bounds: tuple[Range, ...]
    condition: Expr | None = None


@dataclass(eq=False, slots=True)
class Prefetch(Stmt):
    """Asks for a region to be loaded soon."""

    region: BufferRegion


@dataclass(eq=False, slots=True)
class AttrStmt(Stmt):
    """An annotation around statements (spec tir-ir.md §11).

    `node` is a variable, a buffer, a pointer, a reducer, a target, a Python value, or a
    list of buffers. Thread axes are `LaunchThread`.
    """

    node: object
    key: str
    value: Expr
    body: list[Stmt]


@dataclass(eq=False, slots=True)
class LaunchThread(Stmt):
    """Runs its body once per thread of an axis; `virtual` is the key `virtual_thread`.

    Openings with one `var` share the axis, as those of `T.env_thread` do.
    """

    var: Var
    tag: str
    extent: Expr
    body: list[Stmt]
    virtual: bool = False


@dataclass(eq=False, slots=True)
class For(Stmt):
    """A loop over `[min, min + extent)`."""

    var: Var
    min: Expr
    extent: Expr
    body: list[Stmt]
    kind: tir.ForKind = tir.ForKind.SERIAL
    thread_tag: str | None = None
    annotations: Annotations = field(default_factory=dict[str, object])


@dataclass(eq=False, slots=True)
class While(Stmt):
    """Runs its body while the condition, evaluated anew each time, holds."""

    condition: Expr
    body: list[Stmt]


@dataclass(eq=False, slots=True)
class If(Stmt):
    """Runs one of two bodies; `orelse` is None where there is no else."""

    condition: Expr
    body: list[Stmt]
    orelse: list[Stmt] | None = None


@dataclass(eq=False, slots=True)
class Scope(Stmt):
    """Bounds the bindings in its body; no other meaning."""

    body: list[Stmt]


@dataclass(eq=False, slots=True)
class Block(Stmt):
    """`BlockRealize` and its `Block` in one (spec tir-ir.md §6.13).

    `reads` and `writes` are None until they are given or completed.
    """

    name: str = ""
    iters: list[IterVar] = field(default_factory=list[IterVar])
    body: list[Stmt] = field(default_factory=list[Stmt])
    predicate: Expr | None = None
    reads: list[BufferRegion] | None = None
    writes: list[BufferRegion] | None = None
    init: list[Stmt] | None = None
    alloc_buffers: list[Buffer] = field(default_factory=list[Buffer])
    match_buffers: list[MatchBufferRegion] = field(
        default_factory=list[MatchBufferRegion]
    )
    annotations: Annotations = field(default_factory=dict[str, object])


@dataclass(eq=False, slots=True)
class PrimFunc:
    """A function. `private` ones have no `global_symbol`."""

    name: str
    params: list[Var]
    buffer_map: dict[Var, Buffer]
    """For handle parameters, in the order of matching."""
    body: list[Stmt]
    ret_type: Attribute | None = None
    """None for a function without a result."""
    attrs: dict[str, object] = field(default_factory=dict[str, object])
    """TVM's function attributes, as Python values, targets or attributes."""
    private: bool = False
    line: int | None = None
    column: int | None = None


@dataclass(eq=False, slots=True)
class IRModule:
    """Functions by name, with module attributes and global infos."""

    functions: dict[str, PrimFunc]
    attrs: dict[str, object] = field(default_factory=dict[str, object])
    global_infos: dict[str, list[object]] = field(default_factory=dict[str, list[object]])
    name: str = "Module"


NESTED = (AttrStmt, LaunchThread, For, While, If, Scope, Block)
"""Statements that hold statements."""


def bodies(stmt: Stmt) -> Sequence[list[Stmt]]:
    """The lists of statements that `stmt` holds, a block's init first."""
    match stmt:
        case AttrStmt() | LaunchThread() | For() | While() | Scope():
            return (stmt.body,)
        case If():
            return (stmt.body,) if stmt.orelse is None else (stmt.body, stmt.orelse)
        case Block():
            return (stmt.body,) if stmt.init is None else (stmt.init, stmt.body)
        case _:
            return ()
