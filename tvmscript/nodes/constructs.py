"""Functions of TVMScript that make functions, buffers, loops, blocks and statements.

Each works on the current builder, or returns a frame to be opened (docs/spec/tvmscript.md
§2 to §8).
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar, cast, overload

import numpy as np
from xdsl.dialects.builtin import NoneType, i32
from xdsl.ir import Attribute

from xdsl_tvm.dialects import tir
from xdsl_tvm.tvmscript import frames
from xdsl_tvm.tvmscript.builder import IRBuilder
from xdsl_tvm.tvmscript.nodes.dtypes import Dtype, DtypeLike, dtype_of, pointer_type
from xdsl_tvm.tvmscript.nodes.expressions import (
    BufferLoad,
    Call,
    Expr,
    ExprLike,
    ScriptTypeError,
    Var,
    as_type,
    const,
    convert,
    literal,
)
from xdsl_tvm.tvmscript.nodes.expressions import cast as cast_expr
from xdsl_tvm.tvmscript.nodes.operators import make_range
from xdsl_tvm.tvmscript.nodes.statements import (
    Annotations,
    Buffer,
    BufferRegion,
    Evaluate,
    Prefetch,
    Range,
    Return,
    Stmt,
)
from xdsl_tvm.tvmscript.reading.linear_form import difference

ValueT = TypeVar("ValueT")

Shape: TypeAlias = "ExprLike | Sequence[ExprLike]"
"""Extents; a single one stands for a list of it. A string names a symbolic extent."""

# ---- functions ----


def func_name(name: str) -> None:
    """Name the function, `T.func_name`."""
    IRBuilder.current().enclosing(frames.PrimFuncFrame, "T.func_name").name = name


def func_attr(attrs: Mapping[str, object]) -> None:
    """Add attributes of the function. Raises BuilderError for a key given before.

    The names that start with `tirx.`, as in TVM 0.27, are those with `tir.`.
    """
    known = {
        f"tir.{key[5:]}" if key.startswith("tirx.") else key: value
        for key, value in attrs.items()
    }
    _function("T.func_attr").add_attrs(known)


def func_ret(dtype: DtypeLike | Var | None) -> None:
    """What the function returns; None and void for nothing."""
    target = None
    if dtype is not None:
        target = dtype.type if isinstance(dtype, Var) else dtype_of(dtype)
    is_void = target is None or isinstance(target, NoneType)
    _function("T.func_ret").ret_type = None if is_void else target


@overload
def arg(name: str, value: Buffer) -> Buffer: ...
@overload
def arg(name: str, value: Var | Callable[[], Var]) -> Var: ...
def arg(name: str, value: Buffer | Var | Callable[[], Var]) -> Buffer | Var:
    """Add a parameter, and return it: a variable or a buffer.

    `value` is one of them or makes one when it is called with nothing, as `T.int32` and
    `T.handle` do.
    """
    made = _parameter(name, value)
    _function("T.arg").add_param(name, made)
    return made


def _parameter(name: str, value: object) -> Buffer | Var:
    made = value() if callable(value) else value
    if not isinstance(made, Var | Buffer):
        raise ScriptTypeError(
            f"parameter {name}: expected a dtype or T.Buffer(...), got a "
            f"{type(made).__name__}"
        )
    return made


def _function(what: str) -> frames.PrimFuncFrame:
    return IRBuilder.current().innermost(frames.PrimFuncFrame, what)


# ---- buffers ----


def _sequence(values: Shape) -> list[ExprLike]:
    if isinstance(values, Sequence) and not isinstance(values, str):
        return list(values)
    return [values]


def _extent(value: ExprLike) -> Expr:
    if not isinstance(value, str):
        return convert(value)
    if not IRBuilder.is_active():
        # Python evaluates the annotation of a live function, which is read later.
        return Var(value, i32)
    known = _function("a symbolic extent").symbolic_extents
    if value not in known:
        known[value] = Var(value, i32)
    return known[value]


_BUFFER_KINDS = {
    "": tir.BufferKind.DEFAULT,
    "default": tir.BufferKind.DEFAULT,
    "auto": tir.BufferKind.AUTO_BROADCAST,
    "auto_broadcast": tir.BufferKind.AUTO_BROADCAST,
}


@dataclass(frozen=True)
class _Layout:
    """The arguments that all functions which make buffers share.

    docs/spec/tvmscript.md §7.
    """

    data: Var | None = None
    strides: Sequence[ExprLike] | None = None
    elem_offset: ExprLike | None = None
    scope: str = "global"
    align: int = 0
    offset_factor: int = 0
    buffer_type: str = ""
    axis_separators: Sequence[int] | None = None
    is_bound: bool = True
    """Whether an offset and strides that are not given are bound by matching."""

    def buffer(self, shape: Shape, dtype: DtypeLike) -> Buffer:
        """The buffer of these arguments."""
        extents = [_extent(extent) for extent in _sequence(shape)]
        element = dtype_of(dtype)
        if self.buffer_type not in _BUFFER_KINDS:
            raise ScriptTypeError(
                f"unknown buffer_type '{self.buffer_type}'; use 'auto' or 'default'"
            )
        index_type = extents[0].type if extents else i32
        data = self.data
        if data is None:
            data = Var("", pointer_type(element, self.scope))
        elif not isinstance(cast(object, data), Var):
            raise ScriptTypeError(
                "the data of a buffer is a pointer variable, such as A.data; bind other "
                "pointers with T.LetStmt first"
            )
        offset = None if self.elem_offset is None else convert(self.elem_offset)
        if offset is None and self.offset_factor and self.is_bound:
            offset = Var("elem_offset", index_type)
        return Buffer(
            "",
            extents,
            element,
            data,
            strides=[_stride(stride, index_type) for stride in self.strides or ()],
            elem_offset=offset,
            data_alignment=self.align if self.align > 0 else 64,
            offset_factor=self.offset_factor or 1,
            kind=_BUFFER_KINDS[self.buffer_type],
            axis_separators=self.axis_separators or (),
        )


def _stride(value: ExprLike, index_type: Attribute) -> Expr:
    return Var(value, index_type) if isinstance(value, str) else convert(value)


class BufferConstructor:
    """`T.Buffer`: a parameter, or a view of a pointer that needs no statement."""

    def __call__(
        self,
        shape: Shape,
        dtype: DtypeLike = "float32",
        data: Var | None = None,
        strides: Sequence[ExprLike] | None = None,
        elem_offset: ExprLike | None = None,
        scope: str = "global",
        align: int = 0,
        offset_factor: int = 0,
        buffer_type: str = "",
        axis_separators: Sequence[int] | None = None,
    ) -> Buffer:
        """A buffer. With `data` it views that pointer, in its scope."""
        layout = _Layout(
            data,
            strides,
            elem_offset,
            scope,
            align,
            offset_factor,
            buffer_type,
            axis_separators,
            is_bound=data is None,
        )
        return layout.buffer(shape, dtype)

    # Python would take it apart by indices from 0 on, without an end.
    __iter__ = None

    def __getitem__(self, args: tuple[Shape, DtypeLike] | Shape) -> Buffer:
        """The deprecated spelling `T.Buffer[(16, 16), "float32"]`."""
        if isinstance(args, tuple) and len(args) == 2 and isinstance(args[1], str):
            return self(args[0], args[1])
        return self(cast(Shape, args))


make_buffer = BufferConstructor()


def match_buffer(
    param: Var | Buffer | BufferLoad | BufferRegion,
    shape: Shape | None = None,
    dtype: DtypeLike = "float32",
    data: Var | None = None,
    strides: Sequence[ExprLike] | None = None,
    elem_offset: ExprLike | None = None,
    scope: str | None = None,
    align: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "default",
    axis_separators: Sequence[int] | None = None,
) -> Buffer:
    """A buffer of a parameter; in a block, a view of a region of another buffer.

    The view of a region has its extents and dtype where no shape is given.
    """
    if data is not None:
        raise ScriptTypeError(
            "T.match_buffer: the buffer has a pointer of its own; leave out data="
        )
    region = None if isinstance(param, Var) else as_region(param)
    if region is not None and scope is None:
        scope = region.buffer.scope()
    layout = _Layout(
        None,
        strides,
        elem_offset,
        scope or "global",
        align,
        offset_factor,
        buffer_type,
        axis_separators,
    )
    if region is None:
        assert isinstance(param, Var)
        if shape is None:
            raise ScriptTypeError("T.match_buffer of a parameter needs a shape")
        buffer = layout.buffer(shape, dtype)
        _function("T.match_buffer").match(param, buffer)
        return buffer
    if shape is None:
        shape, dtype = [each.extent for each in region.region], region.buffer.type
    buffer = layout.buffer(shape, dtype)
    block = IRBuilder.current().enclosing(frames.BlockFrame, "T.match_buffer of a region")
    block.add_match(buffer, region)
    return buffer


def alloc_buffer(
    shape: Shape,
    dtype: DtypeLike = "float32",
    data: Var | None = None,
    strides: Sequence[ExprLike] | None = None,
    elem_offset: ExprLike | None = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "default",
    axis_separators: Sequence[int] | None = None,
) -> Buffer:
    """A buffer that the innermost block allocates; outside of blocks, the root block."""
    if data is not None:
        raise ScriptTypeError("T.alloc_buffer allocates; for a view use T.decl_buffer")
    layout = _Layout(
        None,
        strides,
        elem_offset,
        scope,
        align,
        offset_factor,
        buffer_type,
        axis_separators,
        is_bound=False,
    )
    buffer = layout.buffer(shape, dtype)
    builder = IRBuilder.current()
    block = builder.find(frames.BlockFrame)
    if block is not None:
        block.block.alloc_buffers.append(buffer)
    else:
        _function("T.alloc_buffer").alloc_buffers.append(buffer)
    return buffer


def alloc_shared(shape: Shape, dtype: DtypeLike = "float32") -> Buffer:
    """Newer TVM's short form of `T.alloc_buffer(..., scope="shared")`."""
    return alloc_buffer(shape, dtype, scope="shared")


