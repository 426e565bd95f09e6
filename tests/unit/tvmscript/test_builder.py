"""The builder, its frames, and the namespace T."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable
from operator import attrgetter
from typing import cast

import numpy as np
import pytest
from support import paths
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tir import INTRINSICS
from xdsl_tvm.tvmscript import tir as T
from xdsl_tvm.tvmscript.builder import BuilderError, IRBuilder, named
from xdsl_tvm.tvmscript.frames import IfFrame
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes import statements as st
from xdsl_tvm.tvmscript.nodes.dtypes import Dtype
from xdsl_tvm.tvmscript.nodes.expressions import Expr, ScriptTypeError, Var

ROOT = paths.ROOT


def statements(body: Callable[[], object]) -> list[st.Stmt]:
    """The statements that `body` builds in a function."""
    with IRBuilder() as builder, T.prim_func():
        body()
    return builder.nodes().functions["main"].body


def error(body: Callable[[], object]) -> str:
    with pytest.raises(ScriptTypeError) as caught:
        statements(body)
    return str(caught.value)


# ---- the builder ----


def test_one_builder_is_current_per_thread() -> None:
    found: list[bool] = []
    with IRBuilder() as outer:
        with IRBuilder() as inner:
            assert IRBuilder.current() is inner
        assert IRBuilder.current() is outer
        thread = threading.Thread(target=lambda: found.append(IRBuilder.is_active()))
        thread.start()
        thread.join()
    assert found == [False]
    assert not IRBuilder.is_active()
    with pytest.raises(BuilderError, match="no IRBuilder is entered"):
        T.evaluate(1)
    with outer, pytest.raises(BuilderError, match="entered already"):
        outer.__enter__()


def test_statements_stand_in_functions() -> None:
    with IRBuilder(), pytest.raises(BuilderError, match="outside of a function"):
        T.evaluate(1)
    with IRBuilder(), pytest.raises(BuilderError, match=r"T\.axis must be directly"):
        T.axis.spatial(4, 0)


def test_an_open_frame_is_an_error() -> None:
    builder = IRBuilder()
    frame = T.prim_func()
    with builder:
        frame.enter()
        with pytest.raises(BuilderError, match="still open"):
            builder.nodes()
        loop = T.serial(4)
        loop.enter()
        with pytest.raises(BuilderError, match="cannot be closed before"):
            frame.exit()
        loop.exit()
        with pytest.raises(BuilderError, match="opened twice"):
            loop.enter()
        frame.exit()
    with pytest.raises(BuilderError, match="still open"), IRBuilder():
        T.prim_func().enter()


def test_an_exception_closes_frames_and_adds_nothing() -> None:
    with IRBuilder() as builder, T.prim_func():
        with contextlib.suppress(ZeroDivisionError), T.serial(4), T.attr(0, "x", 1):
            T.serial(2).enter()
            raise ZeroDivisionError
        assert len(builder.frames) == 1
        T.evaluate(1)
    (stmt,) = builder.nodes().functions["main"].body
    assert isinstance(stmt, st.Evaluate)


def test_positions_are_those_of_the_script() -> None:
    with IRBuilder() as builder, T.prim_func():
        builder.position = (3, 8)
        loop = T.serial(4)
        loop.enter()
        builder.position = (4, 12)
        T.evaluate(1)
        loop.exit()
        assert builder.position == (4, 12)
    (stmt,) = builder.nodes().functions["main"].body
    assert isinstance(stmt, st.For)
    assert (stmt.line, stmt.column) == (3, 8)
    assert (stmt.body[0].line, stmt.body[0].column) == (4, 12)


def test_names() -> None:
    with IRBuilder() as builder, T.prim_func():
        A = T.match_buffer(T.arg("a", T.handle), (4, 4), strides=["s", "t"])
        builder.name_value("A", A)
        assert (A.name, A.data.name) == ("A", "A")
        assert [stride.name for stride in A.strides if isinstance(stride, Var)] == [
            "s",
            "t",
        ]
        B = T.Buffer((4,), data=A.data)
        builder.name_value("B", B)
        assert (B.name, A.data.name) == ("B", "A")
        pair = T.int32(), [T.int32()]
        builder.name_value("x", pair)
        assert (pair[0].name, pair[1][0].name) == ("x_0", "x_1_0")
        builder.name_value("ignored", 3)
        with named("i", T.serial(4)) as i:
            assert i.name == "i"
        assert builder.let("y", 2).name == "y"
    strided = T.Buffer((4,), strides=[T.int32()])
    with IRBuilder() as builder:
        builder.name_value("C", strided)
    (stride,) = strided.strides
    assert isinstance(stride, Var)
    assert stride.name == "C_s0"


def test_what_is_not_well_formed() -> None:
    def function(checked: bool) -> IRBuilder:
        with IRBuilder() as builder, T.prim_func(check_well_formed=checked):
            A = T.arg("A", T.Buffer((16,)))
            with T.serial(16) as i, T.block("b"):
                T.axis.spatial(16, i)
                T.reads()
                T.writes(A[0:16])
                T.buffer_store(A, 1.0, [i])
        return builder

    function(False).get()
    with pytest.raises(VerifyException, match="BlockVarAccess"):
        function(True).get()


# ---- frames ----


def test_a_concise_frame_holds_the_rest() -> None:
    def body() -> None:
        frame = T.attr(0, "x", 1)
        frame.enter(concise=True)
        memory = T.allocate([4], "float32")
        pointer = memory.enter(concise=True)
        T.evaluate(pointer)
        memory.exit()
        frame.exit()

    (attr,) = statements(body)
    assert isinstance(attr, st.AttrStmt)
    assert [type(stmt) for stmt in attr.body] == [st.Allocate, st.Evaluate]


def test_what_needs_a_body() -> None:
    assert T.attr(0, "x", 1).is_concise_capable
    assert not T.serial(4).is_concise_capable
    assert "needs a body" in error(lambda: T.serial(4).enter(concise=True))


def test_bindings_followed_by_others_are_scoped() -> None:
    def body() -> None:
        with T.LetStmt(T.int32(1)), T.Assert(T.bool(False), "no"):
            T.evaluate(0)
        with T.decl_buffer((4,)):
            pass

    scope, *rest = statements(body)
    assert isinstance(scope, st.Scope)
    assert [type(stmt) for stmt in scope.body] == [st.LetStmt, st.AssertStmt]
    assert [type(stmt) for stmt in rest] == [st.Allocate, st.DeclBuffer]


def test_conditions() -> None:
    def no_then() -> None:
        with T.If(T.bool(True)):
            pass

    def outside() -> None:
        with T.If(T.bool(True)):
            T.evaluate(1)

    def twice() -> None:
        with T.If(T.bool(True)):
            with T.Then():
                pass
            with T.Then():
                pass

    def only_else() -> None:
        with T.If(T.bool(True)), T.Else():
            pass

    assert "has no T.Then" in error(no_then)
    assert "are in T.Then or T.Else" in error(outside)
    assert "two T.Then" in error(twice)
    assert "after T.Then" in error(only_else)
    vector = T.broadcast(1, 4)
    assert "must be a scalar bool, got int32x4" in error(lambda: IfFrame(vector))
    assert "cannot be a constant" in error(lambda: T.While(T.bool(True)).enter())


def test_a_block_says_everything_once() -> None:
    def twice(what: Callable[[], object]) -> Callable[[], None]:
        def body() -> None:
            with T.block():
                what()
                what()

        return body

    A = T.Buffer((4,))
    for what, words in (
        (lambda: T.where(True), "T.where is given twice"),
        (lambda: T.reads(A[0]), "T.reads is given twice"),
        (lambda: T.writes([A[0:2]]), "T.writes is given twice"),
        (lambda: T.block_attr({}), "T.block_attr is given twice"),
    ):
        assert words in error(twice(what))

    def init() -> None:
        with T.init():
            pass

    assert "T.init is given twice" in error(twice(init))
    assert "must be directly in T.block" in error(lambda: T.where(True))
    assert "no function holds" in error(lambda: T.block(no_realize=True))


def test_remap_binds_loops() -> None:
    assert "binds loop variables only" in error(
        lambda: _in_loop(lambda i: T.axis.remap("S", [T.int32()]))
    )
    assert "1 kinds for 2" in error(lambda: _in_loop(lambda i: T.axis.remap("S", [i, i])))
    assert "a kind is S or R" in error(lambda: _in_loop(lambda i: T.axis.remap("X", [i])))


def _in_loop(body: Callable[[Var], object]) -> None:
    with T.serial(2, 8) as i, T.block():
        body(i)


def test_remap_takes_the_domain_of_the_loop() -> None:
    found: list[object] = []
    (loop,) = statements(lambda: _in_loop(lambda i: found.append(T.axis.remap("R", [i]))))
    assert isinstance(loop, st.For)
    (block,) = loop.body
    assert isinstance(block, st.Block)
    (axis,) = block.iters
    assert found[0] is axis.var
    assert [ex.literal(axis.dom.min), ex.literal(axis.dom.extent)] == [2, 6]


def test_functions_have_one_of_each() -> None:
    def attr_twice() -> None:
        T.func_attr({"a": 1})
        T.func_attr({"a": 2})

    assert "given twice" in error(attr_twice)

    def matched_twice() -> None:
        a = T.arg("a", T.handle)
        T.match_buffer(a, (4,))
        T.match_buffer(a, (4,))

    assert "a is matched twice" in error(matched_twice)
    assert "no parameter" in error(lambda: T.match_buffer(T.handle(), (4,)))
    assert "needs a shape" in error(lambda: T.match_buffer(T.arg("a", T.handle)))
    assert "cannot be in T.prim_func" in error(lambda: T.prim_func().enter())
    with IRBuilder(), T.prim_func(private=True), pytest.raises(BuilderError):
        T.func_attr({"global_symbol": "f"})
    with IRBuilder():
        first, second = T.prim_func(), T.prim_func()
        for frame in (first, second):
            frame.enter()
            if frame is first:
                frame.exit()
        with pytest.raises(BuilderError, match="has a function main already"):
            second.exit()


def test_parameters() -> None:
    def body() -> None:
        x = T.arg("x", T.int8)
        h = T.arg("h", T.handle)
        p = T.arg("p", T.handle("float16", "shared"))
        A = T.arg("A", T.Buffer[(4, "n"), "int8"])
        B = T.arg("B", T.Buffer(("n",)))
        assert (x.dtype, h.dtype, str(p.type)) == (
            "int8",
            "handle",
            '!tir.ptr<f16, "shared">',
        )
        assert A.shape[1] is B.shape[0]

    statements(body)
    assert "parameter x: expected a dtype" in error(lambda: T.arg("x", cast(Var, 3)))


# ---- launches ----


def test_launches_of_one_axis_agree() -> None:
    def body(second: int) -> Callable[[], None]:
        def launches() -> None:
            tx = T.env_thread("threadIdx.x")
            for extent in (32, second):
                with T.launch_thread(tx, extent):
                    T.evaluate(tx)

        return launches

    assert len(statements(body(32))) == 2
    assert "extent 32 at its first launch, 16 here" in error(body(16))
    assert "unknown thread axis 'threadIdx.w'" in error(
        lambda: T.launch_thread("threadIdx.w", 4)
    )
    assert "takes a tag or a variable" in error(lambda: T.launch_thread(T.int32(), 4))
    assert "made by T.env_thread" in error(lambda: T.attr(T.int32(), "thread_extent", 4))
    assert "needs thread=" in error(lambda: T.thread_binding(4))
    assert "only thread axes" in error(lambda: T.iter_var(T.int32(), None, "DataPar"))


def test_the_bare_tag_is_virtual() -> None:
    def body() -> None:
        with T.launch_thread("vthread", 2), T.launch_thread("vthread.x", 2):
            pass
        axis = T.IterVar(None, T.int32(), "ThreadIndex", "vthread.y")
        with T.attr(axis, "virtual_thread", 2):
            pass

    outer, attr = statements(body)
    assert isinstance(outer, st.LaunchThread)
    assert isinstance(attr, st.LaunchThread)
    (inner,) = outer.body
    assert isinstance(inner, st.LaunchThread)
    assert [outer.virtual, inner.virtual, attr.virtual] == [True, False, True]


# ---- expressions ----


def number(value: Expr) -> object:
    return ex.literal(value), value.dtype


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (T.int64(5), (5, "int64")),
        (T.uint8(255), (255, "uint8")),
        (T.bool(3), (1, "bool")),
        (T.int32(2.7), (2, "int32")),
        (T.float16(1.5), (1.5, "float16")),
        (T.float32("-inf"), (-np.inf, "float32")),
        (T.max_value("int8"), (127, "int8")),
        (T.min_value("int8"), (-128, "int8")),
        (T.max_value("bool"), (1, "bool")),
        (T.min_value("float16"), (-65504.0, "float16")),
        (T.max_value("float8_e4m3fn"), (448.0, "float8_e4m3fn")),
        (T.infinity("float64"), (np.inf, "float64")),
        (T.abs(-3), (3, "int32")),
        (T.abs(T.float32(-1.5)), (1.5, "float32")),
        (T.abs(T.uint8(4)), (4, "uint8")),
        (T.floor(T.float32(2.5)), (2.0, "float32")),
        (T.round(T.float32(2.5)), (2.0, "float32")),
        (T.nearbyint(T.float32(3.5)), (4.0, "float32")),
        (T.ceil(7), (7, "int32")),
        (T.trunc(T.float32(-2.5)), (-2.0, "float32")),
        (T.isnan(3), (0, "bool")),
        (T.isnan(T.float32("nan")), (1, "bool")),
        (T.isinf(T.float32("inf")), (1, "bool")),
        (T.isfinite(7), (1, "bool")),
        (T.isfinite(T.float32(1)), (1, "bool")),
        (T.min(3, 4), (3, "int32")),
        (T.max(3, T.int64(4)), (4, "int64")),
        (T.ceildiv(7, 2), (4, "int32")),
        (T.truncdiv(-7, 2), (-3, "int32")),
        (T.floordiv(-7, 2), (-4, "int32")),
        (T.truncmod(-7, 2), (-1, "int32")),
        (T.cast(3, "float32"), (3.0, "float32")),
        (T.if_then_else(T.bool(True), 1, 2), (1, "int32")),
        (T.likely(T.bool(True)), (1, "bool")),
        (T.reinterpret("int32", T.int32(3)), (3, "int32")),
        (T.IntImm("int8", -3), (-3, "int8")),
        (T.FloatImm("bfloat16", 2), (2.0, "bfloat16")),
        (T.Range(2, 8).extent, (6, "int32")),
        (T.Range(8).extent, (8, "int32")),
    ],
)
def test_constants_fold(value: Expr, expected: object) -> None:
    assert number(value) == expected


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: T.int8(300), "300 is out of range for int8"),
        (lambda: T.uint8(-1), "-1 is out of range for uint8"),
        (lambda: T.float16(1e6), "out of range for float16"),
        (lambda: T.float32("big"), 'a string is "inf"'),
        (lambda: T.int32("inf"), "of a float dtype"),
        (lambda: T.void(1), "no values of dtype void"),
        (lambda: T.handle(T.int32(1)), "use T.reinterpret"),
        (lambda: T.handle("float32", "sharde"), "unknown storage scope 'sharde'"),
        (lambda: T.int32() / 2, "ambiguous"),
        (lambda: T.Add(T.int32(), cast(Var, T.Buffer((4,)))), "got a Buffer"),
        (lambda: T.Add(T.int32(), T.int64()), "one dtype, got int32 and int64"),
        (lambda: T.EQ(T.int32(), T.int64()), "one dtype, got int32 and int64"),
        (lambda: T.And(T.int32(), T.int32()), "must be a bool"),
        (lambda: T.Select(T.bool(), 1, 2.0), "one dtype"),
        (lambda: T.Cast("int32x2", 1), "differ in lanes"),
        (lambda: T.Ramp(0, 1, T.int32()), "number of lanes"),
        (lambda: T.Ramp(0, 1, -1), "number of lanes"),
        (lambda: T.pow(2, 3), "takes floats"),
        (lambda: T.isnan(T.float8_e5m2()), "takes float16, bfloat16, float32 or"),
        (lambda: T.infinity("int8"), "no infinity"),
        (lambda: T.max_value("handle"), "no limits"),
        (lambda: T.comm_reducer(abs, [T.int32(0)]), "takes 2 parameters"),
        (lambda: T.Let(1, {T.int64(): 1}), "for the variable"),
        (lambda: T.address_of(T.int32()), "takes an element"),
        (lambda: T.reinterpret(1), "takes a dtype and a value"),
        (lambda: T.exp(), "takes 1 operand"),
        (lambda: T.exp(1.0, y=3), "has no operand y; its operands are x"),
        (lambda: T.call_extern(1), "a dtype is expected"),
        (lambda: T.Call("int32", "tir.expp", [1]), "did you mean 'exp'"),
        (lambda: T.target("cudda"), "cudda"),
        (lambda: T.Buffer((4,), data=T.handle()), "must be a typed pointer"),
        (lambda: T.Buffer((4,), data=cast(Var, T.int32(1))), "is a pointer variable"),
        (lambda: T.Buffer((4, 4), strides=[1]), "but 1 strides"),
        (lambda: T.Buffer((2.5,)), "the extent must be a scalar integer"),
        (lambda: T.Buffer((4,), buffer_type="odd"), "unknown buffer_type 'odd'"),
        (lambda: T.Buffer((4,))[0, 1], "has 1 dimensions, indexed by 2"),
        (lambda: T.Buffer((4,))[1.5], "indexed by a value of type float32"),
        (lambda: T.Buffer((4,), "int8x2").vload([0], "int8x3"), "cannot be accessed as"),
        (lambda: T.Buffer((4,)).access_ptr("x"), "'r', 'w' or 'rw', got 'x'"),
        (lambda: T.alloc_buffer((4,), data=T.handle("int8")), "use T.decl_buffer"),
        (lambda: T.match_buffer(T.handle(), (4,), data=T.handle("int8")), "leave out"),
        (lambda: T.allocate_const([1, 2], "int8", [3]), "2 elements for the extents"),
        (lambda: T.serial(1.5), "the bound of a loop is an integer"),
        (lambda: T.bool() + 1 if T.bool() else 2, "has no truth value"),
    ],
)
def test_errors_of_expressions(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ScriptTypeError) as caught:
        make()
    assert words in str(caught.value)


def test_stores_convert() -> None:
    A = T.Buffer((8,), "int32")
    store = A.store(2.5, [0])
    assert number(store.value) == (2, "int32")
    assert isinstance(A.store(T.int8(), [0]).value, ex.Cast)
    with pytest.raises(ScriptTypeError, match="5000000000 is out of range for int32"):
        A.store(5000000000, [0])
    with pytest.raises(ScriptTypeError, match="takes int32x4"):
        A.store(1, [slice(0, 4)])
    vector = A.vstore([4], T.Broadcast(1, 4), T.Broadcast(T.bool(True), 4))
    (index,) = vector.indices
    assert index.dtype == "int32x4"
    assert vector.predicate is not None


def test_slices() -> None:
    A = T.Buffer((16, 16))
    i = T.int32()
    region = A[i * 4 : i * 4 + 4, 2]
    assert isinstance(region, st.BufferRegion)
    assert [number(each.extent) for each in region.region] == [(4, "int32"), (1, "int32")]
    whole = A[:, 1:]
    assert isinstance(whole, st.BufferRegion)
    assert [ex.literal(each.extent) for each in whole.region] == [16, 15]
    strided = A[0, 0:8:2]
    assert isinstance(strided, ex.BufferLoad)
    assert strided.dtype == "float32x4"
    assert A.load(0, slice(3, 4)).dtype == "float32"
    assert ex.convert(A[0, 0:4]).dtype == "float32x4"
    point = st.BufferRegion(A, A.region(0, i).region)
    assert ex.convert(point).dtype == "float32"


def test_addresses() -> None:
    A = T.Buffer((4, 8), strides=[16, 1], elem_offset=5)
    (flat,) = A.offset_of([2, 3])
    assert number(flat) == (40, "int32")
    assert [
        number(each)
        for each in T.Buffer((2, 3, 4), axis_separators=[1]).offset_of([1, 2, 3])
    ] == [(1, "int32"), (11, "int32")]
    pointer = A.access_ptr("w", content_lanes=4)
    assert isinstance(pointer, ex.Call)
    annotation, data, offset, extent, mask = pointer.args
    assert isinstance(annotation, ex.Call)
    assert annotation.dtype == "float32x4"
    assert data is A.data
    assert [ex.literal(each) for each in (offset, extent, mask) if isinstance(each, Expr)]
    assert (A.dtype, A.scope()) == ("float32", "global")


def test_packed_calls_take_buffers_as_arrays() -> None:
    A = T.Buffer((4, 8), "int8", strides=[16, 1])
    call = T.call_packed("f", A, 3)
    assert isinstance(call, ex.Call)
    name, array, three = call.args
    assert isinstance(name, ex.StringImm)
    assert isinstance(array, ex.Call)
    assert array.name == "tvm_stack_make_array"
    shape, strides = array.args[1:3]
    assert isinstance(shape, ex.Call)
    assert isinstance(strides, ex.Call)
    assert [len(shape.args), len(strides.args)] == [2, 2]
    assert isinstance(three, Expr)
    assert T.call_cpacked("f", A).dtype == "int32"


def test_reducers_and_index_maps() -> None:
    def argmax(x: Expr, i: Expr, y: Expr, j: Expr) -> tuple[Expr, Expr]:
        return T.max(x, y), T.Select(x > y, i, j)

    reducer = T.comm_reducer(argmax, [T.min_value("float32"), T.int32(-1)])
    assert [len(reducer.lhs), len(reducer.rhs), len(reducer.result)] == [2, 2, 2]
    assert [var.name for var in reducer.rhs] == ["y", "j"]

    def split(i: Expr, j: Expr) -> tuple[Expr, Expr, Expr]:
        return i // 4, j, i % 4

    def join(a: Expr, b: Expr, c: Expr) -> tuple[Expr, Expr]:
        return a * 4 + c, b

    mapping = T.index_map(split, inverse_index_map=join)
    assert len(mapping.final_indices) == 3
    assert mapping.inverse is not None
    assert {var.dtype for var in mapping.initial_indices} == {"int64"}


# ---- the namespace ----


def test_every_builtin_is_there_under_all_its_names() -> None:
    known = set(dir(T))
    for row in INTRINSICS.values():
        assert {row.name, *row.script_names} <= known
        assert all(callable(getattr(T, name)) for name in (row.name, *row.script_names))


def test_every_dtype_is_there() -> None:
    for base in ("int8", "uint16", "float16", "float8_e5m2", "bfloat16"):
        for lanes in ("", "x4", "x64"):
            dtype = getattr(T, base + lanes)
            assert isinstance(dtype, Dtype)
            assert dtype().dtype == base + lanes
    assert T.int32x4(1).dtype == "int32x4"
    assert T.handle().dtype == "handle"
    assert repr(T.float32) == "T.float32"


def test_the_vocabulary_of_v0_20() -> None:
    text = """
        Add Allocate And Assert Broadcast Buffer BufferLoad Call Cast CommReducer Div EQ
        Else FloatImm FloorDiv FloorMod GE GT If IntImm IterVar LE LT Let LetStmt Max Min
        Mod Mul NE Not Or Ptr Ramp Range Select Shuffle SizeVar StringImm Sub Then Var
        While abs address_of alloc_buffer allocate allocate_const arg attr axis
        bitwise_and bitwise_not bitwise_or bitwise_xor block block_attr boolean broadcast
        buffer buffer_decl buffer_store buffer_var call_cpacked call_extern call_intrin
        call_packed cast ceil ceildiv comm_reducer decl_buffer env_thread evaluate floor
        floordiv floormod fmod func_attr func_name func_ret grid if_then_else index_map
        infinity init isfinite isinf isnan iter_var launch_thread let likely macro
        match_buffer max max_value meta_var min min_value nearbyint parallel pow prefetch
        prim_func ptr ramp reads realize reinterpret ret round sblock sblock_attr serial
        shift_left shift_right target thread_binding trunc truncdiv truncmod
        tvm_access_ptr type_annotation undef unroll var vectorized vscale void where
        writes"""
    missing = [name for name in text.split() if name not in dir(T) and name != "Allocate"]
    assert missing == []


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match=r"no 'serail'.*did you mean 'serial'"):
        attrgetter("serail")(T)
    with pytest.raises(AttributeError, match=r"T\.Reduce is not supported"):
        attrgetter("Reduce")(T)
    assert not hasattr(T, "_private")


def test_dtypes_of_builtins() -> None:
    x, i = T.float16(), T.int32()
    assert T.exp(x).dtype == "float16"
    assert T.clz(T.int64()).dtype == "int32"
    assert T.call_extern("float32x4", "f", i).dtype == "float32x4"
    assert T.call_extern("f", i, dtype="int8").dtype == "int8"
    assert T.call_packed("f", i).dtype == "int32"
    assert T.tvm_struct_get(T.handle(), 0, 1, "handle").dtype == "handle"
    assert T.call_intrin("float16", "tir.sqrt", x).dtype == "float16"
    assert T.undef(dtype="float32").dtype == "int32"
    assert T.tvm_storage_sync("shared", dtype="").dtype == "int32"
    assert T.ptx_wait_group(0).dtype == "void"
    shape = T.make_filled_simdgroup_matrix(T.handle("float32"), 0, 1.0)
    assert isinstance(shape, ex.Call)
    assert [ex.literal(arg) for arg in shape.args[3:] if isinstance(arg, Expr)] == [8, 8]
    masked = T.ptx_cp_async("int8", i, 0, i, 0, 16, predicate=i)
    assert isinstance(masked, ex.Call)
    assert len(masked.args) == 6


# ---- the page ----


def test_the_examples_of_the_page_run() -> None:
    text = (ROOT / "docs" / "builder.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 5
    names: dict[str, object] = {}
    for block in blocks:
        if "compile(" in block:
            pytest.importorskip("llvmlite")
        exec(compile(block, "docs/builder.md", "exec"), names)
