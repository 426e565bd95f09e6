"""DefaultGPUSchedule writes TVM's text, and binds nothing that is not independent."""

from __future__ import annotations

import pytest
from support.ir import parse as parse_ir
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.structural_equal import assert_structural_equal
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.tir.default_gpu_schedule import DefaultGPUSchedule
from xdsl_tvm.tvmscript import parse

CUDA = DefaultGPUSchedule("cuda")


def scheduled(text: str, options: DefaultGPUSchedule = CUDA) -> ModuleOp:
    """A script after the pass, which keeps what it computes."""
    module = parse(text)
    result = options(module)
    result.verify()
    check_semantics(module, [options], seed=1)
    return result


def becomes(before: str, after: str, options: DefaultGPUSchedule = CUDA) -> None:
    marked = after.replace(
        "    # marked", '    T.func_attr({"tir.is_scheduled": T.bool(True)})'
    )
    assert_structural_equal(scheduled(before, options), parse(marked))


BROADCAST = (
    """
@T.prim_func
def main(a: T.Buffer((T.int64(1), T.int64(1)), "float32"), b: T.handle):
    x_0 = T.int64()
    x_1 = T.int64()
    out = T.match_buffer(b, (x_0, x_1))
    for ax0, ax1 in T.grid(x_0, x_1):
        with T.block("T_broadcast_to"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            out[v0, v1] = a[T.int64(0), T.int64(0)]
""",
    """
@T.prim_func
def main(a: T.Buffer((T.int64(1), T.int64(1)), "float32"), b: T.handle):
    # marked
    x_0 = T.int64()
    x_1 = T.int64()
    out = T.match_buffer(b, (x_0, x_1))
    for f_1 in T.thread_binding(T.int64(256), thread="blockIdx.x"):
        for f_2 in T.thread_binding(T.int64(1024), thread="threadIdx.x"):
            for f_0 in range((x_0 * x_1 + T.int64(262143)) // T.int64(262144)):
                with T.block("T_broadcast_to"):
                    v0 = T.axis.spatial(x_0, (f_0 * T.int64(262144)
                        + f_1 * T.int64(1024) + f_2) % (x_1 * x_0) // x_1)
                    v1 = T.axis.spatial(x_1, (f_0 * T.int64(262144)
                        + f_1 * T.int64(1024) + f_2) % x_1)
                    T.where((f_0 * T.int64(256) + f_1) * T.int64(1024) + f_2 < x_0 * x_1)
                    out[v0, v1] = a[T.int64(0), T.int64(0)]
""",
)


def test_symbolic_broadcast() -> None:
    # CASE: DefaultGPUSchedule.1
    becomes(*BROADCAST)


def _matmul(attributes: str = "") -> str:
    attributes = f"T.func_attr({{{attributes}}})" if attributes else ""
    return f"""
@T.prim_func
def main(A: T.Buffer((32, 32)), B: T.Buffer((32, 32)), C: T.Buffer((32, 32))):
    {attributes}
    for i, j, k in T.grid(32, 32, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def _bound_matmul(attributes: str) -> str:
    return f"""
