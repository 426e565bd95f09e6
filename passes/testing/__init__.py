"""Passes that print what an analysis concludes, for FileCheck tests of it."""
