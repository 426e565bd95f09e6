"""Where MergeSharedMemoryAllocations puts the shared memory of kernels."""

from __future__ import annotations

import pytest
from support.scripted import allocations, scripted
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes import tir as tir_passes
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.tvmscript import print_script


def merged(
    parameters: str, body: str, *, static: bool = False, execute: bool = True
) -> ModuleOp:
    """The function after the pass, which computes what it did before, without a race."""
    module = scripted(parameters, body)
    with PassContext(config={"tir.merge_static_smem": static}):
        if execute:
            merge = (tir_passes.MergeSharedMemoryAllocations(),)
            check_semantics(module, merge, tolerance=0.0)
        result = tir_passes.MergeSharedMemoryAllocations()(module)
    result.verify()
    return result


def arena(module: ModuleOp) -> tuple[str, object]:
    """Name and extent of the only shared memory, which is first in the launch."""
    (memory,) = [
        op
        for op in module.walk()
        if isinstance(op, tir.AllocateOp) and op.result.type.scope.data != "local"
    ]
    launch = memory.parent_op()
    assert isinstance(launch, tir.LaunchThreadOp)
    assert isinstance(launch.parent_op(), tir.FuncOp)
    first = next(op for op in launch.body.block.ops if not isinstance(op, tir.ConstOp))
    assert first is memory
    assert str(memory.result.type.element_type) == "ui8"
    (extent,) = memory.shape
    assert memory.var_name is not None
    return memory.var_name.data, extent


_A = "A: T.Buffer((128,), 'float32'), R: T.Buffer((128,), 'float32')"


def pair(body: str, *, scope: str = "shared.dyn", size: int = 128) -> str:
    return f"""
        with T.launch_thread("threadIdx.x", 128) as t:
            P = T.allocate([{size}], "float32", "{scope}")
            Q = T.allocate([{size}], "float32", "{scope}")
            P_1 = T.Buffer(({size},), data=P, scope="{scope}")
            Q_1 = T.Buffer(({size},), data=Q, scope="{scope}")
            {body}
    """


SYNC = 'T.tvm_storage_sync("shared.dyn")'
LINE = "\n            "


MATMUL = """
    with T.launch_thread("blockIdx.x", 1) as b:
        A_sh = T.allocate([256], "float16", "shared.dyn")
        B_sh = T.allocate([256], "float16", "shared.dyn")
        C_sh = T.allocate([256], "float32", "shared.dyn")
        A_1 = {declare}((256,), "float16", data=A_sh, scope="shared.dyn")
        B_1 = {declare}((256,), "float16", data=B_sh, scope="shared.dyn")
        C_1 = {declare}((256,), "float32", data=C_sh, scope="shared.dyn")
        with T.launch_thread("threadIdx.x", 16) as t:
            acc = T.allocate([16], "float32", "local")
            acc_1 = {declare}((16,), data=acc, scope="local")
            for j in range(16):
                acc_1[j] = T.float32(0)
            for k in range(2):
                T.tvm_storage_sync("shared.dyn")
                for j in range(16):
                    A_1[t * 16 + j] = A[t * 32 + k * 16 + j]
                    B_1[t * 16 + j] = B[k * 256 + t * 16 + j]
                T.tvm_storage_sync("shared.dyn")
                for i, j in T.grid(16, 16):
                    product: T.float16 = A_1[t * 16 + i] * B_1[i * 16 + j]
                    acc_1[j] = acc_1[j] + T.Cast("float32", product)
            T.tvm_storage_sync("shared.dyn")
            for j in range(16):
                C_1[t * 16 + j] = acc_1[j]
            T.tvm_storage_sync("shared.dyn")
            for j in range(16):
                C[j * 16 + t] = C_1[j * 16 + t]
"""


