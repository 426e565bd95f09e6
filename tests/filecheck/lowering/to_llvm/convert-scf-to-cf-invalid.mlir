// RUN: xdsl-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics -p tvm-convert-scf-to-cf | filecheck %s

// A loop whose body leaves by a foreign terminator is not understood.
func.func @terminator(%c : i1) {
  "scf.while"() ({
    "test.termop"() : () -> ()
  }, {
    scf.yield
  }) : () -> ()
  func.return
}

// CHECK: cannot lower 'scf.while': its body must end in 'scf.condition'
