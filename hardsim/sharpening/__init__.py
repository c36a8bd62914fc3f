"""Theorem 26: bounds on the distance of softmax from hard attention, and a temperature that is low enough."""
