"""The checker of certificates of programs: softmax answers as hard attention does, with the same weights.

With hard attention each head takes the mean over the visible keys with the largest score (average hardmax). The claim
does not say that hard attention is what somebody wants. A certificate holds the network by names of coordinates, and
claims about it: spans of coordinates, of the values that heads read, and of inputs and outputs of hidden units, at each
place (`spans`, and `shares` for means over tied keys), and the form of the scores of each head (`rows`). Layer by layer
it is checked that each claim follows from the ones before. From these facts the error recursion (`decay`) shows that
softmax gives the same answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import chain
from typing import Any

from hardsim.verify.arithmetic import MINUTE, Costs, Rational, Rejected, bits, effort, exact, require
from hardsim.verify.decay import Between, Ends, HeadLaw, Induction, Law, LayerLaw, Recursion, UnitLaw
from hardsim.verify.exponentials import cutoff_of
from hardsim.verify.expressions import expression, inverse_of
from hardsim.verify.program_sections import CHECKED, MOST_POSITIONS
from hardsim.verify.ratios import Ratio, Value, charged, of
from hardsim.verify.rows import Head, Row, ScoreRows, as_key
from hardsim.verify.sections import size
from hardsim.verify.shares import Parts, ShareSigns, share_of
from hardsim.verify.spans import (
    HALF,
    ZERO,
    Denominator,
    DenominatorName,
    Form,
    Functions,
    IsolatedZero,
    NumberSpan,
    Place,
    Share,
    Sights,
    VisibleKeys,
    World,
    ends_of,
    has,
    nearest,
)
from hardsim.verify.types import Picks, TypedColumns, TypedRows


class ProgramChecker(ShareSigns):
    """The check of a program's certificate of version 4; the constructor raises Rejected unless it proves the claim."""

    parting: set[str]
    """Heads for which tied keys are not known to carry one value, so that hard attention means the mean over them."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.parting = set()
        for key, form in CHECKED.items():
            form(document.get(key), key)
        facts, self.model = document["facts"], document["model"]
        self._lengths(document)
        # Real ones take some 50 steps for each value, and one or two more at each position of a length.
        values = size(facts)
        Costs.__init__(self, 20 * (values + size(self.model)) + values * sum(self.lengths), (), MINUTE)
        self._signs, self._multiples = {}, {}
        self.functions = Functions(self)
        # All operations on functions are charged from here on.
        with charged(self.charge):
            self._prove(facts)

    def _prove(self, facts: dict[str, Any]) -> None:
        self.texts = facts["functions"]
        self.known = [self.functions.read(part) for part in self.texts]
        self._model()
        self._sized()
        self.denominator_names = [self.denominator_name(name) for name in facts["counts"]]
        self.spans = [self._span(*parts) for parts in facts["spans"]]
        if 1 in self.lengths:
            self._world(False, facts["one"], [1], None)
        # Length 1 has its own claims, since its only position is the first and the last.
        rest = [n for n in self.lengths if n > 1]
        if rest or self.start is not None:
            self._world(True, facts["more"], rest, self.start)

    def _lengths(self, document: dict[str, Any]) -> None:
        self.lengths, self.start = document["lengths"], document["start"]
        fine = self.lengths == sorted({*self.lengths}) and (self.lengths or self.start is not None)
        message = f"lengths: these should be different lengths from 1 to {MOST_POSITIONS}, in ascending order"
        require(fine and all(0 < n <= MOST_POSITIONS for n in self.lengths), message)
        reason = f"start: this should be null or a length from 2 to {MOST_POSITIONS}"
        require(self.start is None or 2 <= self.start <= MOST_POSITIONS, reason)
        given = document["temperature"]
        message = "temperature: this should be an expression or, if start is null, a list with one for each length"
        require(type(given) is str or (self.start is None and len(given) == len(self.lengths)), message)
        self.temperatures = dict(zip(self.lengths, given, strict=True)) if type(given) is list else given

    def _sized(self) -> None:
        """Set the cost of steps from here on: that of the largest numbers in functions and weights."""
        sizes = [part.bits for number in map(of, self.known) for part in (number.top, *number.factors)]
        sizes += map(bits, chain(*self.embedding.values()))
        for heads, units, biases in self.layers:
            rows = [row for head in heads for row in (*chain(*head.pairs), *head.values.values())]
            rows += [biases, *(row for _, bias, form, outs in units for row in ({"": bias}, form, outs))]
            sizes += [bits(value) for row in rows for value in row.values()]
        self.unit = effort(2 * max(sizes, default=0)) >> 1

    def _function(self, number: int) -> Value:
        require(0 <= number < len(self.known), "facts: a number of a function is not in facts.functions")
        return self.known[number]

    def _span(
        self, low: int, high: int, offset: int, step: int | None, most: int | None, share: Any, isolated: Any
    ) -> NumberSpan:
        ends = self._function(low), self._function(high), self._function(offset)
        lattice, inverse = (None if part is None else self._function(part) for part in (step, most))
        own: Share | None = None
        zeros = list[IsolatedZero]()
        if share is not None:
            some = (Denominator(self._name(name), self._function(bound), power) for name, bound, power in share[2])
            own = Share(self._function(share[0]), self._function(share[1]), tuple(some))
        for base, sign, apart in isolated:
            fine = sign in (-1, 0, 1) and bool(sign) == bool(apart)
            require(fine, "facts: an isolated zero needs both a sign and distances, or neither")
            zeros.append(IsolatedZero(self._function(base), sign, tuple(map(self._function, apart))))
        return NumberSpan(*ends, lattice, inverse, own, tuple(zeros))

    def _name(self, number: int) -> DenominatorName:
        require(0 <= number < len(self.denominator_names), "facts: a number of a count is not in facts.counts")
        return self.denominator_names[number]

    def _inverse(self, n: int) -> Callable[[int], Between]:
        """Return a function from a position of this length to a lower and an upper bound of 1/tau."""
        given = self.temperatures if isinstance(self.temperatures, str) else self.temperatures[n]
        what = expression(given, "in", functions=True)
        require(not what.truth, "the temperature is a truth value, not a number")

        @cache
        def inverse(i: int) -> Between:
            found = inverse_of(what, self.spend, i=i, n=n)
            if found is None:
                raise Rejected(f"the temperature is not positive at length {n}")
            least, stretch = found
            return least, least * stretch

        if "i" in what.names:
            # Everywhere, also where no head depends on it: the claim names this temperature.
            for i in range(0 if self.model["bos"] else 1, n + 1):
                inverse(i)
            return inverse
        same = inverse(1)
        return lambda i: same

    # ---- the network ----

    def _model(self) -> None:
        model = self.model
        require(len({*model["alphabet"]}) == len(model["alphabet"]), "model.alphabet: symbols must differ")
        columns = len(model["alphabet"]) + model["bos"]
        self.embedding = {name: exact(values) for name, values in model["embedding"].items()}
        fine = all(len(values) == columns for values in self.embedding.values())
        require(fine, "model.embedding: one value is needed for each symbol, and for the beginning of the sequence")
        self.layers = []
        used, written = list[str](), [*self.embedding, *model["encodings"]]
        for layer in model["layers"]:
            heads, units = [], []
            for head in layer["heads"]:
                same = len(head["query"]) == len(head["key"])
                require(same, f"head {head['name']}: query and key have different dimensions")
                pairs = tuple(zip(exact(head["query"]), exact(head["key"]), strict=True))
                heads.append(Head(head["name"], head["mask"], pairs, exact(head["values"])))
                used += chain(*chain(*pairs), *heads[-1].values.values())
                written += heads[-1].values
            for unit in layer["units"]:
                units.append((unit["clip"], *(exact(unit[key]) for key in ("bias", "form", "outs"))))
                used += unit["form"]
                written += unit["outs"]
            biases = exact(layer["biases"])
            written += biases
            self.layers.append((heads, units, biases))
        every = [head for heads, _, _ in self.layers for head in heads]
        self.masks, self.like = {head.name: head.mask for head in every}, {}
        require(len(self.masks) == len(every), "model: names of heads must differ")
        for heads, _, _ in self.layers:
            for head in heads:
                # Heads with equal scores have equal rows, so their counts of tied keys are one number.
                self.like[head.name] = next(one.name for one in heads if one.scores == head.scores)
        self.coordinates = tuple(dict.fromkeys(written))
        require({*used, *model["outputs"]} <= {*written}, "model: it reads a coordinate that nothing writes")
        self.threshold = None if model["threshold"] is None else Fraction(model["threshold"])
        require(not model["integers"] or model["read"] == "every", "model: integers are read at every position")
        require(not model["integers"] or model["threshold"] is None, "model: integers have no threshold")

    # ---- what is claimed ----

    def _claimed(self, numbers: Sequence[int], what: str) -> dict[int, NumberSpan]:
        """Return the claimed spans with these numbers, by order of the place."""
        require(len(numbers) == len(self.world.places), f"facts: {what} needs a span for each place")
        pairs = zip(self.world.places, numbers, strict=True)
        return {place.order: self._claim(number, what, place) for place, number in pairs}

    def _claim(self, number: int, what: str, place: Place) -> NumberSpan:
        """Return the claimed span with this number, checked at a place. `what` names it in messages. Raises Rejected if
        there is no such span, a function of it may have no value there, or a count has too small a bound."""
        require(0 <= number < len(self.spans), f"facts: {what} names a span that is not in facts.spans")
        span = self.spans[number]
        self._values(span.functions, what, place)
        require(self.counted(span, place), f"facts: {what} has counts that may exceed their claimed bounds {place}")
        return span

    def _values(self, functions: Iterable[Value], what: str, place: Place) -> None:
        """Require that each function has a value at every position of a place. Raises Rejected if one may have none."""
        for part in functions:
            fine = not has(part, 2) and (place.several or not has(part, 0))
            fine = fine and (self.longer or not isinstance(part, Ratio))
            require(fine and self.functions.defined(part, [place.domain]), f"facts: {what} may have no value {place}")

    def _world(self, longer: bool, claims: Any, lengths: Sequence[int], start: int | None) -> None:
        require(claims is not None, "facts: no claims about some of the lengths")
        self.world, self.longer = World(self.model["bos"], longer), longer
        self.alike, self.constant, self._bounds = set(), set[str](), {}
        self.picks = dict[str, dict[int, Picks]]()
        self.columns = self._input(claims["input"])
        self.types = TypedColumns(self, self.world)
        self.types.input(self.embedding, self.encoded, self.columns)
        require(len(claims["layers"]) == len(self.layers), "facts: each layer needs claims")
        layers = tuple(self._layer(*layer, claim) for layer, claim in zip(self.layers, claims["layers"], strict=True))
        outputs = tuple(self.model["outputs"])
        exactly_so = self.threshold is None and not self.model["integers"]
        distances = self._distances(claims["answers"])
        cutoff = cutoff_of(self.model.get("weighting"))
        facts = Law(self.world.places, self.coordinates, layers, outputs, distances, exactly_so, cutoff)
        for n in lengths:
            Recursion(self, facts, n, self._inverse(n)).run()
        if start is not None:
            assert isinstance(self.temperatures, str)
            hotter, colder = (self.functions.of_length(self.temperatures, side) for side in (1, -1))
            slower = self.functions.in_logarithms(self.temperatures)
            Induction(
                self, facts, start, of(1) / hotter, of(1) / colder, None if slower is None else of(1) / slower
            ).run()

    def _input(self, claims: Mapping[str, Sequence[int]]) -> dict[str, dict[int, NumberSpan]]:
        require(claims.keys() == {*self.coordinates}, "facts: input needs spans for all coordinates")
        found: dict[str, dict[int, NumberSpan]] = {}
        self.encoded = {name: dict[int, NumberSpan]() for name in self.model["encodings"]}
        for name in self.coordinates:
            found[name] = self._claimed(claims[name], f"input of '{name}'")
            values = self.embedding.get(name, [])
            for place in self.world.places:
                encoding = self.model["encodings"].get(name)
                added = ZERO if encoding is None else self.functions.encoding(encoding, place)
                if encoding is not None:
                    self.encoded[name][place.order] = added
                # The beginning of the sequence has the last value, every other place one value for each symbol.
                some = dict.fromkeys((values[-1:] if not place.order else values[: len(self.model["alphabet"])]) or [0])
                for value in some:
                    fine = self.sums_to([(1, added)], value, found[name][place.order], place.domain)
                    require(fine, f"facts: the input of '{name}' is not known to be in its claimed span {place}")
        for name, column in found.items():
            first, *rest = column.values()
            if (
                first.exact
                and not has(first.offset, 0)
                and all(one.exact and one.offset == first.offset for one in rest)
            ):
                # Equal at all positions: a head without a mask whose query reads only such coordinates has equal rows.
                self.constant.add(name)
        return found

    def _layer(
        self, heads: Sequence[Head], units: Sequence[Any], biases: Mapping[str, Rational], claims: Any
    ) -> LayerLaw:
        require(claims["heads"].keys() == {head.name for head in heads}, "facts: each head needs claims")
        require(len(claims["units"]) == len(units), "facts: each hidden unit needs claims")
        parts: dict[str, list[tuple[Rational, dict[int, NumberSpan]]]] = {}
        found = list[HeadLaw]()
        own_reads = dict[str, dict[str, dict[int, NumberSpan]]]()
        for head in heads:
            facts, reads = self._head(head, claims["heads"][head.name])
            found.append(facts)
            own_reads[head.name] = reads
            for out, read in reads.items():
                parts.setdefault(out, []).append((1, read))
        self._written(claims["attended"], parts, {}, "attended")
        self.types.heads(heads, self.picks, own_reads, self.columns)
        own, parts, given = list[UnitLaw](), {}, list[dict[int, NumberSpan]]()
        for (clip, bias, form, outs), claim in zip(units, claims["units"], strict=True):
            before, after = (self._claimed(spans, f"a unit of {sorted(outs)!a}") for spans in claim)
            for place in self.world.places:
                here, message = place.order, f"of {sorted(outs)!a} is not known to be in its claimed span {place}"
                inputs = [(factor, self.columns[name][here]) for name, factor in form.items()]
                require(self.sums_to(inputs, bias, before[here], place.domain), f"facts: the input of a unit {message}")
                fine = self.active(before[here], after[here], clip, place.domain)
                require(fine, f"facts: the output of a unit {message}")
            margins = {p.order: self.margin(before[p.order], clip, p.domain) for p in self.world.places}
            own.append(UnitLaw(clip, form, outs, margins, {order: span.high for order, span in before.items()}))
            given.append(after)
            for out, weight in outs.items():
                parts.setdefault(out, []).append((weight, after))
        self.constant = self._still_constant(heads, units)
        self._written(claims["final"], parts, biases, "final")
        self.types.units(units, given, biases, self.columns)
        return LayerLaw(tuple(found), tuple(own))

    def _written(
        self,
        claims: Mapping[str, Sequence[int]],
        parts: Mapping[str, list[tuple[Rational, dict[int, NumberSpan]]]],
        biases: Mapping[str, Rational],
        what: str,
    ) -> None:
        """Require that the sums of coordinates and additions lie in the claimed spans, and continue with these
        spans."""
        message = f"facts: {what} needs spans for exactly the coordinates that are written there"
        require(claims.keys() == {*parts, *biases}, message)
        for name, numbers in claims.items():
            claimed = self._claimed(numbers, f"{what} of '{name}'")
            for place in self.world.places:
                added = [(factor, spans[place.order]) for factor, spans in parts.get(name, [])]
                terms = [(1, self.columns[name][place.order]), *added]
                fine = self.sums_to(terms, biases.get(name, 0), claimed[place.order], place.domain)
                require(fine, f"facts: '{name}' is not known to be in its claimed span {place} ({what})")
            self.columns = {**self.columns, name: claimed}

    # ---- heads ----

    def _extent(self, form: Form) -> Ends:
        """Return the ends of a linear form, by order of the place."""
        low: dict[int, Value] = {}
        high: dict[int, Value] = {}
        for place in self.world.places:
            terms = [(factor, self.columns[name][place.order]) for name, factor in form.items()]
            low[place.order], high[place.order] = ends_of(terms)
        return low, high

    def _head(self, head: Head, claim: Any) -> tuple[HeadLaw, dict[str, dict[int, NumberSpan]]]:
        require(claim["reads"].keys() == head.values.keys(), f"facts: head {head.name} needs spans of what it reads")
        rows: dict[int, Row] = {}
        readers: dict[int, ScoreRows] = {}
        if self._asks_alike(head):
            self.alike.add(self.like[head.name])
        reason = f"facts: head {head.name} needs rows"
        require(len(claim["rows"]) == (0 if head.uniform else len(self.world.places)), reason)
        picks: dict[int, Picks] = {}
        for place, message in zip(self.world.places, claim["rows"], strict=False):
            reader = readers[place.order] = ScoreRows(self, self.world, head, place, self.columns)
            types = TypedRows(self.types, head.mask, head.pairs, place)
            facts = rows[place.order] = self._row(head, place, message, reader, types)
            # One key has the largest score, or all that do carry one value: then the head reads the value of one key.
            outs = [out for out, form in head.values.items() if facts.unique or types.agrees(form)]
            picks[place.order] = facts.winners if facts.unique else (), frozenset(outs)
        self.picks[head.name] = picks
        if head.uniform:
            types_at = (TypedRows(self.types, head.mask, (), place) for place in self.world.places)
            alone = all(types.agrees(form) for types in types_at for form in head.values.values())
        else:
            alone = all(outs == head.values.keys() for _, outs in picks.values())
        self.parting |= set() if alone else {head.name}
        sizes = tuple((self._extent(query), self._extent(key)) for query, key in head.pairs)
        values, reads = {}, {}
        for out, form in head.values.items():
            values[out] = self._extent(form)
            reads[out] = self._claimed(claim["reads"][out], f"what head {head.name} reads")
            for place in self.world.places:
                own, claimed = rows.get(place.order), reads[out][place.order]
                fine = self._reads(head, form, place, own, claimed, readers)
                if not fine and own is not None and out in picks[place.order][1]:  # what one key has
                    fine = self._reads(head, form, place, replace(own, unique=True, equal=False), claimed, readers)
                require(
                    fine,
                    f"facts: the values that head {head.name} reads are not known to be in their claimed span {place}",
                )
        return HeadLaw(head, rows, sizes, values), reads

    def _row(self, head: Head, place: Place, message: Any, reader: ScoreRows, types: TypedRows) -> Row:
        """Return the facts about the rows of a head for queries at a place, by the rule that the certificate names."""
        if "product" in message:
            query, *lattice = message["product"]
            parts = [*map(self._function, lattice)]
            self._values(parts, f"the keys of head {head.name}", place)
            return reader.product(self._claim(query, f"the query of head {head.name}", place), *parts)
        if "kinds" in message:
            found = types.row()
            require(found is not None, f"head {head.name} has types whose scores are in no known order {place}")
            assert found is not None
            visible = self.world.count(place, head.mask)
            return Row(visible, found.gaps, found.unique, found.equal, found.winners, found.begins)
        inner = [None if rule is None else (rule[0], *map(self._function, rule[1:])) for rule in message["inner"]]
        require(len(inner) == len(message["groups"]), f"facts: head {head.name} needs a rule for each group")
        pairs = [(a, b, self._function(s), self._function(t), sign) for a, b, s, t, sign in message["pairs"]]
        for step, rest in [*(rule[1:] for rule in inner if rule is not None), *(pair[2:4] for pair in pairs)]:
            fine = not has(step, 2) and (place.several or not (has(step, 0) or has(rest, 0)))
            require(
                fine,
                f"facts: head {head.name} has a rule that depends on the key or the position, as it must not, {place}",
            )
        return reader.row(message["groups"], inner, pairs)

    def _reads(
        self,
        head: Head,
        form: Form,
        query: Place,
        facts: Row | None,
        claimed: NumberSpan,
        readers: Mapping[int, ScoreRows],
    ) -> bool:
        """Return True if the value that a head adds to a coordinate is known to lie in the claimed span, for queries at
        one place."""
        seen = self.world.seen(query, head.mask)
        require(seen, f"head {head.name} sees no key {query}")
        # The same keys have the largest score for every word.
        if facts is not None and facts.winners:
            some = [
                (factor / Fraction(len(facts.winners)), self.read_from(self.columns[name][order], order))
                for order in facts.winners
                for name, factor in form.items()
            ]
            return self.sums_to(some, 0, claimed, query.domain)
        count = self.world.count(query, head.mask)
        # Uniform: the mean over all visible keys.
        if facts is None or facts.equal:
            fine = self._mean(form, seen, query, count, claimed)
            return fine and self._tied(form, seen, query, claimed, None, count)
        # One key, but not known which.
        if facts.unique:
            some_at = [(self._read(self._terms(form, key), head.name), sight) for key, sight in seen]
            return claimed.most is None and all(
                self._contained(some, sight, claimed) and self.holds(some, 0, claimed, sight) for some, sight in some_at
            )
        # The mean over some keys, not known which.
        if not self._tied(form, seen, query, claimed, head, count):
            return False
        if claimed.most is not None:
            # 1 at the beginning of the sequence and 0 elsewhere: the mean over m keys with the beginning among them is
            # 1/m.
            bare = all(self._fixed(form, key) == int(not key.order) for key, _ in seen) and not seen[0][0].order
            ends = self.nonnegative(of(1) / count - claimed.low, [query.domain]) and claimed.high == 1
            return (
                bare
                and ends
                and claimed.step is None
                and claimed.most == count
                and (facts.begins or readers[query.order].begins())
            )
        return (claimed.step is None or claimed.exact) and all(
            self._contained(self._terms(form, key), sight, claimed) for key, sight in seen
        )

    def _asks_alike(self, head: Head) -> bool:
        """Return True if every position sees all keys, with the same query."""
        return head.mask == "none" and all(name in self.constant for query, _ in head.pairs for name in query)

    def _still_constant(self, heads: Sequence[Head], units: Sequence[Any]) -> set[str]:
        """Return the coordinates that are equal at all positions of a word after a layer: they were equal before, and
        everything that is added to them is equal at all positions."""
        varying = {out for head in heads if not self._asks_alike(head) for out in head.values}
        attended = self.constant - varying
        return attended - {out for _, _, form, outs in units if not form.keys() <= attended for out in outs}

    def _tied(
        self, form: Form, seen: Sights, query: Place, claimed: NumberSpan, head: Head | None, count: Value
    ) -> bool:
        """Return True if a mean has the share and the isolated zeros of the claimed span. The mean is over the largest
        keys of `head` or, if `head` is None, over all visible keys."""
        terms = [(self._terms(form, key), sight) for key, sight in seen]
        zeros = [(zero, *key) for zero in claimed.isolated for key in terms]
        if not all(self.isolates(some, 0, zero, sight, count) for zero, some, sight in zeros):
            return False
        share, terms = claimed.share, [(self._read(some, None), sight) for some, sight in terms]
        if share is None:
            return True
        if head is None:
            return self._mean_share(terms, count, share, query)
        own = (self.like[head.name],)
        others = (Denominator(name, most, power - (name == own)) for name, most, power in share.denominators)
        inner = Share(share.offset, share.step, tuple(one for one in others if one.power))
        return own in share.powers and all(self.in_share(some, 0, inner) for some, _ in terms)

    def _fixed(self, form: Form, key: Place) -> Value | None:
        """Return the value of a form at a place if it is one function, the same for every word; else None."""
        spans = [(factor, self.columns[name][key.order]) for name, factor in form.items()]
        if not all(span.exact for _, span in spans):
            return None
        return sum((factor * span.offset for factor, span in spans), 0)

    def _terms(self, form: Form, key: Place) -> Parts:
        """Return the terms of a form at a key, as functions of the position of the key."""
        spans = [(factor, self.columns[name][key.order]) for name, factor in form.items()]
        return [(factor, as_key(span)) for factor, span in spans] if key.several else spans

    def _read(self, terms: Parts, via: str | None) -> Parts:
        """Return the terms of a form that is read at a key, as seen from the query: at the one largest key of head
        `via`, or, if `via` is None, at any of several keys."""
        head = None if via is None else self.like[via]
        return [(factor, self.read_from(span, head)) for factor, span in terms]

    def _contained(self, terms: Sequence[tuple[Rational, NumberSpan]], sight: VisibleKeys, claimed: NumberSpan) -> bool:
        """Return True if a form at the keys of a place is known to lie within the ends of a span, and on its
        lattice."""
        low, high = ends_of(terms)
        return self.between(low, high, sight, claimed) and self.on_lattice(terms, 0, claimed)

    def _mean(self, form: Form, seen: Sights, query: Place, count: Value, claimed: NumberSpan) -> bool:
        """Return True if the mean over all visible keys is known to lie in a span."""
        if claimed.most is not None:
            return False
        over = of(1) / count
        terms = [(self._terms(form, key), sight) for key, sight in seen]
        # A mean lies between the least and the largest value; or else the sum of the ends at all places is divided.
        inside = all(self.between(*ends_of(some), sight, claimed) for some, sight in terms)
        if not inside:
            total: list[Value] = [0, 0]
            for some, sight in terms:
                ends = ends_of(some)
                if any(has(end, 2) for end in ends):
                    return False
                total = [part + self._times(end, sight, query) for part, end in zip(total, ends, strict=True)]
            domain = [query.domain]
            low, high = total[0] * over - claimed.low, claimed.high - total[1] * over
            if not (self.nonnegative(low, domain) and self.nonnegative(high, domain)):
                return False
        lattice = None if claimed.step is None else Share(claimed.offset, claimed.step, ())
        return lattice is None or self._mean_share(terms, count, lattice, query)

    def _mean_share(self, keys: Sequence[tuple[Parts, VisibleKeys]], count: Value, share: Share, query: Place) -> bool:
        """Return True if the mean over all visible keys is known to lie in a share. The values of keys are offsets plus
        integers times steps. So their sum minus count times the share's offset must be a multiple of count times the
        share's step."""
        unit, powers = share.step * count, share.powers
        for lattices in (False, True):
            rest: Value = 0
            fine = True
            for terms, sight in keys:
                offset: Value = 0
                for factor, span in terms:
                    own = share_of(span, lattices)
                    if own is None or any(power > powers.get(name, 0) for name, _, power in own.denominators):
                        fine = False
                        break
                    fine = fine and self.multiple(factor * own.step, unit)
                    offset = offset + factor * own.offset
                if fine and has(offset, 2):
                    alone = self.multiple(offset, unit)
                    fine = alone or self.multiple(offset - share.offset, unit)
                    offset = 0 if alone else share.offset
                rest = rest + (self._times(offset - share.offset, sight, query) if fine else 0)
            if fine and self.multiple(rest, unit):
                return True
        return False

    def _times(self, value: Value, sight: VisibleKeys, query: Place) -> Value:
        """Return a function times the number of visible keys of a place. Raises Rejected if the function may have no
        value where that number is 0: simplifying the product assumes that 0 times it is 0."""
        fine = self.functions.defined(value, [query.domain])
        require(fine, "facts: a mean adds up numbers that may have no value at a place without positions")
        return value * (sight.high - sight.low + 1)

    # ---- the answer ----

    def _distances(self, claims: Mapping[str, Sequence[int]]) -> tuple[tuple[int, Value], ...]:
        """Return pairs of the order of a place and a lower bound of the distance of an output there from values with
        another meaning. For some outputs the certificate claims a span that shows the distance."""
        require(claims.keys() <= {*self.model["outputs"]}, "facts: answers has a key that is no output of the model")
        answers = {name: self._claimed(numbers, f"the answer '{name}'") for name, numbers in claims.items()}
        last = self.world.places[-1].order
        orders = {"every": [1, 2, 3], "first": [1], "last": [last]}[self.model["read"]]
        found: list[tuple[int, Value]] = []
        for place in self.world.places:
            for name in self.model["outputs"] if place.order in orders else ():
                span = self.columns[name][place.order]
                if self.model["integers"]:
                    # Outputs are integers over n; half of 1/n is the distance from the next rounding.
                    unit = of(1) / self.world.n
                    fine = self.on_lattice(((1, span),), 0, NumberSpan(0, 0, 0, unit))
                    require(fine, f"the output '{name}' is not known to be an integer over n {place}")
                    found.append((place.order, unit * HALF))
                elif self.threshold is None:
                    found.append((place.order, 0))
                else:
                    known, span = span, answers[name][place.order] if name in answers else span
                    fine = self.sums_to(((1, known),), 0, span, place.domain)
                    require(fine, f"facts: the answer '{name}' is not known to be in its claimed span {place}")
                    found += [(place.order, distance) for distance in self._distance(name, span, place)]
        return tuple(found)

    def _distance(self, name: str, span: NumberSpan, place: Place) -> tuple[Value, ...]:
        threshold = self.threshold
        assert threshold is not None
        if found := self.far(span, threshold, place.domain):
            return found
        step, offset = span.step, span.offset
        message = f"the output '{name}' may lie on the threshold {place}"
        if step is None or isinstance(step, Ratio) or isinstance(offset, Ratio) or not step:
            require(False, message)
        distance = min((abs(point - threshold) for point in nearest(span, threshold)), default=HALF)
        require(distance > 0, message)
        return (distance,)
