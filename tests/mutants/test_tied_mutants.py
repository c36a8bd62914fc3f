"""Models whose heads tie, with one place changed: the facts derived and proved for every length are true of words.

The models are those that the rules of ties prove, and the three that must not be proved. A change makes an offset meet
its threshold, a query differ between positions, a denominator differ, keys equal. Derived facts are checked with hard
attention (`tests.support.tied_truth`), and proofs at a temperature with softmax of the same weights: in float64 where
that is clear, and by the judge of the mutants where it is not.
"""

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest

from hardsim.program.file import program_json
from tests.mutants import programs
from tests.mutants.judge import Judge, evaluate
from tests.mutants.mutate import Document
from tests.mutants.test_mutants import ask
from tests.support.check import NotProved, law_of
from tests.support.language import HardsimError
from tests.support.model import Program
from tests.support.subjects import FORMULAS, subject_of
from tests.support.tied_models import OFFSETS, tied_model
from tests.support.tied_truth import NEAR, Word, all_words, exact, longer_words, require, run, soft_outputs

SHARED = Path(__file__).parents[3] / "shared" / "ties"
"""More models, beside the project."""
BASES = [
    *(FORMULAS / f"{name}.ahat.json" for name in ("majority_ties", "ties", "dyck1_uniform")),
    *sorted(SHARED.glob("*.ahat.json")),
]
FEW, MANY, CHUNK = 3, 300, 30
"""Numbers of mutants of a model in `make test` and in `make slow`, and in one of its tests."""
NUMBERS = ("-1", "2", "1/2", "3", "1/3", "3/2", "0")


@cache
def base(name: str) -> Document:
    """Return a model before any change."""
    (path,) = (path for path in BASES if path.name == name)
    found: Document = json.loads(path.read_text(encoding="utf-8"))
    program = found["program"]
    program.setdefault("bos", False)
    program["coordinates"] = list(dict.fromkeys(["1", *program["coordinates"]]))
    return {key: value for key, value in found.items() if key != "examples"}


# ---- one place changed ----


def number(program: Document, random: Random) -> str:
    """Multiply a coefficient by a number near 1."""
    form = random.choice([form for form in programs.forms(program) if form])
    name = random.choice(sorted(form))
    form[name] = str(Fraction(form[name]) * Fraction(random.choice(NUMBERS)))
    return f"{name} is {form[name]}"


def offset(program: Document, random: Random) -> str:
    """Change an encoding, or add one to the coordinate that is written last."""
    item = random.choice([*program["encodings"], None])
    if item is None:
        item = {"name": program["output"], "value": ""}
        program["encodings"].append(item)
    item["value"] = random.choice(OFFSETS)
    return f"{item['name']} is {item['value']}"


def threshold(program: Document, random: Random) -> str:
    """Change the threshold, or read the other end."""
    if random.random() < 0.3:
        program["reading"] = "first" if program["reading"] == "last" else "last"
        return f"it is read {program['reading']}"
    program["threshold"] = random.choice(("0", "1/2", "1/3", "2/3", "1/4", "-1/4"))
    return f"the threshold is {program['threshold']}"


def query(program: Document, random: Random) -> str:
    """Make a query differ at one end, or depend on a letter."""
    score = random.choice(programs.heads(program, True))["score"]
    name = random.choice(("end of a query", program["letters"][0]["name"]))
    if name == "end of a query":
        program["encodings"].append({"name": name, "value": random.choice(("[i = 1]", "[i = n]"))})
        program["coordinates"].append(name)
    random.choice(score)[0][name] = random.choice(NUMBERS)
    return f"a query reads {name}"


def sequence(program: Document, random: Random) -> str:
    """Add or remove the beginning of sequence."""
    program["bos"] = not program["bos"]
    return f"beginning of sequence: {program['bos']}"


def scored(program: Document, random: Random) -> str:
    """Give a head the score, and perhaps the mask, of another one, or no score."""
    some = programs.heads(program)
    one, other = random.choice(some), random.choice(some)
    one["score"] = deepcopy(random.choice(([], other["score"])))
    one["mask"] = random.choice((one["mask"], other["mask"]))
    return f"{one['name']} attends as {other['name']}"


MUTATORS: tuple[Callable[[Document, Random], str], ...] = (
    number, number, offset, offset, threshold, query, sequence, scored, programs.term, programs.dropped, programs.pair,
    programs.mask, programs.weighting, programs.letter, programs.unit, programs.layers, programs.output,
)  # fmt: skip


def mutant(document: Document, seed: int) -> tuple[Document, str]:
    """Return a copy with one or two places changed, and a description of the changes."""
    random, changed, said = Random(seed), deepcopy(document), list[str]()
    for _ in range(random.choice((1, 1, 2))):
        chosen = random.choice(MUTATORS)
        try:
            said.append(chosen(changed["program"], random))
        except IndexError:
            said.append(f"nothing for {chosen.__name__}")
    return changed, "; ".join(said)


# ---- reports ----


