"""Rational functions, bounds and results that all proofs use."""
