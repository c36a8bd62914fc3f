"""The first link: the softmax network computes what the hard heads do, on every word up to a length.

By induction over the layers: what a layer reads is exact and the same in both (or a mean, which is exact, or an
attended value with a bound), each head is within its bound of the specified value, and each clip makes exact what it
reads. Nothing is taken from the compiler but the specification of what each head should find.
"""

from __future__ import annotations

from collections.abc import Callable

from hardsim.errors import InputError, InvariantError
from hardsim.lang.core import And, AtLeast, Core, Edge, Letters, Node, Numeric, Reach, Step, Xor
from hardsim.lang.numerical import BUILT_IN
from hardsim.net.model import Transformer
from hardsim.proof.clips import Counted, counted, feed_forward
from hardsim.proof.diagrams import TooLarge
from hardsim.proof.heads import Read, attend, attended
from hardsim.proof.result import HeadProof, LinkProof, NotProved
from hardsim.proof.sites import Sites, independent_of_length
from hardsim.proof.state import State
from hardsim.run.float_trust import arithmetic_fault
from hardsim.run.plan import make_plan
from hardsim.spec.ir import HardProgram

CLAIM = "the softmax network = its hard heads"
LARGEST = 1_000_000
"""Positions of all lengths together."""
Report = Callable[[int, int], None]
"""Told how many of how many heads are done."""


def sites_up_to(
    model: Transformer, program: HardProgram, max_n: int, core: Core | None = None, min_n: int = 1
) -> tuple[Sites, bool]:
    """All sites of some lengths, and whether the longest length stands for all (nothing depends on the length).

    Raises:
        InputError: if there are more than `LARGEST`.
    """
    prefix = one_for_all(model, program, core)
    hold_size(max_n if prefix else min_n, max_n)
    if prefix:
        return Sites((max_n,), shortest=min_n), True
    return Sites(tuple(range(min_n, max_n + 1)), only_last=True), False


def one_for_all(model: Transformer, program: HardProgram, core: Core | None) -> bool:
    """Whether one length proves all shorter ones: nothing in network, specification and formula depends on it."""
    functions = [encoding.value for encoding in program.encodings]
    prefix = independent_of_length(model) and not any("n" in function.variables for function in functions)
    return prefix and (core is None or not any(looks_ahead(core.nodes[number]) for number in core.live))


def positions(min_n: int, max_n: int) -> int:
    """How many positions the words of these lengths have, one word of each."""
    return (max_n * (max_n + 1) - min_n * (min_n - 1)) // 2


def hold_size(min_n: int, max_n: int) -> None:
    """Refuse what does not fit in memory: about 2 kB a position.

    Raises:
        InputError: saying what fits.
    """
    sites = positions(min_n, max_n)
    if sites > LARGEST:
        raise InputError(
            f"every length from {min_n:,} to {max_n:,} is {sites:,} positions to look at, and {LARGEST:,} are the most",
            hint="Prove fewer lengths at a time with --min-n and --max-n (both the same for one length), or every "
            "length by another argument, with --all-n.",
        )


def prove_network(
    model: Transformer, program: HardProgram, sites: Sites, report: Report | None = None
) -> tuple[LinkProof, tuple[HeadProof, ...]]:
    """Whether the network's output is exactly that of its hard heads at every site, for all words.

    Raises:
        InputError: if the temperature is not positive at some site.
    """
    state: State | None = None
    fault = arithmetic_fault()
    if fault is not None:
        return LinkProof(CLAIM, f"the prover rounds in float64, and {fault}", limit=True), ()
    try:
        state = State(model, program, sites)
        walk(state, report=report)
        link = LinkProof(CLAIM)
    except NotProved as failure:
        link = LinkProof(CLAIM, failure.reason, failure.head, failure.cases, rounded=failure.rounded)
    except (TooLarge, RecursionError):
        link = LinkProof(CLAIM, "the formula's Boolean functions are too large for this prover", limit=True)
    except OverflowError:
        link = LinkProof(CLAIM, "a weight or an encoding is too large for this prover", limit=True)
    return link, _heads(state, program)


def looks_ahead(node: Node) -> bool:
    """Whether the truth of a core node at a position can depend on what follows, or on the length."""
    match node:
        case Letters() | And() | Xor() | Edge("first") | Step("Y") | Reach("S"):
            return False
        case Edge("last") | Step("X") | Reach("U"):
            return True
        case AtLeast(terms):
            return any(count.side != "L" for _, count in terms)
        case Numeric(name, _, _, count):
            # A user's own predicate may depend on the length.
            return count.side != "L" or (name not in BUILT_IN and name != "MOD")
        case _:
            raise InvariantError(f"{node} is no node of a core formula")


def walk(state: State, read: Read = attended, counted: Counted = counted, report: Report | None = None) -> None:
    """All layers in order. `read` tells how far the value of a head that attends can be off, `counted` decides a clip
    that compares counts.

    Raises:
        NotProved: where the argument does not go through.
    """
    _only_what_is_covered(state.model)
    plan, program = make_plan(state.model), state.program
    if state.model.alphabet != program.alphabet:
        raise NotProved("the network and its specification have different alphabets")
    if len(plan.layers) != len(program.layers):
        raise NotProved(f"the network has {len(plan.layers)} layers, its specification {len(program.layers)}")
    for number, (own, layer) in enumerate(zip(plan.layers, program.layers, strict=True), start=1):
        if len(own.heads) != len(layer.heads):
            raise NotProved(f"layer {number} has {len(own.heads)} heads, its specification {len(layer.heads)}")
        for head_plan, head in zip(own.heads, layer.heads, strict=True):
            attend(state, head_plan, head, number, read)
            if report is not None:
                report(len(state.heads), len(program.heads))
        state.commit()
        feed_forward(state, own, layer, counted)
    name = state.model.coordinates[state.model.output]
    if name != program.output:
        raise NotProved(f"the network's output is '{name}', the specified one '{program.output}'")
    if state.model.output not in state.exact:
        raise NotProved(f"the output '{name}' is not rounded")
    output = state.exact[state.model.output]
    for site in state.sites.read_at():
        if output.soft[site] != output.hard[site]:
            raise NotProved(f"the output '{name}' is not what is specified")
        if not set(state.diagrams.values(output.soft[site])) <= {0, 1}:
            raise NotProved(f"the output '{name}' can be other than 0 and 1")


def _only_what_is_covered(model: Transformer) -> None:
    """Refuse what compiled formulas never have, and the argument does not speak of."""
    if model.bos or model.threshold is not None or model.reading != "last" or not model.soft:
        raise NotProved("the network has a beginning of sequence, a threshold, another reading position or hard heads")
    strict = next((head for head in model.heads if head.mask.strict), None)
    if strict is not None:
        raise NotProved(f"the network's head {strict.name} does not see its own position", strict.name)


def _heads(state: State | None, program: HardProgram) -> tuple[HeadProof, ...]:
    """What is known of each head that the proof got to."""
    result = []
    for number, layer in enumerate(program.layers, start=1):
        for head in layer.heads:
            if state is None or head.name not in state.heads:
                continue
            attended = state.heads[head.name]
            case = None if attended is None else attended.worst
            result.append(HeadProof(head.name, number, head.purpose, attended is None, case))
    return tuple(result)
