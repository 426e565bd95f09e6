"""Every operator of every dtype and vector length, compiled and compared.

Run as a program: `operator_table.py LEVELS CPUS DTYPE:LANES…` compiles the operators of
each dtype for vectors of so many lanes, runs them at each of LLVM's levels, and compares
with the interpreter; for each of the CPUs it makes assembly. LLVM ends a process on code
that it cannot select, so every batch is compiled in a fork, and where that dies, every
function in one of its own. What is wrong is printed, one line each.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.interpreters.data import numbers as _numbers
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.lowering.llvm_text.emitter import emit_llvm_ir
from xdsl_tvm.lowering.pipelines import lower_to_llvm
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime import llvm_jit
from xdsl_tvm.runtime.object_cache import ObjectCache

INTEGERS = ("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64")
FLOAT8 = ("f8E4M3FN", "f8E5M2")
NARROW = ("bf16", *FLOAT8)
"""Floats that are computed in f32, and rounded when they are stored."""
FLOATS = ("f16", "f32", "f64", *NARROW)
DTYPES = ("i1", *INTEGERS, *FLOATS)
LANES = (1, 2, 3, 4, 8, 16, 17, 32, 64)
CPUS = ("x86-64", "x86-64-v3", "skylake-avx512", "sapphirerapids", "aarch64")
"""Processors of x86-64, and an architecture."""

ARITHMETIC = ("add", "sub", "mul", "div", "mod", "floordiv", "floormod", "min", "max")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")
SHIFTS = ("shift_left", "shift_right")
EXACT_FUNCTIONS = ("sqrt", "fabs", "floor", "ceil", "round", "nearbyint", "trunc")
_FUNCTION_NAMES = """
exp exp2 exp10 log log2 log10 log1p rsqrt tanh sin cos tan sinh cosh asin acos atan erf
sigmoid
"""
FUNCTIONS = _FUNCTION_NAMES.split()
EXACT_PAIRS = ("fmod", "copysign")
PAIRS = ("pow", "atan2")
UNSUPPORTED_FUNCTIONS = ("asinh", "acosh", "atanh", "hypot", "nextafter")

ULPS = {"exp10": 128, "sigmoid": 4, "sinh": 4, "cosh": 4, "tanh": 4, "acos": 4}
"""The largest error in units of the last place, where it is not 2."""

_NSW = ("i32", "i64")


@dataclass(frozen=True)
class Case:
    """An operator on vectors: `body` computes %z from %x, %y and %w."""

    name: str
    source: str
    target: str
    body: str
    samples: str = "pairs"
    ulps: int = 0
    """The error that is allowed; 0 where results must be the same bits."""

    @property
    def symbol(self) -> str:
        """The function's name."""
        return "op_" + re.sub(r"\W", "_", self.name)


