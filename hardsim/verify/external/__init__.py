"""The checker of certificates of external networks: a network of one layer is right after every prefix of some lengths.

All arithmetic is that of Python's floats, with a bound of every error, see `numbers`.
"""
