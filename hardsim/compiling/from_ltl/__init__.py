"""Formulas of temporal logic."""