def alloc_local(shape: Shape, dtype: DtypeLike = "float32") -> Buffer:
    """Newer TVM's short form of `T.alloc_buffer(..., scope="local")`."""
    return alloc_buffer(shape, dtype, scope="local")


def decl_buffer(
    shape: Shape,
    dtype: DtypeLike = "float32",
    data: Var | None = None,
    strides: Sequence[ExprLike] | None = None,
    elem_offset: ExprLike | None = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Sequence[int] | None = None,
) -> frames.DeclBufferFrame:
    """A view of the pointer `data`; without one, of memory allocated for it."""
    layout = _Layout(
        data,
        strides,
        elem_offset,
        scope,
        align,
        offset_factor,
        buffer_type,
        axis_separators,
        is_bound=False,
    )
    buffer = layout.buffer(shape, dtype)
    return frames.DeclBufferFrame(buffer, allocated=data is None)


def as_region(value: object) -> BufferRegion:
    """The region that a buffer, an element or a region of one stands for."""
    match value:
        case BufferRegion():
            return value
        case BufferLoad():
            return value.buffer.region(*value.indices)
        case Buffer():
            return value.region(*(slice(None) for _ in value.shape))
        case _:
            raise ScriptTypeError(
                f"expected a buffer region such as A[0:16], got a {type(value).__name__}"
            )


