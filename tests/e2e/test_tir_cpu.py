"""TIR functions from text to numbers, on the CPU, against numpy."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xdsl_tvm
from xdsl_tvm import tvmscript


def compiled(text: str, name: str = "f") -> Any:
    return xdsl_tvm.compile(text)[name]


def binary(op: str, dtype: str) -> Any:
    """A function of two arrays of 64 elements: c[i] = op a[i], b[i]."""
    return compiled(f"""
    tir.func @f(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle)
        attributes {{global_symbol = "f"}} {{
      %A = tir.match_buffer %a : !tir.buffer<64x{dtype}>
      %B = tir.match_buffer %b : !tir.buffer<64x{dtype}>
      %C = tir.match_buffer %c : !tir.buffer<64x{dtype}>
      %c0 = tir.const 0 : i32
      %c64 = tir.const 64 : i32
      tir.for %i = %c0 to %c64 {{
        %x = tir.load %A[%i] : {dtype}
        %y = tir.load %B[%i] : {dtype}
        %z = tir.{op} %x, %y : {dtype}
        tir.store %z, %C[%i] : {dtype}
      }}
    }}""")


def samples(dtype: str) -> tuple[Any, Any]:
    """Two arrays of 64 numbers of a TIR type, small and large, without a zero in b."""
    rng = np.random.default_rng(7)
    numpy_dtype = np.dtype(NUMPY[dtype])
    info = np.iinfo(numpy_dtype)
    low, high = max(info.min // 2, -1000), min(info.max // 2, 1000)
    a = rng.integers(low, high, 64, dtype=numpy_dtype)
    b = rng.integers(low, high, 64, dtype=numpy_dtype)
    b[b == 0] = 3
    return a, b


def truncated_div(a: Any, b: Any) -> Any:
    return np.trunc(a.astype("f8") / b.astype("f8")).astype(a.dtype)


INTEGER_OPS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": truncated_div,
    "mod": np.fmod,
    "floordiv": np.floor_divide,
    "floormod": np.mod,
    "min": np.minimum,
    "max": np.maximum,
}


@pytest.mark.parametrize("dtype", ["i8", "i32", "i64", "ui8", "ui32"])
def test_integer_arithmetic(dtype: str) -> None:
    a, b = samples(dtype)
    text = "\n".join(
        f"""
        %z{k} = tir.{op} %x, %y : {dtype}
        tir.store %z{k}, %C[%k{k}, %i] : {dtype}"""
        for k, op in enumerate(INTEGER_OPS)
    )
    indices = "\n".join(f"%k{k} = tir.const {k} : i32" for k in range(len(INTEGER_OPS)))
    function = compiled(f"""
    tir.func @f(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle)
        attributes {{global_symbol = "f"}} {{
      %A = tir.match_buffer %a : !tir.buffer<64x{dtype}>
      %B = tir.match_buffer %b : !tir.buffer<64x{dtype}>
      %C = tir.match_buffer %c : !tir.buffer<{len(INTEGER_OPS)}x64x{dtype}>
      %c0 = tir.const 0 : i32
      %c64 = tir.const 64 : i32
      {indices}
      tir.for %i = %c0 to %c64 {{
        %x = tir.load %A[%i] : {dtype}
        %y = tir.load %B[%i] : {dtype}
        {text}
      }}
    }}""")
    out = np.zeros((len(INTEGER_OPS), 64), a.dtype)
    function(a, b, out)
    for row, (op, reference) in zip(out, INTEGER_OPS.items(), strict=True):
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(row, reference(a, b), err_msg=f"{op} {dtype}")


@pytest.mark.parametrize("divisor", [1, 3, 8])
def test_floor_division_by_a_constant(divisor: int) -> None:
    function = compiled(f"""
    tir.func @f(%a: !tir.handle, %b: !tir.handle) attributes {{global_symbol = "f"}} {{
      %A = tir.match_buffer %a : !tir.buffer<64xi32>
      %B = tir.match_buffer %b : !tir.buffer<2x64xi32>
      %c0 = tir.const 0 : i32
      %c1 = tir.const 1 : i32
      %c64 = tir.const 64 : i32
      %d = tir.const {divisor} : i32
      tir.for %i = %c0 to %c64 {{
        %x = tir.load %A[%i] : i32
        %q = tir.floordiv %x, %d : i32
        %r = tir.floormod %x, %d : i32
        tir.store %q, %B[%c0, %i] : i32
        tir.store %r, %B[%c1, %i] : i32
      }}
    }}""")
    a = np.arange(-32, 32, dtype="i4")
    out = np.zeros((2, 64), "i4")
    function(a, out)
    np.testing.assert_array_equal(out[0], a // divisor)
    np.testing.assert_array_equal(out[1], a % divisor)


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
def test_minimum_and_maximum_are_nan_where_an_operand_is(dtype: str) -> None:
    a = np.array([np.nan, 1, np.inf, 2] * 16, f"f{int(dtype[1:]) // 8}")
    b = np.array([1, np.nan, -np.inf, 3] * 16, a.dtype)
    out = np.zeros_like(a)
    for name, numpy_function in (("min", np.minimum), ("max", np.maximum)):
        binary(name, dtype)(a, b, out)
        np.testing.assert_array_equal(out, numpy_function(a, b))


def test_remainder_of_floats_is_that_of_c() -> None:
    a, b = np.linspace(-9, 9, 64).astype("f4"), np.full(64, 2.5, "f4")
    out = np.zeros(64, "f4")
    binary("mod", "f32")(a, b, out)
    np.testing.assert_array_equal(out, np.fmod(a, b))


NUMPY = {
    "i1": "?",
    "i8": "i1",
    "ui8": "u1",
    "i32": "i4",
    "ui32": "u4",
    "i64": "i8",
    "f16": "f2",
    "f32": "f4",
    "f64": "f8",
}


@pytest.mark.parametrize(
    ("source", "target"),
    [("i8", "i32"), ("ui8", "i32"), ("i32", "i8"), ("i32", "f32"), ("f32", "i32"),
     ("ui32", "f64"), ("f64", "f32"), ("f32", "f16"), ("i1", "f32"), ("i32", "i1")],
)  # fmt: skip
def test_casts(source: str, target: str) -> None:
    function = compiled(f"""
    tir.func @f(%a: !tir.handle, %b: !tir.handle) attributes {{global_symbol = "f"}} {{
      %A = tir.match_buffer %a : !tir.buffer<8x{source}>
      %B = tir.match_buffer %b : !tir.buffer<8x{target}>
      %c0 = tir.const 0 : i32
      %c8 = tir.const 8 : i32
      tir.for %i = %c0 to %c8 {{
        %x = tir.load %A[%i] : {source}
        %y = tir.cast %x : {source} to {target}
        tir.store %y, %B[%i] : {target}
      }}
    }}""")
    values = np.array([0, 1, 2, 100, 3, 7, 50, 0])
    a = values.astype(NUMPY[source])
    if source[0] == "f":
        a += a.dtype.type(0.75)
    if source in ("i8", "i32") and target != "i1":
        a = -a
    out = np.zeros(8, NUMPY[target])
    function(a, out)
    np.testing.assert_array_equal(out, a.astype(NUMPY[target]))


@pytest.mark.parametrize("target", ["f16", "f32"])
def test_vectors_of_doubles_are_rounded_once(target: str) -> None:
    """There is no such conversion to f16 in LLVM's vectors."""
    function = compiled(f"""
    tir.func @f(%a: !tir.handle, %b: !tir.handle) attributes {{global_symbol = "f"}} {{
      %A = tir.match_buffer %a : !tir.buffer<64xf64>
      %B = tir.match_buffer %b : !tir.buffer<64x{target}>
      %c0 = tir.const 0 : i32
      %c8 = tir.const 8 : i32
      tir.for %i = %c0 to %c8 {{
        %first = tir.mul %i, %c8 : i32
        tir.for %j = %c0 to %c8 vectorized {{
          %at = tir.add %first, %j : i32
          %x = tir.load %A[%at] : f64
          %y = tir.cast %x : f64 to {target}
          tir.store %y, %B[%at] : {target}
        }}
      }}
    }}""")
    # A hair above the middle of two neighbours in f16, which f32 would forget.
    a = np.linspace(-2000, 2000, 64)
    a[::4] = 1 + 2.0**-11 + 2.0**-40
    a[1::8] = np.inf
    a[2::8] = np.nan
    out = np.zeros(64, NUMPY[target])
    function(a, out)
    np.testing.assert_array_equal(out, a.astype(NUMPY[target]))


