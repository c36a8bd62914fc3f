"""The export of networks to other frameworks, and runs of the exports beside the exact networks."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.campaign.check import CheckOptions
from hardsim.campaign.evaluate import compiled_text, evaluate
from hardsim.campaign.words import drawn
from hardsim.errors import HardsimError, Undecided
from hardsim.lazy_dataclass import dataclass
from hardsim.network.features import require_only
from hardsim.network.transformer import LengthTable
from hardsim.options.table import Request
from hardsim.proof.shared.result import NoProof
from hardsim.reading.network_json import network_json
from hardsim.reading.tensors import CONFIGS, WHOLE
from hardsim.reading.tokenizer import TOKENIZER
from hardsim.records import Digest, Natural, Positive, Record, Upper, one_of
from hardsim.run.dense_balls import DenseBalls
from hardsim.run.dense_pass import Step, Watch, unwatched
from hardsim.run.soft import SoftModel, bounds
from hardsim.targets.base import ModelOptions, Target, digest
from hardsim.targets.exported import config_json, layout_of, transformer_of
from hardsim.targets.external import External
from hardsim.targets.formula import FormulaTarget
from hardsim.targets.inputs.base import Input
from hardsim.targets.network_outputs import NetworkEngine, OutputBounds
from hardsim.targets.opening import of_document
from hardsim.targets.result import FLOAT64, InputKind, InputName, ModelFacts, Word
from hardsim.targets.subject import Subject
from hardsim.visible import visible_json
from hardsim.writing.layout import ExportLayout, nearest_float
from hardsim.writing.lens_parts import HELD
from hardsim.writing.onnx import onnx_bytes
from hardsim.writing.running import (
    ONNXRUNTIME,
    TORCH,
    Runner,
    installed,
    lens_runner,
    lens_version,
    onnx_runner,
    torch_runner,
)
from hardsim.writing.transformerlens import lens_files, lens_json

Goal: TypeAlias = Literal["torch", "onnx", "safetensors", "transformer-lens"]
GOALS: tuple[Goal, ...] = ("torch", "onnx", "safetensors", "transformer-lens")
LENS: Goal = "transformer-lens"
LENGTHS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 64)
"""Lengths of the random words that an export is run on."""
WORDS = 3
"""Number of random words of each length."""
WORK = 2_000_000
"""Most pairs of positions, summed over heads, that are run in exact arithmetic."""
PRODUCTS = 1_000
"""The number of products of a weight and a symbol that take as long as a pair of positions."""
MOST_DOCUMENTED = 2**21
"""The number of weights from which an export has no exact document: it would be larger than the files that are read
again."""
NARROW = Fraction(1, 2**70)
"""Largest width of the enclosure of an exact output: relative, or absolute for outputs below 1."""
EXACT = 1e-9
"""Largest difference that an export in float64 should have."""


@dataclass(frozen=True, slots=True, repr=False)
class ExportRun(Record):
    """One run of an export by the library that it is for."""

    library: str
    """Name of the library."""
    version: str
    """Version of the library."""
    dtype: Annotated[str, one_of("float64", "float32")]
    """Type of the numbers that the library computed with."""
    words: Positive
    """Number of random words that the export was run on."""
    longest: Positive
    """Largest length of these words."""
    difference: Upper | None
    """Largest absolute difference of an output from the exact one, over all words and positions; null where an output
    was not a finite number."""


@dataclass(frozen=True, slots=True, repr=False)
class ExportResult(Record):
    """Result of an export: a network that was written for another framework."""

    input: InputName
    kind: InputKind
    model: ModelFacts
    """Size of the network: layers, heads, coordinates, parameters."""
    to: Annotated[str, one_of(*GOALS)]
    """Framework that the network was written for."""
    output: str
    """Path of the export, as given."""
    files: tuple[str, ...]
    """Names of the files of the export."""
    sha256: Digest
    """SHA-256 of the weights, or of the ONNX file."""
    max_n: Natural | None
    """Largest length that the tables of the export cover; null: any length."""
    runs: tuple[ExportRun, ...]
    """Runs of the export; empty where the library is not installed."""


Watched: TypeAlias = Callable[[Sequence[Word]], AbstractContextManager[Watch]]
"""Enters the run of the exact network on some words: returns the functions to call while it runs."""


def unseen(words: Sequence[Word]) -> AbstractContextManager[Watch]:
    """Ignore the progress of a run."""
    return nullcontext(Watch())


Reader = Callable[[Any, Any], Any]
"""A function from bounds of outputs (tokens that are read, outputs) to the answer; None if it is uncertain."""


@dataclass(frozen=True)
class Export(ABC):
    """A network to export: the exact one (`target`), its JSON document, and its layout in tensors."""

    target: Target
    document: Any
    """None if the network is too large for a document."""
    layout: ExportLayout
    alphabet: Sequence[str]
    """The alphabet of the words that the export is run on."""
    given: Input
    """The input that has the network, or that it was compiled from."""
    longest: int | None
    """The largest length that has a temperature, or for which a table of positions has room; None: no limit."""

    def result(
        self, goal: Goal, output: str, files: Iterable[str], data: bytes, max_n: int | None, runs: Iterable[ExportRun]
    ) -> ExportResult:
        """Return the result of an export to the path `output`; `data` are the bytes of its weights."""
        name, kind, facts, sha256 = self.given.name, self.given.kind, self.target.facts, digest(data)
        return ExportResult(name, kind, facts, goal, output, tuple(files), sha256, max_n, tuple(runs))

    def sharper(self, factor: int) -> tuple[Fraction, Export] | None:
        """Return a larger beta and the export compiled with it: `factor` times the beta of this one. Return None if the
        network has no beta, or does not compile with that one."""
        return None

    def require_room(self, n: int) -> None:  # noqa: B027
        """Require that words of n symbols can be read. Raises OutOfRange if a table of positions ends before."""

    @abstractmethod
    def exact_runner(self, step: Step = unwatched) -> Runner:
        """Return the function from a word to its exact outputs (positions, outputs): the floats nearest to their values
        in balls. `step` is called after each layer of an external network."""

    @property
    def source(self) -> FormulaTarget | NoProof:
        """The formula that the network was compiled from; or the reason why words are enclosed one by one."""
        if isinstance(self.target, FormulaTarget):
            return self.target
        return NoProof("it is no formula, so words are enclosed one by one")

    @abstractmethod
    def answers(self, words: Sequence[Word], read: Reader) -> list[Any]:
        """Return the expected answers on words of one length, from the formula or else from the exact network; None
        for a word without an answer."""

    def symbols(self, over: NDArray[np.bool_], under: NDArray[np.bool_]) -> tuple[str | None, ...] | None:
        """Return the symbols of a one-hot output. `over` and `under` are (positions, outputs): True where an output is
        certainly above the threshold, and certainly below it. Return None if the outputs are not symbols."""
        return None


@dataclass(frozen=True)
class NetworkExport(Export):
    """An external network to export."""

    target: External

    def require_room(self, n: int) -> None:
        """Require that words of n symbols can be read. Raises OutOfRange if a table of positions ends before."""
        self.target.network.read((self.alphabet[0],) * n)

    def exact_runner(self, step: Step = unwatched) -> Runner:
        """Return the function from a word to its exact outputs (positions, outputs)."""
        network = self.target.network
        balls = DenseBalls(network, step=step)
        balls.prepare()

        def run(word: Sequence[str]) -> NDArray[Any]:
            tokens = network.read(word)
            places = range(len(tokens))
            rows, _ = balls.run(len(word), tokens, places, lambda rows: _narrow(x for row in rows for x in row))
            return np.array([list(map(_middle, row)) for row in rows])

        return run

    @cached_property
    def _engine(self) -> NetworkEngine:
        return NetworkEngine(self.target.network)

    @cached_property
    def _in_balls(self) -> dict[Word, OutputBounds | None]:
        """Bounds of the outputs on words that float64 leaves open, since each number format asks again."""
        return {}

    def answers(self, words: Sequence[Word], read: Reader) -> list[Any]:
        """Return the answers of the exact network on words of one length; None for a word without an answer. Balls
        decide where float64 does not."""
        tokens = range(self.target.network.readout.length(len(words[0])))
        found = self._engine.enclosures(words, tokens)
        ends: Iterable[Any] = [(None, None)] * len(words) if found is None else zip(*found, strict=True)
        answers = [None if low is None else read(low, high) for low, high in ends]
        for place, word in enumerate(words):
            if answers[place] is None:
                if word not in self._in_balls:
                    self._in_balls[word] = self._engine.alone(word, tokens, lambda a, b: read(a[0], b[0]) is not None)
                alone = self._in_balls[word]
                answers[place] = None if alone is None else read(alone.low[0], alone.high[0])
        return answers


@dataclass(frozen=True)
class CompiledExport(Export):
    """A compiled network to export."""

    target: Subject
    options: ModelOptions

    def sharper(self, factor: int) -> tuple[Fraction, Export] | None:
        """Return a larger beta and the export compiled with it: `factor` times the beta of this one. Return None if the
        network has no beta, or does not compile with that one."""
        # Only a compiled network can be compiled again with another beta.
        if not self.target.one_network or not self.given.regimes:
            return None
        beta = self.target.budget.beta * factor
        try:
            return beta, export_of(self.given, replace(self.options, beta=beta), 1)
        except HardsimError:
            return None

    def exact_runner(self, step: Step = unwatched) -> Runner:
        """Return the function from a word to its exact outputs (positions, outputs)."""
        target = self.target
        model = SoftModel(transformer_of(target), "ball")
        places = [target.index[name] for name in target.program.answers] if target.program.maps else [target.output]
        if target.program.outputs:
            places = [target.index[name] for _, name in target.program.outputs]

        def run(word: Sequence[str]) -> NDArray[Any]:
            found = model.run(word, lambda trace: _narrow(value for k in places for value in trace.columns[k].values))
            with found.precision():
                columns = [list(map(_middle, found.trace.columns[k].values)) for k in places]
            return np.array(columns).T

        return run

    def answers(self, words: Sequence[Word], read: Reader) -> list[Any]:
        """Return the answers on words of one length, from the formula or else from the exact network; None for a word
        without an answer."""
        if isinstance(self.source, NoProof):
            return [one.soft if one.decided else None for one in evaluate(self.target, words, CheckOptions())]
        return list(self.target.answers(words) or [])

    def symbols(self, over: NDArray[np.bool_], under: NDArray[np.bool_]) -> tuple[str | None, ...] | None:
        """Return the symbols of a one-hot output. `over` and `under` are (positions, outputs): True where an output is
        certainly above the threshold, and certainly below it. Return None if the outputs are not symbols."""
        if not self.target.program.outputs:
            return None
        return self.target.symbols(over.T[:, None], under.T[:, None])[0]


def export_of(given: Input, options: ModelOptions, max_n: int) -> Export:
    """Return the export of an input. Raises InputError if the input has no network, or a number of the network is
    beyond float64; Undecided as `compiled_text`."""
    if given.is_network:
        external = given.network(options)
        small, alphabet = external.facts.parameters <= MOST_DOCUMENTED, external.alphabet
        document = network_json(external.network) if small else None
        return NetworkExport(external, document, layout_of(external), alphabet, given, external.longest)
    # Through its text: what is exported is then exactly what a reader of the document gets.
    text = compiled_text(given.compile(options), False, max_n)
    subject = of_document(text.encode("utf-8", "surrogatepass"), given.name).as_read()
    model = transformer_of(subject)
    longest = len(model.temperature.values) if isinstance(model.temperature, LengthTable) else None
    return CompiledExport(subject, json.loads(text), layout_of(subject), model.alphabet, given, longest, options)


def folder_files(made: Export, goal: Goal) -> dict[str, bytes]:
    """Return the files of an export folder: their contents by name. Raises OutOfRange if an encoding or a scale is
    beyond float64 already for a word of one symbol."""
    from safetensors.numpy import save

    # A folder computes encodings when it runs; one that fails at the first symbol is useless.
    for values in (*(values for _, values in made.layout.encoded(1)), *made.layout.scaled(1)):
        for value in values:
            nearest_float(value)
    title = made.target.title
    files = {
        WHOLE: save(made.layout.arrays),
        CONFIGS[0]: visible_json(config_json(made.layout, made.document, title)).encode(),
    }
    if goal == "torch":
        files[MODEL] = (Path(__file__).parents[1] / "writing" / "torch_model.py").read_bytes()
    return files


MODEL = "model.py"


def fill_folder(
    made: Export, goal: Goal, folder: Path, output: str, request: Request, watched: Watched = unseen
) -> ExportResult:
    """Write the files of an export folder and, for torch, run them. Return the result, which names the folder `output`.
    `watched` is entered with the words on which the exact network is run. Raises OutOfRange as `folder_files`; OSError
    if the files cannot be written."""
    longest = made.longest
    if goal == LENS:
        # The class has a table of positions, which ends somewhere.
        longest = request.max_n if longest is None else longest
        files, runs = lens_folder(made, longest), run_lens
    else:
        files, runs = folder_files(made, goal), run_folder
    for name, data in files.items():
        (folder / name).write_bytes(data)
    found = runs(made, folder, longest or request.max_n, request.seed, watched) if goal in (LENS, TORCH) else ()
    return made.result(goal, output, files, files[WHOLE], longest, found)


def lens_folder(made: Export, max_n: int) -> dict[str, bytes]:
    """Return the files of a folder for TransformerLens: their contents by name, for words of up to `max_n` symbols.
    Raises InputError and OutOfRange as `lens_files`."""
    from safetensors.numpy import save

    network = made.target.network if isinstance(made, NetworkExport) else None
    if network is not None:
        require_only(network, HELD, f"--to {LENS}")
    require_softmax(made, f"--to {LENS}")
    config, tensors, tokenizer = lens_files(made.layout, max_n, network)
    return {WHOLE: save(tensors), CONFIGS[0]: lens_json(config), TOKENIZER: lens_json(tokenizer)}


def require_softmax(made: Export, what: str) -> None:
    """Refuse an export (`what`) that has softmax alone. Raises InputError if the network has another weighting,
    or rounds its values."""
    if isinstance(made, CompiledExport):
        transformer_of(made.target).require_softmax(what)


def fill_file(made: Export, output: str, request: Request, watched: Watched = unseen) -> tuple[bytes, ExportResult]:
    """Return the bytes of an ONNX file, and the result of its export to the path `output`. `watched` is entered with
    the words on which the exact network is run. Raises InputError as `onnx_bytes`."""
    require_softmax(made, "--to onnx")
    length, dtype = request.length, request.dtype or FLOAT64
    lengths = range(1, request.max_n + 1) if length is None else range(length, length + 1)
    data = onnx_bytes(made.layout, dtype, lengths[-1], length)
    # Tables of temperatures or encodings end at the largest length; a network without them takes any length.
    bounded = length is not None or made.layout.scaled_by or made.layout.encoded_by
    most, runs = lengths[-1] if bounded else made.longest, run_onnx(made, data, dtype, lengths, request.seed, watched)
    return data, made.result("onnx", output, (Path(output).name,), data, most, runs)


# ---- run beside the exact network ----


def run_folder(made: Export, folder: Path, max_n: int, seed: int, watched: Watched = unseen) -> Iterator[ExportRun]:
    """Yield the runs of an export folder (model.py) by torch, in float64 and float32, if torch is installed and exact
    outputs are known."""
    if installed(TORCH):
        import torch

        words = _exact_words(made, range(1, max_n + 1), seed, watched)
        for dtype in ("float64", "float32") if words else ():
            yield _run(TORCH, str(torch.__version__), dtype, torch_runner(folder, dtype), words)


def run_lens(made: Export, folder: Path, max_n: int, seed: int, watched: Watched = unseen) -> Iterator[ExportRun]:
    """Yield the runs of a folder by TransformerLens, in float64 and float32, if a version with `HookedTransformer` is
    installed and exact outputs are known."""
    if (version := lens_version()) is not None:
        words = _exact_words(made, range(1, max_n + 1), seed, watched)
        for dtype in ("float64", "float32") if words else ():
            yield _run(LENS, version, dtype, lens_runner(folder, made.layout, dtype), words)


def run_onnx(
    made: Export, data: bytes, dtype: str, lengths: range, seed: int, watched: Watched = unseen
) -> Iterator[ExportRun]:
    """Yield the run of an ONNX file by onnxruntime, if that is installed and exact outputs are known."""
    if installed(ONNXRUNTIME):
        import onnxruntime

        words = _exact_words(made, lengths, seed, watched)
        if not words:
            return
        yield _run(ONNXRUNTIME, onnxruntime.__version__, dtype, onnx_runner(data, made.layout, dtype), words)


def _run(
    library: str, version: str, dtype: str, runner: Runner, words: Sequence[tuple[Word, NDArray[Any]]]
) -> ExportRun:
    worst: float | None = 0.0
    for word, exact in words:
        off = _difference(runner, word, exact)
        worst = None if worst is None or not off < np.inf else max(worst, off)
    difference = None if worst is None else Fraction(worst)
    return ExportRun(library, version, dtype, len(words), max(len(word) for word, _ in words), difference)


def _difference(runner: Runner, word: Word, exact: NDArray[Any]) -> float:
    """Return the largest absolute difference of an output from the exact one at all positions of a word; infinite or
    NaN where the library or float64 has no value."""
    try:
        with np.errstate(all="ignore"):
            return float(np.max(np.abs(runner(word) - exact), initial=0.0))
    except ArithmeticError:  # an encoding or a scale, worked out by model.py, that is beyond float64
        return np.inf


def _exact_words(made: Export, lengths: range, seed: int, watched: Watched) -> list[tuple[Word, NDArray[Any]]]:
    """Return random words with their exact outputs (positions, outputs). A word whose outputs stay undecided is left
    out."""
    words, found = list(_random_words(made, lengths, seed)), []
    with watched(words) as watch:
        run = made.exact_runner(watch.step)
        for word in words:
            watch.next()
            with suppress(Undecided):  # a norm of zeros with epsilon 0, say: there is nothing to compare with
                found.append((word, run(word)))
        watch.next()
    return found


def _random_words(made: Export, lengths: range, seed: int) -> Iterator[Word]:
    """Yield three random words of each of LENGTHS that is among `lengths` (else of one possible length), as many as
    WORK allows."""
    rng, work = Random(seed), WORK
    longest, weights = made.longest, made.target.facts.parameters
    possible = [n for n in LENGTHS if n in lengths and (longest is None or n <= longest)]
    # An ONNX file of one fixed length may have a length that is not among LENGTHS.
    for n in possible or [lengths[-1] if longest is None else min(longest, lengths[-1])]:
        m = n + made.layout.fixed
        cost = max(1, len(made.layout.scaled(n))) * m**2 + weights * m // PRODUCTS
        for _ in range(WORDS):
            if work < cost and work < WORK:
                return
            work -= cost
            yield drawn(made.alphabet, n, rng)


def _narrow(values: Iterator[Any]) -> bool:
    try:
        ends = [bounds(value) for value in values]
        return all(high - low <= NARROW * (1 + abs(low)) for low, high in ends)
    except Undecided:
        return False


def _middle(value: Any) -> float:
    middle = sum(bounds(value), Fraction(0)) / 2
    try:
        return float(middle)
    except OverflowError:
        return np.inf if middle > 0 else -np.inf
