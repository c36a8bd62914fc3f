"""Compiled programs with one place changed, as `.ahat.json` files with named forms, and their documents for the
judge.
"""

import copy
from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random

from tests.mutants.mutate import ENCODINGS, FACTORS, VALUES, Document, times

Mutator = Callable[[Document, Random], str]
"""A function that changes a program in place and returns a description of the change."""
MASKS = ("none", "future", "past", "strict-future", "strict-past")
GAPS = ("1", "1/n", "1/n^2", "1/(8*n^3)", "1/(4*n)", "1/(n^2*(i+1))", "1/10^9", "n")
SMALL = ("1/2", "-1/2", "1/4", "3/4", "1/8", "2", "-2", "1/1000000")
ORDERS = (
    "[i = 1]",
    "[i = 2]",
    "[i = n]",
    "[i = 0]",
    "1",
    "1/(i+1)",
    "(i/n)^2",
    "i^2",
    "n^2",
    "1/n^3",
    "(n-i)/n",
    "[i > 0]/n",
)
Form = dict[str, str]


# ---- documents for the judge ----


def matrices(program: Document) -> Document:
    """Replace named forms by matrices, from the definitions: a clip is relu(z) - relu(z - 1)."""
    names: list[str] = program["coordinates"]
    rows = [*program["alphabet"], *(["BOS"] if program["bos"] else [])]
    embedding: dict[str, Form] = {row: {"1": "1"} for row in rows}
    for letter in program["letters"]:
        for symbol in letter["symbols"]:
            own = embedding[symbol]
            own[letter["name"]] = str(Fraction(own.get(letter["name"], "0")) + Fraction(letter.get("value", "1")))
    encodings = [{"coordinate": one["name"], "value": one["value"]} for one in program["encodings"]]
    found = {key: program[key] for key in ("alphabet", "bos", "coordinates", "output", "threshold", "reading")}
    found |= {"embedding": embedding, "encodings": encodings, "temperature": "1"}
    return found | {"layers": [_layer(layer, names) for layer in program["layers"]]}


def _layer(layer: Document, names: list[str]) -> Document:
    heads = [
        {"mask": head["mask"], "weighting": head["weighting"], "w_q": [query for query, _ in head["score"]],
         "w_k": [key for _, key in head["score"]], "w_v": head["values"]}
        for head in layer["heads"]
    ]  # fmt: skip
    w1: list[Form] = []
    b1: list[str] = []
    w2: dict[str, dict[int, Fraction]] = {name: {} for name in names}
    for unit in layer["units"]:
        for shift, sign in ((0, 1), (1, -1)) if unit["clip"] else ((0, 1),):
            for out, weight in unit["outs"].items():
                w2[out][len(w1)] = w2[out].get(len(w1), Fraction(0)) + sign * Fraction(weight)
            w1.append(unit["pre"])
            b1.append(str(-shift))
    ffn = {
        "w1": w1, "b1": b1, "b2": [layer["biases"].get(name, "0") for name in names],
        "w2": {"shape": [len(names), len(w1)],
               "entries": [[k, at, value] for k, name in enumerate(names) for at, value in w2[name].items()]},
    }  # fmt: skip
    return {"heads": heads, "ffn": ffn}


# ---- one place changed ----


def forms(program: Document) -> Iterator[Form]:
    """Yield the linear forms of heads and hidden units."""
    for layer in program["layers"]:
        for head in layer["heads"]:
            for pair in head["score"]:
                yield from pair
            yield from head["values"].values()
        for unit in layer["units"]:
            yield unit["pre"]
            yield unit["outs"]


def heads(program: Document, score: bool = False) -> list[Document]:
    """Return all heads, or with `score` those that attend by a score."""
    return [head for layer in program["layers"] for head in layer["heads"] if head["score"] or not score]


def coefficient(program: Document, random: Random) -> str:
    form = random.choice([form for form in forms(program) if form])
    name = random.choice(sorted(form))
    form[name] = times(form[name], random.choice((*SMALL, *FACTORS)))
    return f"{name} is {form[name][:20]}"


