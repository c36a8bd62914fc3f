"""S-RASP programs as average-hard-attention transformers with a beginning of sequence (ours; see `compile.py`)."""
