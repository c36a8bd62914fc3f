"""Proofs about external networks: what they answer on every word up to some length."""