@T.prim_func
def main(A: T.Buffer((32, 32)), B: T.Buffer((32, 32)), C: T.Buffer((32, 32))):
    T.func_attr({{{attributes}"tir.is_scheduled": T.bool(True)}})
    for f_0 in T.thread_binding(1, thread="blockIdx.x"):
        for f_1 in T.thread_binding(1024, thread="threadIdx.x"):
            for k in range(32):
                with T.block("C"):
                    vi = T.axis.spatial(32, (f_0 * 1024 + f_1) // 32)
                    vj = T.axis.spatial(32, (f_0 * 1024 + f_1) % 32)
                    vk = T.axis.reduce(32, k)
                    with T.init():
                        C[vi, vj] = T.float32(0)
                    C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def test_matmul() -> None:
    # CASE: DefaultGPUSchedule.2
    becomes(_matmul(), _bound_matmul(""))
    cuda = '"target": T.target("cuda"), '
    becomes(_matmul(cuda), _bound_matmul(cuda), DefaultGPUSchedule("llvm"))
    llvm = '"target": T.target("llvm"), '
    becomes(_matmul(llvm), _matmul(f'{llvm} "tir.is_scheduled": T.bool(True)'))


def _add(body: str) -> str:
    return f"""
@T.prim_func
def main(A: T.Buffer((T.int64(4), T.int64(3), T.int64(2), T.int64(3))),
         B: T.Buffer((T.int64(4), T.int64(3), T.int64(2), T.int64(3)))):
    {body}"""


ADD_BODY = "B[a, b, c, d] = A[a, b, c, d] + T.float32(1)"
ADD = _add(f"""for i, j, k, l in T.grid(T.int64(4), T.int64(3), T.int64(2), T.int64(3)):
        with T.block("T_add"):
            a, b, c, d = T.axis.remap("SSSS", [i, j, k, l])
            {ADD_BODY}
""")


def test_four_dimensions() -> None:
    # CASE: DefaultGPUSchedule.3
    becomes(
        ADD,
        _add(f"""# marked
    for f_0 in T.thread_binding(T.int64(1), thread="blockIdx.x"):
        for f_1 in T.thread_binding(T.int64(72), thread="threadIdx.x"):
            with T.block("T_add"):
                a = T.axis.spatial(T.int64(4), (f_0 * T.int64(72) + f_1) // T.int64(18))
                b = T.axis.spatial(T.int64(3),
                    (f_0 * T.int64(72) + f_1) % T.int64(18) // T.int64(6))
                c = T.axis.spatial(T.int64(2),
                    (f_0 * T.int64(72) + f_1) % T.int64(6) // T.int64(3))
                d = T.axis.spatial(T.int64(3), (f_0 * T.int64(72) + f_1) % T.int64(3))
                {ADD_BODY}
"""),
    )


FULL = """
@T.prim_func
def full(A: T.Buffer((2, 3), "int32")):
    for i0, i1 in T.grid(2, 3):
        with T.block("T_full"):
            v0, v1 = T.axis.remap("SS", [i0, i1])
            A[v0, v1] = 1
"""
BOUND_FULL = """
@T.prim_func
def full(A: T.Buffer((2, 3), "int32")):
    # marked
    for f_0 in T.thread_binding(1, thread="blockIdx.x"):
        for f_1 in T.thread_binding(6, thread="threadIdx.x"):
            with T.block("T_full"):
                v0 = T.axis.spatial(2, (f_0 * 6 + f_1) // 3)
                v1 = T.axis.spatial(3, (f_0 * 6 + f_1) % 3)
                A[v0, v1] = 1
"""


def test_full() -> None:
    # CASE: DefaultGPUSchedule.4
    becomes(FULL, BOUND_FULL)


def test_names_are_tvm_s() -> None:
    text = str(scheduled(FULL))
    assert 'tir.for "i0_i1_fused_0"' in text
    assert 'tir.for "i0_i1_fused_1"' in text
    assert 'tir.for "ax0_ax1_fused_2"' in str(scheduled(BROADCAST[0]))


def test_a_scheduled_function_stays() -> None:
    # CASE: DefaultGPUSchedule.5
    mark = '    T.func_attr({"tir.is_scheduled": T.bool(True)})\n    for i0'
    scheduled_by_hand = FULL.replace("    for i0", mark)
    becomes(scheduled_by_hand, scheduled_by_hand)
    becomes(BOUND_FULL.replace("# marked", "pass"), BOUND_FULL)


def test_functions_of_a_module() -> None:
    # CASE: DefaultGPUSchedule.6
    module = parse(FULL)
    other = parse(FULL.replace("full", "other"))
    first = next(iter(other.body.ops))
    first.detach()
    module.body.block.add_op(first)
    text = str(CUDA(module))
    assert text.count('thread_binding "threadIdx.x"') == 2
    assert text.count("tir.is_scheduled = true") == 2


def test_metal() -> None:
    # CASE: DefaultGPUSchedule.7
    becomes(FULL, BOUND_FULL, DefaultGPUSchedule("apple/m1-gpu"))
    metal = DefaultGPUSchedule("metal -max_num_threads=4")
    text = str(scheduled(FULL, metal))
    assert text.count("where") == 1


def test_a_block_without_loops() -> None:
    # CASE: DefaultGPUSchedule.8
    becomes(
        """
@T.prim_func
def main(A: T.Buffer((), "float32"), B: T.Buffer((), "float32")):
    with T.block("T_divide"):
        vi = T.axis.spatial(1, 0)
        B[()] = A[()] / T.float32(2)
""",
        """
@T.prim_func
def main(A: T.Buffer((), "float32"), B: T.Buffer((), "float32")):
    # marked
    for u_0 in T.thread_binding(1, thread="blockIdx.x"):
        for u_1 in T.thread_binding(1, thread="threadIdx.x"):
            with T.block("T_divide"):
                vi = T.axis.spatial(1, 0)
                B[()] = A[()] / T.float32(2)
""",
    )


SUM = """
            with T.block("sum"):
                v0, v1 = T.axis.remap("RR", [k0, k1])
                with T.init():
                    B[()] = T.float32(0)
                B[()] = B[()] + A[v0, v1]
"""


def test_reduction_only() -> None:
    # CASE: DefaultGPUSchedule.9
    becomes(
        f"""
@T.prim_func
def main(A: T.Buffer((2, 2), "float32"), B: T.Buffer((), "float32")):
    for k0 in range(2):
        for k1 in range(2):{SUM}""",
        f"""
@T.prim_func
def main(A: T.Buffer((2, 2), "float32"), B: T.Buffer((), "float32")):
    # marked
    for u_0 in T.thread_binding(1, thread="blockIdx.x"):
        for u_1 in T.thread_binding(1, thread="threadIdx.x"):
          for k0, k1 in T.grid(2, 2):{SUM}""",
    )


def refusal(module: ModuleOp, options: DefaultGPUSchedule = CUDA) -> str:
    with pytest.raises(PassFailedException) as error:
        options(module)
    return str(error.value)


def test_targets_and_names() -> None:
    # CASE: DefaultGPUSchedule.10
    assert "@full: the target is missing; run tir-bind-target" in refusal(
        parse(FULL), DefaultGPUSchedule()
    )
    assert "the target 'llvm' states no max_num_threads" in refusal(
        parse(FULL), DefaultGPUSchedule("llvm -target_device_type=2")
    )
    assert "states no max_num_threads" in refusal(
        parse(FULL), DefaultGPUSchedule("cuda -max_num_threads=0")
    )
    assert "unknown target kind 'cdua'" in refusal(
        parse(FULL), DefaultGPUSchedule("cdua")
    )
    head, _, nest = FULL.partition("    for")
    assert refusal(parse(f"{head}    for{nest}    for{nest}")) == (
        'tir.block "T_full" in @full: Duplicated block name T_full in the function is '
        "not supported; rename one of the blocks"
    )


def test_root_and_odd_loops() -> None:
    # CASE: DefaultGPUSchedule.11
    root = """
@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    with T.block("root"):
        A[0] = T.float32(1)
"""
    assert "Cannot add loops on top of the root block" in refusal(parse(root))
    odd = """
@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("A"):
            v0 = T.axis.spatial(4, i)
            v1 = T.axis.spatial(1, 0)
            A[v0 + v1] = T.float32(1)
"""
    assert refusal(parse(odd)) == (
        'tir.block "A" in @main has 2 iteration variables in 1 loops; let each loop bind '
        "one of them, or schedule the function by hand"
    )


def test_functions_without_blocks() -> None:
    # CASE: DefaultGPUSchedule.12
    plain = """
@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    # marked
    for i in range(4):
        A[i] = T.float32(1)
"""
    becomes(plain.replace("    # marked", ""), plain)
    launched = plain.replace(
        "for i in range(4):", 'with T.launch_thread("threadIdx.x", 4) as i:'
    )
    becomes(launched.replace("    # marked", ""), launched)


# ---- what TVM has no answer for ----


def bound(text: str, options: DefaultGPUSchedule = CUDA) -> list[str]:
    """The axes and the serial loops of the result, by the name of the variable."""
    found: list[str] = []
    for op in scheduled(text, options).walk():
        if op.name == "tir.for":
            tag = op.properties.get("thread_tag")
            name = op.properties["loop_name"]
            found.append(f"{name} {tag}" if tag is not None else str(name))
    return [line.replace('"', "") for line in found]


def block(kinds: str, loops: str, extents: str, store: str) -> str:
    names = ", ".join(f"v{name}" for name in loops)
    return f"""
@T.prim_func
def main(A: T.Buffer((4, 5, 6), "int32"), B: T.Buffer((6, 6), "int32")):
    for {", ".join(loops)} in T.grid({extents}):
        with T.block("A"):
            {names} = T.axis.remap("{kinds}", [{", ".join(loops)}])
            {store}
"""


def test_spatial_loops_around_a_reduction() -> None:
    text = block("SRS", "ikj", "4, 5, 6", "B[vi, vj] = B[vi, vj] + A[vi, vk, vj]")
    assert bound(text) == [
        "i_fused_0 blockIdx.x",
        "i_fused_1 threadIdx.x",
        "k",
        "j",
    ]


def test_an_outer_reduction_stays_outside() -> None:
    text = block("RSS", "kij", "5, 4, 6", "B[vi, vj] = B[vi, vj] + A[vi, vk, vj]")
    assert bound(text) == [
        "k",
        "i_j_fused_0 blockIdx.x",
        "i_j_fused_1 threadIdx.x",
    ]


def test_a_loop_without_a_variable_of_its_own() -> None:
    """Two iterations of `j` run one instance of the block, which adds to an element."""
    text = """
@T.prim_func
def main(B: T.Buffer((6, 6), "int32")):
    for i, j in T.grid(4, 6):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            vj = T.axis.spatial(3, j // 2)
            B[vi, vj] = B[vi, vj] + 1
"""
    assert bound(text) == ["i_fused_0 blockIdx.x", "i_fused_1 threadIdx.x", "j"]


def test_variables_in_another_order_than_the_loops() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((4, 5), "int32"), B: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 5):
        with T.block("B"):
            vk = T.axis.reduce(5, k)
            vi = T.axis.spatial(4, i)
            B[vi] = B[vi] + A[vi, vk]
