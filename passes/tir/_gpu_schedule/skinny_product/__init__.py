"""The GPU schedule of skinny products: a matrix with one vector, or with a few.

They are bound by the matrix, which is read once for all vectors, by as many neighbours as
a thread accesses at once. Where terms are next to each other, the threads of a warp have
the terms of some lines of the matrix, and combine their sums by shuffles (`lines.py`).
Where lines are, a thread has neighbouring lines, and rows of threads share the terms
(`terms.py`). Where that are too few blocks, terms are split over several
(`split_terms.py`).
"""
