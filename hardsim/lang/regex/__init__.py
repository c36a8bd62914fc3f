"""Regular expressions (`.re` files): what they say, and the minimal automaton that answers for them."""
