"""S-RASP programs."""
