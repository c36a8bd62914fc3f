"""Regular expressions (`.re` files): parsing, and the minimal automata that decide words."""
