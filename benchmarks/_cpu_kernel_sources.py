"""The kernels of `cpu_kernels.py`, in TVMScript, as they are written without a schedule.

Each is a function of buffers that TVM reads as well. `T` is `xdsl_tvm.tvmscript.tir` or
TVM's own.
"""

from __future__ import annotations

_MAP = """
@T.prim_func
def {name}({params}):
    T.func_attr({{"global_symbol": "{name}", "tir.noalias": True}})
    for i, j in T.grid({rows}, {columns}):
        with T.block("{name}"):
            vi, vj = T.axis.remap("SS", [i, j])
            Z[vi, vj] = {value}
"""

_SUM = """
@T.prim_func
def {name}(
    A: T.Buffer(({rows}, {columns}), "float32"),
    Z: T.Buffer(({size},), "float32"),
):
    T.func_attr({{"global_symbol": "{name}", "tir.noalias": True}})
    for i, k in T.grid({size}, {terms}):
        with T.block("{name}"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                Z[vi] = T.float32(0)
            Z[vi] = Z[vi] + A[{index}]
"""

_SOFTMAX = """
@T.prim_func
def softmax(A: T.Buffer(({n}, {m}), "float32"), Z: T.Buffer(({n}, {m}), "float32")):
    T.func_attr({{"global_symbol": "softmax", "tir.noalias": True}})
    most = T.alloc_buffer(({n},), "float32")
    powers = T.alloc_buffer(({n}, {m}), "float32")
    total = T.alloc_buffer(({n},), "float32")
    for i, k in T.grid({n}, {m}):
        with T.block("most"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                most[vi] = T.min_value("float32")
            most[vi] = T.max(most[vi], A[vi, vk])
    for i, j in T.grid({n}, {m}):
        with T.block("powers"):
            vi, vj = T.axis.remap("SS", [i, j])
            powers[vi, vj] = T.exp(A[vi, vj] - most[vi])
    for i, k in T.grid({n}, {m}):
        with T.block("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + powers[vi, vk]
    for i, j in T.grid({n}, {m}):
        with T.block("quotient"):
            vi, vj = T.axis.remap("SS", [i, j])
            Z[vi, vj] = powers[vi, vj] / total[vi]
"""

_LAYER_NORM = """
@T.prim_func
def layer_norm(
    A: T.Buffer(({n}, {m}), "float32"),
    G: T.Buffer(({m},), "float32"),
    B: T.Buffer(({m},), "float32"),
    Z: T.Buffer(({n}, {m}), "float32"),
):
    T.func_attr({{"global_symbol": "layer_norm", "tir.noalias": True}})
    total = T.alloc_buffer(({n},), "float32")
    squares = T.alloc_buffer(({n},), "float32")
    for i, k in T.grid({n}, {m}):
        with T.block("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + A[vi, vk]
    for i, k in T.grid({n}, {m}):
        with T.block("squares"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                squares[vi] = T.float32(0)
            squares[vi] = squares[vi] + (
                (A[vi, vk] - total[vi] * T.float32({part}))
                * (A[vi, vk] - total[vi] * T.float32({part}))
            )
    for i, j in T.grid({n}, {m}):
        with T.block("normalized"):
            vi, vj = T.axis.remap("SS", [i, j])
            Z[vi, vj] = (
                (A[vi, vj] - total[vi] * T.float32({part}))
                / T.sqrt(squares[vi] * T.float32({part}) + T.float32(1e-05))
            ) * G[vj] + B[vj]
"""

_MATMUL = """
@T.prim_func
def matmul(
    A: T.Buffer(({n}, {n}), "float32"),
    B: T.Buffer(({n}, {n}), "float32"),
    Z: T.Buffer(({n}, {n}), "float32"),
):
    T.func_attr({{"global_symbol": "matmul", "tir.noalias": True}})
    for i, j, k in T.grid({n}, {n}, {n}):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Z[vi, vj] = T.float32(0)
            Z[vi, vj] = Z[vi, vj] + A[vi, vk] * B[vk, vj]
"""

