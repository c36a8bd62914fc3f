"""The softmax transformer as data, and its JSON."""
