"""C-RASP programs (`.cr`; Yang and Chiang 2024), written as for the public interpreter and compiled as formulas."""
