"""Certificates of models whose heads share their maxima.

The checker follows the facts that the prover derives about random models (`tests.support.tied_models`), and rejects
false ones: with one rule of the prover broken, claims about some models are false on a word, as the tests' own
evaluator shows (`tests.support.tied_truth`), and the checker rejects each of them. Its rule of the same name is the
reason: without it the checker accepts one of these claims.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hardsim.proof.programs import law as derivation
from hardsim.proof.programs import shares as known_shares
from hardsim.proof.programs.lattice import Denominator, IsolatedZero, NumberSpan, Share, plus, positive, times
from hardsim.proof.programs.law import Law, LayerLaw, ProgramLaw
from hardsim.proof.programs.rows import ScoreRows
from hardsim.proof.shared.ratios import Ratio, simplest
from hardsim.proving.program_certificate import program_facts, program_json
from hardsim.verify import rejection, verify
from hardsim.verify.arithmetic import Rejected
from hardsim.verify.program_sections import PROGRAM_CLAIM, PROGRAM_VERSION
from hardsim.verify.programs import ProgramChecker
from hardsim.verify.ratios import Ratio as CheckedRatio
from hardsim.verify.rows import Head as CheckedHead
from hardsim.verify.rows import Row as CheckedRow
from hardsim.verify.rows import ScoreRows as CheckedRows
from hardsim.verify.sections import FORMAT
from hardsim.verify.shares import ShareSigns
from hardsim.verify.spans import IsolatedZero as CheckedZero
from hardsim.verify.spans import NumberSpan as CheckedSpan
from tests.support.check import NotProved, law_of
from tests.support.damage import at, replaced
from tests.support.language import Arith
from tests.support.model import Mask, Program, Weighting, assemble
from tests.support.program_certificates import handmade, made, rising, sealed, wrong_word
from tests.support.subjects import shipped
from tests.support.tied_by_hand import BY_HAND
from tests.support.tied_models import tied_model
from tests.support.tied_truth import TiedModelRun, Wrong, all_words, exact, number, run
from tests.verify.test_programs import leaves, lie

SHIPPED = ["majority_ties.ahat.json", "ties.ahat.json", "dyck1_uniform.ahat.json"]
COLD = "1/10**8"
"""A temperature at which softmax equals hard attention on short words, as far as decimals of 34 digits show."""


def document(program: Program, law: ProgramLaw) -> dict[str, Any]:
    """Return a certificate of short lengths, without digests."""
    model = program_json(assemble(program, Arith.of(1)), program, {})
    description = {"format": FORMAT, "schema_version": PROGRAM_VERSION, "claim": PROGRAM_CLAIM, "lengths": [1, 2, 3, 5]}
    labels = {"version": "1", "source": {"name": "", "sha256": ""}, "title": "", "words": None}
    facts = program_facts(program, model, law, True, True)
    return {
        **description,
        "start": None,
        "temperature": COLD,
        "model": model,
        "facts": facts,
        "labels": labels,
        "digests": {},
    }


def derived(program: Program) -> tuple[Program, ProgramLaw] | None:
    """Return a model with average heads only, and the facts derived about it; None if nothing is derived."""
    if any(head.weighting is not Weighting.AVERAGE for head in program.heads):
        return None
    try:
        # A copy has no facts that were derived with other rules and kept.
        return program, law_of(replace(program))
    except NotProved:
        return None


def reason(program: Program, law: ProgramLaw) -> str | None:
    """Return the reason why the checker rejects the claims about a model; None if it accepts them."""
    return rejection(lambda: ProgramChecker(document(program, law)))


# ---- true claims ----


@pytest.mark.sweep
@pytest.mark.parametrize("name", SHIPPED)
def test_certificates_of_ties_are_valid_and_true(name: str) -> None:
    one = made(name)
    assert verify(one) is None
    assert wrong_word(one, 3) is None


def follow(seeds: range) -> None:
    """Assert that the checker accepts the facts derived about random models, with a distance of the output."""
    tried = 0
    for seed in seeds:
        found = derived(tied_model(seed))
        if found is not None and min(found[1].facts(n).distance or 0 for n in (1, 2, 3, 5)) > 0:
            tried += 1
            assert reason(*found) in (None, "the network has other hidden units than the program"), seed
    assert tried > len(seeds) // 6


def test_what_is_derived_of_tied_models_is_followed() -> None:
    follow(range(36))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 4000, 500))
def test_what_is_derived_of_many_tied_models_is_followed(first: int) -> None:
    follow(range(first, first + 500))


# ---- false claims ----


def least_bound(name: Any, most: Any, power: int, everywhere: bool) -> Denominator:
    """Broken rule: claim that a count is 1."""
    return Denominator(name, 1, power, everywhere)


def same_everywhere(name: Any, most: Any, power: int, everywhere: bool) -> Denominator:
    """Broken rule: claim that a count is the same at all positions."""
    return Denominator(name, most, power, True)


def one_name(self: Any, layer: Any) -> dict[str, tuple[str, bool]]:
    """Broken rule: give all heads of a layer the name of one."""
    some = [head for head in layer.heads if not head.uniform]
    return {head.name: (some[0].name, self._alike(head)) for head in some}


def uncounted(span: Any, head: Any, count: Any, domains: Any) -> Any:
    """Broken rule: put a mean over tied keys on the lattice of its values."""
    found = known_shares.tied_mean(span, head, count, domains)
    kept = None if found.share is None else replace(found.share, denominators=found.share.denominators[:-1])
    return replace(found, share=kept)


def on_both_sides(span: Any, domains: Any) -> tuple[IsolatedZero, ...]:
    """Broken rule: isolate zeros whose base is not an end."""
    share = known_shares.share_of(span)
    if span.exact or share is None or not positive(share.step, domains):
        return span.isolated or ((IsolatedZero(span.offset, 0, ()),) if span.exact else ())
    least = known_shares._over(share.step, share.product)
    return tuple(IsolatedZero(share.offset, sign, (least,)) for sign in (1, -1))


def nearest_multiple(share: Any, value: Any, domains: Any) -> Any:
    """Broken rule: accept an offset of one sign, however near the next number is."""
    rest = plus(share.offset, -value)
    return share if any(positive(times(rest, sign), domains) for sign in (1, -1)) else None


def only_offset(share: Any, value: Any, domains: Any) -> tuple[Any, ...]:
    """Broken rule: take the offset itself for the distance, as `nearest_multiple` allows."""
    rest = plus(share.offset, -value)
    return tuple(one for one in [times(rest, sign) for sign in (1, -1)] if positive(one, domains))


def first_far(self: Any, span: Any, value: Any, domain: Any) -> tuple[Any, ...]:
    """Broken rule of the checker: only compute the distance of a share's offset."""
    found = FAR(self, span, value, domain)
    if found or span.share is None:
        return found
    rest = span.share.offset - value
    return next(((sign * rest,) for sign in (1, -1) if self.positive(sign * rest, [domain])), ())


