"""Options that were given but change nothing. A remark names each one, with the reason, before any work begins.

Without the remark, users would believe that the option took effect. This file decides what can be seen from the
command, the kind of the input and the other options; what only a compiled network shows is in `unused_by`. An option
that names an output file which cannot be written is refused (see `require_file_made`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hardsim.errors import HardsimError, InputError
from hardsim.network.transformer import SoftWeighting
from hardsim.options.table import ASKING, COMPILED, TRYING, Request
from hardsim.program.regimes import MEANS
from hardsim.targets.inputs.base import Input
from hardsim.targets.opening import declares
from hardsim.targets.result import AUTO, FLOAT64
from hardsim.targets.subject import Subject
from hardsim.writing.running import ONNXRUNTIME, TORCH, installed

SAMPLED = "samples seed"
"""The fields of the options for random words, separated by a space."""
RUNS = {"torch": TORCH, "onnx": ONNXRUNTIME}
"""The library that runs what `export` writes, by the value of --to."""
SHORTEST, FEWEST = 8, 256
"""The greatest length, and the largest number of words of a length, for which `report` also computes bounds."""


def unused(command: str, request: Request, one: Input, several: bool = False) -> list[str]:
    """Return a remark for each reason why options change nothing for an input. `several` is True if there are other
    inputs, for which an option may be meant."""
    remarks = []
    # An external network is not asked: read alone, it refuses options that apply to another kind of model.
    asking = command in ASKING.split() and (command != "bound" or not one.has_formula) and not one.is_network
    if asking and (idle := request.idle(one)):
        remarks.append(idle)
    return remarks + _remarks(command, request, _rules(command, request, one, several))


def _remarks(command: str, request: Request, rules: Iterable[tuple[str, str]]) -> list[str]:
    """Return a remark for each of the rules, fields and a reason, of which a field was given."""
    named = ((request.given(options, command), reason) for options, reason in rules)
    return [f"{options}: not used; {reason}" for options, reason in named if options]


def _rules(command: str, request: Request, one: Input, several: bool) -> Iterator[tuple[str, str]]:
    """Yield fields of options that would change nothing for an input, separated by spaces, each group with the
    reason."""
    if one.is_network and several:
        yield COMPILED, "the option is for compiled networks, and this network is external"
    if command not in ("prove", "precision", "bound") and request.engine == FLOAT64:
        yield "dps", "float64 has a fixed number of digits"
    if command == "check" and request.data:
        yield f"max_n exhaustive {SAMPLED}", "the words are those of the data"
    elif command == "check" and request.draws is not None:
        yield "exhaustive samples", "only the draws are run"
    elif command in TRYING.split() and not request.critical and _in_full(command, request, one):
        yield SAMPLED, "every word of these lengths is tried, and none is drawn at random"
    chosen = request.engine != AUTO or request.data or request.draws is not None
    if command == "check" and (one.has_formula or one.is_network or chosen):
        yield "soft_words", "softmax runs on every word here: no bound of Theorem 26 replaces a run"
    if (request.props is not None or request.alphabet is not None) and _declares(one):
        yield "props alphabet", "the file declares its own symbols"
    if one.in_dialects and not one.file.bare_next:
        yield "dialect", "the formula has no bare X, the one operator that dialects read differently"
    yield from _of_command(command, request, one)


def _of_command(command: str, request: Request, one: Input) -> Iterator[tuple[str, str]]:
    """Yield fields of options that would change nothing for an input of this command, separated by spaces, each
    group with the reason."""
    if command == "prove" and one.is_network:
        yield "min_n search", "a proof about an external network covers all shorter prefixes, and tries no words"
        yield "heads_only", "an external network has no specification of its heads"
        yield "exhaustive samples seed", "a proof tries no words"
    elif command == "prove" and not one.has_formula:
        yield "heads_only", "no formula is compared: softmax is compared with hard attention"
    elif command == "report" and one.is_network:
        yield "all_n", "a report runs words of an external network and proves nothing"
    elif command == "classify" and not one.has_formula:
        yield "at dialect", "the input is no formula, and a specification is read at its own position"
    elif command == "words" and request.by == "oracle" and not one.oracle_alone:
        model = "regime beta tau single_head counting epsilon" if one.has_formula else "tau epsilon"
        yield (
            f"{model} engine dps",
            "--by oracle asks the semantics, not a network; --by soft and --by hard ask a network",
        )
    elif command == "words" and request.by == "hard":
        softmax = "beta tau" if one.has_formula else "tau epsilon"
        yield f"{softmax} engine dps", "hard attention has no temperature, and is exact"
    elif command == "show" and not one.shown_by_length:
        yield "max_n", "no part of the output depends on a length"
    elif command == "export" and (library := RUNS.get(request.to or "")) is None:
        yield "seed", "the written network is not run"
    elif command == "export" and library is not None and not installed(library):
        yield "seed", f"{library} is not installed, so the written network is not run"


def _in_full(command: str, request: Request, one: Input) -> bool:
    """Return True if every word of every length is tried; for `report`, also where it computes bounds."""

    def full(longest: int, most: int) -> bool:
        # The first test avoids a huge power.
        return longest * len(one.alphabet) <= most and len(one.alphabet) ** longest <= most

    if command == "report" and not full(min(request.max_n, SHORTEST), min(request.exhaustive, FEWEST)):
        return False
    return full(request.max_n, request.exhaustive)


def _declares(one: Input) -> bool:
    """Return True if a file declares its own symbols; False if there is no such file."""
    try:
        return declares(one.name)
    except HardsimError:
        return False


def unused_by(command: str, request: Request, subject: Subject) -> list[str]:
    """Return remarks on options that change nothing, where only the compiled network shows this."""
    remarks = []
    if request.counting is not None and subject.of_formula and not subject.facts.counting:
        remarks.append("--counting: not used; the formula compares no counts")
    program, plain = subject.program, SoftWeighting.SOFTMAX
    given = request.exponential is not None or request.weighting not in (None, plain)
    if given and program.weighting is plain and program.regime in [one.name for one in MEANS]:
        option = "--weighting" if request.exponential is None else "--exponential"
        remarks.append(f"{option}: not used; heads of regime '{program.regime}' have no scores, and take plain means")
    if command == "compile" and "max_n" in request.written and (request.hard or not subject.by_theorem):
        remarks.append("--max-n: not used; the written network reads words of every length")
    return remarks


def require_file_made(request: Request, one: Input) -> None:
    """Refuse to write a proof file for an input that cannot be proved. Raises InputError naming the option."""
    if one.is_network and request.rocq is not None:
        message = f"{one.name} is an external network, and --rocq is for formulas alone"
        raise InputError(message, "Leave out --rocq. --certificate writes a proof that `hardsim verify` checks.")
    if one.is_network and request.smt is not None:
        message = f"{one.name} is an external network: there are no queries of its proof for --smt"
        raise InputError(message, "Leave out --smt. --certificate writes a proof that `hardsim verify` checks.")


def equiv_unused(request: Request, *sides: Input) -> list[str]:
    """Return remarks on options that change nothing in a comparison of two files."""
    rules = []
    if all(one.oracle_alone for one in sides):
        reason = "the automata of two regular expressions are compared, which settles every length"
        rules.append((f"max_n exhaustive {SAMPLED}", reason))
    elif _in_full("equiv", request, sides[0]):
        rules.append((SAMPLED, "every word of these lengths is tried, and none at random"))
    if not any(one.has_formula for one in sides):
        rules.append(("at dialect", "neither file is a formula"))
    if all(map(_declares, sides)):
        rules.append(("props", "both files declare their own symbols"))
    return _remarks("equiv", request, rules)
