"""Exact hard attention."""
