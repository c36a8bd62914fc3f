"""The compiler of temporal-logic formulas."""