def cases(dtype: str, lanes: int) -> Iterator[Case]:
    """The operators that are supported."""
    t = vector(dtype, lanes)
    flags = vector("i1", lanes)

    def call(
        name: str, args: str, samples: str = "pairs", ulps: int = 0, result: str = dtype
    ) -> Case:
        types = ", ".join([t] * (args.count("%")))
        text = f'%z = tir.call "{name}"({args}) : ({types}) -> {vector(result, lanes)}'
        return Case(name, dtype, result, text, samples, ulps)

    for name in COMPARISONS:
        yield Case(f"cmp {name}", dtype, "i1", f"%z = tir.cmp {name} %x, %y : {t}")
    yield Case(
        "select",
        dtype,
        dtype,
        f"%cond = tir.cmp lt %x, %w : {t}\n%z = tir.select %cond, %x, %y : {flags}, {t}",
    )
    for target in DTYPES:
        if target != dtype:
            body = f"%z = tir.cast %x : {t} to {vector(target, lanes)}"
            yield Case(f"cast {target}", dtype, target, body, "cast")
    if lanes > 1:
        yield from _vector_cases(dtype, lanes)
    if dtype == "i1":
        for name in ("and", "or"):
            yield Case(name, dtype, dtype, f"%z = tir.{name} %x, %y : {t}")
        yield Case("not", dtype, dtype, f"%z = tir.not %x : {t}")
        return
    for name in ARITHMETIC:
        division = name in ("div", "mod", "floordiv", "floormod")
        samples = "pairs"
        if dtype in INTEGERS:
            samples = "divisors" if division else "small" if dtype in _NSW else "pairs"
        body = f"%z = tir.{name} %x, %y : {t}"
        yield Case(name, dtype, dtype, body, samples)
    if dtype in INTEGERS:
        for name in BITS:
            yield call(name, "%x, %y")
        for name in SHIFTS:
            yield call(name, "%x, %y", "shifts")
        yield call("bitwise_not", "%x")
        yield call("popcount", "%x")
        yield call("clz", "%x", result="i32")
        yield call("fma", "%x, %y, %w", "small")
        for divisor in (3, 8):
            for name in ("floordiv", "floormod", "div", "mod"):
                constant = f"%k = tir.const {divisor} : {dtype}\n"
                if lanes > 1:
                    constant += f"%d = tir.broadcast %k : {t}\n"
                d = "%k" if lanes == 1 else "%d"
                body = f"{constant}%z = tir.{name} %x, {d} : {t}"
                yield Case(f"{name} {divisor}", dtype, dtype, body)
        return
    yield call("isnan", "%x", result="i1")
    yield call("fma", "%x, %y, %w")
    for name in EXACT_FUNCTIONS:
        yield call(name, "%x")
    for name in EXACT_PAIRS:
        yield call(name, "%x, %y")
    for name in FUNCTIONS:
        yield call(name, "%x", "functions", ULPS.get(name, 2))
    for name in PAIRS:
        yield call(name, "%x, %y", "functions", 2)


