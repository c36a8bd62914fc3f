"""The reach of a constant temperature: the lengths up to which such a network is right, and Hahn's limit.

At a constant temperature all logits of bounded encodings stay within a range that does not depend on the length n, so
each weight of a row of n positions is at most C/n. Such a network is right up to some length, which grows with beta:
like e^beta where a head looks for one position among others that are all alike, more slowly where a tie-break decides.

**Hahn's limit** (Hahn 2020, Lemma 5, restated for masked heads). Let two words of length n differ at one position p < n
alone. Then after every layer the two runs differ at a position i other than p and n by at most C (1 + log n)^k (1/i +
1/(n - i + 1)), and at n by at most C (1 + log n)^k / n; C and k do not depend on n. Before the first layer they differ
at p alone, by O(1). A head at i that sees m positions gives each of them at most a weight C'/m: m is i or i - 1 under a
mask that hides later positions, n - i + 1 or n - i under one that hides earlier ones, and n without a mask. The
differences that it averages have a sum of O((1 + log n)^(k + 1)), that of p included. Weights differ by as much, since
scores do, and feed-forward networks are Lipschitz. The position n sees all positions, or only itself. So the outputs at
n come arbitrarily close, while a formula that tells the two words apart requires 0 and 1: where it does so at
infinitely many n, no constant beta is right at every length.

`hahn_limited` decides whether there are such pairs for formulas about the past, which are deterministic automata.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import takewhile
from typing import TypeVar

from hardsim.campaign.result import CheckResult, ConstantReach, Verdict
from hardsim.compiling.from_ltl.lower import lower
from hardsim.errors import HardsimError, InputError
from hardsim.lang.core import And, Core, Edge, Letters, Lit, Reach, Step, Xor
from hardsim.lang.desugar import desugar
from hardsim.network.transformer import SoftWeighting
from hardsim.program.budget import Budget
from hardsim.program.hard_attention import Kind, Program
from hardsim.program.regimes import LAYER_NORM, NAMED, PLAIN
from hardsim.proof.formulas.network import prove
from hardsim.targets.claims import Claim, HeadsClaim
from hardsim.targets.sharpness import OneNetwork
from hardsim.targets.subject import Subject, own_predicates

LONGEST = 64
"""Largest length for which the prover is asked, unless a wrong word is longer."""
DOUBLINGS, STEP = 8, Fraction(1, 4)
"""Most doublings of beta in the search for one that reaches farther, and the step of which the result is a multiple."""
UNBOUNDED = {Kind.LOOKUP, Kind.TABLE, Kind.SIGN_RAMP}
"""Kinds of heads whose keys grow with the position in every regime."""
MOST_SYMBOLS, MOST_STATES, MOST_PAIRS = 16, 200, 20_000
"""Most symbols of an alphabet, states of an automaton, and pairs of states, for which Hahn's limit is decided."""


def constant_reach(claim: Claim, result: CheckResult) -> ConstantReach | None:
    """Return the lengths to which the checked network is right; None if its temperature is not constant, its encodings
    are not bounded, no head attends by score, or the mismatch is not one between softmax and hard attention."""
    subject: Subject = claim.target
    if not isinstance(claim, HeadsClaim) or claim.heads_only or not subject.specified or result.partial:
        return None
    budget, mismatch = subject.budget, result.mismatch
    # Hahn's limit needs logits in a range that does not depend on the length: constant temperature, bounded encodings.
    if budget.temperature.variables or not NAMED[subject.program.regime].bounded:
        return None
    # Uniform heads do not depend on the temperature.
    kinds = {head.kind for head in subject.program.heads if not head.uniform}
    if not kinds or kinds & UNBOUNDED or _exact_everywhere(subject.program, budget):
        return None
    if mismatch is not None and not mismatch.soft_differs:
        return None
    wrong = None if mismatch is None else len(mismatch.word)
    softmax = subject.program.weighting is SoftWeighting.SOFTMAX
    to, proved = _right_to(subject, result, wrong)
    core = desugar(claim.formula)
    farther_n, farther_beta = None, None
    if wrong is not None and subject.against is None:
        farther_n = min(2 * wrong, max(LONGEST, wrong))
        farther_beta = _farther(subject, budget, farther_n)
    return ConstantReach(
        layer_norm=_countable(core),
        beta=budget.beta,
        right_to=to,
        proved=proved,
        wrong_at=wrong,
        limited=True if softmax and hahn_limited(core) else None,
        # Other weightings can put most weight on one of any number of keys at a constant temperature.
        vanishing=softmax,
        farther_n=None if farther_beta is None else farther_n,
        farther_beta=farther_beta,
    )


