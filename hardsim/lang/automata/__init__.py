"""Regular languages of formulas: their automata, and the published classes that they belong to."""