@pytest.mark.parametrize("declare", ["T.Buffer", "T.decl_buffer"])
def test_tiles_of_a_matmul(declare: str) -> None:
    # CASE: MergeSharedMemoryAllocations.1
    module = merged(
        "A: T.Buffer((512,), 'float16'), B: T.Buffer((512,), 'float16'), "
        "C: T.Buffer((256,), 'float32')",
        MATMUL.format(declare=declare),
    )
    assert arena(module) == ("buf_dyn_shmem", 1024)
    # Elements of two sizes share the bytes, and no two threads are found to clash.
    tir_passes.VerifyThreadSync()(module)
    text = print_script(module)
    declared = [op for op in module.walk() if isinstance(op, tir.DeclBufferOp)]
    sizes = [op.shape for op in declared if op.type.scope.data == "shared.dyn"]
    assert sizes == [(512,), (256,), (256,)]
    assert "[t * 16 + j + 256] = A[" in text
    assert text.count("+ 256]") == 2


def test_memory_that_begins_and_ends_in_one_statement() -> None:
    # CASE: MergeSharedMemoryAllocations.2
    module = merged(_A, pair("Q_1[t] = P_1[t]"), execute=False)
    assert arena(module) == ("buf_dyn_shmem", 1024)
    assert "[t + 128] = " in print_script(module)


def test_elements_of_one_thread() -> None:
    # CASE: MergeSharedMemoryAllocations.3
    body = LINE.join(("P_1[t] = T.float32(0)", "Q_1[t] = T.float32(0)"))
    assert arena(merged(_A, pair(body))) == ("buf_dyn_shmem", 512)
    # No barrier is between the reads of P and the writes of Q, which other threads do.
    body = LINE.join(
        (
            "P_1[t] = A[t]",
            SYNC,
            "R[t] = P_1[127 - t]",
            "Q_1[t] = A[t]",
            "R[t] = R[t] + Q_1[t]",
        )
    )
    assert arena(merged(_A, pair(body))) == ("buf_dyn_shmem", 1024)
    body = body.replace("            Q_1", f"            {SYNC}\n            Q_1")
    assert arena(merged(_A, pair(body))) == ("buf_dyn_shmem", 512)


def test_a_read_and_a_write_in_one_statement() -> None:
    # The reference lets Q begin where P ends, so that threads overwrite what others read.
    body = LINE.join(
        ("P_1[t] = A[t]", SYNC, "Q_1[t] = P_1[127 - t]", SYNC, "R[t] = Q_1[127 - t]")
    )
    assert arena(merged(_A, pair(body))) == ("buf_dyn_shmem", 1024)
    body = body.replace("P_1[127 - t]", "P_1[t]")
    assert arena(merged(_A, pair(body))) == ("buf_dyn_shmem", 512)


def test_asynchronous_copies_without_a_wait() -> None:
    # CASE: MergeSharedMemoryAllocations.4
    module = merged(
        _A,
        """
        P = T.allocate([128], "float32", "shared.dyn")
        Q = T.allocate([128], "float32", "shared.dyn")
        P_1 = T.Buffer((128,), data=P, scope="shared.dyn")
        Q_1 = T.Buffer((128,), data=Q, scope="shared.dyn")
        with T.launch_thread("threadIdx.x", 32) as t:
            T.ptx_cp_async("float32", P, t * 4, A.data, t * 4, 16)
            T.ptx_cp_async("float32", Q, t * 4, R.data, t * 4, 16)
        """,
        execute=False,
    )
    assert arena(module) == ("buf_dyn_shmem", 1024)
    text = print_script(module)
    assert "buf_dyn_shmem, t * 4 * 4, " in text
    assert "buf_dyn_shmem, (128 + t * 4) * 4, " in text


def copies(wait: str) -> str:
    lines = (
        "T.ptx_cp_async('float32', P, t, A.data, t, 4)",
        "T.ptx_commit_group()",
        wait,
        SYNC,
        "R[t] = P_1[127 - t]",
        SYNC,
        "Q_1[t] = A[t]",
        SYNC,
        "R[t] = R[t] + Q_1[127 - t]",
        "T.ptx_wait_group(0)",
    )
    return pair(LINE.join(lines))


