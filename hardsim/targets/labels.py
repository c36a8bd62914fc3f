"""The check of the labels of a file of weights against the weights.

A compiled formula (`model.json`) and a hard-attention model (`.ahat.json`) state their regime, their beta, and the
purpose of each head and each coordinate. None of these labels decides what the network computes, so whoever edits such
a file can make it state anything. A report repeats a label only if the weights confirm it. Otherwise the label of the
weights takes its place and a remark gives both, or the label is marked as a claim of the file.

Two things confirm labels. The formula that the file names is compiled again: if the result has the same heads, hidden
units and encodings, all its labels are right. For any other file the regime is confirmed by the temperature, the
encodings, the masks and the scores, which are different in each regime.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from hardsim.compiling.from_ltl.lower import lower
from hardsim.compiling.from_ltl.refusals import Method
from hardsim.compiling.from_ltl.rounded import ROUNDED_DOWN, RoundedMeans
from hardsim.errors import HardsimError
from hardsim.lang.arith import Arith
from hardsim.lang.ast import FormulaFile
from hardsim.lang.desugar import desugar
from hardsim.lang.vocabulary import brief
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Mask
from hardsim.network.transformer import SoftWeighting, Transformer
from hardsim.program.assemble import assemble
from hardsim.program.budget import Budget
from hardsim.program.hard_attention import Affine, Head, Kind, Program, Weighting
from hardsim.program.regimes import GEOMETRIC, LAYER_NORM, PARITY, REGIMES, ROUNDED, Regime, regime_with
from hardsim.targets.subject import own_predicates

SAYS = "the file says: "
"""The prefix of an unconfirmed label."""
UNCONFIRMED = (
    "the labels of heads and coordinates in this file are not confirmed: hardsim compiles no formula in it to these "
    "weights"
)
MOST = 3
"""The largest number of labels that have a remark each."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A program whose labels are either right, or marked as claims of its file."""

    program: Program
    remarks: tuple[str, ...]
    """Remarks on labels that differ from the weights."""
    compiled: bool
    """True if hardsim compiles the same program from the formula."""


def relabelled(
    program: Program,
    temperature: Arith | None,
    file: FormulaFile | None,
    single_head: bool,
    counting: Method | None,
    older: bool = False,
) -> Labelled:
    """Return a program with the labels that its weights confirm; all other labels are marked as claims of the file.

    Args:
        program: the program that the file describes, with the file's labels.
        temperature: the temperature of its regime; None if it has none.
        file: the formula from which it was compiled, by the file.
        single_head, counting: the options with which it was compiled, by the file.
        older: True if an older version of hardsim wrote the file. It had other words for the same heads, which are
            replaced without a remark.
    """
    names, stated = regimes_of(program, temperature), program.regime
    if program.normed:
        names = [LAYER_NORM.name]
    if program.weighting is SoftWeighting.GEOMETRIC:
        names = [GEOMETRIC.name]
    if program.weighting.exponentials:
        names = sorted([*names, ROUNDED.name], key=lambda name: name != stated)
    if program.rounding is not None:
        # The file does not say if heads subtract half a unit: both constructions are compared.
        names = [ROUNDED.name] * 2
    for number, name in enumerate(names if file is not None else ()):
        rounded = ROUNDED_DOWN if program.rounding is None else RoundedMeans(program.rounding, number == 1)
        made = _compiled(file, regime_with(name, program.weighting), single_head, counting, program.weighting, rounded)
        # The same heads, units and encodings: the labels of the fresh program are right for these weights.
        if made is not None and made.unlabelled == program.unlabelled:
            others = () if older else tuple(_other_remarks(program, made))
            return Labelled(made, (*_regime_remarks(stated, name), *others), compiled=True)
    found = stated if not stated or stated in names else names[0] if names else ""
    plain = replace(program, regime=found)
    marked = _marked(plain)
    # A model without a formula or a regime does not claim that hardsim can compile it again: the marks are enough.
    claimed = file is not None or temperature is not None
    others = (UNCONFIRMED,) if claimed and marked != plain and not older else ()
    return Labelled(marked, (*_regime_remarks(stated, found), *others), compiled=False)


def _compiled(
    file: FormulaFile | None,
    regime: Regime,
    single_head: bool,
    counting: Method | None,
    weighting: SoftWeighting,
    rounded: RoundedMeans,
) -> Program | None:
    if file is None:
        return None
    try:
        return lower(desugar(file), regime, single_head, counting, own_predicates(file), weighting, rounded)
    except HardsimError:
        return None


def _marked(program: Program) -> Program:
    """Return a program with every label marked as a claim of its file."""
    layers = tuple(
        replace(
            layer,
            heads=tuple(
                replace(head, purpose=_as_claim(head.purpose), theorem=_as_claim(head.theorem)) for head in layer.heads
            ),
        )
        for layer in program.layers
    )
    return replace(program, layers=layers, meanings={name: _as_claim(text) for name, text in program.meanings.items()})


def _as_claim(label: str) -> str:
    return f"{SAYS}{label}" if label and not label.startswith(SAYS) else label


def _regime_remarks(stated: str, found: str) -> list[str]:
    if stated == found or not stated:
        return []
    of = f"regime {found}" if found else "no regime of hardsim"
    return [f"the file says regime {stated}, the weights are those of {of}"]


