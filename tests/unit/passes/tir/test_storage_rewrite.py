"""Which allocations StorageRewrite lets share memory, and where it places them."""

from __future__ import annotations

import pytest
from support.scripted import allocations, scripted
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, i32
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.memory_info import MEMORY_INFO
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes import tir as tir_passes
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.tvmscript import print_script


def rewritten(parameters: str, body: str, *, execute: bool = True) -> ModuleOp:
    """The function after the pass, which computes what it did before."""
    module = scripted(parameters, body)
    if execute:
        check_semantics(module, (tir_passes.StorageRewrite(),), tolerance=0.0)
    result = tir_passes.StorageRewrite()(module)
    result.verify()
    return result


def extents(module: ModuleOp) -> list[object]:
    return [extent for _, _, extent, _ in allocations(module)]


def test_siblings_in_a_loop() -> None:
    # CASE: StorageRewrite.1
    module = rewritten(
        "R: T.Buffer((200,), 'float32')",
        """
        for k in range(3):
            for i in range(10):
                A = T.allocate([200], "float32", "local.L0A")
                A_1 = T.Buffer((200,), data=A, scope="local.L0A")
                A_1[i] = T.float32(1)
                R[i] = A_1[i]
            for i in range(10):
                B = T.allocate([200], "float32", "local.L0A")
                B_1 = T.Buffer((200,), data=B, scope="local.L0A")
                B_1[i] = T.float32(2)
                R[i] = R[i] + B_1[i]
        """,
    )
    assert allocations(module) == [("A", "f32", 200, "tir.func")]


@pytest.mark.parametrize(
    ("dtypes", "total"),
    [
        (("float16", "int32", "uint16", "int8"), 4608),
        (("float32", "int32", "uint16", "int8"), 2816),
        (("float64", "int32", "uint16", "int8"), 1920),
        (("int8", "int32", "uint16", "uint8"), 8192),
    ],
)
def test_tagged_memory_of_many_types(dtypes: tuple[str, ...], total: int) -> None:
    # CASE: StorageRewrite.2
    lines: list[str] = []
    for name, dtype in zip("ABCD", dtypes, strict=True):
        lines += [
            f"{name} = T.allocate([1024], '{dtype}', 'local.L0A')",
            f"{name}_1 = T.Buffer((1024,), '{dtype}', data={name}, scope='local.L0A')",
        ]
    lines += [
        "E = T.allocate([1024], 'int8', 'local.L0A')",
        "E_1 = T.Buffer((1024,), 'int8', data=E, scope='local.L0A')",
    ]
    for name, dtype in zip("ABCD", dtypes, strict=True):
        lines += ["for i in range(1024):", f"    {name}_1[i] = T.Cast('{dtype}', i % 5)"]
    terms = " + ".join(f"T.Cast('int8', {name}_1[i])" for name in "ABCD")
    lines += [
        "for i in range(1024):",
        f"    E_1[i] = {terms}",
        "for i in range(1024):",
        "    R[i] = E_1[i]",
    ]
    module = rewritten("R: T.Buffer((1024,), 'int8')", "\n".join(lines))
    (found,) = allocations(module)
    assert found[1:3] == (
        {"float16": "f16", "float32": "f32", "float64": "f64"}.get(dtypes[0], "i8"),
        total,
    )


def chain(use: str) -> str:
    return f"""
        B = T.allocate([8], "float32", "global")
        B_1 = T.Buffer((8,), data=B)
        C = T.allocate([8], "float32", "global")
        C_1 = T.Buffer((8,), data=C)
        D = T.allocate([8], "float32", "global")
        D_1 = T.Buffer((8,), data=D)
        for i in range(8):
            B_1[i] = A[i] + T.float32(1)
        for i in range(8):
            C_1[i] = {use.format("B_1")}
        for i in range(8):
            D_1[i] = {use.format("C_1")}
        for i in range(8):
            R[i] = D_1[i]
    """


_VECTORS = "A: T.Buffer((8,), 'float32'), R: T.Buffer((8,), 'float32')"


def test_a_read_of_element_0() -> None:
    # CASE: StorageRewrite.3
    # CASE: StorageRewrite.15
    module = rewritten(_VECTORS, chain("{0}[i] + {0}[0]"))
    assert extents(module) == [8, 8]
    addresses = (
        'T.call_extern("float32", "g", T.address_of({0}[i]), T.address_of({0}[0]))'
    )
    module = rewritten(_VECTORS, chain(addresses), execute=False)
    assert extents(module) == [8, 8]
    module = rewritten(_VECTORS, chain("{0}[i] * T.float32(2)"))
    assert extents(module) == [8]


