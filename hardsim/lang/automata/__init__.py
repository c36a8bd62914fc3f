"""Automata of formulas, and the classes of regular languages."""