MATH: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "tanh": np.tanh,
    "sqrt": np.sqrt,
    "log": np.log,
    "erf": np.vectorize(math.erf, otypes=["f4"]),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "fabs": np.abs,
}


@pytest.mark.parametrize("name", MATH)
def test_math_functions(name: str) -> None:
    function = compiled(f"""
    tir.func @f(%a: !tir.handle, %b: !tir.handle) attributes {{global_symbol = "f"}} {{
      %A = tir.match_buffer %a : !tir.buffer<64xf32>
      %B = tir.match_buffer %b : !tir.buffer<64xf32>
      %c0 = tir.const 0 : i32
      %c64 = tir.const 64 : i32
      tir.for %i = %c0 to %c64 {{
        %x = tir.load %A[%i] : f32
        %y = tir.call "{name}"(%x) : (f32) -> f32
        tir.store %y, %B[%i] : f32
      }}
    }}""")
    a = np.linspace(0.01, 7, 64).astype("f4")
    out = np.zeros(64, "f4")
    function(a, out)
    np.testing.assert_allclose(out, MATH[name](a), rtol=5e-7)


MATMUL = """
tir.func @f(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle)
    attributes {global_symbol = "f", tir.noalias = true} {
  %n = tir.shape_var "n" : i32
  %m = tir.shape_var "m" : i32
  %k = tir.shape_var "k" : i32
  %A = tir.match_buffer "A" %a [%n, %k] : !tir.buffer<?x?xf32>
  %B = tir.match_buffer "B" %b [%k, %m] : !tir.buffer<?x?xf32>
  %C = tir.match_buffer "C" %c [%n, %m] : !tir.buffer<?x?xf32>
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n {
    tir.for %j = %c0 to %m {
      tir.for %l = %c0 to %k {
        tir.block "C" (%vi : S in [%c0 to %n] = %i, %vj : S in [%c0 to %m] = %j,
                       %vk : R in [%c0 to %k] = %l) {
          tir.init {
            %z = tir.const 0.0 : f32
            tir.store %z, %C[%vi, %vj] : f32
          }
          %s = tir.load %C[%vi, %vj] : f32
          %x = tir.load %A[%vi, %vk] : f32
          %y = tir.load %B[%vk, %vj] : f32
          %p = tir.mul %x, %y : f32
          %t = tir.add %s, %p : f32
          tir.store %t, %C[%vi, %vj] : f32
        }
      }
    }
  }
}
"""


