"""Random formula files as text, with every operator that a Rocq theorem can be about."""

from random import Random

PREDICATES = """\
pred FAR(i, n) = 2*i > n + 1
pred ROUNDED(x, n) = (x - 3) div 2 mod 3 == 1 or not (x >= 0) and x mod 3 != 2
pred NEAR(x, n) = x*x <= n and (x + 1) div -2 >= -2
pred DIVIDES(c, n) = c != 0 and n mod c == 0
"""
"""Definitions of predicates, of which some divide by negative numbers or have negative values."""
OWN = ("FAR", "ROUNDED", "NEAR")
BUILT_IN = ("EVEN", "ODD", "PRIME", "SQUARE", "POW2", "MOD(3, 1)", "MOD(4, 0)")


class FormulaDraw:
    """Draws one file. Without `future` there is no operator that looks ahead; with `terms` there are sums of counts,
    positions and lengths, and predicates of them; otherwise comparisons of counts and congruences of single ones."""

    def __init__(self, rng: Random, future: bool, terms: bool) -> None:
        self.rng, self.future, self.terms = rng, future, terms
        self.props = rng.random() < 0.25
        self.names = ["p", "q"] if self.props else rng.choice([["a", "b"], ["a", "b"], ["a", "b", "c"]])
        self.lets: list[str] = []

    def text(self, depth: int) -> str:
        """Return the text of a file whose formula has at most `depth` levels of operators."""
        head = f"{'props' if self.props else 'alphabet'}: {' '.join(self.names)}\n"
        if self.future and self.rng.random() < 0.3:
            head += "at: first\n"
        lets = ""
        for number in range(self.rng.choice([0, 0, 1, 2])):
            body = self.formula(depth - 1)
            lets += f"let part{number} = {body}\n"
            self.lets.append(f"part{number}")
        return f"{head}{PREDICATES}{lets}{self.formula(depth)}\n"

    def formula(self, depth: int) -> str:
        """Return a formula."""
        drawn = self.rng.random()
        if depth <= 0 or drawn < 0.1:
            return self.atom()
        if drawn < 0.2:
            return f"!({self.formula(depth - 1)})"
        if drawn < 0.4:
            return self.pair(["&", "|", "^", "->", "<->"], depth)
        if drawn < 0.65:
            unary = ["Y", "WY", "O", "H"] + ["X", "WX", "F", "G"] * self.future
            return f"{self.rng.choice(unary)} ({self.formula(depth - 1)})"
        if drawn < 0.87:
            return self.pair(["S", "T"] + ["U", "R", "W", "M"] * self.future, depth)
        return self.of_terms(depth) if self.terms else self.of_counts(depth)

    def pair(self, operators: list[str], depth: int) -> str:
        """Return a formula with two operands."""
        return f"({self.formula(depth - 1)}) {self.rng.choice(operators)} ({self.formula(depth - 1)})"

    def atom(self) -> str:
        """Return a formula without operators."""
        drawn = self.rng.random()
        if drawn < 0.12 and self.lets:
            return self.rng.choice(self.lets)
        if drawn < 0.65:
            return self.rng.choice(self.names)
        if drawn < 0.8:
            return self.rng.choice(["first", "first", "last" if self.future else "true", "true", "false"])
        return self.rng.choice([*BUILT_IN, *OWN] if self.future else BUILT_IN)

    # ---- terms ----

    def count(self, depth: int) -> str:
        """Return the number of positions at which a formula is true. Without `terms` it is not that of all positions,
        which the checker of the library does not always recognise as a number of i and n."""
        side = self.rng.choice(["#L", "#R", "#"]) if self.future else "#L"
        counted = self.formula(min(depth - 1, 2))
        while counted == "true" and not self.terms:
            counted = self.formula(min(depth - 1, 2))
        return f"{side}[{counted}]"

    def of_counts(self, depth: int) -> str:
        """Return a comparison of counts, or a predicate of one."""
        counts = [self.count(1) for _ in range(2)]
        operator = self.rng.choice(["<", "<=", "=", "!=", ">=", ">"])
        drawn = self.rng.random()
        if drawn < 0.5:
            left = self.rng.choice([counts[0], f"2*{counts[0]}", f"{counts[0]} + 1"])
            return f"({left} {operator} {counts[1]})"
        if drawn < 0.65:
            return f"({counts[0]} {operator} {self.rng.choice([0, 1, 2, 3])})"
        return self.rng.choice(
            [f"ODD({counts[0]})", f"({counts[0]} mod 3 = 1)", f"PRIME({counts[0]})", f"SQUARE({counts[0]})"]
        )

    def term(self, depth: int) -> str:
        """Return a sum of numbers, counts, the position and the length, with factors."""
        parts = []
        for _ in range(self.rng.choice([1, 2, 2, 3])):
            what = self.rng.choice(["pos", "len", self.count(depth), self.count(depth)])
            factor = self.rng.choice(["", "", "2*", "-", "3*"])
            parts.append(self.rng.choice([f"{factor}{what}", str(self.rng.randrange(6))]))
        return "".join(
            f"{'' if not number else self.rng.choice([' + ', ' - '])}{f'({part})' if part[0] == '-' else part}"
            for number, part in enumerate(parts)
        )

    def of_terms(self, depth: int) -> str:
        """Return a comparison, a congruence or a predicate of terms, whose values may be 0 or negative."""
        one, other = self.term(depth), self.term(depth)
        drawn = self.rng.random()
        if drawn < 0.4:
            return f"({one} {self.rng.choice(['<', '<=', '=', '!=', '>=', '>'])} {other})"
        if drawn < 0.55:
            modulus = self.rng.choice([1, 2, 3, 4])
            return f"(({one}) mod {modulus} = {self.rng.randrange(modulus)})"
        name = self.rng.choice([*BUILT_IN, *OWN, "DIVIDES"])
        return f"{name[:-1]}, {one})" if name.endswith(")") else f"{name}({one})"


def random_formula(rng: Random, depth: int, future: bool = True, terms: bool = False) -> str:
    """Return the text of a random formula file."""
    return FormulaDraw(rng, future, terms).text(depth)
