"""Networks with one place changed: by a factor, a term, a mask, an encoding, a schedule, a claim."""

import copy
from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random
from typing import Any

Document = dict[str, Any]
Mutator = Callable[[Document, Random], str]
"""A function that changes a `hardsim-model` document in place and returns a description of the change."""

FACTORS = (
    "0", "-1", "2", "1/2", "3/2", "1/3", "5", str(2**53 + 1), str(2**60), "1/" + str(2**60),
    "1" + 30 * "0", "1/1" + 30 * "0", "1" + 400 * "0", "1/1" + 400 * "0", "-1" + 400 * "0",
)  # fmt: skip
VALUES = ("1", "-1", "1/2", str(2**53 + 1), "-" + str(2**60), "1/1" + 330 * "0", "1" + 310 * "0")
MASKS = ("none", "future", "past")
ENCODINGS = (
    "i mod 2", "i mod 7", "(i mod 65)/n", "[i = n]", "[n < 65]", "[i > 64]*i/n", "PRIME(i)", "SQUARE(n - i)", "3^i",
    "3^i - 1", "-i/n", "i/n + [n > 64]", "(i - n)/n", "i^2", "1/(10^30*i)", "2^60 + i", "10^320*i", "n - i",
    "(-1)^(i + 1)", "1/n^9", "i*(1 - 2*[n > 64])/n",
)  # fmt: skip
TEMPERATURES = (
    "2/(n*(n mod 65 + 1))", "8*((1/4) mod (1/2))/n", "1/n + [n > 64]", "1/(n + 64*[n < 65])", "10^302", "1/10^302",
    "2^1400", "1/2^1400", "1/n^20", "n", "1", "3/n", "1/(n*(1 + [n = 66]))", "1/n + [n = 65]*[i > 1]", "PRIME(n) + 1",
)  # fmt: skip
TEXTS = (
    "1", "i", "[a]", "i/n", "nearest", "uniform", "table", "lookup", "sign", "1/n", "n", "7", "average", "leftmost",
)  # fmt: skip


def matrices(document: Document) -> Iterator[Document]:
    """Yield the sparse matrices of a network."""
    yield document["model"]["embedding"]
    for layer in document["model"]["layers"]:
        for head in layer["heads"]:
            yield from (head["w_q"], head["w_k"], head["w_v"])
        yield from (layer["ffn"]["w1"], layer["ffn"]["w2"])


def heads(document: Document) -> list[Document]:
    return [head for layer in document["model"]["layers"] for head in layer["heads"]]


def times(value: str, factor: str) -> str:
    return str(Fraction(value) * Fraction(factor))


def scale_entry(document: Document, random: Random) -> str:
    entry = random.choice([entry for matrix in matrices(document) for entry in matrix["entries"]])
    factor = random.choice(FACTORS)
    entry[2] = times(entry[2], factor)
    return f"an entry times {factor[:20]}"


def new_entry(document: Document, random: Random) -> str:
    matrix = random.choice([matrix for matrix in matrices(document) if min(matrix["shape"])])
    place = [random.randrange(size) for size in matrix["shape"]]
    matrix["entries"] = [entry for entry in matrix["entries"] if entry[:2] != place]
    matrix["entries"].append([*place, random.choice(VALUES)])
    matrix["entries"].sort(key=lambda entry: entry[:2])
    return f"an entry at {place}"


def bias(document: Document, random: Random) -> str:
    layer = random.choice(document["model"]["layers"])
    values = random.choice([values for values in (layer["ffn"]["b1"], layer["ffn"]["b2"]) if values])
    values[random.randrange(len(values))] = random.choice(VALUES)
    return "a bias"


