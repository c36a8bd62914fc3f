"""Inputs of commands: a module for each kind of input."""