def test_a_symbolic_chain() -> None:
    # CASE: StorageRewrite.15
    stages = "ABCDE"
    lines = [
        "n = T.int32()",
        "X = T.match_buffer(x, (n,))",
        "Y = T.match_buffer(y, (n,))",
    ]
    for name in stages:
        lines += [
            f"{name} = T.allocate([n], 'float32', 'global')",
            f"{name}_1 = T.Buffer((n,), data={name})",
        ]
    source = "X"
    for name in stages:
        lines += ["for i in range(n):", f"    {name}_1[i] = {source}[i] + T.float32(1)"]
        source = f"{name}_1"
    lines += ["for i in range(n):", "    Y[i] = E_1[i]"]
    module = rewritten("x: T.handle, y: T.handle", "\n".join(lines))
    assert extents(module) == ["?"]
    at = lines.index("    C_1[i] = B_1[i] + T.float32(1)")
    lines[at] = "    C_1[i] = B_1[i] + B_1[0]"
    module = rewritten("x: T.handle, y: T.handle", "\n".join(lines))
    assert extents(module) == ["?", "?"]


def test_tagged_stages() -> None:
    # CASE: StorageRewrite.15
    lines: list[str] = []
    for name in "BCDE":
        lines += [
            f"{name} = T.allocate([8], 'float32', 'local.L0A')",
            f"{name}_1 = T.Buffer((8,), data={name}, scope='local.L0A')",
        ]
    source = "A"
    for name in "BCDE":
        lines += ["for i in range(8):", f"    {name}_1[i] = {source}[i] + {source}[0]"]
        source = f"{name}_1"
    lines += ["for i in range(8):", "    R[i] = E_1[i]"]
    assert extents(rewritten(_VECTORS, "\n".join(lines))) == [16]


def test_tagged_vectors() -> None:
    # CASE: StorageRewrite.15
    module = rewritten(
        _VECTORS,
        """
        B = T.allocate([8], "float32", "local.L0A")
        B_1 = T.Buffer((8,), data=B, scope="local.L0A")
        C = T.allocate([8], "float32", "local.L0A")
        C_1 = T.Buffer((8,), data=C, scope="local.L0A")
        B_1[0:8] = A[0:8]
        C_1[0:8] = A[0:8] * T.Broadcast(T.float32(3), 8)
        R[0:8] = B_1[0:8] + C_1[0:8]
        """,
    )
    assert len(allocations(module)) == 1


def test_kernels_of_one_function() -> None:
    # CASE: StorageRewrite.15
    # CASE: StorageRewrite.22
    lines: list[str] = []
    source = "A"
    for name in "BCDEF":
        lines += [
            f"{name} = T.allocate([16], 'float32', 'global')",
            f"{name}_1 = T.Buffer((16,), data={name})",
        ]
    for name in "BCDEF":
        lines += [
            f"with T.launch_thread('threadIdx.x', 16) as t{name}:",
            f"    {name}s = T.allocate([16], 'float32', 'shared')",
            f"    {name}_s = T.Buffer((16,), data={name}s, scope='shared')",
            f"    {name}_s[t{name}] = {source}[t{name}]",
            f"    {name}_1[t{name}] = {name}_s[t{name}] + T.float32(1)",
        ]
        source = f"{name}_1"
    lines += ["for i in range(16):", f"    R[i] = {source}[15 - i]"]
    module = rewritten(
        "A: T.Buffer((16,), 'float32'), R: T.Buffer((16,), 'float32')", "\n".join(lines)
    )
    shared = [found for found in allocations(module) if found[3] == "tir.launch_thread"]
    assert len(shared) == 5
    assert len(allocations(module)) - len(shared) == 2


@pytest.mark.parametrize("pragma", [False, True])
def test_allocations_of_a_parallel_loop(pragma: bool) -> None:
    # CASE: StorageRewrite.4
    module = rewritten("x: T.handle", _parallel(pragma))
    (found,) = [op for op in module.walk() if isinstance(op, tir.AllocateOp)]
    loop = found.parent_op()
    assert isinstance(loop, tir.ForOp)
    assert loop.kind.data is tir.ForKind.PARALLEL


