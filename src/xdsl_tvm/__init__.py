"""TVM's Relax and TIR as xDSL dialects, passes over them, and a road to CPU and PTX.

Importing this package imports neither a dialect nor a code generator: each part
is loaded when it is first used.
"""