def test_copies_keep_memory_until_the_wait() -> None:
    waited = merged(_A, copies("T.ptx_wait_group(0)"))
    assert arena(waited)[1] == 512
    # Memory is live until the last wait, whatever reads it before.
    assert arena(merged(_A, copies("T.evaluate(0)"), execute=False))[1] == 1024


def test_pipelined_copies() -> None:
    # CASE: MergeSharedMemoryAllocations.5
    body = """
        with T.launch_thread("threadIdx.x", 16) as t:
            P = T.allocate([64], "float16", "shared.dyn")
            Q = T.allocate([64], "float16", "shared.dyn")
            P_1 = T.Buffer((64,), "float16", data=P, scope="shared.dyn")
            Q_1 = T.Buffer((64,), "float16", data=Q, scope="shared.dyn")
            for k in range(4):
                with T.attr(0, "async_commit_queue_scope", 0):
                    with T.attr(0, "async_scope", 1):
                        P_1[t * 4:t * 4 + 4] = A[k * 64 + t * 4:k * 64 + t * 4 + 4]
                    with T.attr(0, "async_scope", 1):
                        Q_1[t * 4:t * 4 + 4] = B[k * 64 + t * 4:k * 64 + t * 4 + 4]
                with T.attr(0, "async_wait_queue_scope", 0):
                    with T.attr(0, "async_wait_inflight_count", 0):
                        T.tvm_storage_sync("shared.dyn")
                        for j in range(4):
                            R[k * 64 + t * 4 + j] = P_1[63 - t] * Q_1[t]
                T.tvm_storage_sync("shared.dyn")
    """
    shape = "T.Buffer((256,), 'float16')"
    module = merged(f"A: {shape}, B: {shape}, R: {shape}", body)
    assert arena(module) == ("buf_dyn_shmem", 256)
    result = tir_passes.InjectPTXAsyncCopy()(module)
    text = print_script(result)
    assert text.count("T.ptx_cp_async(") == 2
    assert "async_scope" not in text
    check_semantics(module, (tir_passes.InjectPTXAsyncCopy(),), tolerance=0.0)


def test_one_allocation_stays() -> None:
    # CASE: MergeSharedMemoryAllocations.6
    body = """
        with T.launch_thread("threadIdx.x", 128) as t:
            P = T.allocate([128], "float32", "shared.dyn")
            P_1 = T.Buffer((128,), data=P, scope="shared.dyn")
            P_1[t] = A[t]
            R[t] = P_1[t]
    """
    assert [found[0] for found in allocations(merged(_A, body))] == ["P"]


def test_static_memory() -> None:
    # CASE: MergeSharedMemoryAllocations.7
    # CASE: MergeSharedMemoryAllocations.11
    body = pair(
        LINE.join(
            (
                "L = T.allocate([1], 'float32', 'local')",
                "L_1 = T.Buffer((1,), data=L, scope='local')",
                "P_1[t] = A[t]",
                "Q_1[t] = A[t] * T.float32(2)",
                'T.tvm_storage_sync("shared")',
                "L_1[0] = P_1[127 - t]",
                "R[t] = L_1[0] + Q_1[127 - t]",
            )
        ),
        scope="shared",
    )
    assert [found[0] for found in allocations(merged(_A, body))] == ["P", "Q", "L"]
    module = merged(_A, body, static=True)
    assert arena(module) == ("buf_shmem", 1024)
    assert [found[0] for found in allocations(module)] == ["buf_shmem", "L"]


LOOP = """
    with T.launch_thread("threadIdx.x", 128) as t:
        {before}
        for k in range(3):
            {inside}
            P_1[t] = A[t]
            T.tvm_storage_sync("shared.dyn")
            R[t] = R[t] + P_1[127 - t]
            T.tvm_storage_sync("shared.dyn")
            Q_1[t] = A[t] * T.float32(2)
            T.tvm_storage_sync("shared.dyn")
            R[t] = R[t] + Q_1[127 - t]
            {last}
"""


