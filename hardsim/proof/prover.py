"""Both links of a proof, for all words of every length up to a bound."""

from __future__ import annotations

from collections.abc import Mapping

from hardsim.lang.core import Core
from hardsim.lang.numerical import NumericalPredicate
from hardsim.net.model import Transformer
from hardsim.proof.decompile import ProgramMeaning
from hardsim.proof.diagrams import TooLarge
from hardsim.proof.meaning import CoreMeaning, Facts
from hardsim.proof.network import Report, prove_network, sites_up_to
from hardsim.proof.result import LinkProof, NotProved, Proof
from hardsim.proof.sites import Sites
from hardsim.spec.ir import HardProgram

CLAIM = "its hard heads = the formula"


def prove(
    model: Transformer,
    program: HardProgram,
    max_n: int,
    core: Core | None = None,
    users: Mapping[str, NumericalPredicate] | None = None,
    min_n: int = 1,
    report: Report | None = None,
) -> Proof:
    """Try to prove that a network accepts exactly the words of a formula, for every word of length `min_n` to `max_n`.

    Without a core only the first link is tried: the network does what the specification of its heads says. `users`
    are the formula's own predicates. `report` is told how many of how many heads are done.

    A length of n positions costs O(n) to O(n^2), and all lengths to N together O(N^2) where the queries depend on the
    length alone or one length stands for all: the time grows likewise, which can be measured by calling this.

    Raises:
        InputError: if the temperature is not positive somewhere, or the lengths have too many positions together.
    """
    sites, prefix = sites_up_to(model, program, max_n, core, min_n)
    network, heads = prove_network(model, program, sites, report)
    meaning = None if core is None else prove_meaning(program, core, sites, users or {})
    return Proof(max_n, network, meaning, heads, prefix, min_n)


def prove_meaning(program: HardProgram, core: Core, sites: Sites, users: Mapping[str, NumericalPredicate]) -> LinkProof:
    """Whether a program's output at the last position is the truth of a core there, for all words."""
    try:
        if program.alphabet != core.alphabet:
            raise NotProved("the specification and the formula have different alphabets")
        facts = Facts(sites, core.alphabet)
        wanted = CoreMeaning(facts, core, dict(users)).of(core.root)
        found = ProgramMeaning(facts, program).of(program.output)
        for site in sites.read_at():
            if found[site] != wanted[site]:
                raise NotProved(f"the output '{program.output}' is not proved to be the formula at {sites.place(site)}")
    except NotProved as failure:
        return LinkProof(CLAIM, failure.reason)
    except (TooLarge, RecursionError):
        return LinkProof(CLAIM, "the formula's Boolean functions are too large for this prover", limit=True)
    return LinkProof(CLAIM)
