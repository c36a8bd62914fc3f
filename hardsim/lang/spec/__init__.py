"""Specifications of networks: `.spec` files."""
