"""Certificates of programs and models: accepted ones are true by the definitions, and false ones are rejected, however
their facts are changed.
"""

import copy
import json
from collections.abc import Callable
from decimal import Context, Inexact, Rounded, localcontext
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from hardsim.proving.program_certificate import program_certificate
from hardsim.proving.prove import prove_every_length
from hardsim.proving.verify import CertifiedTarget, check_network, lengths_of, span_of, verified
from hardsim.verify import checker_of, verify
from hardsim.verify.arithmetic import MINUTE, WORK, Rejected
from hardsim.verify.program_sections import CHECKED, as_written_now
from hardsim.verify.programs import ProgramChecker
from tests.proof.programs.test_smt import of_subject
from tests.support.check import prove_attention
from tests.support.damage import at, places, replaced
from tests.support.hostile_certificates import made as formula_certificate
from tests.support.hostile_certificates import sealed as formula_sealed
from tests.support.language import Undecided
from tests.support.mistakes import raised
from tests.support.program_certificates import handmade, made, network, rising, row, sealed, wrong_word
from tests.support.subjects import FORMULAS, at_temperature, shipped, subject_of

SHIPPED = sorted(path.name for path in FORMULAS.glob("*.srasp"))
BY_STRUCTURE = [*SHIPPED, "flipflop.ahat.json", "no_repeats.ahat.json", "same_ends.ahat.json"]
FEW = ["dyck1.srasp", "sort.srasp", "same_ends.ahat.json"]
FALSE_ON = {"dyck1.srasp": ("1/n**2", 2), "sort.srasp": ("1/n**3", 2), "same_ends.ahat.json": ("1/n**2", 3)}
"""A temperature at which softmax is wrong on a word of a length; the judge finds that word."""


# ---- true claims ----


@pytest.mark.sweep
@pytest.mark.parametrize("name", FEW)
def test_certificates_of_lengths_and_of_every_length_are_valid_and_true(name: str) -> None:
    for document in (made(name, 4), made(name)):
        assert verify(document) is None
        assert wrong_word(document, 3) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_STRUCTURE)
def test_every_shipped_program_has_both_kinds(name: str) -> None:
    for document in (made(name, 16), made(name)):
        assert verify(document) is None
        assert len(json.dumps(document)) < 5 * 2**20


def test_padding_counts_as_positions() -> None:
    """increment.srasp has `pad: len + 1`."""
    document = made("increment.srasp", 3)
    assert document["lengths"] == [2, 3, 4]
    assert "#" in document["model"]["alphabet"]


Parts = dict[str, Any]
CONSTANT = {"pre": {"1": "1"}, "clip": True}
NOTHING: dict[str, Callable[[Parts, Parts], object]] = {
    "value": lambda program, layer: layer["heads"][0]["values"].update(counts={"a": "0"}),
    "value alone": lambda program, layer: layer["heads"][0]["values"].update(idle={"a": "0"}),
    "unit": lambda program, layer: layer["units"].append({"outs": {"idle": "0"}, **CONSTANT}),
    "unit without outs": lambda program, layer: layer["units"].append({"outs": {}, **CONSTANT}),
    "unit in part": lambda program, layer: layer["units"].append({"outs": {"a": "0", "idle": "1"}, **CONSTANT}),
    "bias": lambda program, layer: layer["biases"].update(idle="0"),
    "encodings that add up": lambda program, layer: program.update(
        encodings=[{"name": "share", "value": value} for value in ("-1/(2*n)", "1/(4*n)")]
    ),
}
"""Changes that alter no output of majority_ties.ahat.json."""


@pytest.mark.parametrize("change", NOTHING)
def test_what_adds_nothing_keeps_no_certificate_away(change: str, tmp_path: Path) -> None:
    """Zeros have no entries in the matrices of a network, which certificate and queries are about."""
    document = json.loads((FORMULAS / "majority_ties.ahat.json").read_bytes())
    program = document["program"]
    NOTHING[change](program, program["layers"][0])
    program["coordinates"] += ["idle"] * ("idle" in json.dumps(program["layers"]))
    subject = subject_of(tmp_path, document)
    certificate = json.loads(json.dumps(program_certificate(prove_every_length(subject, 0))))
    assert verify(certificate) is None
    assert wrong_word(certificate, 2) is None
    assert [*of_subject(subject).steps()]


