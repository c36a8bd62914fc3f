"""Names of hardsim that many tests use: programs and networks, and what compiles, reads and runs them.

A name that moves in hardsim moves here only.
"""

from hardsim.compiling.from_srasp.compile import compile_program as compile_program
from hardsim.hard.exact import ExactModel as ExactModel
from hardsim.network.columns import PredicateColumn as PredicateColumn
from hardsim.network.dense import Activation as Activation
from hardsim.network.dense import Network as Network
from hardsim.network.dense import Norm as Norm
from hardsim.network.dense import Readout as Readout
from hardsim.network.dense import RootScale as RootScale
from hardsim.network.numbers import Mask as Mask
from hardsim.network.numbers import Rational as Rational
from hardsim.network.store import Relus as Relus
from hardsim.network.transformer import FeedForward as FeedForward
from hardsim.network.transformer import HiddenUnit as HiddenUnit
from hardsim.network.transformer import Layer as Layer
from hardsim.network.transformer import LengthTable as LengthTable
from hardsim.network.transformer import Matrix as Matrix
from hardsim.network.transformer import SoftWeighting as SoftWeighting
from hardsim.network.transformer import Transformer as Transformer
from hardsim.program.assemble import assemble as assemble
from hardsim.program.hard_attention import Affine as Affine
from hardsim.program.hard_attention import Encoding as Encoding
from hardsim.program.hard_attention import Head as Head
from hardsim.program.hard_attention import Kind as Kind
from hardsim.program.hard_attention import Letter as Letter
from hardsim.program.hard_attention import Program as Program
from hardsim.program.hard_attention import ProgramLayer as ProgramLayer
from hardsim.program.hard_attention import Unit as Unit
from hardsim.program.hard_attention import Weighting as Weighting
from hardsim.program.regimes import NAMED as NAMED
from hardsim.program.regimes import PROVEN as PROVEN
from hardsim.program.regimes import REGIMES as REGIMES
from hardsim.reading.folder import network_of as network_of
from hardsim.reading.tensors import read_folder as read_folder
from hardsim.run.ball import BallArithmetic as BallArithmetic
from hardsim.run.forward import Forward as Forward
from hardsim.run.mp import MpArithmetic as MpArithmetic
from hardsim.run.soft import SoftModel as SoftModel
from hardsim.sharpening.measure import measure as measure
