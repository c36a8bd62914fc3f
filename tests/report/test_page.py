"""The blocks that are kept of a printed report, and the page that is made from them."""

from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import hardsim
from hardsim.cli.report import definitions_of
from hardsim.report.blocks import Block, Copied, Fact, Line, Table, blocks_of
from hardsim.report.check import print_check
from hardsim.report.page import blocks, text
from hardsim.report.parts import Part
from hardsim.report.prove import print_every_length
from hardsim.report.screen import MATHS, columns
from tests.cli.conftest import unfolded
from tests.report.screens import printed
from tests.support.check import ModelOptions, read_input
from tests.support.pages import Page

HOSTILE = "<script>alert(1)</script> \" onload='x' & </b> [/b] \x1b[1m"


def texts_of(block: Block) -> list[str]:
    match block:
        case Line():
            return [block.plain]
        case Copied(word):
            return [word]
        case Fact(label, said, words):
            return [label, said, *words]
        case Table(fields, rows):
            return [*(field.header.split("\n")[0] for field in fields), *chain.from_iterable(rows)]


def require_printed(report: Any, *arguments: Any) -> tuple[Block, ...]:
    """Require that the blocks have the printed text."""
    found, screen = blocks_of(report, *arguments), unfolded(printed(report, *arguments))
    assert [one for block in found for one in texts_of(block) if unfolded(one) not in screen] == []
    return found


def test_blocks_are_what_is_printed() -> None:
    model = hardsim.parse("alphabet: a b c\na S b\n")
    found = require_printed(print_check, model.check(max_n=3), model.alphabet, True)
    (lengths, heads) = [block for block in found if isinstance(block, Table)]
    assert [len(lengths.rows), len(heads.rows)] == [3, 1]
    # The network of a formula rounds everywhere, so its table has no temperature, on the screen and here.
    assert "temperature" not in [field.header for field in lengths.columns]
    found = require_printed(print_check, model.check(max_n=3, regime="none"), model.alphabet, True)
    assert Copied("bc") in found
    argument = require_printed(print_every_length, model.prove(all_n=True))
    formulas = [said for block in argument if isinstance(block, Line) for said, how in block.parts if how == MATHS]
    assert "l(w) - l(j) = -2*j + 2*w >= 2 (w - j)" in formulas
    assert not [said for said in formulas if "`" in said]


def test_an_argument_of_a_program_has_its_short_lengths() -> None:
    result = hardsim.load("dyck1.srasp").prove(all_n=True)
    found = require_printed(print_every_length, result)
    part = Part(hardsim.load("dyck1.srasp").check(max_n=1), result.subject.alphabet, result)
    assert isinstance(found[-1], Table)
    assert part.theorem.startswith("On every non-empty word of every length softmax answers as hard attention does")
    assert "the output is exactly" not in part.theorem


@pytest.mark.slow
def test_a_theorem_says_what_n_is_where_words_are_padded() -> None:
    """The temperature of a transduction with `pad:` is a function of the padded length, which its network reads."""
    for name, padded in (("map_duplicate.srasp", True), ("dyck1.srasp", False)):
        model = hardsim.load(name)
        message = Part(model.check(max_n=1), model.alphabet, model.prove(all_n=True)).theorem
        assert "at the temperature 1/(" in message
        assert message.endswith("^4), where n is its length with its padding.") is padded


def test_a_theorem_about_layer_norms_claims_signs() -> None:
    # The output is 4/3 or -4/3 here, never 1 or 0.
    model = hardsim.parse("alphabet: a b\n#L[a] - #L[b] >= 0\n")
    check = model.check(max_n=2, regime="layer-norm")
    theorem = Part(check, model.alphabet, model.prove(all_n=True, regime="layer-norm")).theorem
    assert theorem.endswith(": the output is above 0 on the words that it accepts, and below 0 on all others.")
    plain = Part(model.check(max_n=2), model.alphabet, model.prove(all_n=True)).theorem
    assert plain.endswith(": the output is exactly 1 on the words that it accepts, and exactly 0 on all others.")


