"""A theorem for Rocq (Coq) that the network of a formula computes the formula, on every word of every length.

`library/` has the definitions (what a network, a formula and "computes" mean), a checker written in Rocq, and the proof
that the checker is right. This package writes one more file, the instance: the user's formula, the matrices of the
network, and hints for the checker. In it the theorem is proved by running the checker. Nothing that this package writes
is trusted: Rocq rejects an instance with a wrong network or a wrong hint.
"""