FAR = ShareSigns.far


def untied(self: Any, form: Any, seen: Any, query: Any, claimed: Any, head: Any, count: Any) -> bool:
    """Broken rule of the checker: accept a mean over tied keys without its own count."""
    terms = [(self._terms(form, key), sight) for key, sight in seen]
    zeros = all(self.isolates(some, 0, zero, sight, count) for zero in claimed.isolated for some, sight in terms)
    return zeros and (claimed.share is None or all(self.in_share(some, 0, claimed.share) for some, _ in terms))


FITS, ISOLATED = ShareSigns._fits, ShareSigns._isolated


def undivided(self: Any, own: Any, outer: Any, sight: Any, over: Any) -> bool:
    """Broken rule of the checker: give a mean the distances of its values."""
    return FITS(self, own, outer, sight, 1)


def either_side(self: Any, span: Any, base: Any, sign: int, domains: Any, apart: Any = ()) -> Iterator[Any]:
    """Broken rule of the checker: isolate zeros whose base is not an end."""
    yield from ISOLATED(self, span, base, sign, domains, apart)
    yield from (CheckedZero(base, sign, (least,)) for least in self._off(span, base, apart))


IN_SHARE, OFF = ShareSigns.in_share, ShareSigns._off


def without_ends(self: Any, parts: Any, bias: Any, outer: Any) -> bool:
    """Broken rule of the checker: accept a share without 0 and 1."""
    return not parts or IN_SHARE(self, parts, bias, outer)


