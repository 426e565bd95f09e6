"""Allocations that share memory: what passes have in common that plan it."""