def test_a_theorem_is_of_every_length_alone() -> None:
    model = hardsim.parse("alphabet: a b\na S b\n")
    check = model.check(max_n=2)
    assert Part(check, model.alphabet, model.prove(max_n=4)).theorem == ""
    assert Part(check, model.alphabet).theorem == ""
    proved = Part(check, model.alphabet, model.prove(all_n=True))
    assert proved.theorem.startswith(
        "On every non-empty word of every length the network accepts exactly what the formula says: "
    )
    assert Fact("formula", words=("a S b",)) in proved.network
    assert Fact("alphabet", "a b") in proved.network


def test_a_theorem_has_the_definitions_that_it_is_about(tmp_path: Path) -> None:
    """Comments, examples and the alphabet are no definitions; a formula that stands alone is shown whole without
    them.
    """
    program = "// Any a\nalphabet: a b\npad: len + 1\naccept: ab\nY(i) := leftmost_j[1, Q_a(j)] 1 : 0  // <b>\n"
    files = {
        "x.srasp": program,
        "named.ltl": "alphabet: a b\nlet one = a S b\n\none\n",
        "y.ltl": "alphabet: a b\na S b\n",
    }
    lines = dict[str, tuple[str, ...]]()
    for name, text_ in files.items():
        (tmp_path / name).write_text(text_, encoding="utf-8")
        lines[name] = definitions_of(read_input(str(tmp_path / name)).compile(ModelOptions()))
    assert lines["x.srasp"] == ("pad: len + 1", "Y(i) := leftmost_j[1, Q_a(j)] 1 : 0  // <b>")
    assert lines["named.ltl"] == ("let one = a S b", "one")
    assert lines["y.ltl"] == ()
    model = hardsim.parse("alphabet: a b\na S b\n")
    part = Part(model.check(max_n=2), model.alphabet, model.prove(all_n=True), definitions=lines["x.srasp"])
    assert isinstance(part.network[-1], Table)
    assert part.network[-1].rows == tuple((line,) for line in lines["x.srasp"])


def test_the_margin_of_an_argument_is_rounded_down() -> None:
    """With beta 33/10 the error of `a S b` is at most e^(-33/20), so its clip's input 2x - 1/2 lies at least
    1/2 - 2 e^(-33/20) = 0.11590... beyond 0 or 1, and not 0.116.
    """
    model = hardsim.parse("alphabet: a b c\na S b\n")
    message = blocks_of(print_every_length, model.prove(all_n=True, beta="33/10"))
    (line,) = [one.plain for one in message if isinstance(one, Line) and one.plain.startswith("whose input")]
    assert line == "whose input is at most -0.115 or at least 1 + 0.115"


def test_a_theorem_names_what_propositions_obey() -> None:
    """A list of the 24 sets that fulfil a constraint would be cut after 20, so the constraint itself is named."""
    model = hardsim.parse("props: p q r s t u\none-of: p q r\nO (p & s)\n")
    message = Part(model.check(max_n=1), model.alphabet, model.prove(all_n=True)).network
    assert Fact("alphabet", "props p q r s t u one-of: p q r") in message


def test_a_page_says_nothing_but_characters() -> None:
    table = Table(columns("n", "<a\nname", "=word"), ((HOSTILE, HOSTILE, HOSTILE),))
    maths = Line((("x ", ""), (f"1 <= n {HOSTILE}", MATHS), (HOSTILE, "bold green")), 2)
    found = Page(blocks([maths, Copied(HOSTILE), Fact("formula", words=(HOSTILE,)), Fact(HOSTILE, HOSTILE), table]))
    assert {"script"}.isdisjoint(found.seen)
    assert {name for name, _ in found.attributes} == {"class"}
    assert sum("<script>alert(1)</script>" in said for said in found.texts) == 9  # 2 + 1 + 1 + 2 + 3
    assert any("1 ≤ n" in said for said in found.texts)
    assert text("a\x1b<") == "a\\x1b&lt;"
