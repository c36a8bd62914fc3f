"""The shipped programs, their expected outputs, and words to test: shared by oracle, hard attention and softmax."""

import random
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from pathlib import Path

from hardsim.lang.ast import SraspProgram
from tests.programs.reference import ACCEPTORS, TRANSDUCTIONS
from tests.support.sources import load_program

DIRECTORY = Path(__file__).parents[2] / "formulas"
NAMES = sorted((*ACCEPTORS, *TRANSDUCTIONS))
SEED = 20240605
"""Seed of everything that is drawn here."""

MATE = {"(": ")", "[": "]", "{": "}", "l": "r"}


@cache
def program_of(name: str) -> SraspProgram:
    """Return the shipped program of this name."""
    return load_program(DIRECTORY / f"{name}.srasp")


def expected(name: str, word: Sequence[str]) -> bool | str:
    """Return the expected output by the independent function: a verdict, or the output word."""
    text = "".join(word)
    return ACCEPTORS[name](text) if name in ACCEPTORS else TRANSDUCTIONS[name](text)


def words_of(program: SraspProgram, longest: int, most: int) -> Iterator[tuple[str, ...]]:
    """Yield all words up to a length, shortest first; at most `most`: as many of each length as fit, drawn with
    the seed.
    """
    used = 0
    for n in range(1, longest + 1):
        share, every = (most - used) // (longest - n + 1), len(program.alphabet) ** n
        used += min(share, every)
        if every <= share:
            yield from product(program.alphabet, repeat=n)
        else:
            yield from _drawn(program.alphabet, n, every, share)


def _drawn(alphabet: Sequence[str], n: int, every: int, count: int) -> Iterator[tuple[str, ...]]:
    """Yield different words of length n by drawing their numbers, written to the base of the alphabet's size."""
    for number in random.Random(SEED + n).sample(range(every), count):
        yield tuple(alphabet[number // len(alphabet) ** place % len(alphabet)] for place in range(n))


def long_words(name: str, longest: int, count: int) -> Iterator[tuple[str, ...]]:
    """Yield seeded random words of 2 to `longest` symbols; for acceptors, every other one is a member or one
    symbol off.
    """
    draw = random.Random(f"{SEED} {name}")
    alphabet = program_of(name).alphabet
    for number in range(count):
        n = draw.randint(2, longest)
        word = draw.choices(alphabet, k=n)
        if name in ACCEPTORS and number % 2:
            word = _member(name, n, draw)
            if number % 4 == 1:
                word[draw.randrange(len(word))] = draw.choice(alphabet)
        yield tuple(word)


def _member(name: str, n: int, draw: random.Random) -> list[str]:
    """Build a word of the language with about n >= 2 symbols from smaller ones."""
    half = draw.choices("ab", k=n // 2)
    match name:
        case "ab_plus":
            return ["a", "b"] * (n // 2)
        case "parity":
            return _odd(n, draw)
        case "marked_reversal":
            return [*half, "|", *reversed(half)]
        case "unmarked_reversal":
            return [*half, *reversed(half)]
        case "flipflop":
            return _flip_flop(n // 2, draw)
        case "detect_pattern_ab":
            return [*half, "a", "b"]
        case "frac_prevs":
            return draw.sample(["l"] * (n - n // 2) + draw.choices("eho", k=n // 2), k=n)
        case "shuffle_dyck2":
            return _shuffled(balanced(n // 4, "(", n, draw), balanced(n // 2 - n // 4, "{", n, draw), draw)
        case "dyck1_depth2":
            return balanced(n // 2, ["l"], 2, draw)
        case _:
            return balanced(n // 2, [symbol for symbol in program_of(name).alphabet if symbol in MATE], n, draw)


def _odd(n: int, draw: random.Random) -> list[str]:
    """Return zeros with as many ones as the largest odd number up to n, or fewer by two or four."""
    ones = max(1, n - 1 + n % 2 - 2 * draw.randrange(3))
    return draw.sample(["1"] * ones + ["0"] * (n - ones), k=n)


def _flip_flop(commands: int, draw: random.Random) -> list[str]:
    word: list[str] = []
    memory = ""
    for number in range(commands):
        command, bit = draw.choice("wri") if number else "w", draw.choice("01")
        memory = bit if command == "w" else memory
        word += [command, memory if command == "r" else bit]
    return word


def _shuffled(one: list[str], other: list[str], draw: random.Random) -> list[str]:
    """Merge both words, each in its own order."""
    rest = [one[::-1], other[::-1]]
    order = draw.sample([0] * len(one) + [1] * len(other), k=len(one) + len(other))
    return [rest[side].pop() for side in order]


def balanced(pairs: int, openers: Sequence[str], deepest: int, draw: random.Random) -> list[str]:
    """Open and close `pairs` brackets at random, in the right order, at most `deepest` at once."""
    word: list[str] = []
    stack: list[str] = []
    opened = 0
    while opened < pairs or stack:
        if opened < pairs and len(stack) < deepest and (not stack or draw.random() < 0.5):
            stack.append(draw.choice(openers))
            word.append(stack[-1])
            opened += 1
        else:
            word.append(MATE[stack.pop()])
    return word