CONV2D = """
@T.prim_func
def conv2d(
    A: T.Buffer((1, 64, 56, 56), "float32"),
    B: T.Buffer((64, 64, 3, 3), "float32"),
    Z: T.Buffer((1, 64, 56, 56), "float32"),
):
    T.func_attr({"global_symbol": "conv2d", "tir.noalias": True})
    padded = T.alloc_buffer((1, 64, 58, 58), "float32")
    for n, c, i, j in T.grid(1, 64, 58, 58):
        with T.block("padded"):
            vn, vc, vi, vj = T.axis.remap("SSSS", [n, c, i, j])
            padded[vn, vc, vi, vj] = T.if_then_else(
                1 <= vi and vi < 57 and 1 <= vj and vj < 57,
                A[vn, vc, vi - 1, vj - 1],
                T.float32(0),
            )
    for n, f, i, j, c, p, q in T.grid(1, 64, 56, 56, 64, 3, 3):
        with T.block("conv2d"):
            vn, vf, vi, vj, vc, vp, vq = T.axis.remap("SSSSRRR", [n, f, i, j, c, p, q])
            with T.init():
                Z[vn, vf, vi, vj] = T.float32(0)
            Z[vn, vf, vi, vj] = (
                Z[vn, vf, vi, vj] + padded[vn, vc, vi + vp, vj + vq] * B[vf, vc, vp, vq]
            )
"""

FMA_PEAK = """
@T.prim_func
def peak(Z: T.Buffer(({threads}, 16), "float32")):
    T.func_attr({{"global_symbol": "peak", "tir.noalias": True}})
    for t in T.parallel({threads}):
        with T.block("chains"):
            sums = T.alloc_buffer((16 * {chains},), "float32", scope="local")
            for u in T.unroll({chains}):
                for v in T.vectorized(16):
                    sums[u * 16 + v] = Z[t, v]
            for k in range({steps}):
                for u in T.unroll({chains}):
                    for v in T.vectorized(16):
                        sums[u * 16 + v] = T.fma(
                            sums[u * 16 + v], T.float32(0.999), T.float32(0.5)
                        )
            for u in T.unroll({chains}):
                for v in T.vectorized(16):
                    Z[t, v] = T.max(Z[t, v], sums[u * 16 + v])
"""
"""Chains of multiply-adds that do not wait for each other; each thread has its own."""


READ = """
@T.prim_func
def read(
    A: T.Buffer(({parts}, {size}), "float32"), Z: T.Buffer(({parts}, 64), "float32")
):
    T.func_attr({{"global_symbol": "read", "tir.noalias": True}})
    for p in T.parallel({parts}):
        with T.block("read"):
            T.reads(A[p, 0:{size}])
            T.writes(Z[p, 0:64])
            sums = T.alloc_buffer((64,), "float32", scope="local")
            for u in T.unroll(4):
                for v in T.vectorized(16):
                    sums[u * 16 + v] = T.float32(0)
            for k in range({steps}):
                for u in T.unroll(4):
                    ahead = T.address_of(A[p, u * {length} + T.min(k * 16 + 256, {last})])
                    T.evaluate(T.call_intrin("int32", "tir.prefetch", ahead, 0, 3, 1))
                    for v in T.vectorized(16):
                        sums[u * 16 + v] = (
                            sums[u * 16 + v] + A[p, u * {length} + k * 16 + v]
                        )
            for u in T.unroll(4):
                for v in T.vectorized(16):
                    Z[p, u * 16 + v] = sums[u * 16 + v]
"""
"""Parts of memory are read, each from four places on, and fetched 1 KiB ahead."""


def map_kernel(name: str, inputs: str, value: str, rows: int, columns: int) -> str:
    """`Z[vi, vj] = value` over arrays with the names in `inputs`, all of one shape."""
    buffer = f'T.Buffer(({rows}, {columns}), "float32")'
    params = ", ".join(f"{each}: {buffer}" for each in f"{inputs}Z")
    return _MAP.format(name=name, params=params, value=value, rows=rows, columns=columns)


def sum_kernel(axis: int, rows: int, columns: int) -> str:
    """The sums of a matrix along an axis."""
    size, terms = (columns, rows) if axis == 0 else (rows, columns)
    index = "vk, vi" if axis == 0 else "vi, vk"
    return _SUM.format(
        name=f"sum{axis}",
        rows=rows,
        columns=columns,
        size=size,
        terms=terms,
        index=index,
    )


def softmax(n: int, m: int) -> str:
    """Softmax of the rows of an n by m matrix."""
    return _SOFTMAX.format(n=n, m=m)


def layer_norm(n: int, m: int) -> str:
    """Rows of an n by m matrix, with mean 0 and variance 1, scaled and shifted."""
    return _LAYER_NORM.format(n=n, m=m, part=1 / m)


def matmul(n: int) -> str:
    """The product of two n by n matrices."""
    return _MATMUL.format(n=n)


def read(parts: int, size: int) -> str:
    """The sums of `parts` rows of so many elements, 64 of each."""
    length = size // 4
    return READ.format(
        parts=parts, size=size, length=length, steps=length // 16, last=length - 1
    )


def fma_peak(threads: int, chains: int, steps: int) -> str:
    """Multiply-adds in registers; 32 * threads * chains * steps operations."""
    return FMA_PEAK.format(threads=threads, chains=chains, steps=steps)