# ---- memory ----


def allocate(
    extents: Shape,
    dtype: DtypeLike = "float32",
    scope: str = "global",
    condition: ExprLike | None = None,
    annotations: Annotations | None = None,
) -> frames.AllocateFrame:
    """Memory for the rest of the scope; binds the pointer."""
    test = None if condition is None else convert(condition)
    if test is not None and literal(test) == 1:
        test = None
    pointer = pointer_type(dtype, scope)
    sizes = [convert(extent) for extent in _sequence(extents)]
    return frames.AllocateFrame(pointer, sizes, test, annotations)


def allocate_const(
    data: object,
    dtype: DtypeLike,
    extents: Sequence[int],
    annotations: Annotations | None = None,
) -> frames.AllocateConstFrame:
    """Read-only memory with contents: nested lists or an array of so many elements."""
    contents = np.asarray(data)
    sizes = [int(extent) for extent in extents]
    if contents.size != math.prod(sizes):
        raise ScriptTypeError(
            f"T.allocate_const: {contents.size} elements for the extents {sizes}"
        )
    pointer = pointer_type(dtype)
    return frames.AllocateConstFrame(pointer, sizes, contents.reshape(sizes), annotations)


def realize(
    region: BufferLoad | BufferRegion, scope: str, condition: ExprLike = True
) -> frames.RealizeFrame:
    """A buffer that exists over a box, in a storage scope."""
    test = convert(condition)
    whole = None if literal(test) == 1 else test
    return frames.RealizeFrame(as_region(region), scope, whole)


# ---- loops and threads ----


