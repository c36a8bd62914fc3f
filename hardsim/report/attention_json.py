"""The JSON of hard-attention models and programs: results of `check` and `eval`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from hardsim.checking.attention import Answer
from hardsim.checking.attention_result import (
    AttentionLength,
    AttentionMismatch,
    AttentionResult,
    Growth,
    Tie,
    Violation,
)
from hardsim.checking.evaluate import AttentionEvaluation
from hardsim.report.numbers import decimal, digits, rational

Json = dict[str, Any]


def answer_json(answer: Answer) -> Any:
    """True, false, null for undecided, or an array of symbols with null for undecided ones."""
    return list(answer) if isinstance(answer, tuple) else answer


def attention_json(result: AttentionResult) -> Json:
    """A whole result of `check` on a hard-attention model or a program."""
    return {
        "input": result.name,
        "kind": result.kind,
        "title": result.title,
        "summary": result.summary,
        "engine": result.engine,
        "max_n": result.max_n,
        "verdict": result.verdict.value,
        "reach": result.reach,
        "partial": result.partial,
        "words": result.words,
        "undecided_word": None if result.stuck is None else list(result.stuck),
        "mismatch": None if result.mismatch is None else mismatch_json(result.mismatch),
        "violation": None if result.violation is None else violation_json(result.violation),
        "ties": [tie_json(tie) for tie in result.ties],
        "growth": [growth_json(one) for one in result.growth],
        "lengths": [length_json(length) for length in result.lengths],
    }


def mismatch_json(mismatch: AttentionMismatch) -> Json:
    """A word on which two answers differ."""
    return {
        "word": list(mismatch.word),
        "kind": mismatch.kind,
        "oracle": answer_json(mismatch.oracle),
        "hard": answer_json(mismatch.hard),
        "soft": answer_json(mismatch.soft),
        "decided": mismatch.decided,
    }


def violation_json(violation: Violation) -> Json:
    """A claim that a number refutes."""
    return {
        "what": violation.what,
        "n": violation.n,
        "word": None if violation.word is None else list(violation.word),
        "measured": decimal(violation.measured),
        "claimed": decimal(violation.claimed),
    }


def tie_json(tie: Tie) -> Json:
    """Where a head first has ties."""
    return {
        "head": tie.head,
        "n": tie.n,
        "word": list(tie.word),
        "position": tie.position,
        "count": tie.count,
    }


def growth_json(growth: Growth) -> Json:
    """A fitted power law, rounded: it is for people."""
    return {
        "what": growth.what,
        "exponent": decimal(Fraction(round(growth.exponent, 4)).limit_denominator(10**4)),
        "factor": decimal(Fraction(growth.factor)),
        "from_n": growth.lengths[0],
        "to_n": growth.lengths[1],
    }


def length_json(length: AttentionLength) -> Json:
    """All words tried of one length."""
    return {
        "n": length.n,
        "words": length.words,
        "possible": digits(length.possible),
        "exhaustive": length.exhaustive,
        "accepted": length.accepted,
        "soft_mismatches": length.soft_mismatches,
        "hard_mismatches": length.hard_mismatches,
        "undecided": length.undecided,
        "score_gap": rational(length.gap),
        "size": rational(length.size),
        "temperature": {"least": rational(length.tau[0]), "largest": rational(length.tau[1])},
        "theorem": rational(length.theorem),
        "epsilon": rational(length.epsilon),
        "error": decimal(length.error),
        "bound": decimal(length.bound),
        "bits": length.bits,
        "assumption": length.assumption,
        "layers": [
            {
                "layer": layer.number,
                "kind": layer.kind,
                "size": rational(layer.size),
                "attended_error": decimal(layer.attended_error),
                "attended_bound": decimal(layer.attended_bound),
                "error": decimal(layer.error),
                "bound": decimal(layer.bound),
            }
            for layer in length.layers
        ],
        "heads": [
            {
                "name": head.name,
                "layer": head.layer,
                "kind": head.kind,
                "score_gap": rational(head.gap),
                "declared_gap": rational(head.declared),
                "most_maxima": head.most,
                "score_range": rational(head.reach),
                "error": decimal(head.error),
                "bound": decimal(head.bound),
            }
            for head in length.heads
        ],
    }


def evaluations_json(name: str, summary: str, found: Sequence[AttentionEvaluation], partial: bool = False) -> Json:
    """The words of `eval` on one model."""
    return {
        "input": name,
        "summary": summary,
        "partial": partial,
        "words": [
            {
                "word": list(one.word),
                "agree": one.agree,
                "decided": one.decided,
                "oracle": answer_json(one.oracle),
                "hard": answer_json(one.hard),
                "soft": answer_json(one.soft) if one.decided else None,
                "error": decimal(one.error) if one.decided else None,
                "bound": decimal(one.bound),
                "bits": one.bits,
            }
            for one in found
        ],
    }


def model_words_json(
    name: str, summary: str, by: str, max_n: int, tried: int, accepted: Sequence[tuple[str, ...]], partial: bool = False
) -> Json:
    """The accepted words of `words` on one model."""
    return {
        "input": name,
        "summary": summary,
        "by": by,
        "max_n": max_n,
        "tried": tried,
        "partial": partial,
        "accepted": [list(word) for word in accepted],
    }
