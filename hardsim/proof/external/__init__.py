"""Proofs about external networks of one layer: what they answer on every word of every length."""