def _other_remarks(program: Program, made: Program) -> Iterator[str]:
    """Yield a remark for each label of a file that differs from the label of the same compiled program."""
    found = []
    for head, own in zip(program.heads, made.heads, strict=True):
        rows = (("is for", head.purpose, own.purpose), ("rests on", head.theorem, own.theorem))
        found += [(f"head {head.name} {does}", stated, right) for does, stated, right in rows if stated != right]
    found += [
        (f"coordinate {name} holds", program.meanings.get(name, ""), made.meanings.get(name, ""))
        for name in dict.fromkeys([*program.meanings, *made.meanings])
        if program.meanings.get(name) != made.meanings.get(name)
    ]
    for what, stated, right in found[:MOST]:
        if stated:
            yield f"the file says that {what} {brief(stated)}, the weights are those of {brief(right)}"
    if len(found) > MOST:
        yield f"{len(found) - MOST} more labels of the file are not those of its weights"


# ---- the regime, by the weights ----


def regimes_of(program: Program, temperature: Arith | None) -> list[str]:
    """Return the regimes that a program fits by its temperature (None: it has none), encodings, masks and scores.
    The regime that the file names comes first, then those that have this temperature by default."""
    found = [name for name, regime in REGIMES.items() if _fits(program, temperature, regime)]
    # Several regimes can have the same weights; the file's own name for the regime is then kept.
    return sorted(found, key=lambda name: (name != program.regime, REGIMES[name].temperature != temperature))


def _fits(program: Program, temperature: Arith | None, regime: Regime) -> bool:
    if temperature is not None and not _can_have(regime, temperature):
        return False
    # Encodings of other regimes: a head that reads one of them is not of this regime.
    others = set[str]().union(*map(_coordinates, REGIMES.values())) - _coordinates(regime)
    encodings = {one.name for one in program.encodings}
    return all(_fits_head(head, regime, others & encodings) for head in program.heads)


def _can_have(regime: Regime, temperature: Arith) -> bool:
    """Return True if --tau can give a regime this temperature."""
    if regime.variable is None:
        return temperature == regime.temperature
    return temperature.variables <= {regime.variable}


def _coordinates(regime: Regime) -> set[str]:
    """Return the encodings that scores of a regime may read."""
    return {regime.scale, regime.ramp, regime.sign_key, *regime.look_up, PARITY} - {""}


def _fits_head(head: Head, regime: Regime, others: set[str]) -> bool:
    """Return True if a head fits a regime; `others` are encodings that the regime's scores do not read."""
    if head.uniform:
        return True
    if regime.causal and head.mask not in (Mask.FUTURE, Mask.STRICT_FUTURE):
        return False
    if others.intersection(name for pair in head.score for form in pair for name, _ in form.terms):
        return False
    if head.kind in (Kind.SIGN, Kind.SIGN_RAMP):
        return all(key == Affine.coordinate(regime.sign_key) for _, key in head.score)
    if head.kind is not Kind.NEAREST or head.select is None:
        return True
    if head.shares:
        return head.score == ((Affine.coordinate(regime.scale), head.select),)
    return head.score == regime.score(head.select, "left" if head.weighting is Weighting.LEFTMOST else "right")


# ---- beta, by the weights ----


def budget_of(program: Program, network: Transformer, budget: Budget) -> tuple[Budget, tuple[str, ...]]:
    """Return the budget with which a program makes a network. If the weights show another budget than the file
    states, a remark says so; without such weights, the file's budget counts."""
    if assemble(program, budget) == network:
        return budget, ()
    for beta in _betas(program, network, budget):
        # The same weights may come from a fixed beta for all heads, or from a larger beta for look-ups.
        for fixed in (budget.fixed, not budget.fixed):
            found = Budget(beta, budget.temperature, fixed, budget.weighting)
            if assemble(program, found) == network:
                return found, _beta_remarks(budget, found)
    return budget, ()


def _betas(program: Program, network: Transformer, budget: Budget) -> Sequence[Fraction]:
    """Return candidates for beta: the factor that the first head with a score shows, in a network of the same shape,
    and the file's beta."""
    index = {name: number for number, name in enumerate(network.coordinates)}
    for layer, own in zip(program.layers, network.layers, strict=False):
        for head, stored in zip(layer.heads, own.heads, strict=False):
            # Uniform heads have no score, and look-ups may have a larger beta of their own.
            if head.uniform or head.kind is Kind.LOOKUP:
                continue
            for row, (query, _) in enumerate(head.score):
                for name, value in query.terms:
                    place = (row, index.get(name, -1))
                    weight = next((one for *where, one in stored.w_q.entries if tuple(where) == place), 0)
                    if Fraction(weight) / Fraction(value) > 0:
                        return [Fraction(weight) / Fraction(value), budget.beta]
    return [budget.beta]


def _beta_remarks(stated: Budget, found: Budget) -> tuple[str, ...]:
    if stated.beta != found.beta:
        return (f"the file says beta {stated.beta}, the weights are those of beta {found.beta}",)
    every, some = "beta for all heads", "a larger beta for look-ups"
    stated_set, true = (every, some) if stated.fixed else (some, every)
    return (f"the file says {stated_set}, the weights are those of {true}",)
