"""Proofs for networks of formulas: the network computes its heads, and these compute the formula."""