def _vector_cases(dtype: str, lanes: int) -> Iterator[Case]:
    t = vector(dtype, lanes)
    first = f"%s = tir.shuffle [%x] [%c1] : {dtype}\n"
    yield Case("shuffle", dtype, dtype, f"{first}%z = tir.broadcast %s : {t}", "lanes")
    if dtype != "i1":
        body = f"{first}%v = tir.broadcast %s : {t}\n%z = tir.min %y, %v : {t}"
        yield Case("min of broadcast", dtype, dtype, body, "lanes")
        body = f"{first}%v = tir.broadcast %s : {t}\n%z = tir.max %v, %y : {t}"
        yield Case("max of broadcast", dtype, dtype, body, "lanes")
    if lanes % 2 == 0:
        half = vector(dtype, lanes // 2)
        body = (
            f'%l = tir.call "vectorlow"(%x) : ({t}) -> {half}\n'
            f'%h = tir.call "vectorhigh"(%y) : ({t}) -> {half}\n'
            f'%z = tir.call "vectorcombine"(%h, %l) : ({half}, {half}) -> {t}'
        )
        yield Case("combine", dtype, dtype, body, "lanes")


def refused(dtype: str, lanes: int) -> Iterator[Case]:
    """Operators that have no lowering: a documented error."""
    t = vector(dtype, lanes)
    if dtype in FLOATS:
        # In f32 a nextafter would be of another float.
        for name in UNSUPPORTED_FUNCTIONS:
            count = 1 if name.startswith("a") else 2
            args = ", ".join(["%x", "%y"][:count])
            types = ", ".join([t] * count)
            body = f'%z = tir.call "{name}"({args}) : ({types}) -> {t}'
            yield Case(name, dtype, dtype, body)
    elif dtype.startswith("f"):
        for name in ("add", "min", "max"):
            yield Case(name, dtype, dtype, f"%z = tir.{name} %x, %y : {t}")
        yield Case("cmp", dtype, "i1", f"%z = tir.cmp lt %x, %y : {t}")
        body = f"%z = tir.cast %x : {t} to {vector('f32', lanes)}"
        yield Case("cast", dtype, "f32", body)


def vector(dtype: str, lanes: int) -> str:
    """The type of so many lanes."""
    return dtype if lanes == 1 else f"vector<{lanes}x{dtype}>"


def text(case: Case, lanes: int, total: int) -> str:
    """The function of a case, on arrays of `total` elements."""
    s, t = vector(case.source, lanes), vector(case.target, lanes)
    at = "%i" if lanes == 1 else "%r"
    ramp = "" if lanes == 1 else f"%r = tir.ramp %i, %c1 : vector<{lanes}xi32>"
    return f"""
    tir.func @{case.symbol}(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle,
        %o: !tir.handle) attributes {{global_symbol = "{case.symbol}"}} {{
      %A = tir.match_buffer %a : !tir.buffer<{total}x{case.source}>
      %B = tir.match_buffer %b : !tir.buffer<{total}x{case.source}>
      %C = tir.match_buffer %c : !tir.buffer<{total}x{case.source}>
      %O = tir.match_buffer %o : !tir.buffer<{total}x{case.target}>
      %c0 = tir.const 0 : i32
      %c1 = tir.const 1 : i32
      %cl = tir.const {lanes} : i32
      %n = tir.const {total // lanes} : i32
      tir.for %q = %c0 to %n {{
        %i = tir.mul %q, %cl : i32
        {ramp}
        %x = tir.load %A[{at}] : {s}
        %y = tir.load %B[{at}] : {s}
        %w = tir.load %C[{at}] : {s}
        {case.body}
        tir.store %z, %O[{at}] : {t}
      }}
    }}"""


# -------------------------------------------------------------------------- samples


def storage(dtype: str) -> np.dtype[Any]:
    """The numpy dtype of a dtype's elements."""
    return _numbers.number(_attribute(dtype)).storage


def _attribute(dtype: str) -> Any:
    return Parser(new_context(), dtype).parse_attribute()


def samples(case: Case) -> tuple[Any, Any, Any]:
    """Three arrays of numbers that make sense for a case."""
    rng = np.random.default_rng(5)
    kind = storage(case.source)
    if case.source == "i1":
        values = np.array([0, 1], "?")
    elif case.source in FLOATS:
        values = _float_samples(case, kind, rng)
    else:
        values = _integer_samples(case, kind, rng)
    if case.samples in ("cast", "functions") and "y" not in case.body.split("=")[-1]:
        a = np.resize(values, 64)
        return a, a, a
    a, b = (grid.ravel() for grid in np.meshgrid(values, values))
    if "XDSL_TVM_FUZZ" not in os.environ:
        some = rng.permutation(len(a))[:150]
        a, b = a[some], b[some]
    c = rng.permutation(a)
    if case.samples == "divisors":
        bad = (
            (b == 0) | ((b == -1) & (a == np.iinfo(kind).min))
            if kind.kind == "i"
            else b == 0
        )
        b = np.where(bad, np.array(3, kind), b)
    if case.samples == "shifts":
        b = (np.arange(len(a)) % (8 * kind.itemsize)).astype(kind)
    return a, b, c


def _integer_samples(case: Case, kind: Any, rng: Any) -> Any:
    info = np.iinfo(kind)
    if case.samples == "small":
        low, high = max(info.min, -1000), min(info.max, 1000)
        return rng.integers(low, high, 14, dtype=kind, endpoint=True)
    fixed = [0, 1, 2, 3, 7, info.min, info.max, info.min + 1, info.max - 1]
    if info.min:
        fixed += [-1, -2, -3, -7]
    extra = rng.integers(info.min, info.max, 3, dtype=kind, endpoint=True)
    return np.concatenate([np.array(fixed, kind), extra])


def _float_samples(case: Case, kind: Any, rng: Any) -> Any:
    info = cast("Any", ml_dtypes).finfo(kind)
    largest, normal, smallest, eps = map(
        float, (info.max, info.smallest_normal, info.smallest_subnormal, info.eps)
    )
    specials = [0.0, -0.0, 1, -1, 0.5, 2.5, -2.5, 1.5, 3, -7, np.inf, -np.inf, np.nan]
    specials += [largest, normal, 1 + eps, smallest, -3 * smallest]
    values: Any = np.concatenate([specials, rng.normal(size=4), rng.normal(size=3) * 100])
    if case.samples == "functions":
        # The trigonometric functions of f64 have no argument beyond 2^45.
        large = 13 if case.source == "f64" else 16
        values = np.concatenate([specials[:large], rng.normal(size=16) * 3])
    return values.astype(kind)


@cache
def reference(dtype: str) -> dict[str, Any]:
    """What the interpreter computes of scalars, for every operator."""
    scalars = {case: samples(case) for case in cases(dtype, 1)}
    texts = [text(case, 1, len(arrays[0])) for case, arrays in scalars.items()]
    module = Parser(new_context(), "\n".join(texts)).parse_module()
    functions = interpret(module)
    found: dict[str, Any] = {}
    for case, arrays in scalars.items():
        in_f32 = _computed_in_f32(case, arrays)
        if in_f32 is not None:
            found[case.name] = in_f32
            continue
        found[case.name] = np.zeros(len(arrays[0]), storage(case.target))
        with np.errstate(all="ignore"):
            functions[case.symbol](*arrays, found[case.name])
    return found


def _computed_in_f32(case: Case, arrays: tuple[Any, Any, Any]) -> Any:
    """What a case gives that the interpreter rounds more or less often.

    It rounds the quotient of a floor division, and converts a number to a narrow float at
    once; code converts it to f32 first.
    """
    if case.target not in NARROW:
        return None
    a, b = arrays[0].astype("f4"), arrays[1].astype("f4")
    with np.errstate(all="ignore"):
        if case.name == "floordiv":
            return np.floor(a / b).astype(storage(case.target))
        if case.name == "floormod":
            return (a - np.floor(a / b) * b).astype(storage(case.target))
        if case.name.startswith("cast "):
            return a.astype(storage(case.target))
    return None


def difference(case: Case, want: Any, got: Any) -> str | None:
    """The first element that differs too much."""
    bits = f"u{want.dtype.itemsize}"
    same = want.view(bits) == got.view(bits)
    if case.target in FLOATS:
        w, g = want.astype("f8"), got.astype("f8")
        same |= np.isnan(w) & np.isnan(g)
        if case.name.partition(" ")[0] in ("min", "max"):
            # The sign of a zero is not specified.
            same |= (w == 0) & (g == 0)
        if case.ulps:
            same |= _distance(want, got) <= case.ulps
    wrong = np.flatnonzero(~same)
    if not len(wrong):
        return None
    return f"element {wrong[0]} of {len(wrong)}: {got[wrong[0]]}, not {want[wrong[0]]}"


def _distance(want: Any, got: Any) -> Any:
    width = want.dtype.itemsize

    def ordered(values: Any) -> list[int]:
        bits = values.view(f"i{width}").tolist()
        return [-(b + 2 ** (8 * width - 1)) if b < 0 else b for b in bits]

    far = 2**62
    pairs = zip(ordered(want), ordered(got), strict=True)
    distances = np.array([min(abs(w - g), far) for w, g in pairs])
    nan = np.isnan(want.astype("f8")) | np.isnan(got.astype("f8"))
    return np.where(nan, far, distances)


# ----------------------------------------------------------------------------- runs


def check(
    dtype: str,
    lanes: int,
    batch: Sequence[Case],
    levels: Sequence[int],
    cpus: Sequence[str],
) -> None:
    """Compiles a batch, runs it at every level, and prints what is wrong."""
    results = reference(dtype)
    inputs: dict[str, tuple[list[Any], Any]] = {}
    texts: list[str] = []
    for case in batch:
        arrays = samples(case)
        if case.samples == "lanes":
            total = lanes * 8
            arrays = tuple(np.resize(array, total) for array in arrays)
            want = _lane_results(case, lanes, arrays)
        else:
            want = results[case.name]
            total = -(-len(want) // lanes) * lanes
            arrays = tuple(np.resize(array, total) for array in arrays)
            want = np.resize(want, total)
        inputs[case.symbol] = [*arrays], want
        texts.append(text(case, lanes, total))
    code = llvm_ir("\n".join(texts))
    for level in levels:
        where = f"{dtype} x {lanes}, level {level}"
        native = llvm_jit.load(
            code, list(inputs), opt_level=level, cache=ObjectCache(None)
        )
        for case in batch:
            arrays, want = inputs[case.symbol]
            got = np.zeros(len(want), want.dtype)
            function = native.function(case.symbol, None, *[ctypes.c_void_p] * 4)
            function(*(a.__array_interface__["data"][0] for a in (*arrays, got)))
            problem = difference(case, want, got)
            if problem is not None:
                print(f"{where}: {case.name}: {problem}", flush=True)
    for cpu in cpus:
        family, name = ("aarch64", "") if cpu == "aarch64" else ("x86_64", cpu)
        # Where LLVM ends the process this is the last line.
        print(f"compiling for {cpu}", file=sys.stderr, flush=True)
        llvm_jit.assembly(code, triple=f"{family}-unknown-linux-gnu", cpu=name)


def _lane_results(case: Case, lanes: int, arrays: Sequence[Any]) -> Any:
    x, y = (array.reshape(-1, lanes) for array in arrays[:2])
    second = np.broadcast_to(x[:, 1:2], x.shape)
    if case.name == "shuffle":
        found = second
    elif case.name == "min of broadcast":
        found = np.minimum(y, second)
    elif case.name == "max of broadcast":
        found = np.maximum(second, y)
    else:
        found = np.concatenate([y[:, lanes // 2 :], x[:, : lanes // 2]], axis=1)
    return np.ascontiguousarray(found).ravel()


def llvm_ir(source: str) -> str:
    """The LLVM IR of a module, without a schedule."""
    context = new_context()
    module = Parser(context, source).parse_module()
    lower_to_llvm(context, module)
    return emit_llvm_ir([module])


def check_refused(dtype: str, lanes: int, batch: Sequence[Case]) -> None:
    """Prints which cases of a batch are not refused with an error of one line."""
    for case in batch:
        try:
            llvm_ir(text(case, lanes, lanes))
        except PassFailedException as error:
            if "\n" not in str(error):
                continue
            print(f"{dtype} x {lanes}: {case.name}: {error}", flush=True)
        else:
            print(f"{dtype} x {lanes}: {case.name} is not refused", flush=True)


def in_fork(function: Callable[[], None]) -> str | None:
    """Runs a function in a process of its own; how that ended if not well."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        status = 1
        try:
            function()
            status = 0
        except BaseException:
            print(traceback.format_exc()[-1500:], flush=True)
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return None if status == 0 else f"ends with {status}"


def main(levels: str, cpus: str, *batches: str) -> None:
    """Checks every batch `DTYPE:LANES`."""
    numbers = [int(level) for level in levels.split(",") if level]
    names = [cpu for cpu in cpus.split(",") if cpu]
    # Passes are imported when they run: once, rather than in every fork.
    llvm_ir(text(next(cases("f32", 1)), 1, 1))
    for name in batches:
        dtype, _, width = name.partition(":")
        _check_batch(dtype, int(width), numbers, names)
    print("done", flush=True)


def _check_batch(dtype: str, lanes: int, levels: list[int], cpus: list[str]) -> None:
    def end_of(some: Sequence[Case]) -> str | None:
        return in_fork(lambda: check(dtype, lanes, some, levels, cpus))

    every = list(cases(dtype, lanes)) if dtype in DTYPES else []
    if every:
        # Before the forks, which then need not.
        reference(dtype)
        if end_of(every) is not None:
            for case in every:
                if (found := end_of([case])) is not None:
                    print(f"{dtype} x {lanes}: {case.name}: {found}", flush=True)
    check_refused(dtype, lanes, list(refused(dtype, lanes)))


if __name__ == "__main__":
    main(*sys.argv[1:])