def _parallel(pragma: bool) -> str:
    outer = "T.serial(2, annotations={'pragma_scope': 'fast'})" if pragma else "range(1)"
    return f"""
        n = T.int32()
        X = T.match_buffer(x, (n,))
        for j in {outer}:
            for i in T.parallel(n):
                for k in range(2):
                    B = T.allocate([n], "float32", "global")
                    B_1 = T.Buffer((n,), data=B)
                    B_1[i] = X[i]
                    X[i] = B_1[i] + T.float32(1)
    """


@pytest.mark.parametrize("kind", ["parallel", "serial"])
def test_allocations_of_a_while_loop(kind: str) -> None:
    # CASE: StorageRewrite.5
    module = rewritten(
        "x: T.handle",
        f"""
        n = T.int32()
        X = T.match_buffer(x, (n,))
        for i in T.{kind}(n):
            j = T.allocate([1], "int32", "global")
            j_1 = T.Buffer((1,), "int32", data=j)
            j_1[0] = 0
            while j_1[0] < 3:
                A = T.allocate([n], "float32", "global")
                A_1 = T.Buffer((n,), data=A)
                A_1[i] = X[i]
                X[i] = A_1[i] + T.float32(1)
                j_1[0] = j_1[0] + 1
        """,
    )
    place = "tir.for" if kind == "parallel" else "tir.func"
    assert [(name, at) for name, _, _, at in allocations(module)] == [
        ("j", place),
        ("A", place),
    ]


def tagged(*declared: tuple[str, str, int]) -> list[str]:
    lines: list[str] = []
    for name, dtype, size in declared:
        lines += [
            f"{name} = T.allocate([{size}], '{dtype}', 'local.L0A')",
            f"{name}_1 = T.Buffer(({size},), '{dtype}', data={name}, scope='local.L0A')",
        ]
    return lines


def test_mixed_types_in_one_body() -> None:
    # CASE: StorageRewrite.6
    names = ("A", "A1", "B", "C", "D", "A2")
    dtypes = ("float32", "float32", "int16", "int16", "int16", "float32")
    lines = tagged(*((n, d, 200) for n, d in zip(names, dtypes, strict=True)))
    lines += [
        "for j in range(200):",
        "    A_1[j] = T.Cast('float32', j)",
        "for j in range(200):",
        "    A1_1[j] = A_1[j] + T.float32(1)",
        "for j in range(200):",
        "    R[j] = A1_1[j]",
        "for j in range(200):",
        "    B_1[j] = T.int16(3)",
        "for j in range(200):",
        "    C_1[j] = T.Cast('int16', j)",
        "for j in range(200):",
        "    D_1[j] = C_1[j] + B_1[j]",
        "for j in range(200):",
        "    A2_1[j] = A_1[j]",
        "for j in range(200):",
        "    R[j] = R[j] + A2_1[j] + T.Cast('float32', D_1[j])",
    ]
    module = rewritten("R: T.Buffer((200,), 'float32')", "\n".join(lines))
    assert [found[1:3] for found in allocations(module)] == [("f32", 500)]


def test_sizes_of_different_types() -> None:
    # CASE: StorageRewrite.7
    lines = tagged(("A", "float32", 200), ("B", "int16", 400), ("C", "float32", 200))
    for name, size, dtype in (
        ("A", 200, "float32"),
        ("B", 400, "int16"),
        ("C", 200, "float32"),
    ):
        lines += [
            f"for i in range({size}):",
            f"    {name}_1[i] = T.Cast('{dtype}', i)",
            "for i in range(200):",
            f"    R[i] = R[i] + T.Cast('float32', {name}_1[i])",
        ]
    module = rewritten("R: T.Buffer((200,), 'float32')", "\n".join(lines))
    assert [found[1:3] for found in allocations(module)] == [("f32", 200)]