def test_what_every_word_was_run_for_has_none() -> None:
    result = prove_attention(shipped("tieless_until_7.ahat.json"), 2, search=0)
    assert {length.proved_by for length in result.lengths} == {"every word"}
    raised(Undecided, program_certificate, result, match="proved by running every word")


# ---- false claims ----


def false(name: str, every: bool) -> dict[str, Any]:
    """Return a certificate with a false claim, about a hot temperature, with matching digests."""
    tau, n = FALSE_ON[name]
    document = made(name, None if every else 3)
    if every:
        document["temperature"] = tau
    else:
        document["lengths"], document["temperature"] = [n], [tau.replace("n", str(n))]
    return document


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("name", FEW)
def test_a_temperature_that_is_too_hot_is_rejected(name: str, every: bool) -> None:
    document = false(name, every)
    assert wrong_word(document, 3) is not None
    assert sealed(document) is not None


def leaves(document: Any) -> list[tuple[str | int, ...]]:
    """Return the places of values that are neither objects nor arrays."""
    return [path for path in places(document) if path and not isinstance(at(document, path), dict | list)]


def lie(document: dict[str, Any], random: Random) -> None:
    """Change one of the facts: a function, the parts of a span, a span, a group, a step, a rest, a sign."""
    facts = document["facts"]
    paths = leaves(facts)
    part = random.choice(("functions", "spans", "rows", "other"))
    own = [path[0] if path[0] in ("functions", "spans") else "rows" if "rows" in path else "other" for path in paths]
    part = part if part in own else "other"  # uniform heads have no rows
    path = random.choice([path for path, kind in zip(paths, own, strict=True) if kind == part])
    old, texts = at(facts, path), facts["functions"]
    if part == "functions":
        new: Any = random.choice((f"({old})*2", f"({old})*1000", f"({old})/1000", f"({old}) + 1", "0", "n", *texts))
    elif isinstance(old, str):
        new = random.choice(("lattice", "look-up"))
    else:
        new = random.choice((None, -1, 0, 1, *range(len(texts if part in ("spans", "rows") else facts["spans"]))))
    at(facts, path[:-1])[path[-1]] = new


@pytest.mark.slow
@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("name", FEW)
def test_no_change_of_the_facts_makes_it_right(name: str, every: bool) -> None:
    document = false(name, every)
    for seed in range(300):
        random, changed = Random(seed), copy.deepcopy(document)
        for _ in range(random.choice((1, 1, 2, 3))):
            lie(changed, random)
        assert sealed(changed) is not None, seed


@given(st.integers(0, 10**6))
def test_changed_facts_of_a_false_claim_are_rejected(seed: int) -> None:
    random = Random(seed)
    document = false(random.choice(("sort.srasp", "same_ends.ahat.json")), False)
    for _ in range(random.choice((1, 1, 2, 3))):
        lie(document, random)
    assert sealed(document) is not None


NUMBERS = ("0", "1", "-1", "2", "1/2", "1/1000", "1000")


@given(st.integers(0, 10**6))
def test_a_changed_network_is_rejected_unless_the_claim_is_true_of_it(seed: int) -> None:
    random = Random(seed)
    document = made(random.choice(("sort.srasp", "same_ends.ahat.json")), 3)
    path = random.choice([path for path in leaves(document["model"]) if path[0] in ("embedding", "layers")])
    old = at(document["model"], path)
    new = (not old) if isinstance(old, bool) else random.choice(NUMBERS)
    if path[-1] in ("name", "mask"):
        new = random.choice(("none", "future", "past", "strict-future", "strict-past"))
    document = replaced(document, ("model", *path), new)
    if sealed(document) is None:
        assert wrong_word(document, 3) is None, path


