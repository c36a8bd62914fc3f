"""Work that all requests share, done when this module is imported: each grammar is read once, in the process from which
those of the requests are forked.
"""

from __future__ import annotations

from hardsim.lang.crasp.crasp_parser import parse_crasp
from hardsim.lang.ltl_parser import parse_text
from hardsim.lang.regex.regex_parser import parse_regex
from hardsim.lang.srasp.srasp_parser import parse_program

parse_text("alphabet: a b\na\n")
parse_crasp('alphabet: a b\nmore = #"a" > #"b"\n')
parse_program("alphabet: a b\nY(i) := Q_a(i) ? 'a' : 'b'\n")
parse_regex("alphabet: a b\n(a|b)*a\n")