def term(program: Document, random: Random) -> str:
    form, name = random.choice(list(forms(program))), random.choice(program["coordinates"])
    form[name] = random.choice((*SMALL, *VALUES))
    return f"{name} is added"


def dropped(program: Document, random: Random) -> str:
    form = random.choice([form for form in forms(program) if len(form) > 1])
    name = random.choice(sorted(form))
    del form[name]
    return f"{name} is left out"


def pair(program: Document, random: Random) -> str:
    """Leave a product of a score out, or repeat it."""
    score = random.choice(heads(program, True))["score"]
    at = random.randrange(len(score))
    if random.random() < 0.5 and len(score) > 1:
        del score[at]
        return f"part {at} of a score is left out"
    score.append(copy.deepcopy(score[at]))
    return f"part {at} of a score stands twice"


def mask(program: Document, random: Random) -> str:
    head = random.choice(heads(program))
    head["mask"] = random.choice(MASKS)
    return f"{head['name']} has the mask {head['mask']}"


def weighting(program: Document, random: Random) -> str:
    head = random.choice(heads(program, True))
    head["weighting"] = random.choice(("leftmost", "rightmost", "average"))
    return f"{head['name']} is {head['weighting']}"


def claimed(program: Document, random: Random) -> str:
    """Change a declared gap, or declare that several keys share the largest score."""
    head = random.choice(heads(program, True))
    if random.random() < 0.5:
        head["gap"] = random.choice(GAPS)
        return f"{head['name']} declares the gap {head['gap']}"
    head["shares"] = not head.get("shares", False)
    return f"{head['name']} shares: {head['shares']}"


def encoding(program: Document, random: Random) -> str:
    item = random.choice(program["encodings"])
    item["value"] = random.choice((*ENCODINGS, *ORDERS))
    return f"{item['name']} is {item['value']}"


def letter(program: Document, random: Random) -> str:
    item = random.choice(program["letters"])
    item["symbols"] = random.choice(([], program["alphabet"], ["BOS"], [*item["symbols"], "BOS"]))
    return f"{item['name']} holds of {item['symbols']}"


def unit(program: Document, random: Random) -> str:
    item = random.choice([unit for layer in program["layers"] for unit in layer["units"]])
    if random.random() < 0.5:
        item["clip"] = not item["clip"]
        return f"a hidden unit is {'a clip' if item['clip'] else 'a relu'}"
    item["pre"]["1"] = str(Fraction(item["pre"].get("1", "0")) + Fraction(random.choice(SMALL)))
    return f"a hidden unit begins at {item['pre']['1']}"


def layers(program: Document, random: Random) -> str:
    found = program["layers"]
    at = random.randrange(len(found))
    if random.random() < 0.5:
        found[at]["units"] = found[at]["units"][1:]
        return f"layer {at} has a hidden unit less"
    found[at]["biases"][random.choice(program["coordinates"])] = random.choice(SMALL)
    return f"layer {at} has a bias"


def output(program: Document, random: Random) -> str:
    program["output"] = random.choice(program["coordinates"])
    return f"the output is {program['output']}"


def threshold(program: Document, random: Random) -> str:
    program["threshold"] = random.choice(("0", "1", "1/3", "3/4", "999/1000", "1/1000000"))
    return f"the threshold is {program['threshold']}"


MUTATORS: tuple[Mutator, ...] = (
    coefficient, term, dropped, pair, mask, weighting, claimed, encoding, letter, unit, layers, output, threshold,
)  # fmt: skip


def mutant(program: Document, seed: int) -> tuple[Document, str]:
    """Return a copy with one place changed (two in one case of three), and a description of the changes."""
    random, changed, said = Random(seed), copy.deepcopy(program), list[str]()
    for number in range(random.choice((1, 1, 2))):
        chosen = MUTATORS[seed % len(MUTATORS)] if not number else random.choice(MUTATORS)
        try:
            said.append(chosen(changed, random))
        except IndexError:
            said.append(f"nothing for {chosen.__name__}")
    return changed, "; ".join(said)