def test_each_hint_that_is_left_out_or_of_another_kind_is_missed() -> None:
    document = made("same_ends.ahat.json", 2)
    for path in places({key: document[key] for key in CHECKED}):
        if path and path[:2] != ("model", "alphabet"):
            values: tuple[Any, ...] = (None, True, 1.5, {}, "x y")
            for value in values:
                if type(value) is not type(at(document, path)):
                    changed = replaced(document, path, value)
                    message = sealed(changed)
                    assert message is not None or wrong_word(changed, 2) is None, (path, value)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("lengths", [], "in ascending order"),
        ("lengths", [2, 1], "in ascending order"),
        ("lengths", [0, 1], "in ascending order"),
        ("start", 1, "from 2 to 4096"),
        ("start", 2, "if start is null"),
        ("temperature", ["1"], "one for each length"),
        ("temperature", ["-1", "1"], "not positive"),
        ("temperature", ["1 < 2", "1"], "a truth"),
        ("temperature", "0*n", "not positive"),
        ("claim", "everything", "not the one that is checked"),
        ("schema_version", 2, "of version 2: schema_version should be"),
    ],
)
def test_what_is_claimed_has_one_form(key: str, value: Any, message: str) -> None:
    document = made("same_ends.ahat.json", 2)
    document[key] = value
    assert message in (sealed(document) or "")


def test_what_is_too_large_is_rejected() -> None:
    document = made("same_ends.ahat.json", 2)
    document["temperature"] = ["2**(-20000)", "1"]
    assert "too large" in (sealed(document) or "")
    document = made("same_ends.ahat.json", 2)
    document["facts"]["functions"][0] = "(n + 1)**24 * (i + n)**24"
    assert "too large" in (sealed(document) or "")


# ---- one guard each: without it a false certificate would be valid ----


def test_a_step_that_depends_on_the_key_is_rejected() -> None:
    """f(j) = (j - 1) s(j) - e j with s(j) = 1/(2j - 1), and e such that f(n) - f(n - 1) is a thousandth of e. All f(j)
    + e j - f(1) - e are multiples of s(j), which is more than e j adds up to; but f(n) - f(n - 1) is of none."""
    fall = "999/1000/((2*n - 3)*(2*n - 1))"
    scores = [f"({x} - 1)/(2*{x} - 1) - {x}*{fall}" for x in "1in"]
    rows = [row([[1, 2, 3]], [["lattice", 5, 6]])] * 3
    document = handmade(scores[1], [*scores, "1/(2*j - 1)", f"-j*{fall}"], rows, lengths=[6], temperature="1/2000")
    assert wrong_word(document, 6) is not None
    assert "depends on the key or the position, as it must not, at i = 1" in (sealed(document) or "")


def test_a_rest_that_depends_on_the_position_of_a_single_query_is_rejected() -> None:
    """The last score is 0, which is j n^-6 + j - 1 above that of j < n: by n^-6 above the first. At i = n the rest is
    that, but at i = 1, where functions of n are bounded, it is at least (n - 1) (2 - j) more."""
    score, steps = "-(i/n**6 + i - 1)*[i != n]", ["-1/n**6", "-(i/n**6 + i - 1)", "0"]
    rest, step = "j/n**6 + (n - i)*(2 - j)", "1 + 1/n**6"
    before, last = row([[1, 2]], [["lattice", 6, 0]]), row([[3], [1, 2]], [None, ["lattice", 6, 0]], [0, 1, 1, 5, 1])
    document = handmade(score, [*steps, rest, step], [row([[1]], [None]), before, last], mask="future",
                        reads=("0", "0 to 1", "1"), lengths=[], start=4, temperature="1/(16*n)")  # fmt: skip
    assert wrong_word(document, 4) is not None
    assert "depends on the key or the position, as it must not, at i = n" in (sealed(document) or "")


def test_the_certificate_made_by_hand_is_valid_and_true() -> None:
    document = rising()
    assert sealed(document) is None
    assert wrong_word(document, 4) is None


