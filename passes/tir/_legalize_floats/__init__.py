"""Legalization of narrow floats: computing in a wider float, storing as integers."""
