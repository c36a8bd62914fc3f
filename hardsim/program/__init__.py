"""Hard-attention programs as data, their JSON, and the step from a program to a softmax transformer."""
