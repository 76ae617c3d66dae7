"""Models: what a person wrote, read from a file or from SymPy expressions, and checked."""
