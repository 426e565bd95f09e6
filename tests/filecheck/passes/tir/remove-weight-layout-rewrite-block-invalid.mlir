// RUN: xdsl-opt %s -p tir-remove-weight-layout-rewrite-block --verify-diagnostics --split-input-file | filecheck %s

// CASE: RemoveWeightLayoutRewriteBlock.5
// CHECK: tir.block "pack" in @no_copy: it must load one element and store it as it is
tir.func @no_copy(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %P = tir.alloc_buffer : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    tir.block "pack" (%vi : S in [%c0 to %c4] = %i) annotations {meta_schedule.layout_rewrite_preproc = true} {
      %x = tir.load %A[%vi] : i32
      %y = tir.add %x, %x : i32
      tir.store %y, %P[%vi] : i32
    }
  }
}

// -----

// CHECK: tir.block "pack" in @no_variable: the indices of its load must be different variables
tir.func @no_variable(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %P = tir.alloc_buffer : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  tir.block "pack" annotations {meta_schedule.layout_rewrite_preproc = true} {
    %x = tir.load %A[%c0] : i32
    tir.store %x, %P[%c0] : i32
  }
}

// -----

// CHECK: tir.block "pack" in @declares: it declares a buffer by tir.alloc_buffer; declare none
tir.func @declares(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    tir.block "pack" (%vi : S in [%c0 to %c4] = %i) annotations {meta_schedule.layout_rewrite_preproc = true} {
      %P = tir.alloc_buffer : !tir.buffer<4xi32>
      %x = tir.load %A[%vi] : i32
      tir.store %x, %P[%vi] : i32
    }
  }
}

// -----

// CHECK: tir.block "pack" in @neither: the weight is neither a parameter nor a constant; pass it as a parameter
tir.func @neither(%p: !tir.ptr<i32>) {
  %A = tir.decl_buffer %p : !tir.buffer<4xi32>
  %P = tir.alloc_buffer : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    tir.block "pack" (%vi : S in [%c0 to %c4] = %i) annotations {meta_schedule.layout_rewrite_preproc = true} {
      %x = tir.load %A[%vi] : i32
      tir.store %x, %P[%vi] : i32
    }
  }
}

// -----

// CHECK: tir.block "pack" in @of_module: the constant is one of the module's; write its contents in the tir.allocate_const
tir.func @of_module() {
  %p = tir.allocate_const 0 : i32 : !tir.ptr<i32>
  %A = tir.decl_buffer %p : !tir.buffer<4xi32>
  %P = tir.alloc_buffer : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    tir.block "pack" (%vi : S in [%c0 to %c4] = %i) annotations {meta_schedule.layout_rewrite_preproc = true} {
      %x = tir.load %A[%vi] : i32
      tir.store %x, %P[%vi] : i32
    }
  }
}

// -----

// CHECK: tir.block "pack" in @too_late: the constant must come before all uses of the copy
tir.func @too_late() {
  %P = tir.alloc_buffer : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %q = tir.data %P : !tir.ptr<i32>
  %p = tir.allocate_const dense<[1, 2, 3, 4]> : tensor<4xi32> : !tir.ptr<i32>
  %A = tir.decl_buffer %p : !tir.buffer<4xi32>
  tir.for %i = %c0 to %c4 {
    tir.block "pack" (%vi : S in [%c0 to %c4] = %i) annotations {meta_schedule.layout_rewrite_preproc = true} {
      %x = tir.load %A[%vi] : i32
      tir.store %x, %P[%vi] : i32
    }
  }
  tir.evaluate %q : !tir.ptr<i32>
}
