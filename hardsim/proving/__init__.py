"""Proofs of whole targets, their certificates, and words after a proof."""
