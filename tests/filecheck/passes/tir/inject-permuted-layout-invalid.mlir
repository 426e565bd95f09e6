// RUN: xdsl-opt %s -p tir-inject-permuted-layout --verify-diagnostics --split-input-file | filecheck %s

// CASE: InjectPermutedLayout.7
// CHECK: tir.alloc_buffer in @columns: a permuted layout needs rows with a multiple of 32 elements; pad them
tir.func @columns(%i: i32, %x: f16) {
  tir.block "B" annotations {"permuted_layout" = "x"} {
    %S = tir.alloc_buffer "S" : !tir.buffer<8x48xf16, "shared">
    tir.store %x, %S[%i, %i] : f16
  }
}

// -----

// CASE: InjectPermutedLayout.7
// CHECK: tir.alloc_buffer in @rows: a permuted layout of rows that are no multiple of 64 elements needs an even number of them; add one
tir.func @rows(%i: i32, %x: f16) {
  tir.block "B" annotations {"permuted_layout" = "x"} {
    %S = tir.alloc_buffer "S" : !tir.buffer<7x96xf16, "shared">
    tir.store %x, %S[%i, %i] : f16
  }
}

// -----

// CHECK: tir.alloc_buffer in @symbolic: a permuted layout needs rows with a multiple of 32 elements; pad them
tir.func @symbolic(%i: i32, %x: f16) {
  tir.block "B" annotations {"permuted_layout" = "x"} {
    %S = tir.alloc_buffer "S" [%i] : !tir.buffer<8x?xf16, "shared">
    tir.store %x, %S[%i, %i] : f16
  }
}

// -----

// CASE: InjectPermutedLayout.7
// CHECK: tir.block: the annotation 'permuted_layout' must be an integer or a string, got 1.000000e+00 : f32
tir.func @annotation() {
  tir.block "B" annotations {"permuted_layout" = 1.0 : f32} {
  }
}

// -----

// CASE: InjectPermutedLayout.7
// CHECK: tir.call in @pointer: ptx_ldmatrix with a permuted layout needs a tir.access_ptr on the tir.data of a buffer; pass one
tir.func @pointer(%w: !tir.ptr<f16, "local">, %s: !tir.ptr<f16, "shared">) {
  %no = tir.const false
  %kind = tir.string ".b16"
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.block "B" annotations {"permuted_layout" = "x"} {
    %d = tir.call "ptx_ldmatrix"(%no, %c4, %kind, %w, %c0, %s, %c0) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "shared">, i32) -> f16
  }
}

// -----

// CASE: InjectPermutedLayout.7
// CHECK: tir.call in @unknown: mma_store with a permuted layout needs a tir.access_ptr on the tir.data of a buffer; pass one
tir.func @unknown(%w: !tir.ptr<f32, "local">, %s: !tir.ptr<f32, "shared">) {
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  tir.block "B" annotations {"permuted_layout" = "x"} {
    %p = tir.access_ptr w %s[%c0 to %c0 + %c16] : !tir.ptr<f32, "shared">
    %d = tir.call "mma_store"(%c16, %c16, %p, %w, %c0, %c16) : (i32, i32, !tir.ptr<f32, "shared">, !tir.ptr<f32, "local">, i32, i32) -> f32
  }
}

// -----

// CASE: InjectPermutedLayout.7
// CHECK: tir.alloc_buffer in @rank: a permuted layout needs two dimensions; give the buffer rows
tir.func @rank(%w: !tir.ptr<f16, "local">) {
  %no = tir.const false
  %kind = tir.string ".b16"
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.block "B" annotations {"permuted_layout" = "x"} {
    %S = tir.alloc_buffer "S" : !tir.buffer<64xf16, "shared">
    %s = tir.data %S : !tir.ptr<f16, "shared">
    %p = tir.access_ptr r %s[%c0 to %c0 + %c4] : !tir.ptr<f16, "shared">
    %d = tir.call "ptx_ldmatrix"(%no, %c4, %kind, %w, %c0, %p, %c0) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "shared">, i32) -> f16
  }
}

// -----

// CHECK: tir.load in @one_sided: uses a buffer whose layout is permuted for others; mark its block with permuted_layout, and use loads, stores or ptx_ldmatrix
tir.func @one_sided(%i: i32, %x: f16) {
  %S = tir.alloc_buffer "S" : !tir.buffer<8x64xf16, "shared">
  tir.block "B" annotations {"permuted_layout" = "x"} {
    tir.store %x, %S[%i, %i] : f16
  }
  %y = tir.load %S[%i, %i] : f16
}

