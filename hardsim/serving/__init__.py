"""The local page of `hardsim serve`: its requests, the processes that answer them, and its files."""
