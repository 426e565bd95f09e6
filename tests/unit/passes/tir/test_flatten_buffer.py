"""FlattenBuffer where executing the program would take more memory than there is."""

from __future__ import annotations

from xdsl_tvm.passes.tir import FlattenBuffer
from xdsl_tvm.tvmscript import parse, print_script


def test_large_memory_is_indexed_in_64_bits() -> None:
    """46341 * 46342 elements are more than an i32 can number."""
    module = parse(
        """
        @T.prim_func
        def f(A: T.Buffer((46341, 46342), "int8"), n: T.int32):
            B = T.decl_buffer((65536, 65536), "int8")
            B[n, n] = A[n, n]
        """
    )
    text = print_script(FlattenBuffer()(module))
    assert "A_1 = T.Buffer((T.int64(2147534622),)" in text
    assert "T.allocate([T.int64(4294967296)]" in text
    assert 'B_1[T.Cast("int64", n) * T.int64(65537)]' in text
    assert 'A_1[T.Cast("int64", n) * T.int64(46343)]' in text
