"""Interpreters of hard attention in exact arithmetic."""