def every_sign(self: Any, pairs: Any) -> tuple[int, ...]:
    """Broken rule: take scores that may differ for equal."""
    return WINNERS(self, {pair: replace(found, sign=found.sign or 0) for pair, found in pairs.items()})


def every_sign_accepted(self: Any, a: int, groups: Any, pairs: Any) -> tuple[int, ...]:
    """Broken rule of the checker: take scores that may differ for equal."""
    return ACCEPTED_WINNERS(self, a, groups, {pair: (*found[:2], found[2] or 0) for pair, found in pairs.items()})


WINNERS, ACCEPTED_WINNERS = ScoreRows._winners, CheckedRows._winners


Patches = list[tuple[Any, str, Any]]
BROKEN: dict[str, tuple[Patches, Patches]] = {
    "bound": ([(derivation, "Denominator", least_bound)], [(ShareSigns, "counted", lambda *_: True)]),
    "everywhere": ([(derivation, "Denominator", same_everywhere)], [(ShareSigns, "everywhere", lambda *_: True)]),
    "name": (
        [(derivation._Derivation, "_counted", one_name)],
        [(CheckedHead, "scores", property(lambda self: None))],
    ),
    "every count": (
        [(known_shares, "union", lambda some, *_: tuple(dict.fromkeys(some))[:1])],
        [(ShareSigns, "in_share", lambda *_: True)],
    ),
    "known set": ([(ScoreRows, "_winners", every_sign)], [(CheckedRows, "_winners", every_sign_accepted)]),
    "own count": ([(derivation, "tied_mean", uncounted)], [(ProgramChecker, "_tied", untied)]),
    "read elsewhere": (
        [(derivation, "read_through", lambda span, via: span), (known_shares, "read_through", lambda span, via: span)],
        [(ShareSigns, "read_from", lambda self, span, via: span)],
    ),
    "one query": (
        [(derivation._Derivation, "_alike", lambda self, head: head.mask is Mask.NONE)],
        [(ProgramChecker, "_asks_alike", lambda self, head: head.mask == "none")],
    ),
    "no mask": (
        [(derivation._Derivation, "_alike", lambda self, head: all(
            name in self.constant for form, _ in head.score for name, _ in form.terms))],
        [(ProgramChecker, "_asks_alike", lambda self, head: all(
            name in self.constant for form, _ in head.pairs for name in form))],
    ),
    "over the keys": ([(known_shares, "_divided", lambda zero, count: zero)], [(ShareSigns, "_fits", undivided)]),
    "one side": ([(known_shares, "isolated_of", on_both_sides)], [(ShareSigns, "_isolated", either_side)]),
    "one step beyond": (
        [(known_shares, "_split", nearest_multiple), (known_shares, "_away_from_share", only_offset)],
        [(ShareSigns, "far", first_far)],
    ),
    "sign test": ([(ScoreRows, "_extreme", lambda *_: True)], [(CheckedRows, "_highest", lambda *_: True)]),
    "through 0": ([(known_shares, "_through", lambda share, *_: share)], [(ShareSigns, "in_share", without_ends)]),
}  # fmt: skip
"""By rule: patches that break it in the prover, and patches that break it in the checker."""


