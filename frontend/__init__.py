"""Models of other formats as Relax: one package a format."""
