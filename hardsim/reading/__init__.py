"""Networks that others made: one module for each format."""
