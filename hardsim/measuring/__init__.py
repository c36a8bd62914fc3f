"""Measurements of networks: bounds, critical temperatures, heads, traces, comparisons."""
