"""Signatures that code of other languages calls: the packed one and that of C."""