"""
    assert bound(text) == ["u_fused_0 blockIdx.x", "u_fused_1 threadIdx.x", "i", "k"]


def test_a_shared_loop_stays_outside() -> None:
    """The second block reads what the first one has stored in an earlier iteration."""
    text = """
@T.prim_func
def main(A: T.Buffer((5, 6), "int32"), B: T.Buffer((5, 6), "int32")):
    for i in range(4):
        for j in range(6):
            with T.block("A"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi + 1, vj] = B[vi, vj] + 1
        for k in range(6):
            with T.block("B"):
                vi, vk = T.axis.remap("SS", [i, k])
                B[vi + 1, vk] = A[vi, 5 - vk] + A[vi + 1, vk]
"""
    assert bound(text) == [
        "i",
        "j_fused_0 blockIdx.x",
        "j_fused_1 threadIdx.x",
        "k_fused_0 blockIdx.x",
        "k_fused_1 threadIdx.x",
    ]


def test_a_range_that_depends_on_another_loop() -> None:
    text = """
@T.prim_func
def main(B: T.Buffer((4, 5), "int32")):
    for i in range(4):
        for j in range(1, i + 1):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = 1
"""
    assert bound(text) == ["i_fused_0 blockIdx.x", "i_fused_1 threadIdx.x", "j"]


def test_no_iteration() -> None:
    text = """
