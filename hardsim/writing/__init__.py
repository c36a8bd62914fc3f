"""The way out: networks as other frameworks run them."""
