"""Helpers of LowerTVMBuiltin."""
