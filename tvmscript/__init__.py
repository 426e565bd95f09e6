"""TVMScript: reading it, printing it, and building programs with its vocabulary."""
