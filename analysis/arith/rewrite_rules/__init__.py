"""The rule tables of the rewrite simplifier, one module by family of operators.

The rules are those of docs/spec/tir-passes-b-arith-and-loops.md §1.6.4, in the language
of `xdsl_tvm.analysis.arith.patterns`.
"""
