"""Targets: formulas, programs, weights and external networks, each with the answers it should give."""