def _exact_everywhere(program: Program, budget: Budget) -> bool:
    """Return True if every head has exactly the hard weights at every length: its scores are 0 and 1, at temperature 1,
    and their distance times beta is at least the cutoff of the weighting."""
    cutoff = program.weighting.cutoff
    scores = all(head.uniform or head.shares for head in program.heads)
    return cutoff is not None and scores and budget.temperature == PLAIN and budget.beta >= cutoff


def _right_to(subject: Subject, result: CheckResult, wrong: int | None) -> tuple[int, bool]:
    """Return the length up to which every word is right, and True if the prover has proved it; otherwise every word up
    to that length was tried. The prover is asked about lengths below that of the shortest wrong word."""
    if result.verdict is Verdict.PROVED:
        return result.max_n, True
    whole = takewhile(lambda one: one.exhaustive and not one.mismatches and not one.undecided, result.lengths)
    # Lengths must follow each other from 1 on: a gap ends the run of complete lengths.
    tried = sum(1 for n, one in enumerate(whole, start=1) if one.n == n)
    end = min(result.max_n if wrong is None else wrong - 1, LONGEST)
    if subject.against is not None or tried >= end or not subject.own:
        return tried, False
    # What the check asked the prover is not asked again.
    failed = result.max_n if result.unproved is not None and result.unproved.attempted else None
    found = _last(tried, end, lambda n: n != failed and _proved(subject, n))
    return (found, True) if found > tried else (tried, False)


