"""Automata in the files of other tools, read as languages: Graphviz DOT, automata-lib's JSON, and JFLAP's XML."""
