"""Theorem 26: how far softmax can be from hard attention, and which temperature is low enough."""
