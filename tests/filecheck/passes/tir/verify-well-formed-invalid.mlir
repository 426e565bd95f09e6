// RUN: xdsl-opt %s -p tir-verify-well-formed --split-input-file --verify-diagnostics | filecheck %s

tir.func @body(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n {
    tir.block "B" (%v : S in [%c0 to %n] = %i) {
      tir.evaluate %i : i32
    }
  }
}
// CHECK: tir.evaluate in @body breaks BlockVarAccess: it uses the variable of a loop around its block, or what is computed from one; bind an iteration variable of the block to that value

// -----

tir.func @computed_outside(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n {
    %x = tir.add %i, %n : i32
    %y = tir.let "y" %x : i32
    tir.block "B" (%v : S in [%c0 to %n] = %i) {
      tir.evaluate %y : i32
    }
  }
}
// CHECK: tir.evaluate in @computed_outside breaks BlockVarAccess

// -----

tir.func @load_outside(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n {
    %t = tir.const 1 : i1
    %x = tir.if_then_else %t -> i32 {
      %l = tir.load %A[%i] : i32
      tir.yield %l : i32
    } else {
      tir.yield %c0 : i32
    }
    tir.block "B" (%v : S in [%c0 to %n] = %i) {
      tir.store %x, %A[%v] : i32
    }
  }
}
// CHECK: tir.store in @load_outside breaks BlockVarAccess

// -----

tir.func @region(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n {
    tir.block "B" (%v : S in [%c0 to %n] = %i) {
      tir.reads %A[%i]
    }
  }
}
// CHECK: tir.reads in @region breaks BlockVarAccess

// -----

tir.func @written(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n {
    tir.block "B" (%v : S in [%c0 to %n] = %i) {
      tir.writes %A[%i]
    }
  }
}
// CHECK: tir.writes in @written breaks BlockVarAccess

// -----

tir.func @matched(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n {
    tir.block "B" (%v : S in [%c0 to %n] = %i) {
      %V = tir.match_region %A[%i] : !tir.buffer<1xi32>
    }
  }
}
// CHECK: tir.match_region in @matched breaks BlockVarAccess

// -----

tir.func @initial(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n {
    tir.block "B" (%v : R in [%c0 to %n] = %i) {
      tir.init {
        tir.store %c0, %A[%i] : i32
      }
    }
  }
}
// CHECK: tir.store in @initial breaks BlockVarAccess

// -----

// The bindings of a block inside belong to the block around it.
tir.func @nested(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n {
    tir.block "outer" (%v : S in [%c0 to %n] = %i) {
      tir.block "inner" (%w : S in [%c0 to %n] = %i) {
      }
    }
  }
}
// CHECK: tir.block "inner" in @nested breaks BlockVarAccess

// -----

// An opaque block does not shield the block around it.
tir.func @opaque_inside(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n {
    tir.block "outer" (%v : S in [%c0 to %n] = %i) {
      tir.block "opaque" {
        tir.evaluate %i : i32
      }
    }
  }
}
// CHECK: tir.evaluate in @opaque_inside breaks BlockVarAccess

// -----

tir.func @unbound() {
  %n = tir.shape_var "n" : i32
  tir.evaluate %n : i32
}
// CHECK: tir.shape_var in @unbound breaks UndefinedVars: nothing binds "n"; give it as an extent, stride or offset, by itself, to a tir.match_buffer or tir.match_region

// -----

tir.func @compound_only(%a: !tir.handle) {
  %n = tir.shape_var "n" : i32
  %twice = tir.add %n, %n : i32
  %A = tir.match_buffer %a [%twice] : !tir.buffer<?xf32>
}
// CHECK: tir.shape_var in @compound_only breaks UndefinedVars: nothing binds "n"

// -----

tir.func @declared_only(%p: !tir.ptr<f32>) {
  %n = tir.shape_var "n" : i32
  %A = tir.decl_buffer %p [%n] : !tir.buffer<?xf32>
}
// CHECK: tir.shape_var in @declared_only breaks UndefinedVars: nothing binds "n"

// -----

tir.func @early(%a: !tir.handle) {
  %n = tir.shape_var "n" : i32
  %twice = tir.add %n, %n : i32
  tir.evaluate %twice : i32
  %A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>
}
// CHECK: tir.evaluate in @early breaks UndefinedVars: it uses a tir.shape_var before the match that binds it, or outside of the scope of that match; move it after the match

// -----

tir.func @left(%a: !tir.handle) {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  tir.block {
    %V = tir.match_region %A[%c0 to 4] [%n] : !tir.buffer<?xf32>
  }
  tir.evaluate %n : i32
}
// CHECK: tir.evaluate in @left breaks UndefinedVars: it uses a tir.shape_var before

// -----

