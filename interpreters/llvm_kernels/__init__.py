"""Kernels at the last level before LLVM IR text, run in numpy on all threads at once.

`LLVMKernels(operations)` (`launches.py`) accepts what `lowering/llvm_text` writes: the
functions and globals of a GPU in the dialects `llvm`, `tvm_llvm` and `nvvm`. `launch`
runs a kernel on numpy arrays and on scalars. So the whole road from TIR down is executed
without a GPU, including what only this level has: addresses, fragments, copies in flight.

A function is a program (`programs.py`): its blocks are cut into segments at their
synchronization points, and the segments are numbered so that those of a loop are in a row
and follow what comes before the loop. The threads of as many blocks as make good arrays
run together (`teams.py`): always the threads that wait at the segment of the lowest
number, so that threads that part meet again where their paths join. A value of the
threads is an array with an item, or a row for a vector, per thread, or with a single one
if all have the same; structs and arrays of LLVM are tuples of such. What some threads do
not execute is computed and thrown away; what they store is not.

A barrier of the block is complete when all its threads wait at one, a meeting of a warp
when the lanes of its mask do. Memory (`memory.py`) is bytes: of each thread the local
memory, of each block the shared memory, and the arrays of the caller. Every access is
checked: bounds, alignment, bytes that nobody has written, races (`races.py`), copies in
flight (`copies.py`), which land at the wait for them and not before. Faults raise what
the interpreter of TIR raises (`interpreters/errors.py`), with the operation.

Rules are in tables by class of operation, or by the name of an intrinsic: `values.py`
and `intrinsics.py` (arithmetic), `accesses.py` (memory, atomics, copies), `warps.py`
(barriers, shuffles, votes), `registers.py` (`ldmatrix`, `mma.sync`),
`opaque_fragments.py` (`wmma`) and `counting.py` (`mbarrier`). A new operation is a line
in one of them, since the rules are made by functions that do not depend on the spelling:
`loading_matrices`, `multiplying`, `copying`, `arriving`, `waiting`. Operations of `nvvm`
and the LLVM intrinsics that they stand for share these functions. Integers and floats
are those of `interpreters/data`.

Limits: fast-math flags change nothing, so that products are not contracted; the
approximate functions of NVPTX are computed to full precision; floats keep their
subnormal values; a thread that polls memory in a loop for another thread never sees it
change, which ends in StepLimitError.
"""
