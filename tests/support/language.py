"""Names of hardsim that many tests use: errors and languages, from text to oracles.

A name that moves in hardsim moves here only.
"""

from hardsim.errors import HardsimError as HardsimError
from hardsim.errors import InputError as InputError
from hardsim.errors import InvariantError as InvariantError
from hardsim.errors import OutOfRange as OutOfRange
from hardsim.errors import SourceError as SourceError
from hardsim.errors import Span as Span
from hardsim.errors import Undecided as Undecided
from hardsim.errors import Unsupported as Unsupported
from hardsim.examples import formulas_directory as formulas_directory
from hardsim.lang.arith import Arith as Arith
from hardsim.lang.arith import parse_arith as parse_arith
from hardsim.lang.ast import FormulaFile as FormulaFile
from hardsim.lang.desugar import desugar as desugar
from hardsim.lang.ltl_parser import parse_expression as parse_expression
from hardsim.lang.ltl_parser import parse_text as parse_text
from hardsim.lang.pretty import format_file as format_file
from hardsim.lang.pretty import format_formula as format_formula
from hardsim.lang.regex.regex_parser import parse_regex as parse_regex
from hardsim.lang.semantics import Oracle as Oracle
from hardsim.lang.srasp.interpreter import ProgramOracle as ProgramOracle
from hardsim.lang.srasp.srasp_parser import parse_program as parse_program