// -----

// CHECK: tir.call in @other_use: uses a buffer whose layout is permuted for others; mark its block with permuted_layout, and use loads, stores or ptx_ldmatrix
tir.func @other_use(%i: i32, %x: f16) {
  %f = tir.string "f"
  tir.block "B" annotations {"permuted_layout" = "x"} {
    %S = tir.alloc_buffer "S" : !tir.buffer<8x64xf16, "shared">
    tir.store %x, %S[%i, %i] : f16
    %s = tir.data %S : !tir.ptr<f16, "shared">
    %p = tir.access_ptr r %s[%i to %i + %i] : !tir.ptr<f16, "shared">
    tir.call "call_extern"(%f, %p) : (!tir.handle, !tir.ptr<f16, "shared">) -> ()
  }
}

// -----

// CHECK: tir.match_region in @view: views must be gone here; run tir-lower-match-buffer first
tir.func @view(%i: i32, %x: f16) {
  %S = tir.alloc_buffer "S" : !tir.buffer<8x64xf16, "shared">
  tir.block "B" annotations {"permuted_layout" = "x"} {
    tir.store %x, %S[%i, %i] : f16
    tir.block "C" {
      %V = tir.match_region "V" %S[%i to %i + 2, %i to %i + 2] strides [64, 1] offset %i : !tir.buffer<2x2xf16, "shared">
    }
  }
}

// -----

// CHECK: tir.decl_buffer in @alias: a view of other memory cannot be permuted without it; run tir-lower-match-buffer first, or access the buffer itself
tir.func @alias(%p: !tir.ptr<f16, "shared">, %i: i32, %x: f16) {
  tir.block "B" annotations {"permuted_layout" = "x"} {
    %S = tir.decl_buffer %p : !tir.buffer<8x64xf16, "shared">
    tir.store %x, %S[%i, %i] : f16
  }
}

// -----

// CHECK: tir.call in @rows_of_bytes: loads a matrix with a permuted layout in elements of i8; count in those of the buffer, of 2 bytes at least
tir.func @rows_of_bytes(%w: !tir.ptr<i8, "local">) {
  %no = tir.const false
  %kind = tir.string ".b16"
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.block "B" annotations {"permuted_layout" = "x"} {
    %S = tir.alloc_buffer "S" : !tir.buffer<8x64xi8, "shared">
    %s = tir.data %S : !tir.ptr<i8, "shared">
    %p = tir.access_ptr r %s[%c0 to %c0 + %c4] : !tir.ptr<i8, "shared">
    %d = tir.call "ptx_ldmatrix"(%no, %c4, %kind, %w, %c0, %p, %c0) : (i1, i32, !tir.handle, !tir.ptr<i8, "local">, i32, !tir.ptr<i8, "shared">, i32) -> i8
  }
}

// -----

// CHECK: tir.call in @padded: loads a matrix with a permuted layout from a buffer with strides or an offset; use a compact one
tir.func @padded(%w: !tir.ptr<f16, "local">) {
  %no = tir.const false
  %kind = tir.string ".b16"
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.block "B" annotations {"permuted_layout" = "x"} {
    %S = tir.alloc_buffer "S" strides [72, 1] : !tir.buffer<8x64xf16, "shared">
    %s = tir.data %S : !tir.ptr<f16, "shared">
    %p = tir.access_ptr r %s[%c0 to %c0 + %c4] : !tir.ptr<f16, "shared">
    %d = tir.call "ptx_ldmatrix"(%no, %c4, %kind, %w, %c0, %p, %c0) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "shared">, i32) -> f16
  }
}

// -----

// CHECK: tir.call in @stored: mma_store to shared memory writes 16 rows from one place, which a permuted layout takes apart; store element by element
tir.func @stored(%w: !tir.ptr<f32, "local">) {
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  tir.block "B" annotations {"permuted_layout" = "x"} {
    %S = tir.alloc_buffer "S" : !tir.buffer<16x64xf32, "shared">
    %s = tir.data %S : !tir.ptr<f32, "shared">
    %p = tir.access_ptr w %s[%c0 to %c0 + %c16] : !tir.ptr<f32, "shared">
    %d = tir.call "mma_store"(%c16, %c16, %p, %w, %c0, %c16) : (i32, i32, !tir.ptr<f32, "shared">, !tir.ptr<f32, "local">, i32, i32) -> f32
  }
}