def test_freed_memory_grows() -> None:
    # CASE: StorageRewrite.8
    sizes = {"A": 200, "B": 200, "B1": 200, "C": 400, "D": 400, "E": 400}
    lines = tagged(*((name, "int16", size) for name, size in sizes.items()))
    lines += [
        "for i in range(200):",
        "    A_1[i] = T.Cast('int16', i)",
        "for i in range(200):",
        "    B_1[i] = T.int16(7)",
        "for i in range(200):",
        "    B1_1[i] = A_1[i] + B_1[i]",
        "for i in range(200):",
        "    R[i] = B1_1[i]",
        "for i in range(400):",
        "    C_1[i] = T.Cast('int16', i)",
        "for i in range(400):",
        "    D_1[i] = T.int16(9)",
        "for i in range(400):",
        "    E_1[i] = C_1[i]",
        "for i in range(200):",
        "    R[i] = R[i] + E_1[i] + D_1[i]",
    ]
    module = rewritten("R: T.Buffer((200,), 'int16')", "\n".join(lines))
    assert extents(module) == [800]


def test_a_load_that_a_let_binds() -> None:
    # CASE: StorageRewrite.9
    module = rewritten(
        "R: T.Buffer((8,), 'int32')",
        """
        for i in range(8):
            A = T.allocate([1], "int32", "global")
            A_1 = T.Buffer((1,), "int32", data=A)
            A_1[0] = i
            x: T.int32 = A_1[0]
            R[i] = x + 1
        """,
    )
    assert allocations(module) == [("A", "i32", 1, "tir.func")]


@pytest.mark.parametrize(("size", "count"), [(16, 1), (20, 2)])
def test_memory_of_two_dimensions(size: int, count: int) -> None:
    # CASE: StorageRewrite.11
    # CASE: StorageRewrite.12
    module = rewritten(
        "A: T.Buffer((16, 16), 'float32'), D: T.Buffer((16, 16), 'float32')",
        f"""
        B = T.allocate([16, 16], "float32", "global")
        B_1 = T.Buffer((16, 16), data=B, axis_separators=[1])
        C = T.allocate([{size}, {size}], "float32", "global")
        C_1 = T.Buffer(({size}, {size}), data=C, axis_separators=[1])
        for i, j in T.grid(16, 16):
            B_1[i, j] = A[i, j]
        for i, j in T.grid(16, 16):
            C_1[i, j] = T.float32(2) * B_1[i, j]
        for i, j in T.grid(16, 16):
            D[i, j] = C_1[i, j]
        """,
    )
    assert len(allocations(module)) == count
    assert extents(module)[0] == (16, 16)


def test_declared_buffers() -> None:
    # CASE: StorageRewrite.13
    # CASE: StorageRewrite.14
    body = """
        B = T.allocate([256], "float32", "global")
        B_1 = T.decl_buffer((256,), data=B)
        C = T.allocate([256], "float32", "global")
        C_1 = T.decl_buffer((256,), data=C)
        for i in range(256):
            B_1[i] = A[i]
        for i in range(256):
            C_1[i] = T.float32(2) * B_1[i]
        for i in range(256):
            D[i] = C_1[i]
    """
    unused = """
        U = T.allocate([256], "float32", "global")
        U_1 = T.decl_buffer((256,), data=U)
    """
    parameters = "A: T.Buffer((256,), 'float32'), D: T.Buffer((256,), 'float32')"
    for text in (body, unused + body):
        module = rewritten(parameters, text)
        (memory,) = [op for op in module.walk() if isinstance(op, tir.AllocateOp)]
        declared = [op for op in module.walk() if isinstance(op, tir.DeclBufferOp)]
        assert [op.data for op in declared] == [memory.result] * 2
        assert extents(module) == [256]


def test_the_bound_of_tagged_memory() -> None:
    # CASE: StorageRewrite.16
    body = "\n".join(
        [
            *tagged(("A", "float32", 10), ("B", "float32", 10)),
            "for i in range(10):",
            "    A_1[i] = R[i]",
            "for i in range(10):",
            "    B_1[i] = A_1[9 - i]",
            "for i in range(10):",
            "    R[i] = B_1[i] + A_1[i]",
        ]
    )
    module = scripted("R: T.Buffer((10,), 'float32')", body)
    twin = module.clone()
    describe_memory(module, 640)
    assert extents(tir_passes.StorageRewrite()(module)) == [20]
    describe_memory(twin, 639)
    with pytest.raises(
        PassFailedException, match="Allocation exceed bound of memory tag"
    ):
        tir_passes.StorageRewrite()(twin)


