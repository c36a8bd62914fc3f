"""Readers of Hugging Face folders, as `save_pretrained` of transformers writes them: one module for each family."""
