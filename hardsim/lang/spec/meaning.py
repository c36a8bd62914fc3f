"""The meaning of a specification for a given network: which outputs are expected on which words.

The alphabet of words, the positions at which the network is judged (its outputs are compared with the expected ones)
and the kind of decision must be known before the formulas of a specification can be parsed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field

from hardsim.errors import SourceError, Span, did_you_mean
from hardsim.lang.ast import FormulaFile, Node, Sort, SraspProgram
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.files import FileLine
from hardsim.lang.ltl_parser import Scope, formula_in, scope_over, term_in
from hardsim.lang.regex.construct import automaton_of
from hardsim.lang.regex.notation import notation_of
from hardsim.lang.regex.regex_parser import mistakable, read_expression, regex_tokens
from hardsim.lang.spec.domain import extensions_of, first_in, leading, prefixes_of
from hardsim.lang.spec.layout import ACCEPT, FILE, FORM, LANGUAGE, OUTPUT, VALUE, SpecLayout
from hardsim.lang.spec.oracle import (
    Decide,
    ExpectedColumn,
    FormulaTruth,
    InLanguage,
    JudgedAt,
    Lines,
    Matches,
    Negated,
    NextSymbols,
    Value,
    Vector,
)
from hardsim.lang.valuations import Alphabet, is_sets, listed, same_symbols
from hardsim.lazy_dataclass import dataclass

END = "<eos>"
"""The output that stands for the end of a word: it is allowed next where a word of the language is complete. A network
without it is judged by the symbols alone."""
NOTHING = "no output would be checked"
_PATH = re.compile(r"[^\s@]+\.(ltl|cr|srasp|re|dot|gv|jff)")
"""The path of a file that can be a reference."""
_OF_EXPRESSIONS = re.compile(r"[*+?\[]")


@dataclass(frozen=True)
class Demands:
    """The expected outputs of a specification (`oracle`), and the words that have any. `domain` is the language of
    those words if it is known and regular, else None; `shortest` is 0 if the empty word has an expected output too,
    else 1."""

    oracle: Lines | NextSymbols
    domain: Automaton | None
    shortest: int


@dataclass(frozen=True)
class Question:
    """A specification together with the facts needed to understand it. `alphabet`: the symbols of words; `at`: the
    positions at which the network is judged; `decide`: how an output is read from the network; `outputs`: the names of
    its outputs; `before`: True if the network reads a token before words; `causal`: True if the output at a position
    depends on nothing after it."""

    layout: SpecLayout
    program: SraspProgram | None
    alphabet: Alphabet
    at: JudgedAt
    decide: Decide
    outputs: Sequence[str]
    before: bool
    causal: bool = False
    among: Sequence[str] = ()
    """The outputs that take part in an argmax."""
    files: Mapping[str, ExpectedColumn] = field(default_factory=dict)
    """The columns of lines that name a file, by their text (`@FILE`)."""

    def demands(self) -> Demands:
        """Return all that the specification demands. Raises SourceError at the first mistake or contradiction."""
        line = self.layout.header("next")
        return self._lines() if line is None else self._next(line)

    # ---- next ----

    def _next(self, line: FileLine) -> Demands:
        layout, outputs = self.layout, self.outputs
        region = _region(self.layout, line)
        if self.decide == "value":
            message = "next: states which tokens may come next, but decide: value compares numbers"
            raise layout.error(line.at, message, "decide: above X or decide: argmax")
        if END in self.alphabet:
            hint = "list the symbols of words: alphabet: " + listed([one for one in self.alphabet if one[:1] != "<"])
            place = layout.header("alphabet") or line
            raise layout.error(place.at, f"{END} stands for the end of a word, and cannot be a symbol", "", hint)
        missing = next((one for one in self.alphabet if one not in outputs), None)
        if missing is not None:
            message = f"the network has no output {missing}, which may come next"
            raise layout.error(line.at, message, f"outputs for {listed(self.alphabet)}")
        automaton, end = self._automaton(region), END if END in outputs else None
        prefixes, empty = prefixes_of(automaton), self.before and self.at != "first"
        if not prefixes.accepting:
            raise layout.error(line.body, f"no word matches, so {NOTHING}", "an expression that a word matches")
        if prefixes.empty and not empty:
            message = f"only the empty word matches, and the network reads nothing before words, so {NOTHING}"
            raise layout.error(line.body, message, "an expression that a word matches")
        if end is None and not _goes_on(automaton):
            message = f"after some word no symbol may come next, and the network has no output {END}"
            hint = f"an expression such as /(ab)*/, whose words all have longer ones; or a token {END} in tokens:"
            raise layout.error(line.body, message, hint)
        return Demands(NextSymbols(automaton, self.at, end, empty, self.causal), prefixes, 0 if empty else 1)

    def _automaton(self, region: Span) -> Automaton:
        tokens = regex_tokens(self.layout, region, self.alphabet, notation_of(self.layout))
        return automaton_of(self.layout, read_expression(self.layout, tokens, region), self.alphabet)

    # ---- lines ----

    def _lines(self) -> Demands:
        scope = _scope(self.layout, self.alphabet)
        assume, domain = self._assume(scope)
        named = self.layout.outputs or self.layout.values
        self._require_decided()
        found: list[tuple[str | None, ExpectedColumn]] = [(line.name, self._column(scope, line)) for line in named]
        places = [line.body for line in named]
        line = self.layout.header(LANGUAGE)
        if line is not None:
            if self.decide == "value":
                message = f"{LANGUAGE}: says which words are accepted, but decide: value compares numbers"
                raise self.layout.error(line.at, message, "decide: above X or decide: argmax")
            found = self._language(line, self._column(scope, line))
        line = self.layout.header("program")
        if line is not None and self.program is not None:
            if not found:
                found, places = [(None, self._own(line, self.program))], [line.body]
            elif not any(isinstance(column, Vector) for _, column in found):
                message = "no line names a vector of this program, so the program has no effect"
                raise self.layout.error(line.body, message, f"output NAME: {self.program.output}, say, or no program:")
        # with a single output the expected value is given without a name
        single = len(self.outputs) == 1 and len(found) == 1 and self.decide != "argmax"
        lines = ((None, found[0][1]),) if single else tuple(found)
        cited = tuple((self.layout.source, place) for place in places)
        return Demands(Lines(self.at, self.decide, assume, lines, cited), domain, 1)

    def _language(self, line: FileLine, column: ExpectedColumn) -> list[tuple[str | None, ExpectedColumn]]:
        """Return what is expected of each output of a network that should accept the words of a language."""
        layout, accept = self.layout, self.layout.header(ACCEPT)
        outputs = self.among if self.decide == "argmax" else self.outputs
        yes = self._accepting(outputs) if accept is None else accept.text
        if yes not in outputs:
            place, known = (line.at, "") if accept is None else (accept.body, did_you_mean(yes, outputs))
            message = f"the network has no output {yes}" if yes else "it is not known which output says yes"
            raise layout.error(place, message, f"a line {ACCEPT}: with one of {listed(outputs)}", known)
        if self.decide != "argmax":
            return [(yes, column)]
        if len(outputs) != 2:
            message = f"{len(outputs)} outputs compete, and no line says which of them rejects a word"
            hint = f"write a line {FORM[OUTPUT]} for each, or name two: decide: argmax of {yes} OTHER"
            raise layout.error(line.at, message, f"two outputs, of which {yes} accepts", hint)
        (no,) = (name for name in outputs if name != yes)
        return [(yes, column), (no, Negated(column))]

    def _accepting(self, outputs: Sequence[str]) -> str:
        """Return the output that says that a word is accepted, as its name says; "" if no name says it."""
        return outputs[0] if len(outputs) == 1 else accepting_name(outputs) or ""

    def _assume(self, scope: Scope) -> tuple[ExpectedColumn | None, Automaton | None]:
        """Return the condition for a position to have an expected output, and the language of the words with such a
        position; None for a condition that always holds and for an unknown language."""
        line, own = self.layout.header("assume"), self.program
        if line is None and own is not None and own.assume and not (self.layout.outputs or self.layout.values):
            return Vector(own, own.assume), None
        if line is None:
            return None, None
        if self.program is not None and line.text in self.program.vectors:
            return self._vector(scope, line, self.program, (Sort.BOOL,)), None
        if not line.text.startswith("/"):
            return FormulaTruth(self._file(scope, _formula(self.layout, scope, line, self.alphabet))), None
        automaton = self._automaton(_region(self.layout, line))
        domain = automaton if self.at == "last" else (first_in if self.at == "first" else extensions_of)(automaton)
        if domain.empty:
            message = "no position of any word would be checked"
            raise self.layout.error(line.body, message, "an expression that a word matches")
        return Matches(automaton), domain

    def _require_decided(self) -> None:
        """Raise SourceError if a line is about truth values and the decision about numbers, or the reverse."""
        layout, numbers = self.layout, self.decide == "value"
        wrong = layout.outputs if numbers else layout.values
        if wrong:
            kind, message = (OUTPUT, "numbers") if numbers else (VALUE, "truth values")
            other = (
                f"decide: above 0, or {FORM[VALUE]}" if numbers else f"decide: value within 1/100, or {FORM[OUTPUT]}"
            )
            reason = f"a line {kind} does not fit decide: {self.decide}, which compares {message}"
            raise layout.error(wrong[0].at, reason, other)

    def _column(self, scope: Scope, line: FileLine) -> ExpectedColumn:
        """Return what a line expects of its output: a vector of the program, or a formula or a term."""
        program, numbers = self.program, self.decide == "value"
        if not line.text:
            expected = "a term" if numbers else f"a formula, /EXPRESSION/ or {FILE}FILE"
            raise self.layout.error(line.body, "this line is not complete", expected)
        if line.text.startswith("/") and not numbers:
            return InLanguage(self._automaton(_region(self.layout, line)))
        if line.text.startswith(FILE) and line.text in self.files:
            return self.files[line.text]
        if program is not None and line.text in program.vectors:
            return self._vector(scope, line, program, (Sort.INT, Sort.RATIONAL) if numbers else (Sort.BOOL,))
        if numbers:
            return Value(self._file(scope, term_in(scope, line.body)))
        return FormulaTruth(self._file(scope, _formula(self.layout, scope, line, self.alphabet)))

    def _vector(self, scope: Scope, line: FileLine, program: SraspProgram, sorts: Sequence[Sort]) -> Vector:
        """Return the vector of the program that a line names."""
        if line.text in scope.symbols:
            message = f"{line.text} is both a vector of the program and a symbol of the alphabet"
            raise self.layout.error(line.body, message, "", f"the symbol is written '{line.text}'; rename the vector")
        self._require_sort(line, program, line.text, sorts)
        return Vector(program, line.text)

    def _own(self, line: FileLine, program: SraspProgram) -> ExpectedColumn:
        """Return the output vector of the program, for a specification in which no line assigns vectors to outputs."""
        if self.decide != "argmax" and len(self.outputs) != 1:
            message = f"the network has {len(self.outputs)} outputs, and the program has one"
            key = VALUE if self.decide == "value" else OUTPUT
            hint = f"choose one in a specification (a .spec file), with a line {key} NAME: {program.output}"
            hint += f" (the outputs are {listed(self.outputs)})"
            raise self.layout.error(line.body, message, "", hint)
        winners = (Sort.SYMBOL, Sort.INT) + (Sort.BOOL,) * ({"True", "False"} <= {*self.outputs})
        sorts = {"above": (Sort.BOOL,), "argmax": winners, "value": (Sort.INT, Sort.RATIONAL)}
        name = program.output
        if self.decide == "value" and program.vectors[name].sort is not Sort.INT:
            # a network trained on a mean returns the mean, not the Boolean computed from it
            name = self._mean(line, program) or name
        self._require_sort(line, program, name, sorts[self.decide])
        return Vector(program, name)

    def _mean(self, line: FileLine, program: SraspProgram) -> str | None:
        """Return the name of the mean from which the output of a program is computed: that mean is the expected number.
        None if the output needs no mean."""
        needed = program.needed(program.output)
        means = [one.name for one in program.statements if one.sort is Sort.RATIONAL and one.name in needed]
        if len(means) > 1:
            message = f"the output {program.output} needs the means {listed(means)}, and the network returns one number"
            hint = f"choose one in a specification (a .spec file), with a line {VALUE} {self.outputs[0]}: {means[0]}"
            raise self.layout.error(line.body, message, "", hint)
        return means[0] if means else None

    def _require_sort(self, line: FileLine, program: SraspProgram, name: str, sorts: Sequence[Sort]) -> None:
        sort = program.vectors[name].sort
        if sort not in sorts:
            message = f"{name} is a vector of {sort.value} values, which does not fit decide: {self.decide}"
            expected = " or ".join(one.value for one in sorts)
            raise self.layout.error(line.body, message, f"{expected} values")

    def _file(self, scope: Scope, node: Node) -> FormulaFile:
        return FormulaFile(self.alphabet, node, source=scope.source)


def _goes_on(automaton: Automaton) -> bool:
    """Return True if every prefix of a word of a language is a proper prefix of another one."""
    live = leading(automaton)
    return all(live.intersection(automaton.moves[state]) for state in live)


ACCEPTING = frozenset({"accept", "accepted", "accepts", "true", "yes", "positive", "valid", "good", "in"})
"""The names of outputs, in lower case, that say that a word is accepted."""


def accepting_name(outputs: Sequence[str]) -> str | None:
    """Return the only output whose name says that a word is accepted; None if no name or several say it."""
    found = [name for name in outputs if name.lower() in ACCEPTING]
    return found[0] if len(found) == 1 else None


def remarks(layout: SpecLayout, program: SraspProgram | None, alphabet: Alphabet) -> tuple[str, ...]:
    """Return notes on lines of a specification that have a second reading. Raises SourceError with the place of a
    mistake."""
    notes, scope = list[str](), _scope(layout, alphabet)
    whole = layout.header("next")
    for line in filter(None, (whole, layout.header("assume"), layout.header(LANGUAGE), *layout.outputs)):
        if line is whole or line.text.startswith("/"):
            tokens = regex_tokens(layout, _region(layout, line), alphabet, notation_of(layout))
            notes += mistakable(layout, tokens, alphabet)
    assumed = layout.header("assume")
    for line in filter(None, (assumed, layout.header(LANGUAGE), *layout.outputs)):
        known = program is not None and line.text in program.vectors
        if not known and not line.text.startswith(("/", FILE)):
            # only to raise errors, and to collect notes in the scope
            _formula(layout, scope, line, alphabet)
    return (*notes, *scope.notes)


def _formula(layout: SpecLayout, scope: Scope, line: FileLine, alphabet: Alphabet) -> Node:
    """Return the formula of a line. Raises SourceError, with the way to write the path of a file or a regular
    expression if the line looks like one."""
    try:
        return formula_in(scope, line.body)
    except SourceError as error:
        name = line.name if line not in layout.outputs else f"{OUTPUT} {line.name}"
        if _PATH.fullmatch(line.text):
            hint = f"a file stands after {FILE}: {name}: {FILE}{line.text}"
        elif line.name != "assume" and _is_expression(layout, line, alphabet):
            hint = f"a regular expression stands between slashes: {name}: /{line.text}/"
        else:
            raise
        raise layout.error(error.span, error.message, error.expected, hint) from None


def _is_expression(layout: SpecLayout, line: FileLine, alphabet: Alphabet) -> bool:
    """Return True if the text of a line is a regular expression over the symbols of words, with a sign that formulas do
    not have there."""
    if not _OF_EXPRESSIONS.search(line.text):
        return False
    try:
        read_expression(layout, regex_tokens(layout, line.body, alphabet, notation_of(layout)), line.body)
    except SourceError:
        return False
    return True


def _region(layout: SpecLayout, line: FileLine) -> Span:
    """Return the place of a regular expression between slashes, without them. Raises SourceError if the slashes are
    missing or nothing is between them."""
    text, body = line.text, line.body
    if not text:
        raise layout.error(body, "this line is not complete", "/EXPRESSION/")
    if len(text) < 2 or not (text.startswith("/") and text.endswith("/")):
        hint = "write a regular expression between slashes, and nothing after it"
        raise layout.error(body, f"{line.name}: is not followed by a regular expression", "such as /(ab)*/", hint)
    region = Span(body.start + 1, body.end - 1)
    if not layout.written(region).strip():
        raise layout.error(body, "nothing is between the slashes", "", "the empty word is written ()")
    return region


def _scope(layout: SpecLayout, alphabet: Alphabet) -> Scope:
    scope = scope_over(layout.source, alphabet)
    scope.part = True
    return scope


def require_program(layout: SpecLayout, program: SraspProgram, alphabet: Alphabet) -> None:
    """Raise SourceError, with both alphabets, unless a program has the same symbols as the words of the network."""
    line = layout.header("program")
    assert line is not None  # it names the program
    if is_sets(alphabet) or not same_symbols(alphabet, program.alphabet):
        message = f"the program has the symbols {listed(program.alphabet)}, and words here have {listed(alphabet)}"
        raise layout.error(line.body, message, "", "give both the same symbols; their order does not matter")
