"""The expansion of reductions over threads."""