tir.func @twice(%a: !tir.handle) {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  tir.block {
    %V = tir.match_region %A[%c0 to 4] [%n] : !tir.buffer<?xf32>
  }
  tir.block {
    %W = tir.match_region %A[%c0 to 4] [%n] : !tir.buffer<?xf32>
    tir.evaluate %n : i32
  }
}
// CHECK: tir.match_region in @twice breaks SingleDefinition: it binds a tir.shape_var that a match in another scope binds, too; use a tir.shape_var for each

// -----

tir.func @tags(%n: i32) {
  tir.launch_thread %x = "threadIdx.x" to %n env "t" {
    tir.launch_thread %y = "threadIdx.y" to %n env "t" {
    }
  }
}
// CHECK: tir.launch_thread in @tags breaks EnvThread: its variable "t" is that of a launch of another tag; give each axis an env of its own

// -----

tir.func @kinds(%n: i32) {
  tir.launch_thread %x = "vthread" to %n env "t" {
  }
  tir.launch_thread %y = "vthread" to %n virtual env "t" {
  }
}
// CHECK: tir.launch_thread in @kinds breaks EnvThread: its variable "t" is that of a launch of another kind

// -----

tir.func @types(%n: i32, %m: i64) {
  tir.launch_thread %x = "threadIdx.x" to %n env "t" {
  }
  tir.launch_thread %y = "threadIdx.x" to %m env "t" {
  }
}
// CHECK: tir.launch_thread in @types breaks EnvThread: its variable "t" is that of a launch of another type

// -----

tir.func @foreign() {
  %B = "test.op"() : () -> !tir.buffer<4xf32>
  %p = tir.data %B : !tir.ptr<f32>
}
// CHECK: tir.data in @foreign breaks BufferDefinition: it uses a buffer that no op of the tir dialect defines; view its memory with tir.decl_buffer

// -----

tir.func @branch(%p: i1, %n: i32) -> i32 {
  %x = tir.if_then_else %p -> i32 {
    tir.ret %n : i32
    tir.yield %n : i32
  } else {
    tir.yield %n : i32
  }
}
// CHECK: tir.ret in @branch breaks ReturnPlacement: it is in an expression, a branch of tir.if_then_else; return from the statements of the function

// -----

tir.func @condition(%p: i1) {
  tir.while {
    tir.ret
    tir.yield %p : i1
  } do {
  }
}
// CHECK: tir.ret in @condition breaks ReturnPlacement: it is in an expression, the condition of a tir.while

// -----

tir.func @parallel(%n: i32, %p: i1) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n parallel {
    tir.if %p {
      tir.ret
    }
  }
}
// CHECK: tir.ret in @parallel breaks ReturnPlacement: it is in a parallel loop

// -----

tir.func @extents(%n: i32, %m: i32) {
  tir.launch_thread %x = "threadIdx.x" to %n env "t" {
  }
  tir.launch_thread %y = "threadIdx.x" to %m env "t" {
  }
}
// CHECK: tir.launch_thread in @extents breaks EnvThread: its variable "t" is that of a launch whose extent is not provably equal; give each axis an env of its own

// -----

tir.func @nothing() -> i32 {
  tir.ret
}
// CHECK: tir.ret in @nothing breaks ReturnType: it returns nothing, but the result of the function is i32; cast the value

// -----

tir.func @other(%x: i64) -> i32 {
  tir.ret %x : i64
}
// CHECK: tir.ret in @other breaks ReturnType: it returns a i64, but the result of the function is i32; cast the value

// -----

tir.func @parameter(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  tir.evaluate %a : !tir.handle
}
// CHECK: tir.evaluate in @parameter breaks MatchedParameter: it uses parameter 0, which stands for a buffer; use the tir.data of the buffer

// -----

tir.func @endless() {
  tir.while {
    %p = tir.const true
    tir.yield %p : i1
  } do {
  }
}
// CHECK: tir.while in @endless breaks WhileCondition: its condition is a constant, so it never ends or never runs; compute the condition, or remove the loop

// -----

tir.func @wait() {
  tir.attr "async_wait_queue_scope" (0 : i32) = 0 : i32 {
  }
}
// CHECK: tir.attr in @wait breaks AsyncWait: its body must be a tir.attr of async_wait_inflight_count, which says how many commits need not have ended

// -----

tir.func @count() {
  tir.attr "async_wait_inflight_count" (0 : i32) = 0 : i32 {
  }
}
// CHECK: tir.attr in @count breaks AsyncWait: it must be in a tir.attr of async_wait_queue_scope, which says what is waited for

// -----

builtin.module attributes {tir.module_attrs = {mod_name = 1 : i32}} {
}
// CHECK: breaks ModuleAttributes: builtin.module: in tir.module_attrs 'mod_name' must be a string, got 1 : i32

// -----

tir.func @constant() {
  %p = tir.allocate_const 0 : i32 : !tir.ptr<f32>
}
// CHECK: tir.allocate_const in @constant breaks ConstantIndex: it takes constant 0, but constants in tir.module_attrs of the module has 0