@T.prim_func
def main(B: T.Buffer((4, 5), "int32")):
    for i, j in T.grid(4, 0):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = 1
"""
    assert bound(text) == ["i_j_fused_0 blockIdx.x", "i_j_fused_1 threadIdx.x"]


def test_two_extents_that_may_be_negative() -> None:
    text = """
@T.prim_func
def main(B: T.Buffer((4, 5), "int32"), n: T.int32, m: T.int32):
    for i, j in T.grid(T.min(n, 4), T.min(m, 5)):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            vj = T.axis.spatial(5, j)
            B[vi, vj] = 1
"""
    assert bound(text, DefaultGPUSchedule("cuda -max_num_threads=2")) == [
        "i_fused_1 blockIdx.x",
        "i_fused_2 threadIdx.x",
        "i_fused_0",
        "j",
    ]


def test_a_product_beyond_the_type() -> None:
    """65536 * 65536 iterations have no number of 32 bits."""
    func = parse("""
@T.prim_func
def main(B: T.Buffer((65536, 65536), "int8")):
    for i, j in T.grid(65536, 65536):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.int8(1)
""")
    text = str(CUDA(func))
    assert '"i_fused_0"' in text
    assert 'tir.for "j"' in text


def test_loops_from_other_numbers_and_bindings_with_terms() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8, 9), "int32"), n: T.int32):
    for i, j in T.grid(T.int32(3), T.int32(4)):
        for k in range(2, 5):
            with T.block("A"):
                vi = T.axis.spatial(8, 7 - i)
                vj = T.axis.spatial(9, j + 2)
                vk = T.axis.reduce((2, 5), k)
                T.where(i + j < 5)
                A[vi, vj] = A[vi, vj] + vk * n
"""
    assert bound(text, DefaultGPUSchedule("cuda -max_num_threads=5")) == [
        "i_j_fused_0 blockIdx.x",
        "i_j_fused_1 threadIdx.x",
        "k",
    ]


