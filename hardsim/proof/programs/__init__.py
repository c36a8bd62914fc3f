"""Proofs for programs and hard-attention models: softmax answers as hard attention does, at every length."""
