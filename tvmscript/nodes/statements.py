"""Statements, buffers and functions of TVMScript: what scripts build of expressions.

They mirror TVM's nodes (docs/spec/tir-ir.md §6 to §9), with one difference that the `tir`
dialect shares: lets, allocations, declarations and asserts have no body of their own, but
hold for the rest of the list that they are in. `Scope` bounds them where TVM's node
ends before the list does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast, overload

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from xdsl_tvm.dialects import tir
from xdsl_tvm.tvmscript.nodes.expressions import (
    BufferLoad,
    Call,
    Expr,
    ExprLike,
    Ramp,
    ScriptTypeError,
    Var,
    accessed_type,
    add,
    as_type,
    ceildiv,
    const,
    convert,
    floordiv,
    literal,
    mul,
    product,
    ramp,
    sub,
)
from xdsl_tvm.tvmscript.nodes.expressions import cast as cast_expr
from xdsl_tvm.tvmscript.reading.linear_form import difference

Annotations: TypeAlias = Mapping[str, object]
"""Names to Python values: bool, int, float, str, lists, dicts, expressions."""


@dataclass(frozen=True, eq=False, slots=True)
class Range:
    """The integers from `min` on, `extent` of them."""

    min: Expr
    extent: Expr


class Buffer:
    """A buffer: its fields as in docs/spec/tir-ir.md §7.1, in elements of `type`.

    `data` is the pointer that it views, whose type has the storage scope; one that a
    function or a block binds has a pointer variable of its own. Names may change while a
    script is read. `A[i, j]` is a load, and a region where an index is a slice.
    """

    __slots__ = (
        "axis_separators",
        "data",
        "data_alignment",
        "elem_offset",
        "kind",
        "name",
        "offset_factor",
        "shape",
        "strides",
        "type",
    )

    def __init__(
        self,
        name: str,
        shape: Sequence[Expr],
        type: Attribute,
        data: Var,
        *,
        strides: Sequence[Expr] = (),
        elem_offset: Expr | None = None,
        data_alignment: int = 64,
        offset_factor: int = 1,
        kind: tir.BufferKind = tir.BufferKind.DEFAULT,
        axis_separators: Sequence[int] = (),
    ) -> None:
        self.name = name
        self.shape = tuple(shape)
        self.type = type
        self.data = data
        self.strides = tuple(strides)
        self.elem_offset = (
            const(0, self.index_type) if elem_offset is None else elem_offset
        )
        self.data_alignment = data_alignment
        self.offset_factor = offset_factor
        self.kind = kind
        self.axis_separators = tuple(axis_separators)
        self._verify()

    def _verify(self) -> None:
        if not isinstance(self.data.type, tir.PtrType):
            raise ScriptTypeError(
                f"buffer {self.name}: the data must be a typed pointer such as "
                f'T.handle("{self.dtype}"), got {self.data.dtype}'
            )
        if self.strides and len(self.strides) != len(self.shape):
            raise ScriptTypeError(
                f"buffer {self.name} has {len(self.shape)} dimensions, but "
                f"{len(self.strides)} strides"
            )
        numbers = (self.data_alignment, self.offset_factor, *self.axis_separators)
        if not all(isinstance(cast("object", number), int) for number in numbers):
            raise ScriptTypeError(
                f"buffer {self.name}: alignment, offset factor and axis separators are "
                f"integers, got {', '.join(map(repr, numbers))}"
            )
        for what, values in (("extent", self.shape), ("stride", self.strides)):
            for value in values:
                if not tir.is_integer_type(value.type):
                    raise ScriptTypeError(
                        f"buffer {self.name}: the {what} must be a scalar integer, got "
                        f"{value.dtype}"
                    )

    def __repr__(self) -> str:
        return f"Buffer({self.name!r}, rank {len(self.shape)}, {self.dtype})"

    @property
    def dtype(self) -> str:
        """TVM's name of the element dtype."""
        return tir.dtype_name(self.type)

    @property
    def index_type(self) -> Attribute:
        """The dtype of the first extent; int64 for rank 0 (docs/spec/tir-ir.md §1)."""
        return self.shape[0].type if self.shape else i64

    def scope(self) -> str:
        """The storage scope, that of the pointer."""
        pointer = self.data.type
        assert isinstance(pointer, tir.PtrType)
        return pointer.scope.data

    @property
    def has_offset(self) -> bool:
        """Whether the element offset is other than the default, 0 of the index dtype."""
        return not (literal(self.elem_offset) == 0 and self._offset_is_index())

    def _offset_is_index(self) -> bool:
        return self.elem_offset.type == self.index_type

    # ---- accesses ----

    # Python would take one apart by its indices from 0 on, without an end.
    __iter__ = None

    @overload
    def __getitem__(self, indices: ExprLike | tuple[ExprLike, ...]) -> BufferLoad: ...
    @overload
    def __getitem__(self, indices: object) -> BufferLoad | BufferRegion: ...
    def __getitem__(self, indices: object) -> BufferLoad | BufferRegion:
        """`A[i, j]`, `A[()]` and `A[0:4, i]` (docs/spec/tvmscript.md §3.4).

        A slice without a step makes a region, whose scalar indices are points. Where a
        slice has a step the value is a load, and slices become vectors of indices.
        """
        given = _as_indices(indices)
        slices = [each for each in map(_as_slice, given) if each is not None]
        if not slices or any(each.step is not None for each in slices):
            return self.load(*given)
        return self.region(*given)

    def load(self, *indices: object, predicate: ExprLike | None = None) -> BufferLoad:
        """The load at `indices`; slices become vectors of indices."""
        mask = None if predicate is None else convert(predicate)
        return BufferLoad(self, self.index_exprs(indices), mask)

    def region(self, *indices: object) -> BufferRegion:
        """The box of `indices`: ranges for slices, points for all others."""
        if len(indices) != len(self.shape):
            raise ScriptTypeError(
                f"buffer {self.name} has {len(self.shape)} dimensions, indexed by "
                f"{len(indices)}"
            )
        ranges = [
            _range_of(index, extent)
            for index, extent in zip(indices, self.shape, strict=True)
        ]
        return BufferRegion(self, tuple(ranges))

    def index_exprs(self, indices: Sequence[object]) -> tuple[Expr, ...]:
        """Indices of a load or a store as expressions, slices as vectors."""
        if len(indices) != len(self.shape):
            raise ScriptTypeError(
                f"buffer {self.name} has {len(self.shape)} dimensions, indexed by "
                f"{len(indices)}"
            )
        return tuple(map(_index_of, indices, self.shape))

    def vload(
        self,
        begin: object,
        dtype: str | Attribute | None = None,
        predicate: ExprLike | None = None,
    ) -> BufferLoad:
        """A load of `dtype`, whose lanes lie side by side from `begin` on."""
        indices = self._widened(begin, self.type if dtype is None else as_type(dtype))
        return self.load(*indices, predicate=predicate)

    def vstore(
        self, begin: object, value: ExprLike, predicate: ExprLike | None = None
    ) -> BufferStore:
        """A store of the lanes of `value` side by side from `begin` on, to be emitted."""
        stored = convert(value)
        indices = self._widened(begin, stored.type)
        return self.store(stored, indices, predicate)

    def store(
        self, value: ExprLike, indices: object, predicate: ExprLike | None = None
    ) -> BufferStore:
        """A store at `indices`; the value is converted to the element dtype.

        Raises ScriptTypeError where the lanes differ, and where a constant does not fit
        the dtype.
        """
        places = self.index_exprs(_as_indices(indices))
        target = accessed_type(self, places)
        stored = convert(value)
        if tir.lanes_of(stored.type) != tir.lanes_of(target) or (
            tir.is_scalable(stored.type) != tir.is_scalable(target)
        ):
            raise ScriptTypeError(
                f"a value of type {stored.dtype} cannot be stored in buffer {self.name}, "
                f"which takes {tir.dtype_name(target)} at these indices"
            )
        if stored.type != target and not _are_pointers(stored.type, target):
            stored = cast_expr(target, stored)
        mask = None if predicate is None else convert(predicate)
        return BufferStore(self, stored, places, mask)

    def _widened(self, begin: object, dtype: Attribute) -> list[object]:
        indices = _as_indices(begin)
        lanes, own = tir.lanes_of(dtype), tir.lanes_of(self.type)
        if lanes == own or not indices:
            return indices
        base = convert(indices[-1])
        if tir.is_vector(base.type):
            return indices
        if lanes % own:
            raise ScriptTypeError(
                f"buffer {self.name} of {self.dtype} cannot be accessed as "
                f"{tir.dtype_name(dtype)}"
            )
        vector = tir.with_lanes(base.type, lanes // own, scalable=tir.is_scalable(dtype))
        return [*indices[:-1], Ramp(base, const(1, base.type), vector)]

    def access_ptr(
        self,
        access_mask: int | str,
        ptr_type: str = "handle",
        content_lanes: int = 1,
        offset: ExprLike = 0,
        extent: ExprLike | None = None,
    ) -> Expr:
        """The pointer with the region that its user accesses, `tvm_access_ptr`.

        `access_mask` has bit 0 for reads and bit 1 for writes, or is `"r"`, `"w"` or
        `"rw"` (docs/spec/tir-ir.md §7.2).
        """
        if ptr_type != "handle":
            raise ScriptTypeError(f"access_ptr: pointers are handles, not {ptr_type}")
        mode = _MASKS.get(access_mask) if isinstance(access_mask, str) else access_mask
        if mode is None:
            raise ScriptTypeError(
                f"access_ptr: the mask is 'r', 'w' or 'rw', got '{access_mask}'"
            )
        if self.strides:
            total = mul(self.strides[0], self.shape[0])
        else:
            total = product(self.shape)
        start, dtype = self.elem_offset, self.type
        if content_lanes > 1:
            total, start = floordiv(total, content_lanes), floordiv(start, content_lanes)
            dtype = tir.with_lanes(dtype, content_lanes)
        begin = add(start, offset)
        length = sub(total, offset) if extent is None else convert(extent)
        annotation = Call("type_annotation", (), dtype)
        args = (annotation, self.data, begin, length, const(mode))
        return Call("tvm_access_ptr", args, tir.PtrType(dtype, self.scope()))

    def offset_of(self, indices: object) -> list[Expr]:
        """The indices of an element in the flattened buffer, `OffsetOf`.

        docs/spec/tir-ir.md §7.2.
        """
        places = self.index_exprs(_as_indices(indices))
        groups: list[Expr] = []
        starts = (0, *self.axis_separators)
        ends = (*self.axis_separators, len(places))
        for start, end in zip(starts, ends, strict=True):
            flat: Expr = const(0)
            for axis in range(start, end):
                if self.strides:
                    flat = add(flat, mul(places[axis], self.strides[axis]))
                else:
                    flat = add(mul(flat, self.shape[axis]), places[axis])
            groups.append(flat)
        if literal(self.elem_offset) != 0:
            if len(groups) != 1:
                raise ScriptTypeError(
                    f"buffer {self.name} has axis separators and an element offset"
                )
            groups = [add(groups[0], self.elem_offset)]
        return groups


_MASKS: Mapping[str, int] = {each.value: each.mask for each in tir.AccessMode}


def _are_pointers(first: Attribute, second: Attribute) -> bool:
    return tir.is_handle(first) and tir.is_handle(second)


def _as_indices(indices: object) -> list[object]:
    if isinstance(indices, tuple | list):
        return list(cast("Sequence[object]", indices))
    return [indices]


_Slice: TypeAlias = "slice[object, object, object]"


def _as_slice(index: object) -> _Slice | None:
    return cast(_Slice, index) if isinstance(index, slice) else None


def _bounds(index: _Slice, extent: Expr) -> tuple[Expr, Expr]:
    stop = extent if index.stop is None else convert(index.stop)
    start = const(0, stop.type) if index.start is None else convert(index.start)
    return start, stop


def _range_of(index: object, extent: Expr) -> Range:
    slice_ = _as_slice(index)
    if slice_ is not None:
        start, stop = _bounds(slice_, extent)
        return Range(start, difference(stop, start))
    point = convert(index)
    if tir.is_vector(point.type):
        return _range_of_vector(point)
    return Range(point, const(1, point.type))


def _range_of_vector(index: Expr) -> Range:
    """The range that a ramp of constant stride covers, `[base, stride * lanes)`."""
    if not isinstance(index, Ramp) or tir.is_scalable(index.type):
        raise ScriptTypeError("a region needs scalar indices, slices or ramps")
    lanes = tir.lanes_of(index.type)
    return Range(index.base, mul(index.stride, const(lanes, index.stride.type)))


def _index_of(index: object, extent: Expr) -> Expr:
    """The index of a load or a store; a slice is a vector."""
    slice_ = _as_slice(index)
    if slice_ is None:
        return convert(index)
    start, stop = _bounds(slice_, extent)
    step = convert(1 if slice_.step is None else slice_.step)
    length = difference(stop, start)
    if literal(step) != 1:
        length = difference(ceildiv(length, step), const(0, length.type))
    return ramp(start, step, length)


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

    def as_expr(self) -> Expr:
        """The load of the region: points as indices, constant extents as ramps."""
        indices = [
            each.min
            if literal(each.extent) == 1
            else ramp(each.min, const(1, each.min.type), each.extent)
            for each in self.region
        ]
        return BufferLoad(self.buffer, tuple(indices))


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
    """An annotation around statements (docs/spec/tir-ir.md §11).

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
    """`BlockRealize` and its `Block` in one (docs/spec/tir-ir.md §6.13).

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
    alloc_buffers: list[Buffer] = field(default_factory=list[Buffer])
    """Buffers allocated outside of blocks, until a root block takes them."""
    private: bool = False
    line: int | None = None
    column: int | None = None
    check_well_formed: bool = True
    """Whether the rules of docs/spec/tir-ir.md §14 are checked."""


@dataclass(eq=False, slots=True)
class IRModule:
    """Functions by name, with module attributes and global infos."""

    functions: dict[str, PrimFunc]
    attrs: dict[str, object] = field(default_factory=dict[str, object])
    global_infos: dict[str, list[object]] = field(default_factory=dict[str, list[object]])
    name: str = "Module"


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