@contextmanager
def broken(patches: Patches) -> Iterator[None]:
    """Apply patches while the block runs."""
    with pytest.MonkeyPatch.context() as patch:
        for owner, name, value in patches:
            patch.setattr(owner, name, value)
        yield


class Accepted(ProgramChecker):
    """The checker with a record of all numbers that it accepts: by length of words (1, or longer), layer by layer;
    and, if accepted too, the distances of outputs from the threshold.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self.layers_of: dict[bool, list[Any]] = {False: [], True: []}
        self.apart: dict[bool, Any] = {}
        super().__init__(document)

    def _claimed(self, numbers: Any, what: str) -> Any:
        found = super()._claimed(numbers, what)
        if what.startswith("a unit of"):
            self.own.units.append(found)
        return found

    def _head(self, head: Any, claim: Any) -> Any:
        facts, reads = super()._head(head, claim)
        self.own.reads |= {(head.name, out): read for out, read in reads.items()}
        self.own.rows[head.name] = facts.rows
        return facts, reads

    def _written(self, claims: Any, parts: Any, biases: Any, what: str) -> None:
        super()._written(claims, parts, biases, what)
        setattr(self.own, what, self.columns)

    def _layer(self, heads: Any, units: Any, biases: Any, claims: Any) -> Any:
        self.own = SimpleNamespace(entering=self.columns, reads={}, rows={}, units=[])
        self.layers_of[self.longer].append(self.own)
        return super()._layer(heads, units, biases, claims)

    def _distances(self, claims: Any) -> tuple[Any, ...]:
        with suppress(Rejected):
            self.apart[self.longer] = super()._distances(claims)
        return ()


def ratio(number: Any) -> Any:
    """Convert a function of the checker to the prover's type."""
    if not isinstance(number, CheckedRatio):
        return number
    parts = list[Any]()
    for poly in (number.top, number.bottom):
        total: Any = Ratio.of(0)
        for powers, c in poly.terms.items():
            term = Ratio.of(c)
            for name, power in zip("inj", powers, strict=False):
                for _ in range(power):
                    term = term * Ratio.variable(name)
            total = total + term
        parts.append(total)
    return simplest(parts[0] / parts[1])


def span(known: CheckedSpan) -> NumberSpan:
    """Convert a span of the checker to the prover's type."""
    share, zeros = known.share, known.isolated
    own = None
    if share is not None:
        counts = tuple(Denominator(name, ratio(most), power, False) for name, most, power in share.denominators)
        own = Share(ratio(share.offset), ratio(share.step), counts)
    isolated = tuple(IsolatedZero(ratio(one.base), one.sign, tuple(map(ratio, one.apart))) for one in zeros)
    step, most = (None if part is None else ratio(part) for part in (known.step, known.most))
    return NumberSpan(ratio(known.low), ratio(known.high), ratio(known.offset), step, most, own, isolated)


def spans(columns: Any) -> Any:
    """Convert the spans of columns to the prover's type."""
    return {name: {order: span(one) for order, one in column.items()} for name, column in columns.items()}


def row(facts: CheckedRow) -> Any:
    """Return the accepted facts about a row in the form that the tests' own evaluator reads."""
    one = facts.winners[0] if len(facts.winners) == 1 else None
    description = {"visible": ratio(facts.visible), "gaps": tuple(map(ratio, facts.gaps)), "unique": facts.unique}
    rest = {"winners": facts.winners if one is None else (), "first": False, "product": None}
    return SimpleNamespace(**description, equal=facts.equal, winner=one, **rest)


