"""The kernels of paged caches, as functions of TIR.

They are scripts, which `kernels` completes with the extents of a model. The first stores
the keys and values of new tokens, the second computes attention over the slots that the
runtime lists (`runtime/attention_caches/paged.py`). Sums are of `float32`.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import indent

from xdsl_tvm.dialects import tir
from xdsl_tvm.tvmscript import parse

_APPEND = """\
@T.prim_func
def kv_cache_append(
    qkv: T.handle, turns: T.handle, new: T.handle, turned: T.handle,
    queries: T.handle, keys: T.handle, values: T.handle,
):
    T.func_attr({{"global_symbol": "kv_cache_append", "tir.noalias": True}})
    n = T.int64()
    s = T.int64()
    m = T.int64()
    QKV = T.match_buffer(qkv, (n, {all_heads}, {features}), "{dtype}")
    Turn = T.match_buffer(turns, (n,), "int32")
    New = T.match_buffer(new, (n,), "int32")
    Turned = T.match_buffer(turned, (m, 2, {table}), "float32")
    Q = T.match_buffer(queries, (n, {query_heads}, {features}), "{dtype}")
    K = T.match_buffer(keys, (s, {heads}, {features}), "{dtype}")
    V = T.match_buffer(values, (s, {heads}, {features}), "{dtype}")
    for i in T.parallel(n):
        for h in range({query_heads}):
{query}
        for h in range({heads}):
{key}
            for a in range({features} // {lanes}):
                for v in T.vectorized({lanes}):
                    V[New[i], h, a * {lanes} + v] = (
                        QKV[i, h + {query_heads} + {heads}, a * {lanes} + v])
"""

_ATTEND = """\
@T.prim_func
def kv_cache_attention(
    queries: T.handle, keys: T.handle, values: T.handle, slots: T.handle,
    first: T.handle, counts: T.handle, turned: T.handle, scale: T.float32,
    out: T.handle,
):
    T.func_attr({{"global_symbol": "kv_cache_attention", "tir.noalias": True}})
    n = T.int64()
    s = T.int64()
    t = T.int64()
    m = T.int64()
    Q = T.match_buffer(queries, (n, {query_heads}, {features}), "{dtype}")
    K = T.match_buffer(keys, (s, {heads}, {features}), "{dtype}")
    V = T.match_buffer(values, (s, {heads}, {features}), "{dtype}")
    Slot = T.match_buffer(slots, (t,), "int32")
    First = T.match_buffer(first, (n,), "int32")
    Count = T.match_buffer(counts, (n,), "int32")
    Turned = T.match_buffer(turned, (m, 2, {table}), "float32")
    O = T.match_buffer(out, (n, {query_heads}, {features}), "{dtype}")
    for ih in T.parallel(n * {query_heads}):
        with T.block("row"):
            i = T.axis.spatial(n, ih // {query_heads})
            h = T.axis.spatial({query_heads}, ih % {query_heads})
            T.reads(Q[i, h, 0:{features}], K[0:s, h // {group}, 0:{features}],
                    V[0:s, h // {group}, 0:{features}], Slot[0:t], First[i], Count[i],
                    Turned[0:m, 0:2, 0:{table}])
            T.writes(O[i, h, 0:{features}])
            query = T.alloc_buffer(({features},), "float32")
            key = T.alloc_buffer(({features},), "float32")
            lane = T.alloc_buffer(({lanes},), "float32")
            score = T.alloc_buffer(({chunk},), "float32")
            weight = T.alloc_buffer(({chunk},), "float32")
            total = T.alloc_buffer(({features},), "float32")
            state = T.alloc_buffer((3,), "float32")
{query}
            for a in range({features} // {lanes}):
                for v in T.vectorized({lanes}):
                    total[a * {lanes} + v] = T.float32(0)
            state[0] = T.float32(-3.0e38)
            state[1] = T.float32(0)
            for c in range((T.Cast("int64", Count[i]) + {chunk} - 1) // {chunk}):
                state[2] = state[0]
                for j in range({chunk}):
                    if c * {chunk} + j < T.Cast("int64", Count[i]):
{key}
                        for v in T.vectorized({lanes}):
                            lane[v] = T.float32(0)
                        for a in range({features} // {lanes}):
                            for v in T.vectorized({lanes}):
                                lane[v] = lane[v] + (
                                    query[a * {lanes} + v] * {key_element})
{sum_of_lanes}
                        score[j] = lane[0] * scale
                    else:
                        score[j] = T.float32(-3.0e38)
                    state[0] = T.max(state[0], score[j])
                for j in T.vectorized({chunk}):
                    score[j] = T.exp(score[j] - state[0])
                state[2] = T.exp(state[2] - state[0])
                state[1] = state[1] * state[2]
                for j in T.vectorized({chunk}):
                    weight[j] = score[j]
{sum_of_weights}
                state[1] = state[1] + weight[0]
                for a in range({features} // {lanes}):
                    for v in T.vectorized({lanes}):
                        total[a * {lanes} + v] = total[a * {lanes} + v] * state[2]
                for j in range({chunk}):
                    if c * {chunk} + j < T.Cast("int64", Count[i]):
                        for a in range({features} // {lanes}):
                            for v in T.vectorized({lanes}):
                                total[a * {lanes} + v] = total[a * {lanes} + v] + (
                                    score[j] * T.Cast("float32", V[
                                        Slot[First[i] + c * {chunk} + j],
                                        h // {group}, a * {lanes} + v]))
            for a in range({features} // {lanes}):
                for v in T.vectorized({lanes}):
                    O[i, h, a * {lanes} + v] = T.Cast(
                        "{dtype}", total[a * {lanes} + v] / state[1])
"""

_CHUNK = 16
"""Scores that are computed before the sum is scaled to the largest of them."""


@dataclass(frozen=True)
class KernelShape:
    """What the kernels of a model depend on.

    Of `rotary` features pairs are turned by the position of a token: when they are
    stored with `turns_stored`, else when they are read.
    """

    query_heads: int
    heads: int
    features: int
    dtype: str
    rotary: int = 0
    turns_stored: bool = True

    @property
    def table(self) -> int:
        """How many pairs of features the table of angles has."""
        return max(self.rotary // 2, 1)

    @property
    def lanes(self) -> int:
        """Elements of a vector, of which features and pairs are multiples."""
        parts = (self.features, self.rotary // 2)
        return next(n for n in (16, 8, 4, 2, 1) if not any(part % n for part in parts))


def kernels(shape: KernelShape) -> tuple[tir.FuncOp, tir.FuncOp]:
    """The functions `kv_cache_append` and `kv_cache_attention`."""
    stored = shape.rotary if shape.turns_stored else 0
    read = 0 if shape.turns_stored else shape.rotary
    row = "Turned[Turn[i], "
    append = _APPEND.format(
        **_extents(shape),
        query=_moved(shape, "Q[i, h, ", "QKV[i, h, ", row, stored, 12),
        key=_moved(
            shape,
            "K[New[i], h, ",
            f"QKV[i, h + {shape.query_heads}, ",
            row,
            stored,
            12,
        ),
    )
    place = f"Slot[First[i] + c * {_CHUNK} + j], h // {shape.query_heads // shape.heads}"
    key = f'T.Cast("float32", K[{place}, a * {shape.lanes} + v])'
    at = f"Turned[c * {_CHUNK} + j, "
    local = KernelShape(
        shape.query_heads, shape.heads, shape.features, "float32", shape.rotary
    )
    attend = _ATTEND.format(
        **_extents(shape),
        group=shape.query_heads // shape.heads,
        chunk=_CHUNK,
        query=_moved(local, "query[", "Q[i, h, ", "Turned[Count[i] - 1, ", read, 12),
        key=_moved(local, "key[", f"K[{place}, ", at, read, 24) if read else "",
        sum_of_lanes=_summed("lane", shape.lanes, 24),
        sum_of_weights=_summed("weight", _CHUNK, 16),
        key_element=f"key[a * {shape.lanes} + v]" if read else key,
    )
    return _parsed(append), _parsed(attend)


def _extents(shape: KernelShape) -> dict[str, object]:
    return {
        "query_heads": shape.query_heads,
        "heads": shape.heads,
        "all_heads": shape.query_heads + 2 * shape.heads,
        "features": shape.features,
        "lanes": shape.lanes,
        "table": shape.table,
        "dtype": shape.dtype,
    }


def _summed(name: str, count: int, depth: int) -> str:
    """Loops that add the elements of a buffer to the first one, half after half."""
    lines: list[str] = []
    while count > 1:
        count //= 2
        lines += [
            f"for v in T.vectorized({count}):",
            f"    {name}[v] = {name}[v] + {name}[v + {count}]",
        ]
    return indent("\n".join(lines), " " * depth)


def _moved(
    shape: KernelShape, to: str, source: str, turned: str, rotary: int, depth: int
) -> str:
    """Loops that store a row of features elsewhere, pairs of `rotary` of them turned.

    Accesses are texts that lack the last index. Elements are converted to `dtype`.
    """
    lanes, pairs = shape.lanes, rotary // 2

    def loops(count: int, *statements: str) -> list[str]:
        body = [f"        {statement}" for statement in statements]
        head = [
            f"for a in range({count // lanes}):",
            f"    for v in T.vectorized({lanes}):",
        ]
        return [*head, *body] if count else []

    def read(offset: int) -> str:
        return f'T.Cast("float32", {source}a * {lanes} + v + {offset}])'

    def write(offset: int, value: str) -> str:
        return f'{to}a * {lanes} + v + {offset}] = T.Cast("{shape.dtype}", {value})'

    cosine, sine = (f"{turned}{part}, a * {lanes} + v]" for part in (0, 1))
    first, second = read(0), read(pairs)
    lines = [
        *loops(
            pairs,
            write(0, f"{first} * {cosine} - {second} * {sine}"),
            write(pairs, f"{second} * {cosine} + {first} * {sine}"),
        ),
        *loops(shape.features - rotary, write(rotary, read(rotary))),
    ]
    return indent("\n".join(lines), " " * depth)


def _parsed(text: str) -> tir.FuncOp:
    function = next(iter(parse(text).body.block.ops))
    assert isinstance(function, tir.FuncOp)
    function.detach()
    return function
