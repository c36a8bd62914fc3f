"""Hard-attention models as data: the file format, the exact interpreter, what it measures, and the error recursion."""
