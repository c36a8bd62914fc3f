"""`hardsim show`: what a formula was compiled into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hardsim.cli import options as opt
from hardsim.cli.options import Request
from hardsim.cli.session import session

if TYPE_CHECKING:
    from hardsim.checking.attention_open import AttentionInput
    from hardsim.checking.subject import Subject

SHORT_LENGTH = 8
"""Bounds and precision are shown at this length and at --max-n."""

HELP = """Show the transformer that a formula is compiled into.

FILE is a formula file (.ltl), an S-RASP program (.srasp), a hard-attention model (.ahat.json), a compiled model
(.json), or a directory of them.

Printed are the formula, what each coordinate of its core holds, the theorems used, the size of the network,
temperature, beta, position encodings, the precision needed, and for each layer its heads: mask, score, value,
purpose, and the error and score gap that theory allows at length 8 and at --max-n. Of a hard-attention model or a
program: encodings, heads and feed-forward networks, and the places where integers may leave their range.

\b
Examples:
  hardsim show flipflop.ltl
  hardsim show flipflop.ltl --regime causal-position --single-head
  hardsim show since.ltl --regime all --max-n 1000
"""


def show(
    files: opt.Files = None,
    max_n: opt.MaxLength = 64,
    regime: opt.Regime = "temperature",
    beta: opt.Beta = None,
    tau: opt.Tau = None,
    at: opt.Position = None,
    single_head: opt.SingleHead = False,
    counting: opt.Counting = None,
    json: opt.JsonPath = None,
    expression: opt.Expression = None,
    alphabet: opt.Alphabet = None,
) -> None:
    """The command; its manual is `HELP`."""
    request = Request(regime, beta, tau, at, single_head, counting)
    request.options()
    lengths = sorted({min(SHORT_LENGTH, max_n), max_n})
    with session("show", json) as current:

        def act(subject: Subject) -> None:
            from hardsim.report.json import show_json
            from hardsim.report.model import describe, print_model

            report = describe(subject, lengths)
            current.results.append(show_json(report))
            print_model(current.screen, report)

        def act_model(given: AttentionInput) -> None:
            from hardsim.report.attention_model import attention_model_json, print_attention_model

            current.results.append(attention_model_json(given.subject, given.warnings))
            print_attention_model(current.screen, given.subject, given.warnings)

        for one in current.read(files, expression, alphabet, at):
            current.each(one, request, act, act_model)
