// RUN: not xdsl-opt %s -t tvmscript 2>&1 | filecheck %s
// RUN: not xdsl-opt %s -t 'tvmscript{version="0.5"}' 2>&1 | filecheck %s --check-prefix=VERSION

// CHECK: func.func: has no form in TVMScript beside functions of the tir and relax dialects; lower or remove it first
// VERSION: tvmscript: there is no version '0.5'; use 0.20 or 0.27
func.func @f() {
  func.return
}