def test_memory_of_a_loop() -> None:
    # CASE: MergeSharedMemoryAllocations.8
    declared = [
        'P = T.allocate([128], "float32", "shared.dyn")',
        'Q = T.allocate([128], "float32", "shared.dyn")',
        'P_1 = T.Buffer((128,), data=P, scope="shared.dyn")',
        'Q_1 = T.Buffer((128,), data=Q, scope="shared.dyn")',
    ]
    before, inside = ("\n        ".join(declared), "\n            ".join(declared))
    for texts, last, size in (
        ((before, ""), SYNC, 1024),
        (("", inside), SYNC, 512),
        # The next iteration writes P while other threads read Q.
        (("", inside), "", 1024),
    ):
        body = LOOP.format(before=texts[0], inside=texts[1], last=last)
        assert arena(merged(_A, body))[1] == size


def test_symbolic_sizes() -> None:
    # CASE: MergeSharedMemoryAllocations.9
    module = merged(
        "a: T.handle, r: T.handle, n: T.int32, m: T.int32",
        """
        A = T.match_buffer(a, (n,))
        R = T.match_buffer(r, (m,))
        with T.launch_thread("threadIdx.x", 1) as t:
            P = T.allocate([n], "float32", "shared.dyn")
            Q = T.allocate([m], "float32", "shared.dyn")
            P_1 = T.Buffer((n,), data=P, scope="shared.dyn")
            Q_1 = T.Buffer((m,), data=Q, scope="shared.dyn")
            for i in range(n):
                P_1[i] = A[i]
            for i in range(m):
                Q_1[i] = R[i] + P_1[0]
            for i in range(m):
                R[i] = Q_1[i] + P_1[n - 1]
        """,
        execute=False,
    )
    text = print_script(module)
    # Pieces begin at multiples of 16 bytes; the reference aligns them to elements.
    assert "m * 4 + (16 - m * 4 % 16) % 16 + n * 4" in text
    assert "(m * 4 + (16 - m * 4 % 16) % 16) // 4]" in text


def test_an_extent_that_is_known_where_a_view_is_declared() -> None:
    module = merged(
        _A,
        """
        with T.launch_thread("threadIdx.x", 32) as t:
            P = T.allocate([128], "float32", "shared.dyn")
            P_1 = T.Buffer((128,), data=P, scope="shared.dyn")
            Q = T.allocate([128], "float32", "shared.dyn")
            for k in range(3):
                with T.LetStmt(k * 32 + 32) as n:
                    Q_1 = T.decl_buffer((n,), data=Q, scope="shared.dyn")
                    P_1[t] = A[t]
                    Q_1[k * 32 + t] = A[t] + T.float32(1)
                    T.tvm_storage_sync("shared.dyn")
                    R[k * 32 + t] = P_1[31 - t] + Q_1[k * 32 + 31 - t]
                    T.tvm_storage_sync("shared.dyn")
        """,
    )
    assert arena(module) == ("buf_dyn_shmem", 1024)
    assert "T.decl_buffer((n + 128,), " in print_script(module)


def test_declarations_above_the_launch() -> None:
    # CASE: MergeSharedMemoryAllocations.10
    module = merged(
        "A: T.Buffer((64,), 'float32'), B: T.Buffer((64,), 'int32')",
        """
        P = T.allocate([64], "float32", "shared.dyn")
        Q = T.allocate([64], "int32", "shared.dyn")
        P_1 = T.decl_buffer((64,), data=P, scope="shared.dyn")
        Q_1 = T.decl_buffer((64,), "int32", data=Q, scope="shared.dyn")
        with T.launch_thread("threadIdx.x", 64) as t:
            L = T.allocate([1], "float32", "local")
            L_1 = T.Buffer((1,), data=L, scope="local")
            P_1[t] = A[t]
            Q_1[t] = B[t]
            T.tvm_storage_sync("shared.dyn")
            L_1[0] = P_1[63 - t]
            A[t] = L_1[0]
            B[t] = Q_1[63 - t]
        """,
    )
    assert arena(module) == ("buf_dyn_shmem", 512)
    text = print_script(module)
    assert "[t + 64] = B[t]" in text
    assert "[63 - t + 64]" in text