def require_accepted(program: Program, accepted: Accepted, longest: int) -> None:
    """Compare all accepted facts with hard attention on all words; raise Wrong if one is false."""
    for n in range(1, longest + 1):
        words = [word for word in all_words(program.alphabet, n) if len(word) == n]
        truth = run(program, words)
        held = TiedModelRun(program, cast(Law, None), truth, words)
        for depth, (own, there) in enumerate(zip(accepted.layers_of[n > 1], truth, strict=True)):
            heads = {name: SimpleNamespace(rows={order: row(facts) for order, facts in rows.items()})
                     for name, rows in own.rows.items() if rows}  # fmt: skip
            units = [tuple(spans({"": one})[""] for one in pair) for pair in batched(own.units)]
            message = {kind: spans(getattr(own, kind)) for kind in ("entering", "attended")}
            layer = SimpleNamespace(
                **message,
                leaving=spans(own.final),
                reads=spans(own.reads),
                units=units,
                heads=heads,
                types=SimpleNamespace(tables={}),
            )
            held._layer(f"layer {depth + 1}", cast(LayerLaw, layer), there)
        for order in {order for order, _ in accepted.apart.get(n > 1, ())}:
            i = {1: 1, 2: 2, 3: n}[order]
            if order != 2 or n > 2:
                least = min(number(ratio(one), i, n) for other, one in accepted.apart[n > 1] if other == order)
                output = truth[-1].leaving[program.answers[0]][:, i - held.first]
                if min(abs(output - exact(Fraction(program.threshold or 0)))) < least:
                    raise Wrong(f"the output is nearer to the threshold at {i} of {n}")


