"""What the trees of scripts become as ops of the `tir` dialect."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from support.ir import parse
from support.tir_programs import random_module
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.dialects import tir as ops
from xdsl_tvm.dialects.tir.module import global_infos, module_attributes
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.tvmscript import tir as T
from xdsl_tvm.tvmscript.builder import IRBuilder, named
from xdsl_tvm.tvmscript.nodes.expressions import Expr, GlobalVar, ScriptTypeError, Var
from xdsl_tvm.tvmscript.nodes.statements import (
    AllocateConst,
    AttrStmt,
    Buffer,
    BufferStore,
    Evaluate,
    For,
    IRModule,
    LetStmt,
    PrimFunc,
    Scope,
    Stmt,
)
from xdsl_tvm.tvmscript.ssa.from_ssa import module_script
from xdsl_tvm.tvmscript.ssa.to_ssa import StatementError, function_to_ssa, module_to_ssa


@dataclass
class Params:
    """The parameters of the functions below."""

    A: Buffer
    B: Buffer
    n: Var
    m: Var
    p: Var


COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "6"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
SIGNATURE = """\
%a: !tir.handle, %b: !tir.handle, %n: i32, %m: i64, %p: !tir.ptr<f32>"""
BUFFERS = """\
  %A = tir.match_buffer "A" %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>"""


def build(body: Callable[[Params], object]) -> ModuleOp:
    with IRBuilder() as builder, T.prim_func():
        T.func_name("main")
        params = Params(
            T.arg("A", T.Buffer((16, 16), "float32")),
            T.arg("B", T.Buffer(16, "int32")),
            T.arg("n", T.int32),
            T.arg("m", T.int64),
            T.arg("p", T.handle("float32")),
        )
        body(params)
    return builder.get()


def expected(body: str, result: str = "") -> ModuleOp:
    return parse(
        f'tir.func @main({SIGNATURE}){result} attributes {{global_symbol = "main"}} {{\n'
        f"{BUFFERS}\n{body}\n}}"
    )


def constants(**values: str) -> str:
    """Constants `%c1 : i32` and so on."""
    return "\n".join(f"%{name} = tir.const {value}" for name, value in values.items())


C = constants(c0="0 : i32", c1="1 : i32", c2="2 : i32", c4="4 : i32", c16="16 : i32")
F = constants(zero="0.0 : f32", one="1.0 : f32")

CASES: dict[str, tuple[Callable[[Params], object], str]] = {}


def case(name: str, text: str) -> Callable[[Callable[[Params], object]], None]:
    def register(body: Callable[[Params], object]) -> None:
        CASES[name] = (body, text)

    return register


@case("store", f"{C}\n%x = tir.cast %n : i32 to f32\ntir.store %x, %A[%n, %c2] : f32")
def _(f: Params) -> None:
    T.buffer_store(f.A, f.n, [f.n, 2])


@case(
    "masked store of lanes",
    f"""{C}
    %i = tir.ramp %c0, %c2 : vector<4xi32>
    %v = tir.load %B[%i] : vector<4xi32>
    %j = tir.ramp %n, %c1 : vector<4xi32>
    %true = tir.const true
    %p1 = tir.broadcast %true : vector<4xi1>
    tir.store %v, %B[%j] if %p1 : vector<4xi32>""",
)
def _(f: Params) -> None:
    mask = T.Broadcast(T.bool(True), 4)
    T.buffer_store(f.B, f.B.load(slice(0, 8, 2)), [slice(f.n, f.n + 4)], mask)


@case(
    "scalable lanes",
    f"""{C}
    %j = tir.ramp %n, %c1 : vector<[4]xi32>
    %v = tir.load %B[%j] : vector<[4]xi32>
    tir.store %v, %B[%j] : vector<[4]xi32>""",
)
def _(f: Params) -> None:
    lanes = slice(f.n, f.n + T.vscale() * 4)
    T.buffer_store(f.B, f.B.load(lanes), [lanes])


@case(
    "expressions of all kinds",
    f"""{C}
    %m2 = tir.min %n, %c2 : i32
    %lt = tir.cmp lt %n, %m2 : i32
    %no = tir.not %lt : i1
    %eq = tir.cmp eq %n, %c4 : i32
    %or = tir.or %no, %eq : i1
    %s = tir.select %or, %n, %c1 : i1, i32
    %v = tir.broadcast %s : vector<2xi32>
    %e = tir.shuffle [%v] [%c1] : i32
    %q = tir.call "shift_left"(%e, %c2) : (i32, i32) -> i32
    tir.evaluate %q : i32""",
)
def _(f: Params) -> None:
    test = T.Or(T.Not(f.n < T.min(f.n, 2)), T.EQ(f.n, 4))
    lane = T.Shuffle([T.Broadcast(T.Select(test, f.n, 1), 2)], [1])
    T.evaluate(lane << 2)


@case(
    "arithmetic",
    f"""{C}
    %0 = tir.add %n, %c1 : i32
    %1 = tir.sub %0, %c2 : i32
    %2 = tir.mul %1, %n : i32
    %3 = tir.floordiv %2, %c4 : i32
    %4 = tir.floormod %3, %c2 : i32
    %5 = tir.div %4, %c4 : i32
    %6 = tir.mod %5, %c4 : i32
    %7 = tir.max %6, %n : i32
    %8 = tir.cast %7 : i32 to i64
    %9 = tir.add %8, %m : i64
    tir.evaluate %9 : i64""",
)
def _(f: Params) -> None:
    value = ((f.n + 1) - 2) * f.n // 4 % 2
    T.evaluate(T.max(T.truncmod(T.truncdiv(value, 4), 4), f.n) + f.m)


@case(
    "lazy choice",
    f"""{C}
    {F}
    %lt = tir.cmp lt %n, %c16 : i32
    %x = tir.if_then_else %lt -> f32 {{
      %l = tir.load %A[%n, %c0] : f32
      %gt = tir.cmp gt %n, %c2 : i32
      %y = tir.if_then_else %gt -> f32 {{
        %e = tir.call "exp"(%l) : (f32) -> f32
        tir.yield %e : f32
      }} else {{
        tir.yield %l : f32
      }}
      tir.yield %y : f32
    }} else {{
      tir.yield %zero : f32
    }}
    tir.store %x, %A[%c0, %c0] : f32""",
)
def _(f: Params) -> None:
    load = f.A[f.n, 0]
    inner = T.if_then_else(f.n > 2, T.exp(load), load)
    T.buffer_store(f.A, T.if_then_else(f.n < 16, inner, 0.0), [0, 0])


@case(
    "let in an expression",
    f"""{C}
    %s = tir.add %n, %c1 : i32
    %x = tir.let expr "x" %s : i32
    %y = tir.let expr "y" %x : i32
    %z = tir.mul %x, %y : i32
    tir.evaluate %z : i32""",
)
def _(f: Params) -> None:
    x, y = T.Var("x"), T.Var("y")
    T.evaluate(T.Let(x * y, {x: f.n + 1, y: x}))


@case(
    "lets hold for the rest",
    f"""{C}
    %s = tir.add %n, %c1 : i32
    %x = tir.let "x" %s : i32
    tir.evaluate %x : i32
    %q = tir.call "tvm_stack_alloca"(%shape, %c4) : (!tir.handle, i32) -> !tir.handle
    %h = tir.let "h" %q : !tir.handle -> !tir.ptr<i64>
    tir.evaluate %h : !tir.ptr<i64>""".replace(
        "%q =", '%shape = tir.string "shape"\n%q ='
    ),
)
def _(f: Params) -> None:
    builder = IRBuilder.current()
    T.evaluate(builder.let("x", f.n + 1))
    call = T.tvm_stack_alloca("shape", 4)
    T.evaluate(builder.let("h", call, T.handle("int64")))


@case(
    "scopes that end before the list",
    f"""{C}
    tir.scope {{
      %x = tir.let "x" %n : i32
      tir.evaluate %x : i32
    }}
    tir.scope {{
      %q = tir.allocate "q" [4, %n] : !tir.ptr<f32, "local">
      %Q = tir.decl_buffer "Q" %q : !tir.buffer<4xf32, "local">
      {F}
      tir.store %one, %Q[%c0] : f32
    }}
    tir.evaluate %n : i32""",
)
def _(f: Params) -> None:
    with T.LetStmt(f.n) as x:
        T.evaluate(x)
    with (
        T.allocate([4, f.n], "float32", "local") as q,
        T.decl_buffer((4,), data=q) as Q,
    ):
        T.buffer_store(Q, 1.0, [0])
    T.evaluate(f.n)


@case(
    "the scope that ends with the list bounds nothing",
    f"""{C}
    %0 = tir.cmp gt %n, %c0 : i32
    tir.assert %0, "n"
    %q = tir.allocate "q" [8] : !tir.ptr<f32>
    %Q = tir.decl_buffer "Q" %q : !tir.buffer<8xf32>
    tir.evaluate %n : i32""",
)
def _(f: Params) -> None:
    with T.Assert(f.n > 0, "n"), T.decl_buffer((8,)):
        T.evaluate(f.n)
        T.evaluate(0)


@case(
    "loops",
    f"""{C}
    tir.for %i = %c0 to %n parallel annotations {{"pragma_x" = 1 : i32}} {{
      %s = tir.sub %n, %i : i32
      tir.for %j = %i to %i + %s {{
        tir.for %k = %c0 to %c4 unrolled {{
          tir.for %l = %c0 to %c4 vectorized {{
            tir.evaluate %l : i32
          }}
        }}
      }}
    }}
    tir.for %t = %c0 to %c16 thread_binding "threadIdx.x" {{
    }}""",
)
def _(f: Params) -> None:
    with (
        T.parallel(f.n, annotations={"pragma_x": 1}) as i,
        T.serial(i, f.n),
        T.unroll(4),
        T.vectorized(4) as last,
    ):
        T.evaluate(last)
    with T.thread_binding(0, 16, "threadIdx.x"):
        T.evaluate(0)


@case(
    "wide loops",
    """
    %0 = tir.const 0 : i64
    tir.for %i = %0 to %m {
      %1 = tir.cast %n : i32 to i64
      %2 = tir.sub %m, %1 : i64
      tir.for %j = %1 to %1 + %2 {
        tir.evaluate %j : i64
      }
    }""",
)
def _(f: Params) -> None:
    with T.serial(f.m), T.serial(f.n, f.m) as j:
        T.evaluate(j)


@case(
    "conditions",
    f"""{C}
    tir.while {{
      %x = tir.load %B[%c0] : i32
      %p0 = tir.cmp lt %x, %n : i32
      tir.yield %p0 : i1
    }} do {{
      %x = tir.load %B[%c0] : i32
      %y = tir.add %x, %c1 : i32
      tir.store %y, %B[%c0] : i32
    }}
    %q = tir.cmp ne %n, %c2 : i32
    tir.if %q {{
      tir.evaluate %n : i32
    }} else {{
    }}
    tir.if %q {{
      tir.evaluate %c1 : i32
    }}""",
)
def _(f: Params) -> None:
    with T.While(f.B[0] < f.n):
        T.buffer_store(f.B, f.B[0] + 1, [0])
    with T.If(T.NE(f.n, 2)):
        with T.Then():
            T.evaluate(f.n)
        with T.Else():
            T.evaluate(0)
    with T.If(T.NE(f.n, 2)), T.Then():
        T.evaluate(1)


@case(
    "a block",
    f"""{C}
    {F}
    tir.block "root" {{
      tir.reads
      tir.writes
      tir.for %i = %c0 to %c16 {{
        tir.for %k = %c0 to %c16 {{
          %0 = tir.add %i, %k : i32
          %w = tir.cmp lt %0, %n : i32
          tir.block "sum" (%vi : S in [%c0 to %c16] = %i, %vk : R in [%c0 to %c16] = %k)
              where %w annotations {{"x" = [1 : i32, "y", 2.5 : f32, true]}} {{
            %L = tir.alloc_buffer "L" : !tir.buffer<4xf32, "local">
            %s0 = tir.shape_var "s0" : i32
            %off = tir.shape_var "off" : i32
            %V = tir.match_region "V" %A[%vi, %c0 to 16] strides [%s0] offset %off
                {{offset_factor = 4 : i32}} : !tir.buffer<16xf32>
            tir.reads %A[%vi, %c0 to 16]
            tir.writes %B[%vi]
            tir.init {{
              tir.store %c0, %B[%vi] : i32
            }}
            %x = tir.load %V[%vk] : f32
            tir.store %x, %L[%c0] : f32
            %b0 = tir.load %B[%vi] : i32
            %b1 = tir.add %b0, %c1 : i32
            tir.store %b1, %B[%vi] : i32
          }}
        }}
      }}
    }}""".replace("\n              where", " where").replace(
        "\n                {offset", " {offset"
    ),
)
def _(f: Params) -> None:
    with T.grid(16, 16) as (i, k), T.block("sum"):
        axes: list[Var] = T.axis.remap("SR", [i, k])
        vi, vk = axes
        T.where(i + k < f.n)
        T.reads(f.A[vi, 0:16])
        T.writes(f.B[vi])
        T.block_attr({"x": [1, "y", 2.5, True]})
        L = T.alloc_buffer((4,), scope="local")
        V = T.match_buffer(f.A[vi, 0:16], (16,), strides=["s0"], offset_factor=4)
        with T.init():
            T.buffer_store(f.B, 0, [vi])
        T.buffer_store(L, V[vk], [0])
        T.buffer_store(f.B, f.B[vi] + 1, [vi])


@case(
    "axes",
    f"""{C}
    tir.block "root" {{
      tir.reads
      tir.writes
      %d = tir.const 8 : i64
      %n1 = tir.add %n, %c1 : i32
      %z = tir.const 0 : i64
      tir.block "x" (%u : scan in [%c2 to %c2 + %c4] = %n,
            %v : opaque in [%c0 to %n1] = %c1, %w : S in [%z to %d] = %m) {{
        tir.reads
        tir.writes
        tir.evaluate %w : i64
      }}
    }}""".replace("\n            ", " "),
)
def _(f: Params) -> None:
    with T.block("x"):
        T.axis.scan((2, 6), f.n)
        T.axis.opaque(T.Range(0, f.n + 1), 1)
        T.evaluate(T.axis.S(T.int64(8), f.m))


@case(
    "threads",
    f"""{C}
    %w = tir.const 32 : i32
    tir.launch_thread %bx = "blockIdx.x" to %n {{
      tir.launch_thread %tx = "threadIdx.x" to %w env "tx" {{
        tir.evaluate %tx : i32
      }}
      tir.launch_thread %ty = "threadIdx.x" to %w env "tx" {{
        tir.launch_thread %vx = "vthread" to %c2 virtual {{
          %s = tir.add %ty, %vx : i32
          tir.evaluate %s : i32
        }}
      }}
    }}""",
)
def _(f: Params) -> None:
    tx = named("tx", T.env_thread("threadIdx.x"))
    with T.launch_thread("blockIdx.x", f.n):
        with T.launch_thread(tx, 32):
            T.evaluate(tx)
        with T.attr(tx, "thread_extent", 32), T.launch_thread("vthread", 2) as vx:
            T.evaluate(tx + vx)


@case(
    "a reduction over threads",
    f"""{C}
    {F}
    %w = tir.const 32 : i32
    tir.launch_thread %tx = "threadIdx.x" to %w {{
      %r = tir.allocate "r" [1] : !tir.ptr<f32, "local">
      %R = tir.decl_buffer "R" %r : !tir.buffer<1xf32, "local">
      %red = tir.reducer (%x : f32, %y : f32) identity [0.0 : f32] {{
        %s = tir.add %x, %y : f32
        tir.yield %s : f32
      }}
      tir.attr "reduce_scope" (%red) = 0 : i32 {{
        %v = tir.load %A[%tx, %c0] : f32
        %p0 = tir.cmp lt %tx, %c16 : i32
        tir.thread_allreduce [%v] if %p0 into [%R[%c0]] over [%tx]
      }}
      %z = tir.load %R[%c0] : f32
      tir.store %z, %A[%c0, %c0] : f32
    }}""",
)
def _(f: Params) -> None:
    add = T.comm_reducer(lambda x, y: x + y, [T.float32(0)])
    with (
        T.launch_thread("threadIdx.x", 32) as tx,
        T.decl_buffer((1,), scope="local") as R,
    ):
        with T.attr(add, "reduce_scope", 0):
            count = T.uint32(1)
            T.evaluate(T.tvm_thread_allreduce(count, f.A[tx, 0], tx < 16, R[0], tx))
        T.buffer_store(f.A, R[0], [0, 0])


@case(
    "attributes",
    f"""{C}
    tir.attr "target" (#tir.target<"cuda", arch = "sm_80">) = 0 : i32 {{
      tir.attr "storage_alignment" (%p) = 64 : i32 {{
        tir.attr "device_id" ("default") = %n {{
          tir.attr "note" ({{"a" = [1 : i32]}}) = "text" {{
            tir.evaluate %n : i32
          }}
        }}
      }}
    }}""",
)
def _(f: Params) -> None:
    with (
        T.attr(T.target({"kind": "cuda", "arch": "sm_80"}), "target", 0),
        T.attr(f.p, "storage_alignment", 64),
        T.attr("default", "device_id", f.n),
        T.attr({"a": [1]}, "note", "text"),
    ):
        T.evaluate(f.n)


@case(
    "pointers",
    f"""{C}
    %d = tir.data %A : !tir.ptr<f32>
    %s = tir.string "f"
    %0 = tir.call "call_extern"(%s, %d) : (!tir.handle, !tir.ptr<f32>) -> i32
    %1 = tir.address_of %A[%n, %c0] : !tir.ptr<f32>
    tir.evaluate %1 : !tir.ptr<f32>
    %d2 = tir.const 256 : i32
    %2 = tir.access_ptr rw %d[%c0 to %d2] : !tir.ptr<f32>
    tir.evaluate %2 : !tir.ptr<f32>
    %3 = tir.access_ptr r %p[%c1 to %c1 + %n] : !tir.ptr<f16>
    tir.evaluate %3 : !tir.ptr<f16>
    %b0 = tir.call "isnullptr"(%p) : (!tir.ptr<f32>) -> i1
    tir.evaluate %b0 : i1""",
)
def _(f: Params) -> None:
    T.evaluate(T.call_extern("int32", "f", f.A.data))
    T.evaluate(T.address_of(f.A[f.n, 0]))
    T.evaluate(f.A.access_ptr("rw"))
    T.evaluate(T.tvm_access_ptr(T.type_annotation("float16"), f.p, 1, f.n, 1))
    T.evaluate(T.isnullptr(f.p))


@case(
    "a view without a statement is where all uses see it",
    f"""{C}
    tir.for %i = %c0 to %c4 {{
      %P = tir.decl_buffer "P" %p strides [%n, 1] {{implicit}} : !tir.buffer<4x4xf32>
      tir.for %j = %c0 to %c4 {{
        %x = tir.load %P[%i, %j] : f32
        tir.evaluate %x : f32
      }}
      %y = tir.load %P[%i, %i] : f32
      tir.evaluate %y : f32
    }}
    tir.block "b" {{
      %Q = tir.decl_buffer "Q" %p {{implicit}} : !tir.buffer<4xf32>
      tir.reads %Q[%c0 to 4]
      tir.writes
      %y = tir.load %Q[%c1] : f32
      tir.evaluate %y : f32
    }}""".replace(f"{C}", f'{C}\ntir.block "root" {{ tir.reads\n tir.writes\n')
    + "}",
)
def _(f: Params) -> None:
    P = named("P", T.Buffer((4, 4), data=f.p, strides=[f.n, 1]))
    Q = named("Q", T.Buffer((4,), data=f.p))
    with T.serial(4) as i:
        with T.serial(4) as j:
            T.evaluate(P[i, j])
        T.evaluate(P[i, i])
    with T.block("b"):
        T.reads(Q[0:4])
        T.writes()
        T.evaluate(Q[1])


@case(
    "calls with effects stand alone, others are evaluated",
    f"""{C}
    %f = tir.string "f"
    %0 = tir.call "call_extern"(%f, %n) : (!tir.handle, i32) -> i32
    %1 = tir.call "call_pure_extern"(%f, %n) : (!tir.handle, i32) -> i32
    tir.evaluate %1 : i32
    %2 = tir.cmp gt %n, %c0 : i32
    %3 = tir.call "assume"(%2) : (i1) -> i1
    %4 = tir.call "undef"() : () -> i32
    tir.evaluate %4 : i32
    tir.call "ptx_commit_group"() : () -> ()
    %5 = tir.call "call_extern"(%f, %n) : (!tir.handle, i32) -> i32
    %6 = tir.call "call_extern"(%f, %n) : (!tir.handle, i32) -> i32
    %7 = tir.add %5, %6 : i32
    tir.evaluate %7 : i32""",
)
def _(f: Params) -> None:
    T.evaluate(T.call_extern("int32", "f", f.n))
    T.evaluate(T.call_pure_extern("int32", "f", f.n))
    T.evaluate(T.assume(f.n > 0))
    T.evaluate(T.undef())
    T.evaluate(T.ptx_commit_group())
    call = T.call_extern("int32", "f", f.n)
    T.evaluate(call + call)


@case(
    "constant memory",
    f"""{C}
    %w = tir.allocate_const "w" dense<[[1, 2], [3, 4]]> : tensor<2x2xi32> : !tir.ptr<i32>
    %W = tir.decl_buffer "W" %w : !tir.buffer<2x2xi32>
    %x = tir.load %W[%c0, %c1] : i32
    tir.evaluate %x : i32""",
)
def _(f: Params) -> None:
    with T.allocate_const([1, 2, 3, 4], "int32", [2, 2]) as w:
        W = T.decl_buffer((2, 2), "int32", data=w)
        with W as buffer:
            T.evaluate(buffer[0, 1])


@case(
    "realized buffers",
    f"""{C}
    {F}
    tir.scope {{
      %R = tir.buffer_realize "R" bounds [%c0 to 16, %n] : !tir.buffer<16x16xf32, "warp">
      tir.store %one, %R[%c0, %n] : f32
      tir.prefetch %R[%c0 to 4, %n]
    }}
    tir.evaluate %n : i32""",
)
def _(f: Params) -> None:
    R = T.Buffer((16, 16))
    with T.realize(R[0:16, f.n], "warp"):
        T.buffer_store(R, 1.0, [0, f.n])
        T.prefetch(R, [(0, 4), T.Range(f.n, f.n + 1)])
    T.evaluate(f.n)


@pytest.mark.parametrize("name", CASES)
def test_ops(name: str) -> None:
    body, text = CASES[name]
    assert_structural_equal(build(body), expected(text))


# ---- parameters and buffers ----


def test_symbolic_sizes_are_declared_before_the_first_match() -> None:
    with IRBuilder() as builder, T.prim_func():
        a, b = T.arg("a", T.handle), T.arg("b", T.handle)
        k = T.arg("k", T.int32)
        n = named("n", T.int32())
        m = named("m", T.int32(is_size_var=True))
        A = T.match_buffer(a, (n, m * 2, 4, k), "float16")
        B = T.match_buffer(b, (m, n), strides=["s0", 1], offset_factor=8, align=128)
        T.buffer_store(B, T.cast(A[0, 0, 0, 0], "float32"), [n - 1, 0])
    assert_structural_equal(
        builder.get(),
        parse("""
        tir.func @main(%a: !tir.handle, %b: !tir.handle, %k: i32)
            attributes {global_symbol = "main"} {
          %n = tir.shape_var "n" : i32
          %m = tir.shape_var "m" size_var : i32
          %c2 = tir.const 2 : i32
          %m2 = tir.mul %m, %c2 : i32
          %A = tir.match_buffer "A" %a [%n, %m2, %k] : !tir.buffer<?x?x4x?xf16>
          %s0 = tir.shape_var "s0" : i32
          %o = tir.shape_var "o" : i32
          %B = tir.match_buffer "B" %b [%m, %n] strides [%s0, 1] offset %o
            {data_alignment = 128 : i32, offset_factor = 8 : i32} : !tir.buffer<?x?xf32>
          %c0 = tir.const 0 : i32
          %c1 = tir.const 1 : i32
          %x = tir.load %A[%c0, %c0, %c0, %c0] : f16
          %y = tir.cast %x : f16 to f32
          %i = tir.sub %n, %c1 : i32
          tir.store %y, %B[%i, %c0] : f32
        }"""),
    )


def test_wide_extents_and_offsets_keep_their_dtype() -> None:
    with IRBuilder() as builder, T.prim_func():
        T.match_buffer(T.arg("a", T.handle), (T.int64(4), T.int64(8)))
        T.match_buffer(T.arg("b", T.handle), (4,), elem_offset=T.int64(0))
        T.match_buffer(T.arg("c", T.handle), (4,), elem_offset=0)
        T.match_buffer(T.arg("d", T.handle), ())
        T.match_buffer(T.arg("e", T.handle), (8, 8), axis_separators=[1])
        T.match_buffer(T.arg("f", T.handle), (8,), buffer_type="auto")
    first, second, third, rank0, split, auto = (
        op for op in builder.get().walk() if isinstance(op, ops.BufferDefinition)
    )
    assert str(first.extent_type) == "i64"
    assert second.elem_offset is not None
    assert str(second.elem_offset.type) == "i64"
    assert third.elem_offset is None
    assert rank0.shape == ()
    assert split.axis_separators is not None
    assert split.axis_separators.get_values() == (1,)
    assert auto.buffer_kind is not None
    assert auto.buffer_kind.data is ops.BufferKind.AUTO_BROADCAST


def test_names_are_kept() -> None:
    with IRBuilder() as builder, T.prim_func():
        A = T.arg("A_1", T.Buffer((4,), "int32"))
        builder.let("x.y", A[0])
        with named("i", T.serial(4)) as i, T.block("b"):
            named("vi", T.axis.spatial(4, i))
    text = str(builder.get())
    assert 'param_names = ["A_1_handle"]' in text
    for part in ('"A_1"', '%x.y = tir.let "x.y"', 'for "i" %i', '%vi : S "vi"'):
        assert part in text


def test_a_function_without_a_symbol_and_one_with_a_result() -> None:
    with IRBuilder() as builder:
        with T.prim_func(private=True):
            T.func_name("f")
            n = T.arg("n", T.int32)
            T.func_ret(T.int32)
            T.evaluate(T.ret(n + 1))
        with T.prim_func():
            T.func_name("g")
            T.func_attr({"global_symbol": "other", "tir.noalias": True, "x": [1, 2.0]})
    f, g = builder.get().body.block.ops
    assert isinstance(f, ops.FuncOp)
    assert "global_symbol" not in f.attributes
    assert [str(t) for t in f.function_type.outputs] == ["i32"]
    assert g.attributes["global_symbol"] == StringAttr("other")
    assert set(g.attributes) == {"global_symbol", "tir.noalias", "x"}


def test_calls_of_functions_pass_pointers_as_handles() -> None:
    with IRBuilder() as builder:
        with T.prim_func(private=True):
            T.func_name("callee")
            T.arg("h", T.handle)
            T.arg("q", T.handle("float32"))
            T.evaluate(0)
        with T.prim_func():
            A = T.arg("A", T.Buffer((4,)))
            T.evaluate(GlobalVar("callee")(A.data, A.data))
    calls = [op for op in builder.get().walk() if isinstance(op, ops.CallFuncOp)]
    assert [str(arg.type) for arg in calls[0].args] == ["!tir.handle", "!tir.ptr<f32>"]


# ---- attributes that wrap the definition of their variable ----


def lowered(body: list[Stmt], *params: Var) -> str:
    function = PrimFunc("main", list(params), {}, body)
    op = function_to_ssa(function)
    op.verify()
    return str(op)


def loop(var: Var, body: list[Stmt] | None = None) -> For:
    zero, four = T.int32(0), T.int32(4)
    return For(var, zero, four, [Evaluate(var)] if body is None else body)


def test_pragmas_around_a_loop_are_its_annotations() -> None:
    i = Var("i", T.int32.type)
    inner = AttrStmt(i, "pragma_unroll_explicit", T.bool(True), [loop(i)])
    text = lowered([AttrStmt(i, "pragma_loop_partition_hint", T.int32(1), [inner])])
    assert "tir.attr" not in text
    assert "pragma_loop_partition_hint = 1 : i32, pragma_unroll_explicit = true" in text


def test_a_pragma_of_a_variable_that_nothing_defines_is_one_of_the_loop() -> None:
    free, i = Var("j", T.int32.type), Var("i", T.int32.type)
    text = lowered([AttrStmt(free, "pragma_x", T.int32(1), [loop(i)])])
    assert "annotations {pragma_x = 1 : i32}" in text


def test_a_pragma_of_an_outer_loop_stays_an_attribute() -> None:
    i, j = Var("i", T.int32.type), Var("j", T.int32.type)
    text = lowered([loop(i, [AttrStmt(i, "pragma_x", T.int32(1), [loop(j)])])])
    assert 'tir.attr "pragma_x" (%i) = 1 : i32' in text


def test_fragments_annotate_their_memory() -> None:
    with IRBuilder() as builder, T.prim_func():
        frame = T.allocate([256], "float16", "wmma.matrix_a")
        with frame as a:
            T.evaluate(a)
        T.evaluate(1)
    (scope, _) = builder.nodes().functions["main"].body
    assert isinstance(scope, Scope)
    shape = AttrStmt(a, "fragment_shape", T.StringImm("16, 16, 16"), scope.body)
    text = lowered([shape, Evaluate(T.int32(1))])
    assert 'annotations {fragment_shape = "16, 16, 16"}' in text
    assert "tir.scope" in text
    assert "tir.scope" not in lowered([shape])


def test_a_bound_view_is_a_match() -> None:
    with IRBuilder() as builder, T.prim_func():
        A = T.arg("A", T.Buffer((16, 16)))
        view = named("V", T.Buffer((4,)))
        bounds = T.tvm_tuple(2, 1, 0, 4)
        with T.attr([view, A], "buffer_bind_scope", bounds):
            T.buffer_store(view, 1.0, [3])
    text = str(builder.get())
    assert 'tir.match_region "V" %A' in text
    assert "tir.scope" in text


# ---- shared and deep expressions ----


def test_a_shared_expression_is_computed_once_in_a_statement() -> None:
    def body(f: Params) -> None:
        value: Expr = f.n
        for _ in range(200):
            value = value * value
        T.evaluate(value)

    assert sum(isinstance(op, ops.MulOp) for op in build(body).walk()) == 200


def test_a_value_of_one_branch_is_not_used_in_the_other() -> None:
    def body(f: Params) -> None:
        shared = f.n * f.n
        T.evaluate(T.if_then_else(f.n > 1, shared, T.if_then_else(f.n < 9, 1, shared)))

    module = build(body)
    assert interpret_result(module, 5) is None
    assert sum(isinstance(op, ops.MulOp) for op in module.walk()) == 2


def interpret_result(module: ModuleOp, n: int) -> object:
    arrays = np.zeros((16, 16), np.float32), np.zeros(16, np.int32)
    return interpret(module)["main"](*arrays, n, 0, np.zeros(4, np.float32))


def test_deep_expressions() -> None:
    def body(f: Params) -> None:
        value: Expr = f.n
        choice: Expr = f.n
        for _ in range(3000):
            value = value + f.B[0]
        for k in range(200):
            choice = T.if_then_else(f.n > k, choice, f.n + k)
        T.buffer_store(f.B, value + choice, [1])

    with IRBuilder() as builder, T.prim_func():
        B = T.arg("B", T.Buffer(16, "int32"))
        n = T.arg("n", T.int32)
        body(Params(B, B, n, n, n))
    module = module_to_ssa(builder.nodes())
    assert sum(isinstance(op, ops.AddOp) for op in module.walk()) == 3200


def test_deep_statements() -> None:
    stmts: list[Stmt] = []
    for _ in range(250):
        stmts = [loop(Var("i", T.int32.type), stmts)]
    op = function_to_ssa(PrimFunc("main", [], {}, stmts))
    count = 0
    while op.regions and (inner := op.regions[0].block.last_op) is not None:
        op = inner
        count += 1
    assert count == 250


# ---- errors ----


def test_undefined_variables_and_buffers() -> None:
    x = Var("x", T.int32.type)
    with pytest.raises(StatementError, match="variable 'x' is not defined") as caught:
        function_to_ssa(PrimFunc("main", [], {}, [Evaluate(x, line=7, column=4)]))
    assert (caught.value.line, caught.value.column) == (7, 4)
    pointer = Var("q", T.handle("float32").type)
    buffer = Buffer("Q", [T.int32(4)], T.float32.type, pointer)
    store = BufferStore(buffer, T.float32(0), (T.int32(0),))
    with pytest.raises(StatementError, match="variable 'q' is not defined"):
        function_to_ssa(PrimFunc("main", [], {}, [store]))


def test_a_binding_ends_with_its_scope() -> None:
    x = Var("x", T.int32.type)
    scope = Scope([LetStmt(x, T.int32(1)), Evaluate(x)])
    function_to_ssa(PrimFunc("main", [], {}, [scope])).verify()
    with pytest.raises(StatementError, match="variable 'x' is not defined"):
        function_to_ssa(PrimFunc("main", [], {}, [scope, Evaluate(x)]))
    outside = T.Let(x + 1, {x: 2}) + x
    with pytest.raises(StatementError, match="variable 'x' is not defined"):
        function_to_ssa(PrimFunc("main", [], {}, [Evaluate(outside)]))


def test_a_buffer_ends_with_its_scope() -> None:
    with IRBuilder() as builder, T.prim_func():
        with T.decl_buffer((4,)) as Q:
            T.buffer_store(Q, 1.0, [0])
        T.buffer_store(Q, 1.0, [0])
    with pytest.raises(StatementError, match=r"buffer '.*' is used outside of"):
        builder.get()


def nodes_error(body: Callable[[Params], object]) -> str:
    with pytest.raises(ScriptTypeError) as caught:
        build(body)
    return str(caught.value)


def test_what_has_no_op() -> None:
    assert "takes [view, source]" in nodes_error(
        lambda f: _attr(f.A, "buffer_bind_scope", 1)
    )
    assert "must be a constant" in nodes_error(lambda f: T.func_attr({"x": f.n + 1}))
    assert "cannot be an annotation" in nodes_error(
        lambda f: T.func_attr({"x": object()})
    )
    assert "without a result" in nodes_error(
        lambda f: T.evaluate(T.call_extern("int32", "f", T.ptx_commit_group()))
    )
    assert "is a statement" in nodes_error(lambda f: T.evaluate(T.ret(f.n) + 1))
    assert "access mask" in nodes_error(
        lambda f: T.evaluate(T.tvm_access_ptr(T.type_annotation("float32"), f.p, 0, 1, 4))
    )
    assert "number of values" in nodes_error(
        lambda f: T.evaluate(T.tvm_thread_allreduce(2, f.n))
    )


def _attr(node: object, key: str, value: int) -> None:
    with T.attr(node, key, value):
        T.evaluate(1)


def test_a_pointer_of_its_own() -> None:
    with IRBuilder() as builder, T.prim_func():
        A = T.arg("A", T.Buffer((4,)))
    nodes = builder.nodes().functions["main"]
    handle = Var("h", T.handle.type)
    nodes.params.append(handle)
    nodes.buffer_map[handle] = Buffer("V", A.shape, A.type, A.data)
    with pytest.raises(StatementError, match=r"use T\.decl_buffer for a view"):
        function_to_ssa(nodes)


def test_contents_of_constant_memory() -> None:
    pointer = Var("c", T.handle("handle").type)
    const = AllocateConst(pointer, (1,), np.zeros(1))
    with pytest.raises(StatementError, match="cannot be written"):
        function_to_ssa(PrimFunc("main", [], {}, [const]))
    index = AllocateConst(Var("c", T.handle("int8").type), (1,), 3)
    assert "tir.allocate_const" in lowered([index])


@pytest.mark.parametrize(
    "dtype",
    [
        *("bool", "int8", "uint8", "int16", "uint16", "int64", "uint64"),
        *("float16", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2"),
    ],
)
def test_constant_memory_of_every_dtype(dtype: str) -> None:
    with (
        IRBuilder() as builder,
        T.prim_func(),
        T.allocate_const([[0, 1]], dtype, [2]) as c,
    ):
        T.evaluate(c)
    (op,) = (op for op in builder.get().walk() if isinstance(op, ops.AllocateConstOp))
    assert ops.dtype_name(op.result.type.element_type) == dtype


def test_module_attributes() -> None:
    module = IRModule({}, {"mod_name": "x"}, {"devices": ["llvm"]})
    op = module_to_ssa(module)
    assert module_attributes(op) == {"mod_name": StringAttr("x")}
    assert global_infos(op) == {"devices": (StringAttr("llvm"),)}


def test_random_programs_stay_as_they_are() -> None:
    compared = 0
    for seed in range(FIRST, FIRST + COUNT):
        try:
            script = module_script(random_module(seed).module)
        except DiagnosticException:
            # Foreign ops, and values that a script cannot have where they stand.
            continue
        module = module_to_ssa(script)
        module.verify()
        again = module_to_ssa(module_script(module))
        assert_structural_equal(module, again)
        compared += 1
    assert compared >= COUNT // 3
