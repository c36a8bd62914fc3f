"""The compiler of S-RASP programs."""
