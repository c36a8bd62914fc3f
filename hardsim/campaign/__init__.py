"""Words: their choice, their runs on workers, and the tallies of what was found."""