def describe_memory(module: ModuleOp, bits: int) -> None:
    info = DictionaryAttr(
        {
            name: IntegerAttr(value, i32)
            for name, value in (
                ("unit_bits", 32),
                ("max_num_bits", bits),
                ("max_simd_bits", 32),
            )
        }
    )
    module.attributes[MEMORY_INFO] = DictionaryAttr({"local.L0A": info})


def stages(*specs: tuple[str, str, int, str]) -> str:
    """One allocation after another, each filled and read."""
    lines: list[str] = []
    for name, dtype, size, scope in specs:
        lines += [
            f"{name} = T.allocate([{size}], '{dtype}', '{scope}')",
            f"{name}_1 = T.Buffer(({size},), '{dtype}', data={name}, scope='{scope}')",
        ]
    for name, dtype, size, _ in specs:
        lines += [
            f"for i in range({size}):",
            f"    {name}_1[i] = T.Cast('{dtype}', i)",
            f"for i in range({min(size, 4)}):",
            f"    R[i] = R[i] + T.Cast('float32', {name}_1[{size - 1} - i])",
        ]
    return "\n".join(lines)


_R = "R: T.Buffer((4,), 'float32')"


def test_memory_that_is_not_shared() -> None:
    # CASE: StorageRewrite.17
    for scope, size in (("local", 64), ("warp", 64), ("global", 1)):
        body = stages(("A", "float32", size, scope), ("B", "float32", size, scope))
        assert extents(rewritten(_R, body)) == [size, size]


def test_other_element_types() -> None:
    # CASE: StorageRewrite.18
    smaller = stages(("A", "int16", 16, "global"), ("B", "float32", 64, "global"))
    assert extents(rewritten(_R, smaller)) == [16, 64]
    bigger = stages(("A", "float32", 64, "global"), ("B", "int16", 16, "global"))
    assert extents(rewritten(_R, bigger)) == [64]


def test_sizes_that_are_too_far_apart() -> None:
    # CASE: StorageRewrite.19
    for sizes in ((16, 16 * 16), (16 * 16, 16)):
        body = stages(
            *((n, "float32", s, "global") for n, s in zip("AB", sizes, strict=True))
        )
        assert extents(rewritten(_R, body)) == [256]
    for sizes in ((16, 16 * 17), (16 * 17, 16)):
        body = stages(
            *((n, "float32", s, "global") for n, s in zip("AB", sizes, strict=True))
        )
        assert extents(rewritten(_R, body)) == list(sizes)


def test_exact_element_types() -> None:
    # CASE: StorageRewrite.20
    body = stages(
        ("A", "float32", 64, "global"),
        ("B", "int32", 64, "global"),
        ("C", "float32", 64, "global"),
    )
    module = scripted(_R, body)
    (func,) = module.body.block.ops
    assert extents(tir_passes.StorageRewrite()(module)) == [64]
    for kind in ("vulkan", "webgpu"):
        func.attributes["target"] = tir.Target(kind)
        found = [
            kind for _, kind, _, _ in allocations(tir_passes.StorageRewrite()(module))
        ]
        assert found == ["f32", "i32"]


def test_memory_that_is_merged_later_is_shared_in_place_only() -> None:
    # CASE: StorageRewrite.21
    in_turn = scripted(
        _R, stages(("A", "float32", 64, "global"), ("B", "float32", 64, "global"))
    )
    in_place = scripted(_VECTORS, chain("{0}[i]"))
    with PassContext(config={"tir.merge_static_smem": True}):
        assert extents(tir_passes.StorageRewrite()(in_turn)) == [64, 64]
        assert extents(tir_passes.StorageRewrite()(in_place)) == [8]
    assert extents(tir_passes.StorageRewrite()(in_turn)) == [64]