def test_matmul_of_symbolic_shapes() -> None:
    function = compiled(MATMUL)
    rng = np.random.default_rng(0)
    for n, m, k in ((1, 1, 1), (7, 5, 9), (32, 16, 64)):
        a, b = rng.random((n, k), "f4"), rng.random((k, m), "f4")
        out = np.empty((n, m), "f4")
        function(a, b, out)
        np.testing.assert_allclose(out, a @ b, rtol=1e-5)


def test_allocations_bools_and_control_flow() -> None:
    function = compiled("""
    tir.func @f(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "f"} {
      %A = tir.match_buffer %a : !tir.buffer<40x20xf32>
      %B = tir.match_buffer %b : !tir.buffer<40x20xi1>
      %c0 = tir.const 0 : i32
      %c1 = tir.const 1 : i32
      %c20 = tir.const 20 : i32
      %c40 = tir.const 40 : i32
      %zero = tir.const 0.0 : f32
      %m = tir.allocate [800] : !tir.ptr<f32>
      %M = tir.decl_buffer %m : !tir.buffer<40x20xf32>
      %flat = tir.decl_buffer %m : !tir.buffer<800xf32>
      %state = tir.allocate [1] : !tir.ptr<i32>
      %S = tir.decl_buffer %state : !tir.buffer<1xi32>
      tir.for %i = %c0 to %c40 {
        tir.for %j = %c0 to %c20 {
          %x = tir.load %A[%i, %j] : f32
          tir.store %x, %M[%i, %j] : f32
        }
      }
      tir.store %c0, %S[%c0] : i32
      tir.while {
        %s = tir.load %S[%c0] : i32
        %p = tir.cmp lt %s, %c40 : i32
        tir.yield %p : i1
      } do {
        %i = tir.load %S[%c0] : i32
        %start = tir.mul %i, %c20 : i32
        tir.for %j = %c0 to %c20 {
          %k = tir.add %start, %j : i32
          %x = tir.load %flat[%k] : f32
          %p = tir.cmp gt %x, %zero : f32
          %is_first = tir.cmp eq %j, %c0 : i32
          %q = tir.or %p, %is_first : i1
          tir.if %q {
            tir.store %q, %B[%i, %j] : i1
          } else {
            tir.store %p, %B[%i, %j] : i1
          }
        }
        %next = tir.add %i, %c1 : i32
        tir.store %next, %S[%c0] : i32
      }
    }""")
    a = np.random.default_rng(1).standard_normal((40, 20)).astype("f4")
    out = np.zeros((40, 20), "?")
    function(a, out)
    expected = a > 0
    expected[:, 0] = True
    np.testing.assert_array_equal(out, expected)


