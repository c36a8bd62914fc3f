"""Compilers from formulas and S-RASP programs to hard attention."""