def _last(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the largest n up to `high` at which a monotone property holds (true at n implies true below n); `low`
    if it holds nowhere."""
    if holds(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _proved(subject: Subject, n: int) -> bool:
    """Return True if every word up to length n is proved right; no word is run."""
    claim = subject.prover()
    assert isinstance(claim, HeadsClaim)
    core, users = desugar(claim.formula), own_predicates(claim.formula)
    try:
        return prove(subject.model, subject.program, n, core, users).proved
    except HardsimError:
        return False


def _farther(subject: Subject, budget: Budget, n: int) -> Fraction | None:
    """Return a larger beta, a multiple of STEP, at which every word up to length n is proved right, not much larger
    than the least such beta. Return None if DOUBLINGS doublings reach none."""

    def holds(beta: Fraction) -> bool:
        other = OneNetwork.of(subject.program, replace(budget, beta=beta, fixed=True))
        return _proved(replace(subject, sharpness=other), n)

    low = budget.beta
    for _ in range(DOUBLINGS):
        # Round 2 * low up to a multiple of STEP.
        high = -(-2 * low // STEP) * STEP
        if holds(high):
            break
        low = high
    else:
        return None
    while high - low > max(STEP, high / 16):
        middle = (low + high) / 2 // STEP * STEP
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


# ---- Hahn's limit ----


def hahn_limited(core: Core) -> bool:
    """Return True if, for infinitely many lengths, words u x v and u y v exist (v not empty, x and y symbols) of which
    exactly one is accepted.

    Then no constant temperature is right at every length. Return False if there are no such words, or if that is
    unknown: for formulas about later positions, counts or numerical predicates, and for large automata.
    """
    if len(core.alphabet) > MOST_SYMBOLS or not all(_is_past(core.nodes[number]) for number in core.live):
        return False
    moves = _moves(core)
    return moves is not None and _differ_forever(core, moves)


State = tuple[bool, ...]
"""State of the automaton of a formula about the past after a word: the truth of all subformulas at the last position.
"""
Moves = dict[State | None, list[State]]
"""States after each symbol, in the order of the alphabet, by state (None: before the first symbol)."""


def _after(core: Core, state: State | None, symbol: str) -> State:
    """Return the state after one more symbol; `state` is None before the first symbol."""
    found = [False] * len(core.nodes)
    for number in core.live:
        match core.nodes[number]:
            case Letters(symbols):
                found[number] = symbol in symbols
            case Edge():
                found[number] = state is None
            case And(args):
                found[number] = all(_holds(one, found) for one in args)
            case Xor(left, right):
                found[number] = found[left] != found[right]
            case Step(_, arg):
                found[number] = state is not None and _holds(arg, state)
            # One step of Since: the value of `right` where `where` is true, otherwise the value before.
            case Reach(_, _, right, where):
                before = state is not None and state[number]
                found[number] = _holds(right, found) if _holds(where, found) else before
            case _:
                raise AssertionError("not a formula about the past")
    return tuple(found)


def _moves(core: Core) -> Moves | None:
    """Return the moves of all reachable states; None if there are more than MOST_STATES."""
    moves: Moves = {}
    left: list[State | None] = [None]
    while left:
        state = left.pop()
        if state not in moves:
            moves[state] = [_after(core, state, symbol) for symbol in core.alphabet]
            left += moves[state]
        # Too large to follow all pairs of states: the limit is not decided.
        if len(moves) > MOST_STATES:
            return None
    return moves


def _is_past(node: object) -> bool:
    match node:
        case Step(op, _):
            return op == "Y"
        case Reach(op, _, _, _):
            return op == "S"
        case Edge(which):
            return which == "first"
        case _:
            return isinstance(node, Letters | And | Xor)


def _holds(lit: Lit, values: State | list[bool]) -> bool:
    return values[lit.node] != lit.negated


Pair = tuple[State, State]
N = TypeVar("N")


def _differ_forever(core: Core, moves: Moves) -> bool:
    """Return True if, for infinitely many lengths, two words exist that differ in one symbol before the last, of which
    exactly one is accepted. Return False also if there are more than MOST_PAIRS pairs of states.

    The function follows the pairs of states after such words. Let u x v and u y v be the words. The lengths are
    unbounded in two cases: u may be arbitrarily long, and the pair after u x and u y leads to a pair of which one state
    accepts; or v may be arbitrarily long, since a pair on such a path lies on a cycle.
    """
    begun = {
        state: {(one, other) for one in after for other in after if one != other} for state, after in moves.items()
    }
    following: dict[Pair, set[Pair]] = {}
    left = [pair for pairs in begun.values() for pair in pairs]
    while left:
        pair = left.pop()
        if pair in following:
            continue
        both = zip(moves[pair[0]], moves[pair[1]], strict=True)
        following[pair] = {(one, other) for one, other in both if one != other}
        left += following[pair]
        if len(following) > MOST_PAIRS:
            return False
    distinguished = {(one, other) for one, other in following if _holds(core.root, one) != _holds(core.root, other)}
    leading = _leading(distinguished, following)
    if _circles(leading, following):
        return True
    # v is not empty, so the first pair must have a successor that leads to a difference.
    later = {pair for pair, after in following.items() if after & leading}
    edges: dict[State | None, set[State | None]] = {state: set(after) for state, after in moves.items()}
    # States that arbitrarily long words lead to.
    far = _circles(set(edges), edges)
    return any(begun[state] & later for state in far)


def _leading(targets: Iterable[N], following: Mapping[N, set[N]]) -> set[N]:
    """Return the nodes from which a path leads to a target, targets included."""
    before, found, left = dict[N, list[N]](), set[N](), list(targets)
    for node, after in following.items():
        for one in after:
            before.setdefault(one, []).append(node)
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left += before.get(node, [])
    return found


def _circles(nodes: set[N], following: Mapping[N, set[N]]) -> set[N]:
    """Return the nodes on a cycle of these nodes, or after one. Nodes without predecessors are removed repeatedly; the
    others remain."""
    inside = {node: following[node] & nodes for node in nodes}
    waiting = Counter(one for after in inside.values() for one in after)
    left, ends = set(nodes), [node for node in nodes if not waiting[node]]
    while ends:
        node = ends.pop()
        left.discard(node)
        waiting.subtract(inside[node])
        ends += [one for one in inside[node] if not waiting[one]]
    return left


def _countable(core: Core) -> bool:
    """Return True if regime `layer-norm` has a construction for a formula."""
    try:
        lower(core, LAYER_NORM)
    except InputError:
        return False
    return True