def both_biases(document: Document, random: Random) -> str:
    """Shift both biases of a clip, so that it stays a clip."""
    layer = random.choice([layer for layer in document["model"]["layers"] if len(layer["ffn"]["b1"]) > 1])
    biases, at = layer["ffn"]["b1"], 2 * random.randrange(len(layer["ffn"]["b1"]) // 2)
    moved = Fraction(biases[at]) + Fraction(random.choice(("1/2", "-1/2", "1/8", "1/1" + 40 * "0", "-1")))
    biases[at : at + 2] = str(moved), str(moved - 1)
    return f"a clip moved to {moved}"


def rescaled(document: Document, random: Random) -> str:
    """Multiply the output of a head or clip by s and divide its readers by s: the function stays the same."""
    model, s = document["model"], random.choice(FACTORS[7:14])
    column = random.randrange(1, len(model["coordinates"]))
    if column == model["coordinates"].index(model["output"]):
        return "nothing"
    for encoding in model["encodings"]:
        if encoding["coordinate"] == model["coordinates"][column]:
            encoding["value"] = f"({encoding['value']})*{Fraction(s).numerator}/{Fraction(s).denominator}"
    inverse = str(1 / Fraction(s))

    def scaled(matrix: Document, axis: int, factor: str) -> None:
        for entry in matrix["entries"]:
            if entry[axis] == column:
                entry[2] = times(entry[2], factor)

    scaled(model["embedding"], 1, s)
    for layer in model["layers"]:
        for head in layer["heads"]:
            for key, axis, factor in (("w_q", 1, inverse), ("w_k", 1, inverse), ("w_v", 1, inverse), ("w_v", 0, s)):
                scaled(head[key], axis, factor)
        scaled(layer["ffn"]["w1"], 1, inverse)
        scaled(layer["ffn"]["w2"], 0, s)
        layer["ffn"]["b2"][column] = times(layer["ffn"]["b2"][column], s)
    return f"coordinate {column} in units of {s[:20]}"


def mask(document: Document, random: Random) -> str:
    head = random.choice(heads(document))
    head["mask"] = random.choice(MASKS)
    return f"mask {head['mask']}"


def encoding(document: Document, random: Random) -> str:
    item = random.choice(document["model"]["encodings"])
    item["value"] = random.choice(ENCODINGS)
    return f"encoding {item['value']}"


def another_encoding(document: Document, random: Random) -> str:
    """Add an encoding of a coordinate that symbols or heads write as well."""
    name, value = random.choice(document["model"]["coordinates"]), random.choice(ENCODINGS)
    document["model"]["encodings"].append({"coordinate": name, "value": value})
    return f"encoding {value} in {name}"


def temperature(document: Document, random: Random) -> str:
    value = random.choice(TEMPERATURES)
    document["model"]["temperature"] = value
    if random.random() < 0.5:
        document["specification"]["temperature"] = value
    return f"temperature {value}"


def layers(document: Document, random: Random) -> str:
    found = document["model"]["layers"]
    at = random.randrange(len(found))
    what = random.choice(("swapped", "twice", "no heads"))
    if what == "swapped":
        found.append(found.pop(at))
    elif what == "twice":
        extra = copy.deepcopy(found[at])
        for head in extra["heads"]:
            head["name"] += "'"
        found.insert(at, extra)
    else:
        found[at]["heads"] = found[at]["heads"][1:]
    return f"layer {at} {what}"


def reading(document: Document, random: Random) -> str:
    key, value = random.choice((("reading", "first"), ("threshold", "1/2"), ("threshold", "2"), ("bos", True)))
    document["model"][key] = value
    return f"{key} {value}"


def output(document: Document, random: Random) -> str:
    document["model"]["output"] = random.choice(document["model"]["coordinates"])
    return f"output {document['model']['output']}"


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place of a tree: the container and the key."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, part in list(pairs):
        yield data, key
        yield from places(part)


def mutant_text(document: Document, random: Random) -> str:
    """Change a text that the file says about itself: specification and options."""
    section = random.choice(("specification", "specification", "specification", "options"))
    container, key = random.choice(list(places(document[section])))
    old = container[key]
    match old:
        case bool():
            container[key] = not old
        case None | str():
            container[key] = random.choice((*TEXTS, *FACTORS[:6], None))
        case int():
            container[key] = random.choice((0, -1, 2, 10**30, "1"))
        case list():
            container[key] = random.choice(([], [*old, *old], old[1:]))
        case dict():
            container[key] = random.choice(({}, {"1": "1"}, old | {"i": "1"}))
    return f"{section}: {key} {str(old)[:30]} -> {str(container[key])[:30]}"


def both_texts(document: Document, random: Random) -> str:
    """Change an encoding in the network and in its specification alike."""
    item = random.choice(document["model"]["encodings"])
    item["value"] = random.choice(ENCODINGS)
    for claim in document["specification"]["encodings"]:
        if claim["name"] == item["coordinate"]:
            claim["value"] = item["value"]
    return f"encoding {item['value']} in both"


MUTATORS: tuple[Mutator, ...] = (
    scale_entry, new_entry, bias, both_biases, rescaled, mask, encoding, another_encoding, temperature, layers, reading,
    output, mutant_text, both_texts,
)  # fmt: skip


NETWORK_ONLY: tuple[Mutator, ...] = (
    scale_entry, new_entry, bias, both_biases, rescaled, mask, encoding, another_encoding, layers, output,
)  # fmt: skip
"""Mutators that change nothing but the network."""


def mutant(document: Document, seed: int, mutators: tuple[Mutator, ...] = MUTATORS) -> tuple[Document, str]:
    """Return a copy with one place changed (two in one case of four), and a description of the changes."""
    random, changed = Random(seed), copy.deepcopy(document)
    said = []
    for number in range(random.choice((1, 1, 1, 2))):
        chosen = mutators[seed % len(mutators)] if not number else random.choice(mutators)
        try:
            said.append(chosen(changed, random))
        except IndexError:
            said.append(f"nothing for {chosen.__name__}")
    return changed, "; ".join(said)