def test_a_result_of_a_reduction_has_bytes_of_its_own() -> None:
    # CASE: MergeSharedMemoryAllocations.12
    module = merged(
        _A,
        """
        with T.launch_thread("threadIdx.x", 128) as t:
            X = T.allocate([1], "float32", "shared")
            X_1 = T.Buffer((1,), data=X, scope="shared")
            P = T.allocate([128], "float32", "shared")
            P_1 = T.Buffer((128,), data=P, scope="shared")
            P_1[t] = A[t]
            T.tvm_storage_sync("shared")
            if t == 0:
                X_1[0] = P_1[5] + P_1[7]
            T.tvm_storage_sync("shared")
            R[t] = X_1[0] + P_1[127 - t]
        """,
        static=True,
    )
    assert arena(module) == ("buf_shmem", 516)


def test_vectors_and_pointers() -> None:
    # The reference counts lanes as one, and leaves pointers on memory that is gone.
    module = merged(
        "A: T.Buffer((128,), 'float32'), R: T.Buffer((128,), 'float32')",
        """
        with T.launch_thread("threadIdx.x", 32) as t:
            H = T.allocate([3], "float16", "shared.dyn")
            H_1 = T.Buffer((3,), "float16", data=H, scope="shared.dyn")
            P = T.allocate([32], "float32x4", "shared.dyn")
            P_1 = T.Buffer((32,), "float32x4", data=P, scope="shared.dyn")
            Q = T.allocate([128], "float32", "shared.dyn")
            Q_1 = T.Buffer((128,), data=Q, scope="shared.dyn")
            if t < 3:
                H_1[t] = T.float16(2)
            P_1[t] = A[t * 4:t * 4 + 4]
            Q_1[t] = A[t]
            T.tvm_storage_sync("shared.dyn")
            Z = T.decl_buffer((128,), data=Q, scope="shared.dyn")
            R[t * 4:t * 4 + 4] = P_1[31 - t] + T.Broadcast(Z[31 - t], 4)
            R[t * 4] = R[t * 4] + T.Cast("float32", H_1[t % 3])
        """,
    )
    assert arena(module)[1] == 16 + 512 + 512


def test_addresses_are_uses() -> None:
    body = LINE.join(
        (
            "P_1[t] = A[t]",
            SYNC,
            "Q_1[t] = A[t]",
            SYNC,
            'T.evaluate(T.call_extern("int32", "g", T.address_of(P_1[0])))',
            'T.evaluate(T.call_extern("int32", "g", Q))',
        )
    )
    module = merged(_A, pair(body), execute=False)
    assert arena(module)[1] == 1024
    names = [op for op in module.walk() if isinstance(op, tir.AddressOfOp)]
    assert len(names) == 2


def test_a_chain_of_sizes_keeps_the_places_of_live_memory_apart() -> None:
    # The reference joins pieces layer by layer, so that live ones overlap.
    sizes = {"P": 100, "Q": 100, "U": 50, "V": 200, "W": 100}
    lines = ['with T.launch_thread("threadIdx.x", 50) as t:']
    for name, size in sizes.items():
        lines += [
            f'    {name} = T.allocate([{size}], "float32", "shared.dyn")',
            f'    {name}_1 = T.Buffer(({size},), data={name}, scope="shared.dyn")',
        ]

    def use(*names: str) -> None:
        for name in names:
            lines.append(f"    {name}_1[t] = A[t] + T.float32({ord(name)})")
        lines.append(f"    {SYNC}")
        for name in names:
            lines.append(f"    R[t] = R[t] + {name}_1[49 - t]")
        lines.append(f"    {SYNC}")

    use("P")
    use("U", "Q")
    use("V")
    use("W", "U")
    use("V", "W")
    module = merged(_A, "\n".join(lines))
    size = arena(module)[1]
    assert isinstance(size, int)
    assert size <= 4 * sum(sizes.values())