ALONE, RULE = [row([[3]], [None])] * 3, [["lattice", 0, 5]]
SECOND = "i*[i < n] + (n - 1 + 1/1000)*[i == n]"
"""The last score is one thousandth above the one before."""
SECOND_STEPS = ["1", "i", "n - 1 + 1/1000", "j"]
FIRST, FIRST_STEPS = "i*[i > 1] + (n - 1/1000)*[i == 1]", ["n - 1/1000", "i", "n", "j", "n - j"]
"""The last score is one thousandth above the first one."""


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (rising(temperature="8") | {"rows": ALONE}, "in no group or in two groups"),
        (handmade(FIRST, FIRST_STEPS, [row([[3], [2]], [None, *RULE], [0, 1, 0, 6, None])] * 3), "in no group"),
        (rising(temperature="8") | {"rows": [row([[3], [3]], [None, None], [0, 1, 0, 0, None])] * 3}, "in two"),
        (handmade(SECOND, SECOND_STEPS, [row([[3], [1, 2]], [None, *RULE])] * 3), "groups that no pair compares"),
        (handmade("-i", ["-1", "-i", "-n", "-j"], [row([[3], [1, 2]], [None, *RULE], [0, 1, 1, 0, 1])] * 3,
                  reads=("1",) * 3, threshold="1/1000000000000"), "order is not the claimed one"),
        (handmade(SECOND, SECOND_STEPS, [row([[1, 2, 3]], RULE)] * 3), "more than one form"),
        (rising(temperature="8") | {"rows": [row([[1, 2, 3]], [["look-up", 1, 5]])] * 3}, "not those of a look-up"),
        (rising(threshold="1"), "may lie on the threshold"),
        (rising(reads=("0 to 1",) * 3), "may lie on the threshold"),
    ],
)  # fmt: skip
def test_what_is_left_out_or_untrue_of_scores_is_rejected(document: dict[str, Any], message: str) -> None:
    rows = document.pop("rows", None)
    if rows is not None:
        document["facts"]["more"]["layers"][0]["heads"]["h"]["rows"] = rows
    assert message in (sealed(document) or "")


HEAD = ("layers", 0, "heads", "h")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("model", "alphabet"), ["a", "a"], "symbols must differ"),
        (("model", "embedding", "1"), ["1", "1"], "one value is needed"),
        (("model", "layers", 0, "heads", 0, "query"), [], "different dimensions"),
        (("model", "outputs"), ["nothing"], "that nothing writes"),
        (("model", "integers"), True, "integers are read at every position"),
        (("facts", "more", "input", "1"), [1, 1], "a span for each place"),
        (("facts", "more", "input", "1"), [1, 1, 99], "a span that is not in facts.spans"),
        (("facts", "more", "input", "1"), [5, 5, 5], "may have no value at i = 1"),
        (("facts", "more", "input"), {}, "spans for all coordinates"),
        (("facts", "more", "layers"), [], "each layer needs claims"),
        (("facts", "more", "layers", 0, "heads"), {}, "each head needs claims"),
        (("facts", "more", "layers", 0, "units"), [[[0] * 3] * 2], "each hidden unit needs claims"),
        (("facts", "more", "layers", 0, "attended"), {}, "that are written there"),
        (("facts", "more", "layers", 0, "final"), {"out": [2] * 3}, "that are written there"),
        (("facts", "more", *HEAD, "reads"), {}, "spans of what it reads"),
        (("facts", "more", *HEAD, "rows"), [], "needs rows"),
        (("facts", "more", *HEAD, "rows", 0, "inner"), [], "a rule for each group"),
        (("facts", "functions", 5), "1/j - 1/(j - 3)", "do not follow the rule of their group"),
        (("model", "layers", 0, "heads", 0, "mask"), "strict-future", "sees no key"),
    ],
)
def test_what_is_missing_is_missed(path: tuple[str | int, ...], value: Any, message: str) -> None:
    assert message in (sealed(replaced(rising(), path, value)) or "")


