"""Passes on `stablehlo`."""
