"""C-RASP programs (`.cr`; Yang and Chiang 2024), in the public interpreter's syntax, compiled as formulas."""