def changed(document: dict[str, Any], *changes: tuple[tuple[str | int, ...], Any]) -> dict[str, Any]:
    """Return a certificate with other values at some places."""
    for path, value in changes:
        document = replaced(document, path, value)
    return document


LATTICE = [["lattice", 1, 0]]
INPUT, LAYER = ("facts", "more", "input"), ("model", "layers", 0)
FALLING = ["1", "i", "n", "j", "n - j", "n**11/400"]
CLIP = {"clip": True, "bias": "1/2", "form": {}, "outs": {"out": "1"}}
UNIFORM: tuple[tuple[tuple[str | int, ...], Any], ...] = (
    ((*LAYER, "heads", 0, "query"), []),
    ((*LAYER, "heads", 0, "key"), []),
    (("facts", "more", *HEAD, "rows"), []),
)


@pytest.mark.parametrize(
    "document",
    [
        # the first and the last tie, as integers may
        handmade("(i - 1)*(i - n)", ["0", "(i - 1)*(i - n)", "0", "j"], [row([[1, 2, 3]], LATTICE)] * 3,
                 threshold="1/2"),
        # the last and the one before it tie
        handmade("i*[i < n] + (n - 1)*[i == n]", ["1", "i", "n - 1", "j"],
                 [row([[3], [1, 2]], [None, *RULE], [0, 1, 1, 0, None])] * 3, threshold="1/2"),
        # a query of 0 that is claimed to be 1/m for some m
        changed(rising(threshold="1/4"), (("model", "embedding", "1"), ["0"]), ((*INPUT, "1"), [7] * 3),
                (("facts", "spans", 4), [2, 2, 2, 0, None]), (("facts", "spans"), [*rising()["facts"]["spans"],
                                                                                   [0, 1, 0, None, 1]])),
        # a mean is no Boolean
        changed(rising(threshold="1/4"), *UNIFORM),
        # a clip of 1/2 is no Boolean; the head writes beside it
        changed(rising(threshold="1/2"), (("facts", "spans"), [*rising()["facts"]["spans"], [6, 6, 6, 0, None]]),
                (("facts", "functions"), ["0", "1", "1", "i", "n", "j", "1/2"]), ((*LAYER, "units"), [CLIP]),
                ((*LAYER, "heads", 0, "values"), {"out": {"last": "0"}}),
                (("facts", "more", *HEAD, "reads"), {"out": [0] * 3}),
                (("facts", "more", "layers", 0, "attended"), {"out": [0] * 3}),
                (("facts", "more", "layers", 0, "units"), [[[7] * 3, [2] * 3]]),
                (("facts", "more", "layers", 0, "final"), {"out": [2] * 3})),
        # a nearly equal number
        rising(threshold=None),
        rising(threshold=None, lengths=[], start=2, temperature="1/(8*n)"),
        # a gap over the temperature that does not grow
        rising(lengths=[], start=2, temperature="1"),
        # 2 n^12/400 e^(-2 n) is small enough at n = 2, but not at n = 3: it falls from n = 6 on
        changed(handmade("i", FALLING, [row([[3], [1, 2]], [None, *RULE], [0, 1, 0, 6, 1])] * 3, start=2, lengths=[],
                         reads=("0",) * 3, threshold="9/10", temperature="1/(2*n)"),
                (("model", "encodings", "last"), "n**11/400*[i < n]"), ((*INPUT, "last"), [7, 7, 0]),
                (("facts", "spans"), [*rising()["facts"]["spans"], [7, 7, 7, 0, None]])),
    ],
)  # fmt: skip
def test_what_only_seems_to_follow_is_rejected(document: dict[str, Any]) -> None:
    assert wrong_word(document, 4) is not None
    assert sealed(document) is not None
    assert "malformed" not in (sealed(document) or "")


