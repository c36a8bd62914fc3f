"""Proofs for all words of a length, or of every length, derived from the weights of a network."""
