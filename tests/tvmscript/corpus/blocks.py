"""Blocks: axes, regions, predicates, init, memory."""

from xdsl_tvm.tvmscript import tir as T


@T.prim_func
def elementwise(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


@T.prim_func
def declared_regions(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] * T.float32(2)


@T.prim_func
def regions_as_lists(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads([A[vi, vj], A[vi, 0:8]])
            T.writes([B[vi, vj]])
            B[vi, vj] = A[vi, vj] + A[vi, 7]


@T.prim_func
def no_reads(B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads()
            T.writes(B[vi, vj])
            B[vi, vj] = T.float32(1)


@T.prim_func
def matmul(
    A: T.Buffer((8, 8), "float32"),
    B: T.Buffer((8, 8), "float32"),
    C: T.Buffer((8, 8), "float32"),
):
    T.func_attr({"tir.noalias": True})
    for i, j, k in T.grid(8, 8, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def axes(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8,), "int32")):
    for i, k in T.grid(8, 8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            vk = T.axis.reduce(8, k)
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def short_axes(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8,), "int32")):
    for i, k in T.grid(8, 8):
        with T.block("B"):
            vi = T.axis.S(8, i)
            vk = T.axis.R(8, k)
            with T.init():
                B[vi] = 0
            B[vi] = T.max(B[vi], A[vi, vk])


@T.prim_func
def scan_axis(A: T.Buffer((8,), "int32"), B: T.Buffer((9,), "int32")):
    B[0] = 0
    for i in range(8):
        with T.block("B"):
            vi = T.axis.scan(8, i)
            B[vi + 1] = B[vi] + A[vi]


@T.prim_func
def opaque_axis(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.opaque(8, i)
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = A[vi]


@T.prim_func
def domains(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(4):
        for j in range(3):
            with T.block("B"):
                vi = T.axis.spatial((4, 8), i + 4)
                vj = T.axis.spatial([0, 3], j)
                B[vi] = A[vi + vj]
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(T.Range(8, 12), i + 8)
            B[vi] = A[vi]


@T.prim_func
def fused(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8, 8), "int32")):
    for f in range(64):
        with T.block("B"):
            vi = T.axis.spatial(8, f // 8)
            vj = T.axis.spatial(8, f % 8)
            B[vi, vj] = A[vi, vj]


@T.prim_func
def predicate(A: T.Buffer((30,), "int32"), B: T.Buffer((30,), "int32")):
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi = T.axis.spatial(30, i * 8 + j)
            T.where(i * 8 + j < 30)
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = A[vi] * 2


@T.prim_func
def constant_predicate(A: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            T.where(True)
            A[vi] = 1


@T.prim_func
def annotations(A: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            T.block_attr(
                {
                    "meta_schedule.tiling_structure": "SSRSRS",
                    "warp_execution": 1,
                    "scale": T.float32(0.5),
                    "shape": [1, 2],
                }
            )
            A[vi] = vi


@T.prim_func
def wide_blocks(
    A: T.Buffer((T.int64(8),), "float32"), B: T.Buffer((T.int64(8),), "float32")
):
    for i in range(T.int64(8)):
        with T.block("B"):
            vi = T.axis.spatial(T.int64(8), i)
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = T.exp(A[vi])


@T.prim_func
def allocations(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    C = T.alloc_buffer((8,))
    D = T.alloc_buffer((8,), "float16", scope="local")
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] + T.float32(1)
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = T.Cast("float16", C[vi])
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = T.Cast("float32", D[vi])


@T.prim_func
def explicit_root(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    with T.block("root"):
        T.reads()
        T.writes()
        C = T.alloc_buffer((8,), scope="global")
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = A[vi]
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = C[vi]


@T.prim_func
def annotated_root(A: T.Buffer((8,), "float32")):
    with T.block("root"):
        T.block_attr({"meta_schedule.unroll_explicit": 16})
        for i in range(8):
            with T.block("A"):
                vi = T.axis.spatial(8, i)
                A[vi] = T.float32(vi)


@T.prim_func
def nested_blocks(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i in range(2):
        with T.block("outer"):
            vo = T.axis.spatial(2, i)
            for j, k in T.grid(4, 8):
                with T.block("inner"):
                    vj, vk = T.axis.remap("SS", [j, k])
                    B[vo * 4 + vj, vk] = A[vo * 4 + vj, vk]


@T.prim_func
def block_memory(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i in range(8):
        with T.block("row"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi, 0:8])
            T.writes(B[vi, 0:8])
            row = T.alloc_buffer((8,), scope="local")
            for j in range(8):
                row[j] = A[vi, j] * A[vi, j]
            for j in range(8):
                B[vi, j] = row[7 - j]


@T.prim_func
def matched_regions(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(2, 2):
        with T.block("tile"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi * 4 : vi * 4 + 4, vj * 4 : vj * 4 + 4])
            T.writes(B[vi * 4 : vi * 4 + 4, vj * 4 : vj * 4 + 4])
            X = T.match_buffer(
                A[vi * 4 : vi * 4 + 4, vj * 4 : vj * 4 + 4], (4, 4), offset_factor=1
            )
            Y = T.match_buffer(
                B[vi * 4 : vi * 4 + 4, vj * 4 : vj * 4 + 4],
                (4, 4),
                "float32",
                strides=["s0", "s1"],
                offset_factor=1,
            )
            for m, n in T.grid(4, 4):
                Y[m, n] = X[m, n] + T.float32(1)


@T.prim_func
def matched_without_shape(A: T.Buffer((8, 8), "float16"), B: T.Buffer((8, 8), "float16")):
    for i in range(8):
        with T.block("row"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi, 0:8])
            T.writes(B[vi, 0:8])
            X = T.match_buffer(A[vi, 0:8])
            for j in range(8):
                B[vi, j] = X[0, j]


@T.prim_func
def unnamed(A: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block():
            vi = T.axis.spatial(8, i)
            A[vi] = vi


@T.prim_func
def opaque_blocks(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("opaque"):
            T.reads(A[i])
            T.writes(B[i])
            B[i] = A[i] + 1


@T.prim_func
def several_results(
    A: T.Buffer((4, 8), "int32"),
    best: T.Buffer((4,), "int32"),
    where: T.Buffer((4,), "int32"),
):
    for i, k in T.grid(4, 8):
        with T.block("argmax"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                best[vi] = T.min_value("int32")
                where[vi] = -1
            index: T.int32 = T.Select(A[vi, vk] > best[vi], vk, where[vi])
            value: T.int32 = T.max(A[vi, vk], best[vi])
            where[vi] = index
            best[vi] = value


@T.prim_func
def guarded_body(A: T.Buffer((16,), "int32"), B: T.Buffer((18,), "int32")):
    for i in range(18):
        with T.block("pad"):
            vi = T.axis.spatial(18, i)
            B[vi] = T.if_then_else(1 <= vi and vi < 17, A[vi - 1], 0)


@T.prim_func
def loops_in_a_block(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("rows"):
            vi = T.axis.spatial(8, i)
            B[vi] = 0
            for j in range(8):
                if j < 4:
                    B[vi] = B[vi] + A[vi, j]


@T.prim_func
def mixed_axes(A: T.Buffer((4, 4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
    for i, j, k in T.grid(4, 4, 4):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            vj = T.axis.spatial(4, 3 - j)
            with T.init():
                B[vi, vj] = 1
            B[vi, vj] = B[vi, vj] + A[vi, vj, vk]