ERRORS = {
    "virtual threads in threads": (
        """
        with T.launch_thread("threadIdx.x", 4) as t:
            for v in T.serial(1):
                with T.launch_thread("vthread", 2) as w:
                    A = T.allocate([4], "float32", "local")
                    A_1 = T.Buffer((4,), data=A, scope="local")
                    A_1[0] = R[t]
                    R[t] = A_1[0]
        """,
        "virtual threads in other threads",
    ),
    "threads in a parallel loop": (
        """
        for i in T.parallel(4):
            with T.launch_thread("threadIdx.x", 4) as t:
                A = T.allocate([4], "float32", "local")
                A_1 = T.Buffer((4,), data=A, scope="local")
                A_1[0] = R[t]
                R[t] = A_1[0]
        """,
        "threads in a parallel loop",
    ),
    "a vectorized loop": (
        """
        A = T.allocate([4], "float32", "local")
        A_1 = T.Buffer((4,), data=A, scope="local")
        for i in T.vectorized(4):
            A_1[i] = R[i]
        for i in range(4):
            R[i] = A_1[i]
        """,
        "run tir-vectorize-loop first",
    ),
    "dimensions": (
        """
        A = T.allocate([2, 2], "float32", "global")
        A_1 = T.Buffer((2, 2), data=A)
        A_1[0, 1] = R[1]
        R[0] = A_1[0, 1]
        """,
        "run tir-flatten-buffer first",
    ),
    "special memory": (
        """
        n = T.int32()
        S = T.match_buffer(s, (n,))
        A = T.allocate([n], "float32", "local.L0A")
        A_1 = T.Buffer((n,), data=A, scope="local.L0A")
        A_1[0] = S[1]
        S[0] = A_1[0]
        """,
        "must be of constant size",
    ),
}


@pytest.mark.parametrize("what", ERRORS)
def test_what_is_refused(what: str) -> None:
    # CASE: StorageRewrite.23
    body, words = ERRORS[what]
    module = scripted(f"{_R}, s: T.handle", body)
    with pytest.raises(PassFailedException, match=words):
        tir_passes.StorageRewrite()(module)


@pytest.mark.parametrize("key", ["extern_scope", "volatile_scope"])
def test_statements_that_access_memory_otherwise(key: str) -> None:
    # CASE: StorageRewrite.24
    node = "0" if key == "extern_scope" else "B"
    body = chain("{0}[i]").replace(
        "            C_1[i]",
        f'            with T.attr({node}, "{key}", 1):\n                C_1[i]',
    )
    module = rewritten(_VECTORS, body)
    assert extents(module) == [8, 8]


def test_reuse_keeps_declarations_in_their_places() -> None:
    # CASE: StorageRewrite.25
    module = rewritten(
        "A: T.Buffer((16,), 'float32'), B: T.Buffer((16,), 'float32')",
        """
        P = T.allocate([16], "float32", "global")
        P_1 = T.decl_buffer((16,), data=P)
        Q = T.allocate([64], "int8", "global")
        Q_1 = T.decl_buffer((64,), "int8", data=Q)
        R = T.allocate([16], "float32", "global")
        R_1 = T.decl_buffer((16,), data=R)
        for i in range(16):
            P_1[i] = A[i]
        for i in range(16):
            Q_1[i] = T.Cast("int8", P_1[15 - i])
        for i in range(16):
            R_1[i] = T.Cast("float32", Q_1[i] + Q_1[15 - i])
        for i in range(16):
            B[i] = R_1[i]
        """,
    )
    ops = [
        op for op in module.walk() if isinstance(op, tir.AllocateOp | tir.DeclBufferOp)
    ]
    assert [op.name for op in ops] == [
        "tir.allocate",
        "tir.decl_buffer",
        "tir.allocate",
        "tir.decl_buffer",
        "tir.decl_buffer",
    ]
    assert str(ops[-1].properties["name"]) == '"P"'


@pytest.mark.parametrize("scope", ["local", "warp", "shared", "shared.dyn"])
@pytest.mark.parametrize("inner", ["threadIdx.x", "cthread"])
def test_the_place_in_a_kernel(scope: str, inner: str) -> None:
    # CASE: StorageRewrite.26
    module = rewritten(
        _R,
        f"""
        with T.launch_thread("blockIdx.x", 1) as b:
            with T.launch_thread("{inner}", 4) as t:
                A = T.allocate([4], "float32", "{scope}")
                A_1 = T.Buffer((4,), data=A, scope="{scope}")
                A_1[t] = R[t]
                R[t] = A_1[t] + T.float32(1)
        """,
        execute=inner != "cthread",
    )
    (memory,) = [op for op in module.walk() if isinstance(op, tir.AllocateOp)]
    launch = memory.parent_op()
    assert isinstance(launch, tir.LaunchThreadOp)
    assert launch.tag.data == "blockIdx.x"