def test_narrow_and_mixed_types() -> None:
    module = parse_ir("""
tir.func @main(%a: !tir.handle) attributes {global_symbol = "main"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<100x3xi32>
  %z8 = tir.const 0 : i8
  %n8 = tir.const 100 : i8
  %z = tir.const 0 : i32
  %n = tir.const 3 : i32
  %one = tir.const 1 : i32
  tir.for %i = %z8 to %n8 {
    tir.for %j = %z to %n {
      tir.block (%vi : S in [%z8 to %n8] = %i, %vj : S in [%z to %n] = %j) {
        tir.writes %A[%vi, %vj]
        tir.store %one, %A[%vi, %vj] : i32
      }
    }
  }
  tir.for %k = %z to %n {
    tir.block (%vk : S in [%z to %n] = %k) {
      tir.writes %A[%vk, %z]
      tir.store %vk, %A[%vk, %z] : i32
    }
  }
}""")
    for threads in (1024, 60, 8):
        options = DefaultGPUSchedule(f"cuda -max_num_threads={threads}")
        check_semantics(module, [options])
    assert 'tir.for "i_fused_0"' in str(CUDA(module))


def test_a_symbolic_extent_of_a_narrow_type() -> None:
    """256 blocks of threads have more numbers than 8 bits."""
    module = parse_ir("""
tir.func @main(%a: !tir.handle, %n: i8) attributes {global_symbol = "main"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<100xi32>
  %z8 = tir.const 0 : i8
  %n8 = tir.const 100 : i8
  %one = tir.const 1 : i32
  %m = tir.min %n, %n8 : i8
  tir.for "i" %i = %z8 to %m {
    tir.block (%vi : S in [%z8 to %n8] = %i) {
      tir.store %one, %A[%vi] : i32
    }
  }
}""")
    check_semantics(module, [CUDA])
    assert 'tir.for "u_fused_1"' in str(CUDA(module))


def test_ops_between_the_loops_move_along() -> None:
    module = parse_ir("""
tir.func @main(%a: !tir.handle) attributes {global_symbol = "main"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x4xi32>
  %z = tir.const 0 : i32
  %c7 = tir.const 7 : i32
  %n = tir.const 4 : i32
  tir.for %i = %z to %n {
    %c3 = tir.const 3 : i32
    %i3 = tir.mul %i, %c3 : i32
    tir.for %j = %z to %n {
      %s = tir.add %i3, %i : i32
      %t = tir.sub %s, %i3 : i32
      %less = tir.cmp le %i, %j : i32
      tir.for %k = %i to %i + %c3 {
        tir.block "A" (%vi : S in [%z to %n] = %t, %vj : S in [%z to %n] = %j,
            %vk : R in [%z to %c7] = %k) where %less {
          %x = tir.load %A[%vi, %vj] : i32
          %y = tir.add %x, %vk : i32
          tir.store %y, %A[%vi, %vj] : i32
        }
      }
    }
  }
}""")
    check_semantics(module, [CUDA])
    # %k is from %i on, and its kind is another one.
    assert 'tir.for "i_j_fused_1"' in str(CUDA(module))