def test_errors_are_rounded_upwards_everywhere() -> None:
    """The gap is 1000 + 5.0001e-25, which 28 digits round up. Softmax gives 1 - e^-gap/(1 + e^-gap), below a threshold
    that is above 1 - e^-gap by 10^-26 of it: a bound of 34 digits shows this, one of 28 does not.
    """
    gap, digits = Fraction(1000) + Fraction(50001, 10**29), 475
    before, ctx.prec = ctx.prec, 2048
    try:
        weight = (-arb(gap.numerator) / gap.denominator).exp()
        scaled = weight / (1 + weight) * (1 - arb(10) ** -26) * arb(10) ** digits
        whole = scaled.floor().unique_fmpz()
        assert whole is not None
        threshold = 1 - Fraction(int(whole), 10**digits)
    finally:
        ctx.prec = before
    scores = [f"{x}*{gap.numerator}/{gap.denominator}" for x in "1inj"]
    rows = [row([[1, 2, 3]], [["lattice", 0, 5]])] * 3
    document = handmade(scores[1], scores, rows, lengths=[2], temperature="1", threshold=str(threshold))
    assert wrong_word(document, 2) is not None
    assert "distance from the threshold" in (sealed(document) or "")


@pytest.mark.parametrize("text", ["PRIME(1/(i - 2))", "PRIME(i/2)", "[SQUARE(1/(n - 4))]"])
def test_a_predicate_of_what_is_no_integer_is_rejected(text: str) -> None:
    document = rising()
    document["model"]["encodings"]["more"] = text
    document["facts"]["more"]["input"]["more"] = [2] * 3
    assert sealed(document) is not None


@pytest.mark.parametrize(("lengths", "start"), [([2, 12], None), ([2], 8), ([], 8)])
def test_only_lengths_that_are_claimed_are_shown(tmp_path: Path, lengths: list[int], start: int | None) -> None:
    """The temperature is too hot at lengths in between: a claim about those would be false."""
    heat = "[n != 2 and n != 12] + 1/8" if start is None else "(1 + 1000/n**4)/(8*n)"
    document = rising(lengths=lengths, start=start, temperature=heat if start is None or not lengths else "1/(8*n)")
    assert sealed(document) is None
    path = tmp_path / "c.json"
    path.write_text(json.dumps(document))
    result = verified(str(path), CertifiedTarget())
    assert result.min_n is not None
    expected = {*lengths, *(range(start, 21) if start else ())}
    assert {*range(result.min_n, (result.max_n or 20) + 1)} <= expected
    assert result.lengths is not None
    assert {n for low, high in result.lengths for n in range(low or 0, (high or 20) + 1)} == expected


def test_lengths_are_shown_as_runs() -> None:
    def text_of(lengths: list[int], start: int | None) -> str:
        return span_of(lengths_of({"facts": {}, "lengths": lengths, "start": start}))

    assert text_of([2, 3, 4, 6, 8], 10) == "length 2 to 4, 6, 8, and every one from 10 on"
    assert text_of([2, 12], None) == "length 2, 12"
    assert text_of([], 8) == "every length from 8 on"
    assert text_of([1, 2, 3], 4) == text_of([1, 2, 5, 7], 3) == "every length"
    assert text_of([2, 4], 5) == "length 2, and every one from 4 on"
    assert "lengths" in (sealed(rising(lengths=[])) or "")


LARGE = "7" * 270


@pytest.mark.parametrize(
    "text",
    [
        f"i**24/(i - (n + j + {'7' * 480})**20)",
        f"(n + j + i + {LARGE})**10*(n + j + i + {LARGE})**10",
        f"(n + j + i + {LARGE})**20/(n + j + i + {LARGE})**10",
        "((((7**24)**24)**24)**24)**24",
    ],
)
def test_what_takes_long_to_expand_is_refused(text: str) -> None:
    document = rising()
    document["facts"]["functions"].append(text)
    assert "too large" in (sealed(document) or "")


@pytest.mark.parametrize("text", ["((((7**64)**64)**64)**64)**64", f"i**24/(i + (n + {'7' * 480})**20)"])
def test_what_takes_long_to_expand_at_every_length_is_refused(text: str) -> None:
    document = formula_certificate("flipflop", "temperature", None)
    document["model"]["encodings"]["more"] = text
    assert "too large" in (formula_sealed(document) or "")