def test_the_order_is_that_of_the_first_touch() -> None:
    # CASE: StorageRewrite.27
    module = rewritten(
        "R: T.Buffer((8,), 'float32')",
        """
        V = T.allocate([8], "float32", "global")
        V_1 = T.decl_buffer((8,), data=V)
        W = T.allocate([8], "float32", "global")
        W_1 = T.decl_buffer((8,), data=W)
        for i in range(8):
            W_1[i] = R[i]
        for i in range(8):
            V_1[i] = W_1[7 - i]
        for i in range(8):
            R[i] = V_1[i] + W_1[i]
        """,
    )
    ops = [
        op for op in module.walk() if isinstance(op, tir.AllocateOp | tir.DeclBufferOp)
    ]
    assert [str(op.properties["name"]) for op in ops] == ['"W"', '"W_1"', '"V"', '"V_1"']


def test_memory_of_vectors() -> None:
    # CASE: StorageRewrite.28
    module = rewritten(
        "A: T.Buffer((64,), 'float32'), R: T.Buffer((64,), 'float32')",
        """
        P = T.allocate([64], "float32", "global")
        P_1 = T.decl_buffer((64,), data=P)
        for i in range(8):
            P_1[i * 8:i * 8 + 8] = A[i * 8:i * 8 + 8]
        for i in range(8):
            R[i * 8:i * 8 + 8] = P_1[i * 8:i * 8 + 8] + A[i * 8:i * 8 + 8]
        """,
    )
    assert [found[1:3] for found in allocations(module)] == [("vector<8xf32>", 8)]
    text = print_script(module)
    assert "[T.Div(i * 8, 8)] = A[i * 8:i * 8 + 8]" in text


def test_a_pointer_that_a_let_binds() -> None:
    # CASE: StorageRewrite.10
    module = scripted(
        "p: T.handle",
        """
        A = T.allocate([8], "int32", "global")
        q: T.handle("int32") = T.call_extern("handle", "g", A)
        Q = T.decl_buffer((8,), "int32", data=q)
        Q[0:8] = T.Broadcast(7, 8)
        """,
    )
    result = tir_passes.StorageRewrite()(module)
    (let,) = [op for op in result.walk() if isinstance(op, tir.LetOp)]
    assert str(let.result.type) == "!tir.ptr<vector<8xi32>>"
    (store,) = [op for op in result.walk() if isinstance(op, tir.StoreOp)]
    assert str(store.buffer.type) == "!tir.buffer<1xvector<8xi32>>"
    assert [tir.constant_value(index) for index in store.indices] == [0]


def test_copies_in_registers() -> None:
    # CASE: StorageRewrite.29
    module = rewritten(
        "A: T.Buffer((64,), 'float32'), B: T.Buffer((64,), 'float32'), "
        "R: T.Buffer((16,), 'float32')",
        """
        with T.launch_thread("blockIdx.x", 1) as b:
            with T.launch_thread("threadIdx.x", 16) as t:
                acc = T.allocate([1], "float32", "local")
                acc_1 = T.Buffer((1,), data=acc, scope="local")
                acc_1[0] = T.float32(0)
                for k in range(2):
                    A_sh = T.allocate([32], "float32", "shared")
                    A_s = T.Buffer((32,), data=A_sh, scope="shared")
                    B_sh = T.allocate([32], "float32", "shared")
                    B_s = T.Buffer((32,), data=B_sh, scope="shared")
                    A_r = T.allocate([2], "float32", "local")
                    A_l = T.Buffer((2,), data=A_r, scope="local")
                    B_r = T.allocate([2], "float32", "local")
                    B_l = T.Buffer((2,), data=B_r, scope="local")
                    A_l[0:2] = A[k * 32 + t * 2:k * 32 + t * 2 + 2]
                    A_s[t * 2:t * 2 + 2] = A_l[0:2]
                    B_l[0:2] = B[k * 32 + t * 2:k * 32 + t * 2 + 2]
                    B_s[t * 2:t * 2 + 2] = B_l[0:2]
                    T.tvm_storage_sync("shared")
                    for j in range(32):
                        acc_1[0] = acc_1[0] + A_s[j] * B_s[(j + t) % 32]
                    T.tvm_storage_sync("shared")
                R[t] = acc_1[0]
        """,
    )
    assert [(name, kind) for name, kind, _, _ in allocations(module)] == [
        ("acc", "f32"),
        ("A_r", "vector<2xf32>"),
        ("A_sh", "f32"),
        ("B_r", "vector<2xf32>"),
        ("B_sh", "f32"),
    ]
