"""The local page of `hardsim serve`: its requests, its files, and processes that answer at once."""