def test_junk_allows_no_more_work() -> None:
    document = as_written_now(rising())
    plain = ProgramChecker(document).allowance
    document["facts"]["spans"] += [[0, 0, 0, 0, None, None, []]] * 1000
    assert ProgramChecker(document).allowance - plain == WORK[1] * 8 * 1000 * (20 + 4)
    document["facts"]["spans"] += [[0, 0, 0, 0, None, None, []]] * 50_000
    assert ProgramChecker(document).allowance == MINUTE


@pytest.mark.sweep
@pytest.mark.parametrize(("name", "max_n"), [("dyck1.srasp", 16), ("sort.srasp", None), ("parity.srasp", 8)])
def test_programs_need_a_small_part_of_what_is_allowed(name: str, max_n: int | None) -> None:
    checker = ProgramChecker(made(name, max_n))
    assert checker.work < checker.allowance / 10


def test_a_formula_of_every_length_needs_a_small_part_of_what_is_allowed() -> None:
    document = formula_certificate("parity", "temperature", None)
    checker = checker_of(document)(document)
    assert checker.work < checker.allowance / 10


def test_decimals_are_rounded_in_contexts_of_the_checker_alone() -> None:
    """In this context a decimal operator would round to one digit and raise an error."""
    documents = [rising(), rising(lengths=[], start=8, temperature="1/(8*n)"), made("parity.srasp", 4)]
    documents += [made("sort.srasp"), formula_certificate("majority", "temperature", 4)]
    documents += [formula_certificate("majority", "temperature", None)]
    with localcontext(Context(prec=1, traps=[Inexact, Rounded])):
        for document in documents:
            assert sealed(document) is None if "facts" in document else verify(document) is None


@pytest.mark.parametrize("tau", ["-i", "i - 1", "i // 0", "1/(i - 1)", "i mod 0", "log(i)", "[i < n]", "1/(i - n)"])
def test_a_temperature_is_positive_at_every_position_also_where_scores_are_equal(tau: str) -> None:
    """All heads take means, whatever the temperature is."""
    document = made("dyck1_uniform.ahat.json", 3)
    assert not any(head["query"] for layer in document["model"]["layers"] for head in layer["heads"])
    assert sealed({**document, "temperature": ["1", "i", "1/i"]}) is None
    for place in range(3):
        changed = [tau if k == place else "1" for k in range(3)]
        reason = sealed({**document, "temperature": changed}) or ""
        assert "the temperature is not positive" in reason or "expression" in reason, (tau, place)


def test_a_temperature_is_compared_with_that_of_a_model() -> None:
    document, subject = rising(), shipped("sort.srasp")
    document["model"] = made("sort.srasp")["model"]
    check_network(document, (), subject, "it")
    own = at_temperature(subject, "1/8")
    check_network(document, (), own, "it")
    with pytest.raises(Rejected, match="temperature: differs from that of it"):
        check_network(document | {"temperature": "1/4"}, (), own, "it")


def test_integers_are_on_their_lattice() -> None:
    document = rising(threshold=None)
    document["model"] |= {"integers": True, "read": "every"}
    assert sealed(document) is None
    document = rising(threshold=None, reads=("0 to 1",) * 3)
    document["model"] |= {"integers": True, "read": "every"}
    assert "not known to be an integer over n" in (sealed(document) or "")


# ---- the judge ----


def test_the_judge_reads_the_network_of_the_certificate() -> None:
    """A heated certificate is wrong, and a cold one is not: the judge distinguishes them."""
    before = ctx.prec
    document = made("same_ends.ahat.json", 3)
    assert network(document)["coordinates"]
    document["temperature"] = ["1"] * 3
    assert wrong_word(document, 3) is not None
    assert ctx.prec == before
    assert prove_every_length(shipped("sort.srasp"), 0).every_length
