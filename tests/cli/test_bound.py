"""Tests of `hardsim bound`: bounds from the theory compared with measured values."""

import json
import os
import re
import sys
from fractions import Fraction
from itertools import pairwise
from math import exp, log, sqrt
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
import pytest

from hardsim.report.plot import PANELS, draw, points_of
from tests.cli.conftest import process, written
from tests.support.attention_models import HEAD, critical, majority, some_a, with_head, write
from tests.support.documents import exact
from tests.support.language import parse_arith
from tests.support.subjects import known

SOME_A = "// some a\nalphabet: a b\nY(i) := leftmost_j[1, Q_a(j)] 1 : 0\n"


def report(hardsim: Any, *arguments: str | Path, code: int = 0) -> Any:
    return hardsim("bound", *arguments, "--json", "-").exits(code).result


def test_the_critical_temperature_of_a_model_lies_in_its_bracket(hardsim: Any, model: Path) -> None:
    result = report(hardsim, model, "--max-n", "4")
    assert (result["kind"], result["regime"], result["schedule"], result["verdict"]) == ("ahat", None, "1", "CERTIFIED")
    one, *others = result["lengths"]
    assert (one["score_gap"], one["right"], one["wrong"]) == (None, None, None)
    for length in others:
        n, right, wrong, theorem = length["n"], *(exact(length[key]) for key in ("right", "wrong", "theorem"))
        assert right < critical(n) <= wrong == right * Fraction(5, 4)
        assert length["word"].count("a") == 1
        # Theorem 26: (n - 1) e^(-1/tau) <= 1/8, the largest such tau to one part in 64.
        assert theorem <= 1 / log(8 * (n - 1)) < theorem * Fraction(65, 64)
        assert (exact(length["epsilon"]), length["temperature"]) == (Fraction(1, 8), length["theorem"])
        # The largest error is that of a word with one a.
        q = (n - 1) * exp(-1 / theorem)
        assert length["error"] == pytest.approx(q / (1 + q), rel=1e-9)
        assert length["bound"] == pytest.approx(q, rel=1e-9)
        (head,) = length["heads"]
        # Scores of a row are at most 1 apart.
        assert head["logit_range"] == pytest.approx(float(1 / theorem), rel=1e-12)
        assert (head["kind"], exact(head["score_gap"]), head["declared_gap"]) == ("ties", Fraction(1), None)
    # Lemma 27 at depth 1: 2m >= 2^b for the b bits of n.
    assert [length["rounding_width"] for length in result["lengths"]] == [1, 2, 2, 4]
    gap, *_, found = result["growth"]
    assert (gap["what"], gap["exponent"], gap["factor"], gap["from_n"]) == ("gap", 0, 1, 2)
    assert found["what"] == "1/(tau log n) found"


def test_the_report_in_words(hardsim: Any, model: Path) -> None:
    outcome = hardsim("bound", model, "--max-n", "3")
    outcome.clean(
        "(5/4)^k",
        "O(n^k log n)",
        "CERTIFIED ",
        "every declared gap and every error bound holds on 14 words up to length 3",
        f"head {HEAD} is tieless up to length 1",
    )
    rows = [line.split()[:4] for line in outcome.out.splitlines() if line[:2].strip().isdigit()]
    assert rows[:3] == [["1", "all", "2", "–"], ["2", "all", "4", "1"], ["3", "all", "8", "1"]]


def test_beyond_what_is_tried_in_full_words_are_made_hard(hardsim: Any, model: Path) -> None:
    sampled = [
        length
        for length in report(hardsim, model, "--max-n", "8", "--exhaustive", "4", "--samples", "3")["lengths"]
        if not length["exhaustive"]
    ]
    assert {7, 8} <= {length["n"] for length in sampled}
    for length in sampled:
        assert "measured on" in length["assumption"]
        assert exact(length["right"]) < critical(length["n"]) <= exact(length["wrong"])