def _loop_range(start: ExprLike, stop: ExprLike | None) -> Range:
    """`[start, stop)`, or `[0, start)`: minimum and extent of the loop's dtype.

    docs/spec/tvmscript.md §5.
    """
    if stop is None:
        extent = convert(start)
        minimum: Expr = const(0, extent.type)
    else:
        minimum, end = convert(start), convert(stop)
        extent = end if literal(minimum) == 0 else difference(end, minimum)
    for value in (minimum, extent):
        if not tir.is_integer_type(value.type):
            raise ScriptTypeError(f"the bound of a loop is an integer, got {value.dtype}")
    dtype = widest(minimum.type, minimum.type, extent.type)
    return Range(cast_expr(dtype, minimum), cast_expr(dtype, extent))


def widest(code: Attribute, *types: Attribute) -> Attribute:
    """The signedness of `code` with the most bits of the types."""
    bits = builtins.max(tir.bits_of_lane(each) for each in types)
    return as_type(f"{'uint' if tir.is_uint(code) else 'int'}{bits}")


class LoopConstructor:
    """What makes loops of one kind: over `[start, stop)`, or over `[0, start)`."""

    def __init__(self, kind: tir.ForKind) -> None:
        self.kind = kind

    def __call__(
        self,
        start: ExprLike,
        stop: ExprLike | None = None,
        *,
        annotations: Annotations | None = None,
    ) -> frames.ForFrame:
        """A loop; binds its variable."""
        dom = _loop_range(start, stop)
        return frames.ForFrame(dom, self.kind, annotations=annotations)


serial = LoopConstructor(tir.ForKind.SERIAL)
parallel = LoopConstructor(tir.ForKind.PARALLEL)
"""Iterations may run at the same time."""
vectorized = LoopConstructor(tir.ForKind.VECTORIZED)
"""Iterations are lanes of vectors."""
unroll = LoopConstructor(tir.ForKind.UNROLLED)
"""To be unrolled."""


def thread_binding(
    start: ExprLike,
    stop: ExprLike | None = None,
    thread: str | None = None,
    *,
    annotations: Annotations | None = None,
) -> frames.ForFrame:
    """A loop on a thread axis, `T.thread_binding(32, thread="threadIdx.x")`."""
    if thread is None:
        if not isinstance(stop, str):
            raise ScriptTypeError('T.thread_binding needs thread=, as in "threadIdx.x"')
        stop, thread = None, stop
    check_tag(thread)
    return frames.ForFrame(
        _loop_range(start, stop),
        tir.ForKind.THREAD_BINDING,
        thread_tag=thread,
        annotations=annotations,
    )


def check_tag(tag: str) -> None:
    """Raise ScriptTypeError unless a thread axis has this tag."""
    try:
        tir.ThreadAxis.parse(tag)
    except ValueError as error:
        raise ScriptTypeError(str(error)) from None


def grid(*extents: ExprLike | tuple[ExprLike, ExprLike]) -> frames.GridFrame:
    """Nested serial loops; binds a tuple of their variables."""
    return frames.GridFrame(
        [
            _loop_range(*extent)
            if isinstance(extent, tuple)
            else _loop_range(extent, None)
            for extent in extents
        ]
    )


def env_thread(thread_tag: str, dtype: DtypeLike = "int32") -> Var:
    """A thread axis's variable, to be launched by `T.launch_thread`, also repeatedly."""
    check_tag(thread_tag)
    return Var("", dtype_of(dtype), thread_tag=thread_tag)


def iter_var(v: Var, dom: Range | None, iter_type: str, thread_tag: str = "") -> Var:
    """The variable of a thread axis, for `T.attr(..., "thread_extent", n)`."""
    if iter_type != "ThreadIndex":
        raise ScriptTypeError(
            f"T.iter_var: only thread axes, of type ThreadIndex, stand alone; got "
            f"{iter_type}; in a block use T.axis"
        )
    check_tag(thread_tag)
    v.thread_tag = thread_tag
    return v


def iter_var_node(
    dom: Range | None, var: Var, iter_type: str, thread_tag: str = ""
) -> Var:
    """`T.IterVar`, which has the operands of `T.iter_var` in another order."""
    return iter_var(var, dom, iter_type, thread_tag)


def launch_thread(thread: str | Var, extent: ExprLike) -> frames.LaunchThreadFrame:
    """One thread axis of `extent` threads; binds its variable."""
    size = convert(extent)
    if isinstance(thread, str):
        check_tag(thread)
        thread = Var("", size.type, thread_tag=thread)
    tag = thread.thread_tag
    if tag is None:
        raise ScriptTypeError(
            "T.launch_thread: takes a tag or a variable of T.env_thread, got the "
            f"variable {thread.name}"
        )
    return _launch(thread, tag, size, is_virtual=tag == "vthread")


