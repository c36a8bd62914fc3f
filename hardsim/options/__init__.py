"""The options of the command line and of Python: one table, and how the values of options are read."""
