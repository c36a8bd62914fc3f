"""Softmax transformers as data: compiled models, external networks, and their JSON."""