def test_narrow_and_unsigned_loops() -> None:
    function = compiled("""
    tir.func @f(%a: !tir.handle) -> i32 attributes {global_symbol = "f"} {
      %A = tir.match_buffer %a : !tir.buffer<1xi32>
      %c0 = tir.const 0 : i32
      %c1 = tir.const 1 : i32
      %u0 = tir.const 56 : ui8
      %u200 = tir.const 200 : ui8
      tir.store %c0, %A[%c0] : i32
      tir.for %i = %u0 to %u0 + %u200 {
        %s = tir.load %A[%c0] : i32
        %x = tir.cast %i : ui8 to i32
        %t = tir.add %s, %x : i32
        tir.store %t, %A[%c0] : i32
      }
      %r = tir.load %A[%c0] : i32
      tir.ret %r : i32
    }""")
    assert function(np.zeros(1, "i4")) == sum(range(56, 256))


def test_calls_between_functions() -> None:
    executable = xdsl_tvm.compile("""
    tir.func @square(%p: !tir.ptr<f32>, %i: i32) -> f32 {
      %P = tir.decl_buffer %p : !tir.buffer<8xf32>
      %x = tir.load %P[%i] : f32
      %y = tir.mul %x, %x : f32
      tir.ret %y : f32
    }
    tir.func @f(%a: !tir.handle, %i: i32) -> f32 attributes {global_symbol = "f"} {
      %A = tir.match_buffer %a : !tir.buffer<2x4xf32>
      %p = tir.data %A : !tir.ptr<f32>
      %y = tir.call_func @square(%p, %i) : (!tir.ptr<f32>, i32) -> f32
      tir.ret %y : f32
    }""")
    assert list(executable) == ["f"]
    a = np.arange(8, dtype="f4").reshape(2, 4)
    assert [executable["f"](a, i) for i in range(8)] == [i * i for i in range(8)]


def test_strides_offsets_and_compound_extents() -> None:
    function = compiled("""
    tir.func @f(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "f"} {
      %n = tir.shape_var "n" : i64
      %s = tir.shape_var "s" : i64
      %o = tir.shape_var "o" : i64
      %c0 = tir.const 0 : i64
      %c2 = tir.const 2 : i64
      %twice = tir.mul %n, %c2 : i64
      %A = tir.match_buffer "A" %a [%n] strides [%s, 2] offset %o : !tir.buffer<?x4xf32>
      %B = tir.match_buffer "B" %b [%twice] : !tir.buffer<?xf32>
      tir.for %i = %c0 to %twice {
        %h = tir.floordiv %i, %c2 : i64
        %x = tir.load %A[%h, %c2] : f32
        tir.store %x, %B[%i] : f32
      }
    }""")
    base = np.arange(60, dtype="f4").reshape(5, 12)
    a = base[:, 0:8:2]
    out = np.zeros(10, "f4")
    function(a, out)
    np.testing.assert_array_equal(out, np.repeat(a[:, 2], 2))
    with pytest.raises(ValueError, match="'A' must have strides"):
        function(base[:, :4], out)
    with pytest.raises(ValueError, match="'B' must have extent n \\* 2 = 10 on axis 0"):
        function(a, out[:9])


VECTORS = """
tir.func @f(%a: !tir.handle, %b: !tir.handle, %p: !tir.handle)
    attributes {global_symbol = "f"} {
  %A = tir.match_buffer %a : !tir.buffer<16xf32>
  %B = tir.match_buffer %b : !tir.buffer<6x8xf32>
  %P = tir.match_buffer %p : !tir.buffer<8xi1>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c5 = tir.const 5 : i32
  %r = tir.ramp %c0, %c1 : vector<8xi32>
  %r2 = tir.ramp %c1, %c2 : vector<8xi32>
  %x = tir.load %A[%r] : vector<8xf32>
  %y = tir.load %A[%r2] : vector<8xf32>
  %z = tir.add %x, %y : vector<8xf32>
  tir.store %z, %B[%c0, %r] : vector<8xf32>
  %m = tir.max %x, %y : vector<8xf32>
  tir.store %m, %B[%c1, %r] : vector<8xf32>
  %k = tir.const 3.0 : f32
  %kv = tir.broadcast %k : vector<8xf32>
  %q = tir.cmp gt %x, %kv : vector<8xf32>
  tir.store %q, %P[%r] : vector<8xi1>
  %ex = tir.call "exp"(%x) : (vector<8xf32>) -> vector<8xf32>
  tir.store %ex, %B[%c2, %r] if %q : vector<8xf32>
  %ri = tir.cast %r : vector<8xi32> to vector<8xf32>
  tir.store %ri, %B[%c3, %r] : vector<8xf32>
  %lo = tir.call "vectorlow"(%x) : (vector<8xf32>) -> vector<4xf32>
  %hi = tir.call "vectorhigh"(%x) : (vector<8xf32>) -> vector<4xf32>
  %sw = tir.call "vectorcombine"(%hi, %lo)
      : (vector<4xf32>, vector<4xf32>) -> vector<8xf32>
  tir.store %sw, %B[%c4, %r] : vector<8xf32>
  %l = tir.load %A[%r] if %q : vector<8xf32>
  %s1 = tir.shuffle [%l] [%c5] : f32
  %s2 = tir.broadcast %s1 : vector<8xf32>
  tir.store %s2, %B[%c5, %r] : vector<8xf32>
}
"""


