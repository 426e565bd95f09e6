"""TVM's dataflow pattern language, `tvm.relax.dpl`, matched over SSA values.

`expressions` reads operations as the expressions that TVM has for them, `matching` tries
the ways in which `patterns` match, `graphs` and `context` are about patterns that use
each other, `sugar` holds the functions that make patterns, and `fusion` named patterns
with checks. Rewriting is in `xdsl_tvm.relax.dpl`.
"""
