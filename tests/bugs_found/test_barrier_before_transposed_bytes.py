"""`ptx_ldmatrix` of transposed bytes reads rows at a stride, from its pointer on.

Its last operand is the stride. It was taken for an offset of the rows that are read, so
that no barrier was between a store to the first row and the load.
"""

from __future__ import annotations

from support.ir import parse

from xdsl_tvm.passes.tir.thread_sync import ThreadSync

KERNEL = """
tir.func @f(%a: !tir.handle) attributes {global_symbol = "f"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi8>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  %c1024 = tir.const 1024 : i32
  %yes = tir.const true
  %kind = tir.string ".b16"
  tir.launch_thread %t = "threadIdx.x" to %c64 {
    %s = tir.allocate [1024] : !tir.ptr<i8, "shared">
    %S = tir.decl_buffer "S" %s : !tir.buffer<1024xi8, "shared">
    %r = tir.allocate [16] : !tir.ptr<i8, "local">
    %first = tir.cmp lt %t, %c16 : i32
    tir.if %first {
      %x = tir.load %A[%t] : i8
      tir.store %x, %S[%t] : i8
    }
    %p = tir.access_ptr r %s[%c0 to %c0 + %c1024] : !tir.ptr<i8, "shared">
    %l = tir.call "ptx_ldmatrix"(%yes, %c4, %kind, %r, %c0, %p, %c32) :
      (i1, i32, !tir.handle, !tir.ptr<i8, "local">, i32, !tir.ptr<i8, "shared">, i32)
      -> i8
  }
}
"""


def test_the_load_waits_for_the_first_row() -> None:
    assert "tvm_storage_sync" in str(ThreadSync()(parse(KERNEL)))
