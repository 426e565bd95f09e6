// RUN: xdsl-opt %s -p tir-split-host-device --split-input-file --verify-diagnostics | filecheck %s

tir.func @shared(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %c4 = tir.const 4 : i32
  %c0 = tir.const 0 : i32
  %q = tir.allocate [4] : !tir.ptr<i32, "shared">
  %Q = tir.decl_buffer "Q" %q : !tir.buffer<4xi32, "shared">
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    tir.launch_thread %t = "threadIdx.x" to %c4 {
      tir.store %t, %Q[%t] : i32
    }
  }
  %x = tir.load %Q[%c0] : i32
}
// CHECK: tir.allocate in @shared: memory of type !tir.ptr<i32, "shared"> is in a scope of the device, and is used outside of the device region that uses it; allocate it inside of the region, or in the scope "global"

// -----

tir.func @outer(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %c4 = tir.const 4 : i32
  %c0 = tir.const 0 : i32
  %q = tir.allocate [4] : !tir.ptr<i32, "shared">
  tir.for %i = %c0 to %c4 {
    %Q = tir.decl_buffer "Q" %q : !tir.buffer<4xi32, "shared">
    tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
      tir.launch_thread %t = "threadIdx.x" to %c4 {
        tir.store %t, %Q[%t] : i32
      }
    }
  }
}
// CHECK: tir.allocate in @outer: memory of type !tir.ptr<i32, "shared"> is in a scope of the device, and is in another block than the device region

// -----

tir.func @returns(%n: i32) -> i32 attributes {target = #tir.target<"cuda">} {
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    tir.ret %n : i32
  }
}
// CHECK: tir.ret in @returns: returns from inside of a device region, and in a kernel would leave only that; return after the region

// -----

tir.func @foreign(%n: i32) attributes {target = #tir.target<"cuda">} {
  %v = "test.op"() : () -> index
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    "test.op"(%v) : (index) -> ()
  }
}
// CHECK: tir.attr in @foreign: the device region uses a value of type index, which no parameter of a kernel can have

// -----

tir.func @nested(%n: i32) attributes {target = #tir.target<"cuda">} {
  builtin.module {
    tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    }
  }
}
// CHECK: tir.attr in @nested: the device region is in builtin.module in @nested, which may have symbols of its own, so that a kernel cannot be called there; lower that operation first

// -----

tir.func @no_blocks() attributes {target = #tir.target<"cuda">} {
  %c4 = tir.const 4 : i32
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    tir.launch_thread %b = "blockIdx.x" to %c4 annotations {"pragma_min_blocks" = 0 : i32} {
      tir.evaluate %b : i32
    }
  }
}
// CHECK: tir.launch_thread in @no_blocks: pragma_min_blocks is 0; state 1 to 32 blocks of a multiprocessor, or remove it

// -----

tir.func @many_blocks() attributes {target = #tir.target<"cuda">} {
  %c4 = tir.const 4 : i32
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    tir.launch_thread %b = "blockIdx.x" to %c4 annotations {"pragma_min_blocks" = 4294967296 : i64} {
      tir.evaluate %b : i32
    }
  }
}
// CHECK: tir.launch_thread in @many_blocks: pragma_min_blocks is 4294967296; state 1 to 32 blocks of a multiprocessor, or remove it