def _launch(
    var: Var, tag: str, extent: Expr, *, is_virtual: bool
) -> frames.LaunchThreadFrame:
    return frames.LaunchThreadFrame(
        var, tag, cast_expr(var.type, extent), virtual=is_virtual
    )


_AXIS_KEYS = ("thread_extent", "virtual_thread")


def _text(what: str, value: object) -> str:
    """A string, which a script that is read may not have given."""
    if not isinstance(value, str):
        raise ScriptTypeError(f"{what} must be a string, got {value!r}")
    return value


def attr(
    node: object, key: object, value: ExprLike
) -> frames.AttrFrame | frames.LaunchThreadFrame:
    """An annotation around the rest of the scope (docs/spec/tir-ir.md §11).

    `node` is a variable, a buffer, a reducer, a target, a list of buffers, or a Python
    value. Of the variable of a thread axis, `thread_extent` and `virtual_thread` launch.
    """
    setting = convert(value)
    key = _text("T.attr: the key", key)
    if key not in _AXIS_KEYS:
        return frames.AttrFrame(node, key, setting)
    if not isinstance(node, Var) or node.thread_tag is None:
        raise ScriptTypeError(
            f'T.attr: the node of "{key}" is made by T.env_thread or T.iter_var'
        )
    tag = node.thread_tag
    return _launch(node, tag, setting, is_virtual=key == "virtual_thread")


# ---- blocks ----


def block(name: str = "", no_realize: bool = False) -> frames.BlockFrame:
    """A block; `T.axis`, `T.reads` and others describe it."""
    if no_realize:
        raise ScriptTypeError("T.block(no_realize=True): no function holds a block alone")
    return frames.BlockFrame(_text("T.block: the name", name))


def init() -> frames.InitFrame:
    """What the block runs first, where its reduction variables are at their minimum."""
    return frames.InitFrame()


def _block(what: str) -> frames.BlockFrame:
    return IRBuilder.current().enclosing(frames.BlockFrame, what)


def where(predicate: ExprLike) -> None:
    """The condition under which an instance of the block runs."""
    value = const(bool(predicate)) if isinstance(predicate, int) else predicate
    _block("T.where").set_predicate(convert(value))


def _regions(given: Sequence[object]) -> list[BufferRegion]:
    found: list[BufferRegion] = []
    for value in given:
        if isinstance(value, list | tuple):
            found += _regions(cast("Sequence[object]", value))
        else:
            found.append(as_region(value))
    return found


def reads(*regions: object) -> None:
    """The regions that one instance may read, `T.reads(A[i, 0:16], B[i])`, or a list."""
    _block("T.reads").set_reads(_regions(regions))


def writes(*regions: object) -> None:
    """The regions that one instance may write."""
    _block("T.writes").set_writes(_regions(regions))


def block_attr(annotations: Annotations) -> None:
    """The annotations of the block."""
    _block("T.block_attr").set_annotations(annotations)


Domain: TypeAlias = "Range | ExprLike | Sequence[ExprLike]"
"""A range, an extent from 0 on, or `(begin, end)`."""


class Axis:
    """`T.axis`: the iteration variables of a block."""

    def spatial(self, dom: Domain, binding: ExprLike, dtype: DtypeLike = "int32") -> Var:
        """A variable whose instances do not depend on each other."""
        return _axis(tir.IterKind.SPATIAL, dom, binding, dtype)

    def reduce(self, dom: Domain, binding: ExprLike, dtype: DtypeLike = "int32") -> Var:
        """A variable over which a commutative reduction runs."""
        return _axis(tir.IterKind.REDUCE, dom, binding, dtype)

    def scan(self, dom: Domain, binding: ExprLike, dtype: DtypeLike = "int32") -> Var:
        """A variable whose instances run in order."""
        return _axis(tir.IterKind.SCAN, dom, binding, dtype)

    def opaque(self, dom: Domain, binding: ExprLike, dtype: DtypeLike = "int32") -> Var:
        """A variable of which nothing is known."""
        return _axis(tir.IterKind.OPAQUE, dom, binding, dtype)

    S = spatial
    R = reduce

    # Any, since the value is a variable for one binding and a list for several.
    def remap(self, kinds: str, bindings: Sequence[Var], dtype: object = None) -> Any:
        """Variables bound to loop variables, with the domains of the loops.

        `kinds` has one letter, `S` or `R`, for each. A list, or the variable itself if
        there is one.
        """
        builder, frame = IRBuilder.current(), _block("T.axis.remap")
        if len(kinds) != len(bindings):
            raise ScriptTypeError(
                f"T.axis.remap: {len(kinds)} kinds for {len(bindings)} bindings"
            )
        made: list[Var] = []
        for kind, binding in zip(kinds, bindings, strict=True):
            if kind not in "SR":
                raise ScriptTypeError(f"T.axis.remap: a kind is S or R, got {kind}")
            loop = builder.loop_of(binding)
            if loop is None:
                raise ScriptTypeError(
                    "T.axis.remap: binds loop variables only; use T.axis.spatial or "
                    "T.axis.reduce for other values"
                )
            dom = Range(loop.min, loop.extent)
            made.append(frame.add_iter(dom, tir.IterKind(kind), binding))
        return made[0] if len(made) == 1 else made