def first_wrong(program: Program, document: Document, tau: str, words: Sequence[Word]) -> str | None:
    """Return a word of one length on which softmax at a temperature answers differently from hard attention, or on
    which hard attention is at the threshold.
    """
    assert program.threshold is not None
    last = run(program, words)[-1].leaving[program.output]
    hard = last[:, int(program.bos) if program.reading == "first" else -1] - exact(program.threshold)
    try:
        soft = soft_outputs(program, words, evaluate(tau, n=len(words[0]))) - float(program.threshold)
    except OverflowError:  # a weight beyond float64: the judge alone
        soft = np.zeros(len(words))
    for place, word in enumerate(words):
        if hard[place] == 0:
            return f"{''.join(word)} is at the threshold"
        if abs(soft[place]) > NEAR and (soft[place] > 0) == (hard[place] > 0):
            continue
        answer = Judge(programs.matrices(document["program"]), tau=tau).ask(word)
        if answer != ("yes" if hard[place] > 0 else "no"):
            return f"{''.join(word)} is answered {answer}, and {soft[place]} away in float64"
    return None


def require_proof(program: Program, document: Document, tau: str | None, random: Random) -> None:
    """Require that softmax and hard attention agree on words of up to 6 symbols, or some of them, and on longer
    ones.
    """
    assert tau is not None
    letters = list(program.alphabet)
    for n in range(1, 7):
        every = [word for word in all_words(letters, n) if len(word) == n]
        some = every if len(every) < 300 else random.sample(every, 200)
        assert (wrong := first_wrong(program, document, tau, some)) is None, (tau, wrong)
    assert (wrong := first_wrong(program, document, tau, longer_words(letters, random, 20))) is None, (tau, wrong)


def try_mutant(name: str, seed: int, folder: Path) -> tuple[bool, bool]:
    """Return whether facts of a mutant are derived, and whether it is proved; raise AssertionError if a claim is
    not true.
    """
    document, said = mutant(base(name), seed)
    random = Random(seed)
    try:
        subject = subject_of(folder, document)
        law = law_of(subject.program)
    except (HardsimError, NotProved):
        return False, False
    try:
        letters = list(subject.program.alphabet)
        require(subject.program, law, all_words(letters, 5 if len(letters) == 2 else 4))
        require(subject.program, law, longer_words(letters, random, 10))
        if subject.given_temperature or not subject.argument.proved:
            return True, False
        require_proof(subject.program, document, subject.argument.temperature, random)
    except AssertionError as failure:
        raise AssertionError(f"{name}, {seed}: {said}\n{failure}") from failure
    return True, True


NAMES = [path.name for path in BASES]
COMMANDS = (("prove", "--all-n", "--max-n", "3"), ("check", "--max-n", "3"), ("bound", "--gap", "--max-n", "3"))
FEW_ASKED, MANY_ASKED, ASKED = 2, 200, 20
"""Numbers of random models for the commands: in `make test`, in `make slow`, and in one of its tests."""


def try_commands(seed: int, folder: Path) -> None:
    """Run commands on a random model: no internal error occurs, and everything proved is true."""
    program = tied_model(seed)
    document = {"format": "hardsim-ahat", "schema_version": 2, "program": program_json(program)}
    path = folder / f"{seed}.ahat.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    for command, *options in COMMANDS:
        code, result, err = ask(command, str(path), *options)
        context = f"{command} {options} of model {seed}\n{err}"
        assert code in (0, 1, 3), context
        assert result is not None, context
        assert "Traceback" not in err, context
        assert code != 1 or result["verdict"] == "REFUTED", context
        argument = result.get("argument")
        if command == "prove" and argument and argument["proved"] and not program.maps:
            require_proof(program, document, argument["temperature"], Random(seed))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_proved_of_tied_mutants_is_true(name: str, tmp_path: Path) -> None:
    for seed in range(FEW):
        try_mutant(name, seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(FEW, FEW + MANY, CHUNK))
@pytest.mark.parametrize("name", NAMES)
def test_what_is_proved_of_many_tied_mutants_is_true(name: str, first: int, tmp_path: Path) -> None:
    found = [try_mutant(name, seed, tmp_path) for seed in range(first, first + CHUNK)]
    assert any(derived for derived, _ in found)


def test_float64_and_the_judge_say_the_same_of_soft_attention(tmp_path: Path) -> None:
    """The two evaluators of softmax share no code."""
    for name in NAMES[:3]:
        document = base(name)
        program = subject_of(tmp_path, document).program
        judge = Judge(programs.matrices(document["program"]), tau="1/n")
        words = [word for word in all_words(list(program.alphabet), 4) if len(word) == 4]
        soft = soft_outputs(program, words, Fraction(1, 4)) - float(program.threshold or 0)
        assert np.abs(soft).min() > NEAR
        assert [judge.ask(word) == "yes" for word in words] == list(soft > 0)


@pytest.mark.parametrize("seed", range(FEW_ASKED))
def test_commands_about_tied_models_end_well(seed: int, tmp_path: Path) -> None:
    try_commands(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(FEW_ASKED, FEW_ASKED + MANY_ASKED, ASKED))
def test_commands_about_many_tied_models_end_well(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + ASKED):
        try_commands(seed, tmp_path)
