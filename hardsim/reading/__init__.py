"""Readers of external networks: one module for each format."""