axis = Axis()


def _axis(kind: tir.IterKind, dom: Domain, binding: ExprLike, dtype: DtypeLike) -> Var:
    frame = _block("T.axis")
    given = _domain(dom)
    index = widest(i32, dtype_of(dtype), given.min.type, given.extent.type)
    bound = Range(cast_expr(index, given.min), cast_expr(index, given.extent))
    return frame.add_iter(bound, kind, cast_expr(index, convert(binding)))


def _domain(dom: Domain) -> Range:
    if isinstance(dom, Range):
        return dom
    if isinstance(dom, tuple | list):
        bounds = cast("Sequence[ExprLike]", dom)
        if len(bounds) != 2:
            raise ScriptTypeError("T.axis: a domain is an extent or (begin, end)")
        return make_range(*bounds)
    return make_range(cast("ExprLike", dom))


# ---- statements ----


def evaluate(value: ExprLike | BufferRegion) -> None:
    """Evaluate an expression for its effect; of `T.ret` it is the return."""
    operand = convert(value)
    if isinstance(operand, Call) and operand.name == "ret":
        (returned,) = operand.args
        assert isinstance(returned, Expr)
        _emit(Return(returned))
    else:
        _emit(Evaluate(operand))


def _emit(stmt: Stmt) -> None:
    IRBuilder.current().emit(stmt)


def buffer_store(
    buffer: Buffer,
    value: ExprLike,
    indices: object,
    predicate: ExprLike | None = None,
) -> None:
    """Store `value`, converted to the dtype of the buffer, at `indices`."""
    _emit(buffer.store(value, indices, predicate))


def prefetch(buffer: Buffer, bounds: Sequence[Range | Sequence[ExprLike]]) -> None:
    """Ask for a box of a buffer to be loaded soon."""
    ranges = [_domain(bound) for bound in bounds]
    _emit(Prefetch(BufferRegion(buffer, tuple(ranges))))


def let_stmt(
    value: ExprLike,
    type_annotation: Dtype | Var | None = None,
    *,
    var: Var | None = None,
) -> frames.LetFrame:
    """A binding with a body, `T.LetStmt`; binds the variable, or `var` where given."""
    dtype = None
    if type_annotation is not None:
        dtype = type_annotation.type
    return frames.LetFrame(value, var, dtype)


def assert_(condition: ExprLike, message: ExprLike) -> frames.AssertFrame:
    """A condition that holds from here on, `T.Assert`."""
    return frames.AssertFrame(condition, message)


def while_(condition: ExprLike) -> frames.WhileFrame:
    """A loop that runs while a condition holds, `T.While`."""
    return frames.WhileFrame(condition)


def if_(condition: ExprLike) -> frames.IfFrame:
    """A conditional statement, `T.If`, with `T.Then` and `T.Else` in it."""
    return frames.IfFrame(condition)


def then() -> frames.ThenFrame:
    """`T.Then`."""
    return frames.ThenFrame()


def else_() -> frames.ElseFrame:
    """`T.Else`."""
    return frames.ElseFrame()


@dataclass(frozen=True)
class MetaVar(Generic[ValueT]):
    """A value that a script names without binding a variable."""

    value: ValueT


def meta_var(value: ValueT) -> MetaVar[ValueT]:
    """Keep a script from binding a variable: `x = T.meta_var(i * 4)` names the value."""
    return MetaVar(value)
