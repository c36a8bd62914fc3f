"""The functions that the shipped programs compute, written a second time in Python.

Each follows the definition of the language or transduction, on words as they are read, and knows nothing of
positions, attention or padding. An acceptor gives a Boolean, a transduction the output word.
"""

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

Acceptor: TypeAlias = Callable[[str], bool]
Transduction: TypeAlias = Callable[[str], str]


def regex(pattern: str) -> Acceptor:
    """Accept words that match a regular expression whole."""
    return lambda word: re.fullmatch(pattern, word) is not None


def dyck(*pairs: str) -> Acceptor:
    """Accept if removing brackets next to their partners, again and again, leaves nothing."""

    def accepts(word: str) -> bool:
        shorter = word
        for pair in pairs:
            shorter = shorter.replace(pair, "")
        return not word or (shorter != word and accepts(shorter))

    return accepts


def flip_flop(word: str) -> bool:
    """Run the instructions one by one on a memory of one bit; accept if every read gives the stored bit."""
    if not re.fullmatch("w[01]([wri][01])*", word):
        return False
    memory = ""
    for instruction, bit in re.findall("(.)(.)", word):
        if instruction == "w":
            memory = bit
        elif instruction == "r" and bit != memory:
            return False
    return True


def hop(word: str, place: int | None) -> int | None:
    """Return the index after the most recent occurrence, strictly before `place`, of the symbol there."""
    earlier = -1 if place is None else word.rfind(word[place], 0, place)
    return None if earlier < 0 else earlier + 1


def hops(count: int) -> Transduction:
    """Return, for each place, the symbol to which `count` hops lead."""

    def output(word: str) -> str:
        places: list[int | None] = list(range(len(word)))
        for _ in range(count):
            places = [hop(word, place) for place in places]
        return "".join("?" if place is None else word[place] for place in places)

    return output


def marked_reversal(word: str) -> bool:
    """Accept if the word, cut at its marks, has two pieces that are each other's reversal."""
    pieces = word.split("|")
    return len(pieces) == 2 and pieces[0] == pieces[1][::-1]


def unmarked_reversal(word: str) -> bool:
    """Accept if some prefix is followed by its reversal, and by nothing else."""
    return any(word == word[:cut] + word[:cut][::-1] for cut in range(len(word)))


def increment(word: str) -> str:
    """Return the next number, with at least as many digits."""
    return format(int(word, 2) + 1, "b").zfill(len(word))


def between_marks(change: Transduction) -> Transduction:
    """Apply a change to every block between marks."""
    return lambda word: "|".join(change(block) for block in word.split("|"))


def marked_square(word: str) -> str:
    """Return copies of the word; the k-th has its first k symbols in upper case."""
    copies = [word[: k + 1].upper() + word[k + 1 :] for k in range(len(word))]
    return "|" + "".join(copy + "|" for copy in copies)


def majority_rules(word: str) -> str:
    """Return the more frequent symbol everywhere; a if both are equally frequent."""
    return ("b" if word.count("b") > word.count("a") else "a") * len(word)


def run_length(word: str) -> str:
    """Repeat a letter that follows a digit; then remove the digits."""
    return re.sub("[23]", "", re.sub("([23])([ab])", lambda match: match[2] * int(match[1]), word))


def by_rank(word: str) -> str:
    """Put each symbol at its place after sorting, the first of equal symbols; the other places keep their symbols."""
    return "".join(sorted(word)[k] if k == sorted(word).index(sorted(word)[k]) else word[k] for k in range(len(word)))


ACCEPTORS: Mapping[str, Acceptor] = {
    "ab_plus": regex("(ab)+"),
    "detect_pattern_ab": lambda word: word.endswith("ab"),
    "dyck1": dyck("()"),
    "dyck1_depth2": regex("(l(lr)*r)+"),
    "dyck2": dyck("()", "[]"),
    "dyck3": dyck("()", "[]", "{}"),
    "flipflop": flip_flop,
    "frac_prevs": lambda word: word.count("l") >= len(word.replace("l", "")),
    "marked_reversal": marked_reversal,
    "pair_balance": lambda word: word.count("(") == word.count(")"),
    "parity": regex("0*10*(10*10*)*"),
    "shuffle_dyck2": lambda word: all(dyck(pair)("".join(re.findall(f"[{pair}]", word))) for pair in ("()", "{}")),
    "unmarked_reversal": unmarked_reversal,
}

TRANSDUCTIONS: Mapping[str, Transduction] = {
    "copy_first_half": lambda word: word[: len(word) // 2],
    "hist": lambda word: "".join(str(word.count(symbol)) for symbol in word),
    "increment": increment,
    "induction_head": hops(1),
    "induction_head_2hop": hops(2),
    "majority_rules": majority_rules,
    "make_count": lambda word: str(word.count("a")) * len(word),
    "map_duplicate": between_marks(lambda block: block * 2),
    "map_reverse": between_marks(lambda block: block[::-1]),
    "marked_square": marked_square,
    "reverse": lambda word: word[::-1],
    "rotate_right": lambda word: word[-1] + word[:-1],
    "run_length": run_length,
    "shift_by_one": lambda word: word[0] + word[:-1],
    "sort": lambda word: "".join(sorted(word)),
    "sort_unique": by_rank,
}