def test_vectors() -> None:
    a = np.arange(16, dtype="f4")
    rows, flags = np.zeros((6, 8), "f4"), np.zeros(8, "?")
    compiled(VECTORS)(a, rows, flags)
    low, odd = a[:8], a[1::2]
    np.testing.assert_array_equal(rows[0], low + odd)
    np.testing.assert_array_equal(rows[1], np.maximum(low, odd))
    np.testing.assert_array_equal(flags, low > 3)
    np.testing.assert_allclose(rows[2], np.where(low > 3, np.exp(low), 0), rtol=5e-7)
    np.testing.assert_array_equal(rows[3], np.arange(8))
    np.testing.assert_array_equal(rows[4], np.roll(low, 4))
    np.testing.assert_array_equal(rows[5], np.full(8, a[5]))


VIEWS_OF_REGIONS = """
@T.prim_func
def f(A: T.Buffer((16, 16), "int32"), C: T.Buffer((16, 16), "int32")):
    for i in range(4):
        with T.block("o"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi * 4:vi * 4 + 4, 0:16])
            T.writes(C[vi * 4:vi * 4 + 4, 0:16])
            S = T.match_buffer(A[vi * 4:vi * 4 + 4, 0:16], (4, 16), "int32")
            for a, b in T.grid(4, 16):
                C[vi * 4 + a, b] = S[a, b] + 1
"""


@pytest.mark.parametrize("optimize", [True, False])
def test_views_of_regions(optimize: bool) -> None:
    a = np.arange(256, dtype="i4").reshape(16, 16)
    c = np.zeros_like(a)
    xdsl_tvm.compile(tvmscript.parse(VIEWS_OF_REGIONS), optimize=optimize)["f"](a, c)
    np.testing.assert_array_equal(c, a + 1)


@pytest.mark.parametrize("level", [0, 2])
def test_what_is_out_of_range_is_some_number(level: int) -> None:
    """The same one for all uses: an index that is clamped stays in its array."""
    function = xdsl_tvm.compile(
        """
    tir.func @f(%a: !tir.handle, %s: !tir.handle, %o: !tir.handle)
        attributes {global_symbol = "f"} {
      %A = tir.match_buffer %a : !tir.buffer<8xf32>
      %S = tir.match_buffer %s : !tir.buffer<8xi32>
      %O = tir.match_buffer %o : !tir.buffer<2x8xi32>
      %c0 = tir.const 0 : i32
      %c1 = tir.const 1 : i32
      %c7 = tir.const 7 : i32
      %c8 = tir.const 8 : i32
      tir.for %i = %c0 to %c8 {
        %x = tir.load %A[%i] : f32
        %n = tir.cast %x : f32 to i32
        %low = tir.max %n, %c0 : i32
        %at = tir.min %low, %c7 : i32
        tir.store %c1, %O[%c0, %at] : i32
        %by = tir.load %S[%i] : i32
        %m = tir.call "shift_left"(%c1, %by) : (i32, i32) -> i32
        %low2 = tir.max %m, %c0 : i32
        %at2 = tir.min %low2, %c7 : i32
        tir.store %c1, %O[%c1, %at2] : i32
      }
    }""",
        opt_level=level,
    )["f"]
    out = np.zeros((2, 8), "i4")
    a = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 3, 2.0**31, -0.5], "f4")
    function(a, np.array([32, 33, -1, 1000, 2, 64, 2**31 - 1, -(2**31)], "i4"), out)
    assert out[0, 3] == out[0, 0] == 1
    assert out[1, 4] == 1
