// RUN: xdsl-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics -p tvm-convert-memref-to-llvm | filecheck %s

func.func @stride(%m : memref<4x?xf32>, %i : index) -> f32 {
  %0 = memref.load %m[%i, %i] : memref<4x?xf32>
  func.return %0 : f32
}

// CHECK: cannot lower 'memref.load': memref<4x?xf32> has strides that are not static

// -----

func.func @extent(%m : memref<?x4xf32>) -> index {
  %c0 = arith.constant 0 : index
  %0 = memref.dim %m, %c0 : memref<?x4xf32>
  func.return %0 : index
}

// CHECK: cannot lower 'memref.dim': extent 0 of memref<?x4xf32> is dynamic and a bare pointer does not carry it

// -----

func.func @space() {
  %0 = memref.alloc() : memref<4xf32, 3>
  func.return
}

// CHECK: cannot lower 'memref.alloc': memory space 3 : i64 has no heap

// -----

func.func @named_space(%m : memref<4xf32, "shared">, %i : index) -> f32 {
  %0 = memref.load %m[%i] : memref<4xf32, "shared">
  func.return %0 : f32
}

// CHECK: memory space "shared" has no LLVM address space; use an integer memory space

// -----

"gpu.module"() <{sym_name = "m"}> ({
  func.func @heap() {
    %0 = memref.alloc() : memref<4xf32>
    func.return
  }
}) : () -> ()

// CHECK: cannot lower 'memref.alloc': GPU code has no heap

// -----

func.func @atomic(%m : memref<4xf32>, %x : f32, %i : index) -> f32 {
  %0 = "memref.atomic_rmw"(%x, %m, %i) <{kind = 11 : i64}> : (f32, memref<4xf32>, index) -> f32
  func.return %0 : f32
}

// CHECK: cannot lower 'memref.atomic_rmw': no atomic instruction does kind 11

// -----

func.func @unknown(%m : memref<4xf32>) -> index {
  %0 = "memref.extract_aligned_pointer_as_index"(%m) : (memref<4xf32>) -> index
  func.return %0 : index
}

// CHECK: cannot lower 'memref.extract_aligned_pointer_as_index': this pass does not know it
