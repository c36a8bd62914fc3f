"""Proofs about all words of a length at once, from the weights of a network."""