def test_the_critical_temperatures_of_a_formula(hardsim: Any, since: Path) -> None:
    result = report(hardsim, since, "--max-n", "3")
    assert (result["kind"], result["regime"], result["schedule"]) == ("ltl", "temperature", "1/n")
    _, two, three = result["lengths"]
    # At a factor f of tau the scores of neighbours with q = 1 differ by 1/(2f) nats: their weights by q = e^(-1/(2f)).
    # bc is wrong where the b at 1 has more than 1/4, q/(1 + q); bbc where (q + q^2)/(1 + q + q^2) is more than 1/4.
    for length, q in ((two, 1 / 3), (three, (sqrt(7 / 3) - 1) / 2)):
        assert exact(length["right"]) < -1 / (2 * log(q)) <= exact(length["wrong"])
    # The budget's beta is 4, so q = e^-2: the largest error is at bc, and 2q/(1 + q) is allowed.
    assert exact(two["temperature"]) == Fraction(1, 4)
    assert two["error"] == pytest.approx(1 / (1 + exp(2)), rel=1e-9)
    assert two["bound"] == pytest.approx(2 / (1 + exp(2)), rel=1e-9)
    (head,) = two["heads"]
    assert exact(head["score_gap"]) == exact(head["declared_gap"]) == Fraction(1, 4)
    assert "O(n log n)" in result["asymptotics"]


def test_all_regimes_and_a_summary(hardsim: Any, since: Path) -> None:
    lines = hardsim("bound", since, "--max-n", "2", "--regime", "all").exits(0).out.splitlines()
    names = [str(since), *(f"{since}, regime {name}" for name in ("position", "causal-temperature", "causal-position"))]
    assert [line for line in lines if line in [f"CERTIFIED  {name}" for name in names]] == [
        f"CERTIFIED  {name}" for name in names
    ]
    assert [line for line in lines if any(line.startswith(name) for name in names)] != []


def test_a_formula_without_a_temperature_is_refuted(hardsim: Any, since: Path) -> None:
    outcome = hardsim("bound", since, "--regime", "none", "--max-n", "2")
    outcome.exits(1, "--beta above 4 reaches longer words", "\nThe word, on a line of its own:\nbc\n")


def test_a_program(hardsim: Any, tmp_path: Path) -> None:
    result = report(hardsim, written(tmp_path / "some_a.srasp", SOME_A), "--max-n", "3")
    assert (result["kind"], result["verdict"]) == ("srasp", "CERTIFIED")
    assert "n^3 log n" in result["asymptotics"]
    assert all(head["declared_gap"] is not None for length in result["lengths"] for head in length["heads"])


def test_tau_and_epsilon(hardsim: Any, model: Path, since: Path) -> None:
    said = "softmax at this temperature is wrong on a word of length 2 "
    hardsim("bound", model, "--tau", "1", "--max-n", "2").exits(
        1, "REFUTED ", said, "\nThe word, on a line of its own:\nab\n"
    )
    result = report(hardsim, model, "--tau", "1", "--max-n", "2", code=1)
    assert (result["refuted"], exact(result["lengths"][1]["temperature"])) == (["a", "b"], Fraction(1))
    for path in (model, since):
        wide, narrow = (report(hardsim, path, "--epsilon", e, "--max-n", "2")["lengths"][1] for e in ("1/8", "1/80"))
        assert (exact(wide["epsilon"]), exact(narrow["epsilon"])) == (Fraction(1, 8), Fraction(1, 80))
        assert exact(wide["theorem"]) > exact(narrow["theorem"])


# ---- claims that are false ----


