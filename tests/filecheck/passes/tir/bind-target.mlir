// RUN: xdsl-opt %s -p 'tir-bind-target{target="cuda"}' | filecheck %s --check-prefix CUDA
// RUN: xdsl-opt %s -p 'tir-bind-target{target="cuda -host=llvm"}' | filecheck %s --check-prefix HOST
// RUN: xdsl-opt %s -p 'tir-bind-target{target="cuda" host="llvm"}' | filecheck %s --check-prefix HOST
// RUN: xdsl-opt %s -p 'tir-bind-target{target="cuda" host="llvm -opt-level=0"}' | filecheck %s --check-prefix LEVEL

builtin.module {
  // CASE: BindTarget.1
  // CASE: BindTarget.4
  tir.func @private1() {
  }
  tir.func @private2() {
  }
  // CUDA:  tir.func @private1() attributes {target = #tir.target<"cuda">} {
  // CUDA:  tir.func @private2() attributes {target = #tir.target<"cuda">} {
  // HOST:  tir.func @private1() attributes {target = #tir.target<"cuda">} {
  // HOST:  tir.func @private2() attributes {target = #tir.target<"cuda">} {

  // CASE: BindTarget.2
  // CASE: BindTarget.3
  tir.func @public() attributes {global_symbol = "public"} {
  }
  // CUDA:  tir.func @public() attributes {global_symbol = "public", target = #tir.target<"cuda">} {
  // HOST:  tir.func @public() attributes {global_symbol = "public", target = #tir.target<"cuda", host = #tir.target<"llvm">>} {

  // CASE: BindTarget.5
  // CASE: BindTarget.6
  tir.func @public_bound() attributes {global_symbol = "public_bound", target = #tir.target<"nvptx">} {
  }
  // CUDA:  tir.func @public_bound() attributes {global_symbol = "public_bound", target = #tir.target<"nvptx">} {
  // LEVEL: tir.func @public_bound() attributes {global_symbol = "public_bound", target = #tir.target<"nvptx", host = #tir.target<"llvm", "opt-level" = 0>>} {

  // CASE: BindTarget.7
  tir.func @private_bound() attributes {target = #tir.target<"nvptx">} {
  }
  // CUDA:  tir.func @private_bound() attributes {target = #tir.target<"nvptx">} {
  // HOST:  tir.func @private_bound() attributes {target = #tir.target<"nvptx">} {

  // CASE: BindTarget.8
  tir.func @with_host() attributes {global_symbol = "with_host", target = #tir.target<"nvptx", host = #tir.target<"c">>} {
  }
  // CUDA:  tir.func @with_host() attributes {global_symbol = "with_host", target = #tir.target<"nvptx", host = #tir.target<"c">>} {
  // HOST:  tir.func @with_host() attributes {global_symbol = "with_host", target = #tir.target<"nvptx", host = #tir.target<"c">>} {

  // CASE: BindTarget.9
  // CASE: BindTarget.10
  tir.func @on_host() attributes {global_symbol = "on_host", tir.is_host_func = 1 : i32} {
  }
  // CUDA:  tir.func @on_host() attributes {global_symbol = "on_host", target = #tir.target<"llvm", host = #tir.target<"llvm">>} {
  // LEVEL: tir.func @on_host() attributes {global_symbol = "on_host", target = #tir.target<"llvm", "opt-level" = 0, host = #tir.target<"llvm", "opt-level" = 0>>} {

  // CASE: BindTarget.11
  tir.func @bound_on_host() attributes {global_symbol = "bound_on_host", target = #tir.target<"nvptx">, tir.is_host_func} {
  }
  // CUDA:  tir.func @bound_on_host() attributes {global_symbol = "bound_on_host", target = #tir.target<"nvptx">} {
  // HOST:  tir.func @bound_on_host() attributes {global_symbol = "bound_on_host", target = #tir.target<"nvptx", host = #tir.target<"llvm">>} {

  // A flag of 0 says nothing, and is removed.
  tir.func @not_on_host() attributes {tir.is_host_func = false} {
  }
  // CUDA:  tir.func @not_on_host() attributes {target = #tir.target<"cuda">} {

  // A declaration is of a function for the same target.
  tir.func @declared(i32)
  // CUDA:  tir.func @declared(i32) -> () attributes {target = #tir.target<"cuda">}

  // Functions of other dialects stay.
  func.func @foreign() {
    func.return
  }
  // CUDA:      func.func @foreign() {
  // CUDA-NEXT:   func.return

  // Functions of modules inside of the module are functions, too.
  builtin.module {
    tir.func @inner() {
    }
  }
  // CUDA:  tir.func @inner() attributes {target = #tir.target<"cuda">} {
}
