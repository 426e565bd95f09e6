// RUN: xdsl-opt %s -p 'relax-bind-symbolic-vars{bindings="n = m * 2" func_name="main"}' --split-input-file --verify-diagnostics | filecheck %s
// RUN: xdsl-opt %s -p 'relax-bind-symbolic-vars{bindings="m = 8"}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix=EIGHT

// CHECK: relax-bind-symbolic-vars: the module has no function @main; name one of its functions in func_name
relax.func @other<n>(%x: !relax.shape<[n]>) -> !relax.shape<[n]> {
  relax.return %x : !relax.shape<[n]>
}

// -----

// CHECK: relax-bind-symbolic-vars: @main does not have the symbol 'n'; bind symbols that parameters define
relax.func @main<m>(%x: !relax.shape<[m]>) -> !relax.shape<[m]> {
  relax.return %x : !relax.shape<[m]>
}

// -----

// CHECK: relax-bind-symbolic-vars: 'n' cannot be m * 2 in @main, which has no symbol 'm' then; use symbols that stay
relax.func @main<n>(%x: !relax.shape<[n]>) -> !relax.shape<[n]> {
  relax.return %x : !relax.shape<[n]>
}

// -----

// CHECK: relax.func @main<m>(%x: !relax.shape<[m]>, %y: !relax.shape<[m * 2]>)
// EIGHT: relax-bind-symbolic-vars: argument 0 of relax.func @main must be !relax.shape<[8]>, !relax.shape<[7]> is given; bind what the function around it gives, too
relax.func @main<m, n>(%x: !relax.shape<[m]>, %y: !relax.shape<[n]>) -> !relax.shape<[m]> {
  relax.return %x : !relax.shape<[m]>
}
relax.func @caller(%x: !relax.shape<[7]>, %y: !relax.shape<[14]>) -> !relax.shape<[7]> {
  %z = relax.call @main(%x, %y) : (!relax.shape<[7]>, !relax.shape<[14]>) -> !relax.shape<[7]>
  relax.return %z : !relax.shape<[7]>
}