def test_a_bound_of_theorem_26_that_is_too_small_is_found(
    hardsim: Any, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hardsim.sharpening.theorem26.row_distance", lambda *arguments: Fraction(0))
    for command in ("bound", "check"):
        # The network is still right: the error is 1/(1 + e^4) at ab.
        result = hardsim(command, model, "--tau", "1/4", "--max-n", "2", "--json", "-").exits(1).result
        assert result["violation"]["what"] == "the error bound of coordinate found in layer 1"
        assert result["violation"]["measured"] == pytest.approx(1 / (1 + exp(4)), rel=1e-9)
        assert result["violation"]["claimed"] == 0
        # The model is the user's, and its claims about its heads may be wrong.
        outcome = hardsim(command, model, "--tau", "1/4", "--max-n", "2").exits(1, "correct these")
        outcome.lacks("defect", "report it")
    program = written(tmp_path / "some_a.srasp", SOME_A)
    hardsim("bound", program, "--tau", "1/4", "--max-n", "2").exits(1, "nobody edited it: this is a defect of hardsim")


def test_a_bound_of_a_formula_that_is_too_small_is_found(
    hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hardsim.program.budget import Budget

    monkeypatch.setattr(Budget, "error_bound", lambda self, head, n, context: context.mpf("0.1"))
    result = report(hardsim, since, "--max-n", "2", code=1)
    assert result["violation"]["what"].startswith("the error bound of head ")
    assert result["violation"]["measured"] == pytest.approx(1 / (1 + exp(2)), rel=1e-9)


# ---- --gap ----


def test_gaps_of_everything_that_is_shipped(
    hardsim: Any, tmp_path: Path, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (shipped / "since.ltl").write_bytes(since.read_bytes())
    write(shipped, with_head(gap="1"), "some.ahat.json")
    (shipped / "some.srasp").write_text(SOME_A, encoding="utf-8")
    monkeypatch.setattr("hardsim.cli.bound.formulas_directory", lambda: shipped)
    lines = hardsim("bound", "--gap", "--max-n", "3").exits(0).out.splitlines()
    # The names are long, so each is above its row.
    below = lines.index(next(line for line in lines if line.startswith("Every length:")))
    rows = {Path(name).name: row for name, row in pairwise(lines[:below]) if name.startswith(str(shipped))}
    assert list(rows) == ["since.ltl", "some.ahat.json", "some.srasp"]
    # 3 + 9 + 27 and 2 + 4 + 8 words; the gap 1/(2n) of a rightmost head, at n = 3, and 1.
    assert rows["since.ltl"].split() == ["yes", "39", "3", "0.167", "0.167"]
    assert rows["some.ahat.json"].split() == ["yes", "14", "3", "1", "1"]
    assert lines[-1] == "3 results: every declared gap holds on the words tried"
    write(shipped, with_head(gap="2"), "some.ahat.json")
    hardsim("bound", "--gap", "--max-n", "3").exits(1, "3 results: 1 with a declared gap that does not hold")
    for result in hardsim("bound", "--gap", "--max-n", "3", "--json", "-").json["results"]:
        assert all((length["right"], length["error"], length["bits"]) == (None, 0, 0) for length in result["lengths"])


@pytest.mark.parametrize(("name", "gap", "constant", "logarithmic", "proved"), [
    ("majority_ties.ahat.json", "1", "3", "1/(3*log(n+1))", "1/(5/4*n)"),
    ("ties.ahat.json", "1", "7/4", "1/(7/4*log(n+1))", "1/n"),
    ("dyck1_uniform.ahat.json", None, None, None, "1"),
    ("same_ends.ahat.json", "1/(2*n)", "3", "1/(6*n*log(n+1))", "1/(3*n^2)"),
    pytest.param("sort.srasp", "1/(4*n^3)", "2", "1/(8*n^3*log(n+1))", "1/(6*n^4)", marks=pytest.mark.slow),
])  # fmt: skip
def test_the_theorems_temperature_for_general_heads(
    hardsim: Any, name: str, gap: str | None, constant: str | None, logarithmic: str | None, proved: str
) -> None:
    """At the theorem's rate gap(n)/(a log(n + 1)) is proved; `prove` proves it and the largest temperature, too."""
    rate = hardsim("bound", name, "--gap", "--max-n", "2", "--json", "-").exits(0).result["general"]
    assert (rate["gap"], rate["logarithmic"]) == (gap, logarithmic)
    assert (rate["constant"] and exact(rate["constant"])) == (constant and Fraction(constant))
    assert (rate["proved"], rate["reason"], rate["rate"]) == (proved, None, "tau(n) = Omega(gap(n)/log n)")
    if gap is not None:
        for n in (2, 7):
            product = parse_arith(f"({gap})/({constant})").evaluate(n=n)
            assert parse_arith(known(logarithmic).replace("log(n+1)", "1")).evaluate(n=n) == product
        for tau in (known(logarithmic), proved):
            hardsim("prove", name, "--all-n", "--tau", tau, "--max-n", "1").exits(0)
        message = hardsim("bound", name, "--gap", "--max-n", "2").exits(0).out
        row = next(line for line in message.splitlines() if line.startswith(name) and known(logarithmic) in line)
        assert row.split()[1:] == [gap, constant, logarithmic, *([proved] if proved in row else [])]
        assert "of rate tau(n) = Omega(gap(n)/log n), without a constant" in " ".join(message.split())


def test_what_is_not_proved_is_reported_with_the_gaps(hardsim: Any, since: Path) -> None:
    outcome = hardsim("bound", "tieless_until_7.ahat.json", since, "--gap", "--max-n", "2").exits(0)
    message = " ".join(outcome.out.split())
    assert (
        "tieless_until_7.ahat.json: no temperature is proved: the output accept may be exactly the threshold" in message
    )
    document = hardsim("bound", since, "--gap", "--max-n", "2", "--json", "-").exits(0)
    assert document.result["general"] is None
    full = " ".join(hardsim("bound", "majority_ties.ahat.json", "--max-n", "2").exits(0).out.split())
    assert "gap(n) >= 1 from n = 2 on" in full
    assert "every length: 1/(5/4*n); 1/(3*log(n+1)) = gap(n)/(3 log(n + 1)), of the theorem's rate" in full


def test_gaps_of_what_cannot_be_read_hold_nowhere(hardsim: Any, tmp_path: Path, model: Path) -> None:
    missing = tmp_path / "nosuch.ltl"
    assert hardsim("bound", "--gap", missing).exits(2).out == ""
    outcome = hardsim("bound", "--gap", missing, model, "--max-n", "2").exits(2)
    last = "1 result: every declared gap holds on the words tried; 1 file could not be read"
    assert outcome.told_text.endswith(last)
    assert hardsim("bound", "--gap", model, "--max-n", "2").exits(0).out.endswith("holds on the words tried\n")


def test_options_that_do_not_apply(hardsim: Any, model: Path) -> None:
    outcome = hardsim("bound", model, "--max-n", "1", "--beta", "3", "--json", "-").exits(0)
    assert outcome.err.startswith(f"note: {model}: --beta: not used; it is for formulas. Set ")
    assert len(outcome.json["notes"]) == 1


# ---- --plot ----


def texts(path: Path) -> list[str]:
    """Return the texts in an SVG picture."""
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    assert root.tag.endswith("svg")
    return ["".join(node.itertext()) for node in root.iter() if node.tag.endswith("}text")]


@pytest.mark.slow
def test_a_plot_names_its_series(hardsim: Any, tmp_path: Path, model: Path, since: Path) -> None:
    target = tmp_path / "one.svg"
    hardsim("bound", model, "--max-n", "3", "--plot", target).exits(0).says(f"note: the picture is in {target}")
    found = texts(target)
    for said in ("score gap", "error of an attended value", "temperature", "measured", "bound", "Theorem 26",
                 "right up to", "wrong at", "used", "n (positions)"):  # fmt: skip
        assert said in found
    assert "declared" not in found  # the model declares no gap
    again = tmp_path / "again.svg"
    assert hardsim("bound", model, "--max-n", "3", "--plot", again).code == 0
    assert again.read_bytes() == target.read_bytes()
    assert hardsim("bound", model, since, "--max-n", "2", "--plot", target).code == 0
    assert {"measured: model.ahat.json", "declared: since.ltl, temperature"} <= set(texts(target))


@pytest.mark.slow
def test_long_names_leave_room_for_the_plot(hardsim: Any, tmp_path: Path) -> None:
    """If the panels had no room, matplotlib would warn, and a warning fails a test."""
    paths = [write(tmp_path, some_a(), f"{letter * 100}.ahat.json") for letter in "xy"]
    assert hardsim("bound", *paths, "--max-n", "2", "--plot", tmp_path / "plot.svg").code == 0
    assert f"measured: {'x' * 20}...{'x' * 10}.ahat.json" in texts(tmp_path / "plot.svg")


def test_numbers_beyond_floats_have_no_place_in_a_picture(hardsim: Any, since: Path, tmp_path: Path) -> None:
    target = tmp_path / "plot.svg"
    hardsim("bound", since, "--max-n", "1", "--tau", "1/10^400", "--plot", target).exits(0)
    text = target.read_text(encoding="utf-8")
    assert ">declared<" in text
    assert ">used<" not in text


def test_a_plot_is_refused_before_anything_is_computed(
    hardsim: Any, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hardsim("bound", model, "--plot", tmp_path / "plot.jpg").refused("ends in .svg, .png or .pdf")
    hardsim("bound", model, "--plot", tmp_path / "no" / "plot.svg").refused("--plot")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    outcome = hardsim("bound", model, "--plot", tmp_path / "plot.svg")
    outcome.refused("needs matplotlib, which is not installed", "pip install '.[plot]'")
    assert [path.name for path in tmp_path.iterdir()] == [model.name]


@pytest.mark.slow
def test_settings_with_which_matplotlib_does_not_start_are_refused(tmp_path: Path, model: Path) -> None:
    settings = tmp_path / "settings"
    settings.write_bytes(b"\xff\xfe")
    for name, value in (("MPLBACKEND", "foo"), ("MATPLOTLIBRC", str(settings))):
        done = process("bound", model, "--plot", tmp_path / "plot.svg", env=os.environ | {name: value})
        done.refused("matplotlib does not start", name).unsaid("internal error")
    assert sorted(path.name for path in tmp_path.iterdir()) == [model.name, "settings"]


def test_settings_do_not_change_a_plot() -> None:
    plain = draw([])
    with matplotlib.rc_context({"axes.linewidth": 30, "text.usetex": True}):
        assert draw([]) == plain


@pytest.mark.sweep
@pytest.mark.parametrize(("end", "begins"), [(".png", b"\x89PNG\r\n"), (".pdf", b"%PDF-1."), (".svg", b"<?xml ")])
def test_a_plot_is_what_its_name_ends_in(
    hardsim: Any, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, end: str, begins: bytes
) -> None:
    paths = [tmp_path / f"{day}{end}" for day in ("0", "86400")]
    for path in paths:  # pictures drawn on two days are equal
        monkeypatch.setenv("SOURCE_DATE_EPOCH", path.stem)
        assert hardsim("bound", model, "--max-n", "2", "--plot", path).code == 0
    one, other = (path.read_bytes() for path in paths)
    assert one == other
    assert one.startswith(begins)


def test_names_in_a_plot_are_no_formulas(tmp_path: Path, hardsim: Any) -> None:
    paths = [write(tmp_path, some_a(), f"{name}.ahat.json") for name in (r"$\no$", "_$x")]
    assert hardsim("bound", *paths, "--max-n", "2", "--plot", tmp_path / "plot.svg").code == 0
    assert r"measured: $\no$.ahat.json" in texts(tmp_path / "plot.svg")


def test_a_plot_that_fails_leaves_the_document(
    hardsim: Any, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*results: object) -> bytes:
        raise ValueError("no pen")

    monkeypatch.setattr("hardsim.cli.bound.draw", broken)
    outcome = hardsim("bound", model, "--max-n", "1", "--plot", tmp_path / "plot.svg", "--json", "-")
    document = outcome.exits(4).says("no pen").json
    assert (len(document["results"]), [error["message"] for error in document["errors"]]) == (1, ["ValueError: no pen"])
    assert [path.name for path in tmp_path.iterdir()] == [model.name]


def test_a_plot_does_not_replace_what_is_read(hardsim: Any, tmp_path: Path, model: Path) -> None:
    path = tmp_path / "model.svg"
    path.write_bytes(model.read_bytes())
    hardsim("bound", path, "--plot", path).exits(2)
    assert path.read_bytes() == model.read_bytes()


def test_the_critical_beta_between_a_proof_and_a_word(hardsim: Any, since: Path) -> None:
    # 2 ln 3 = 2.1972 at length 2, 2 ln 4 = 2.7726 at every length.
    hardsim("bound", since, "--critical", "--max-n", "2").clean(
        "2 2.197 2.198", "every length: right at beta 2.7726", "Lemma 6 needs 2 ln 7 = 3.8918", "the bracket is closed"
    )
    result = report(hardsim, since, "--critical", "--max-n", "2")
    assert result["every_length"]["closed"]
    assert exact(result["every_length"]["right_at"]) == Fraction(27726, 10000)
    assert result["lemma_6"] == pytest.approx(2 * log(7))
    assert result["lengths"][1]["word"] == ["b", "c"]


@pytest.mark.slow
def test_the_critical_beta_of_plain_softmax_has_no_proof_for_every_length(hardsim: Any, since: Path) -> None:
    result = report(hardsim, since, "--critical", "--max-n", "2", "--regime", "none", code=3)
    assert result["every_length"]["right_at"] is None
    assert "no positive rate" in result["reason"]


@pytest.mark.parametrize("option", [["--gap"], ["--beta", "3"], ["--plot", "x.svg"]])
def test_critical_refuses_what_does_not_go_with_it(hardsim: Any, since: Path, option: list[str]) -> None:
    hardsim("bound", since, "--critical", *option).exits(2).says(f"so {option[0]} does not apply")


def test_critical_needs_a_temperature_of_the_length(hardsim: Any, tmp_path: Path) -> None:
    model = write(tmp_path, majority())
    hardsim("bound", model, "--critical").exits(2).says(
        "--critical needs a temperature that is a function of the length", "it has none of its own"
    )


# ---- bounds that are void ----


@pytest.mark.sweep(every=8)
@pytest.mark.parametrize("options", [("--regime", "none"), ("--beta", "1"), ("--tau", "4/n"), ("--beta", "1/100")])
@pytest.mark.parametrize("command", ["bound", "check"])
def test_a_bound_after_a_head_that_failed_is_void(hardsim: Any, command: str, options: tuple[str, ...]) -> None:
    outcome = hardsim(command, "tomita_3", *options, "--max-n", "4").exits(
        1, "void", "a bound assumes that earlier heads are right"
    )
    outcome.lacks("defect", "report it", "error bound of head S18.read does not hold")
    (head,) = re.findall(
        r"At length (\d+) head (\S+) in layer (\d+) failed first, on the word ([01]+)", outcome.told_text
    )
    assert int(head[0]) == len(head[3])
    result = hardsim(command, "tomita_3", *options, "--max-n", "4", "--json", "-").exits(1).result
    assert result["failed_first"] == {
        "head": head[1], "layer": int(head[2]), "n": int(head[0]), "word": list(head[3]),
    }  # fmt: skip
    assert result["violation"] is None
    for length in result["lengths"]:
        assert length["void"] or length["error"] <= length["bound"]
        for row in length["heads"]:
            assert row["void"] or row["error"] <= row["bound"]
            assert row["void"] == (row["void_after"] is not None)


def test_a_void_bound_is_not_drawn(hardsim: Any, tmp_path: Path) -> None:
    from hardsim.campaign.check import CheckOptions
    from hardsim.measuring.bound import BoundOptions, bound_report, bound_subject
    from tests.support.subjects import shipped

    subject = shipped("tomita_3.ltl", regime="none")
    result = bound_report(bound_subject(subject), CheckOptions(max_n=4), BoundOptions(search=False))
    drawn = dict(PANELS[1][1])
    assert [n for n, _ in points_of(result, drawn["measured"])] == [2, 3, 4]
    assert [n for n, _ in points_of(result, drawn["bound"])] == [1, 2]


def test_the_claims_of_an_edited_file_are_not_hardsims(
    hardsim: Any, since: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A false theoretical bound is a defect of hardsim only if hardsim made the network."""
    from hardsim.program.budget import Budget

    path, edited = tmp_path / "m.model.json", tmp_path / "edited.model.json"
    hardsim("compile", since, "-o", path).exits(0)
    document = json.loads(path.read_text("utf-8"))
    document["specification"]["layers"][0]["heads"][0]["decay"] = "1/(3*n)"
    edited.write_text(json.dumps(document), "utf-8")
    monkeypatch.setattr(Budget, "error_bound", lambda self, head, n, context: context.mpf("0.1"))
    for name in (since, path):
        hardsim("bound", name, "--max-n", "2").exits(
            1, "the error bound of head", "nobody edited it: this is a defect of hardsim"
        )
    outcome = hardsim("bound", edited, "--max-n", "2").exits(1, "the error bound of head", "correct these")
    outcome.lacks("defect", "report it")