def batched(some: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return disjoint pairs of neighbours."""
    return list(zip(some[::2], some[1::2], strict=True))


def accepts(program: Program, claimed: dict[str, Any]) -> bool | None:
    """Return True if a certificate is accepted and all accepted facts are true; False if one is false, None if
    rejected.
    """
    try:
        accepted = Accepted(claimed)
    except (Rejected, LookupError, ArithmeticError):
        return None
    try:
        require_accepted(program, accepted, 3 if len(program.alphabet) > 2 else 4)
    except Wrong:
        return False
    return True


def claims(rule: str, programs: Iterable[Program]) -> Iterator[tuple[Program, dict[str, Any]]]:
    """Yield the false or true claims of a prover without one of its rules about models."""
    for program in programs:
        with broken(BROKEN[rule][0]):
            try:
                found = derived(program)
                one = None if found is None else document(*found)
            except (AssertionError, ArithmeticError, Rejected):
                continue
        if one is not None:
            yield program, one


NEEDED = {
    "bound": "one mean", "everywhere": "local, tied", "name": "two means", "every count": "two means",
    "known set": "two ends", "own count": "one mean", "read elsewhere": "local, at the end",
    "one query": "two queries", "no mask": "local, tied", "over the keys": "one mean", "one side": "one mean",
    "one step beyond": "one mean", "sign test": "a sign", "through 0": "a relu",
}  # fmt: skip
"""For each rule, a model that needs it."""


@pytest.mark.parametrize("rule", BROKEN)
def test_the_checker_needs_each_of_its_rules(rule: str) -> None:
    """Claims of a prover without a rule are rejected, or true; without the rule the checker accepts a false one."""
    program = BY_HAND[NEEDED[rule]]
    ((_, claimed),) = claims(rule, [program])
    assert accepts(program, claimed) is not False
    with broken(BROKEN[rule][1]):
        assert accepts(program, claimed) is False


@pytest.mark.slow
@pytest.mark.parametrize("rule", BROKEN)
def test_what_a_prover_without_a_rule_claims_is_rejected_or_true(rule: str) -> None:
    for program, claimed in claims(rule, [*BY_HAND.values(), *map(tied_model, range(40))]):
        assert accepts(program, claimed) is not False


# ---- alterations ----


def on_the_threshold(name: str) -> dict[str, Any]:
    """Return the certificate of a model whose mean is moved onto its threshold: the claim is false, whatever the
    facts are.
    """
    altered = copy.deepcopy(made(name))
    moved = {"majority_ties.ahat.json": ("share", "0"), "dyck1_uniform.ahat.json": ("accept", "0")}
    coordinate, text = moved[name]
    altered["model"]["encodings"][coordinate] = text
    return altered


@pytest.mark.parametrize("name", ["majority_ties.ahat.json", "dyck1_uniform.ahat.json"])
@pytest.mark.parametrize("tries", [25, pytest.param(400, marks=pytest.mark.slow)])
def test_no_change_of_the_facts_moves_an_output_off_its_threshold(name: str, tries: int) -> None:
    altered, random = on_the_threshold(name), Random(name)
    assert wrong_word(altered, 2) is not None
    for _ in range(tries):
        changed = copy.deepcopy(altered)
        for _ in range(random.choice((1, 1, 2, 3))):
            lie(changed, random)
        assert sealed(changed) is not None


@pytest.mark.parametrize("tries", [12, pytest.param(400, marks=pytest.mark.slow)])
def test_what_is_altered_is_rejected_or_true(tries: int) -> None:
    """Facts about handmade and random models, each with one of its leaves changed."""
    random = Random(tries)
    programs = [*BY_HAND.values(), *(tied_model(seed) for seed in (3, 4, 10, 12, 15))]
    known = [found for program in programs if (found := derived(program)) is not None]
    documents = [(program, document(program, law)) for program, law in known]
    kept = 0
    for _ in range(tries):
        program, claimed = random.choice(documents)
        changed = copy.deepcopy(claimed)
        lie(changed, random)
        fine = accepts(program, changed)
        assert fine is not False
        kept += bool(fine)
    assert kept < tries


@pytest.mark.slow
@pytest.mark.parametrize("name", ["majority_ties.ahat.json", "ties.ahat.json"])
def test_each_leaf_that_is_altered_is_rejected_or_leaves_a_true_claim(name: str) -> None:
    """The network and the claim, which is true, stay: the test compares the facts that are accepted inside."""
    claimed, program = made(name), shipped(name).program
    facts = claimed["facts"]
    for path in leaves(facts):
        old = at(facts, path)
        texts = ("0", "1", "n", "1/n", f"({old})*2", f"({old})/2", f"-({old})")
        for value in (*(texts if path[0] == "functions" else range(-1, 12)), None):
            assert accepts(program, replaced(claimed, ("facts", *path), value)) is not False, (path, value)


def test_functions_that_change_their_sign_prove_nothing_false() -> None:
    """Steps, bounds, bases and distances that are 0, negative or without a value at some of the lengths: all accepted
    facts about them are true. A checker that takes functions of n for nonnegative accepts a false one.
    """
    found = derived(BY_HAND["one mean"])
    assert found is not None
    program, law = found
    claimed = document(program, law)
    factors = ("*(n - 2)", "*(3 - n)", "*(n - 3)**2", "/(n - 3)")
    altered = [
        replaced(claimed, ("facts", "functions", number), f"({old}){factor}")
        for number, old in enumerate(claimed["facts"]["functions"])
        for factor in factors
    ]
    assert not any(accepts(program, one) is False for one in altered)
    unsigned = (ShareSigns, "nonnegative", lambda self, value, _: isinstance(value, CheckedRatio) or value >= 0)
    with broken([unsigned]):
        assert any(accepts(program, one) is False for one in altered)


SHARE_SPAN, ANSWER = ("facts", "spans", 5), ("facts", "more", "answers", "share")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("facts", "counts", 0), ["nobody"], "is not the name of a count"),
        (("facts", "counts", 0), ["a and b", 2], "is not the name of a count"),
        (("facts", "counts", 0), ["a and b"] * 13, "is not the name of a count"),
        (("facts", "counts", 0), ["a and b", 0], "is a count at no position"),
        (("facts", "counts", 0), [3], "is not the name of a count"),
        (("facts", "counts", 0), [], "an array of 1 or more"),
        ((*SHARE_SPAN, 5, 2, 0, 0), 1, "not in facts.counts"),
        ((*SHARE_SPAN, 5, 2, 0, 0), -1, "not in facts.counts"),
        ((*SHARE_SPAN, 5, 2, 0, 1), 0, "exceed their claimed bounds"),
        ((*SHARE_SPAN, 5, 2, 0, 2), 0, "exceed their claimed bounds"),
        ((*SHARE_SPAN, 5, 2), [], "the values that head a and b reads"),
        ((*SHARE_SPAN, 5, 2), [[0, 5, 1], [0, 5, 1]], "exceed their claimed bounds"),
        ((*SHARE_SPAN, 5, 0), 9, "the values that head a and b reads"),
        ((*SHARE_SPAN, 6, 0, 1), 2, "needs both a sign and distances"),
        ((*SHARE_SPAN, 6, 0, 2), [], "needs both a sign and distances"),
        ((*SHARE_SPAN, 6, 0, 1), -1, "the values that head a and b reads"),
        ((*SHARE_SPAN, 6, 0, 0), 0, "the values that head a and b reads"),
        ((*SHARE_SPAN, 6, 0, 2), [0], "the values that head a and b reads"),
        ((*SHARE_SPAN, 6), None, "an array"),
        (ANSWER, [5, 5, 5], "the answer 'share' is not known"),
        (ANSWER, [6, 6, 6], "may lie on the threshold"),
        (("facts", "more", "answers"), {}, "may lie on the threshold"),
        (("facts", "more", "answers"), {"a": [1, 1, 1]}, "a key that is no output of the model"),
        (("schema_version",), 3, "neither counts nor answers"),
        (("schema_version",), 5, "of version 5: schema_version should be"),
    ],
)
def test_what_is_claimed_of_ties_is_missed_where_it_is_wrong(path: Any, value: Any, message: str) -> None:
    assert message in (sealed(replaced(made("majority_ties.ahat.json"), path, value)) or "")


PRODUCT_ROW = ("facts", "more", "layers", 0, "heads", "a and b", "rows", 0)


@pytest.mark.parametrize(
    ("claimed", "message"),
    [
        ([0, 1, 1], "keys that are not on their claimed lattice"),
        ([2, 1, 0], "a query outside its claimed span"),
        ([99, 1, 0], "a span that is not in facts.spans"),
        ([0, 1, 99], "not in facts.functions"),
        ([0, 1], "an array of 3"),
        ([0, 1, None], "an integer"),
    ],
)
def test_a_product_is_what_it_is_claimed_to_be(claimed: list[Any], message: str) -> None:
    """The score of this model is one product: 1 times [a or b]."""
    altered = replaced(made("majority_ties.ahat.json"), PRODUCT_ROW, {"product": claimed})
    assert message in (sealed(altered) or "")
    right = replaced(made("majority_ties.ahat.json"), PRODUCT_ROW, {"product": [0, 1, 0]})
    assert sealed(right) is None


def test_a_mean_adds_up_no_numbers_where_there_are_none() -> None:
    """Between the first and the last of n positions each has the value 1/(n - 2): n - 2 times that is 1, but 0 at
    n = 2.
    """
    altered = handmade(
        "i", ["1", "i", "n", "j", "1/(n - 2)", "1/n"], [], reads=("0",) * 3, threshold="1/3", lengths=[2]
    )
    path: Any
    for path, value in (
        (("model", "layers", 0, "heads", 0, "query"), []),
        (("model", "layers", 0, "heads", 0, "key"), []),
        (("model", "encodings", "last"), "[i > 1 and i < n]/(n - 2 + [i == 1] + [i == n])"),
        (("facts", "spans"), [*rising()["facts"]["spans"], [6, 6, 6, 0, None], [7, 7, 7, 0, None]]),
        (("facts", "more", "input", "last"), [0, 7, 0]),
        (("facts", "more", "layers", 0, "heads", "h", "reads", "out"), [8] * 3),
        (("facts", "more", "layers", 0, "attended", "out"), [8] * 3),
    ):
        altered = replaced(altered, path, value)
    assert "no value at a place without positions" in (sealed(altered) or "")
