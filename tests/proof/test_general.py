"""Proofs for every length: soundness on changed networks, numbers from the lemmas, and what is refused and why."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import exp, isclose
from random import Random

import pytest

from hardsim.checking.subject import ModelOptions, Subject, compile_file, own_predicates
from hardsim.lang.desugar import desugar
from hardsim.lang.parse import parse_expression, parse_text
from hardsim.net.model import Transformer
from hardsim.proof.general import GeneralProof, prove_general
from hardsim.proof.prover import prove
from hardsim.spec.regimes import PROVEN
from tests.proof.perturb import perturbed
from tests.proof.test_perturbed import refuting_word, subjects


def general(subject: Subject, model: Transformer | None = None) -> GeneralProof:
    """The proof for every length of a subject, or of another network in its place."""
    return prove_general(
        model or subject.model, subject.program, desugar(subject.file), own_predicates(subject.file)
    )


def sweep(count: int, longest: int, seed: int) -> Counter[str]:
    """How many changed networks were proved for every length, refuted by a word, or neither; fails on one that is
    both, or that is proved for every length though the finite prover finds no proof for a few."""
    rng = Random(seed)
    found: Counter[str] = Counter()
    while found.total() < count:
        subject = rng.choice(subjects())
        case = perturbed(subject.model, rng)
        if case is None:
            continue
        kind, model = case
        proof = general(subject, model)
        if proof.proved:
            found[f"proved, {kind} changed"] += 1
            assert refuting_word(subject, model, longest) is None, (kind, subject.formula, subject.program.regime)
            assert prove(model, subject.program, longest + 3, desugar(subject.file)).proved
        elif refuting_word(subject, model, longest - 1) is not None:
            found["refuted by a word"] += 1
        else:
            assert proof.reason, "a proof that fails says why"
            found["right as far as tried, not proved"] += 1
    return found
