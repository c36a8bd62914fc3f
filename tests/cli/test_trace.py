"""Tests of `hardsim trace`: its output, its pictures and its refusals."""

import re
import sys
import warnings
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pytest

import hardsim as api
from hardsim.report import map_svg, maps
from tests.cli.conftest import Cli
from tests.support.external import hooked_folder
from tests.support.language import InputError
from tests.support.mistakes import raised


def test_a_mismatch_ends_as_eval_does(hardsim: Cli) -> None:
    found = hardsim("trace", "since", "--regime", "none", "cbaa", "--json", "-")
    assert found.code == 1
    result = found.result
    assert result["answers"]["agree"] is False
    assert [head["name"] for head in result["heads"]] == ["S4.read"]
    assert [read["keys"] for read in result["heads"][0]["reads"]] == [[1], [2], [2], [2]]


def test_one_head_position_by_position(hardsim: Cli) -> None:
    found = hardsim("trace", "dyck2", "([])", "--head", "mate = (").clean()
    lines = [line.split() for line in found.out.splitlines()]
    looks = {tuple(line[:2]): line[2] for line in lines if len(line) > 2 and line[0].isdecimal()}
    # Each closing bracket looks at its opening bracket.
    assert (looks["3", "]"], looks["4", ")"]) == ("2", "1")
    assert "layer 1" not in found.out


def test_an_external_network(hardsim: Cli, tmp_path: Path) -> None:
    found = hardsim("trace", hooked_folder(tmp_path / "net", -0.5), "a b a").clean()
    # All logits are 0, so hard attention takes the mean of the visible positions.
    (row,) = [line.split() for line in found.out.splitlines() if "looks at" in line and "head" in line]
    assert row[-3:] == ["0", "0,1", "0,1,2"]


def test_the_outputs_of_a_network_fold(hardsim: Cli) -> None:
    found = hardsim("trace", "networks/majority", "0011010").clean()
    assert max(map(len, found.out.splitlines())) <= 80
    assert "<pad> -" in " ".join(found.out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("since", "ab", "ba"), "a trace shows one word, but 2 are given"),
        (("since",), "no word to evaluate after since"),
        (("since", "ax"), "'x'"),
        (("since", "ab", "--head", "S4"), "has no head 'S4'"),
        (("since", "ab", "--engine", "float64"), "in balls or in mpmath"),
        (("since", "a" * 257), "at most 256 positions, not 257"),
        (("since", "ab", "--plot", "x.gif"), "Give a name that ends in .svg, .png, .pdf or .html."),
        (("since", "ab", "--plot", "x.html", "--regime", "all"), "a picture shows one network"),
    ],
)
def test_what_is_refused(hardsim: Cli, arguments: tuple[str, ...], message: str) -> None:
    found = hardsim("trace", *arguments)
    assert found.code == 2
    assert message in " ".join(found.err.split())
    assert "Traceback" not in found.err


def test_a_picture_is_of_one_input(hardsim: Cli, tmp_path: Path) -> None:
    for name in "xy":
        (tmp_path / f"{name}.ltl").write_text("alphabet: a b\nO b\n", encoding="utf-8")
    hardsim("trace", tmp_path, "ab").clean("x.ltl", "y.ltl")
    hardsim("trace", tmp_path, "ab", "--plot", tmp_path / "x.html").refused("a picture shows one input")
    assert not (tmp_path / "x.html").exists()


# ---- pictures ----


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize(("ending", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_pictures_are_the_same_each_time(hardsim: Cli, tmp_path: Path, ending: str, start: bytes) -> None:
    paths = [tmp_path / f"{name}.{ending}" for name in "ab"]
    for path in paths:
        hardsim("trace", "since", "cbaab", "--plot", path).exits(0).says(f"note: the picture is in {path}")
    one, two = (path.read_bytes() for path in paths)
    assert one.startswith(start)
    assert one == two
    if ending == "svg":
        assert one.count(b">reads (query)<") == 2


TEXT = re.compile(r"<text [^>]*>([^<]*)</text>")


def test_positions_are_numbered_and_short_symbols_stand_upright(hardsim: Cli, tmp_path: Path) -> None:
    hardsim("trace", "dyck2", "([()])", "--head", "mate = (", "--plot", tmp_path / "x.svg").exits(0)
    text = (tmp_path / "x.svg").read_text(encoding="utf-8")
    shown = TEXT.findall(text)
    # Two maps of two axes: each position has its symbol and, on the other side, its number, from 0 for the beginning of
    # sequence, the only symbol that is turned (about the origin; titles of axes are turned about their middles).
    assert [shown.count(str(number)) for number in range(8)] == [4] * 7 + [0]
    assert (shown.count("BOS"), shown.count("]")) == (4, 4)
    # The titles of the upright axes are turned as well.
    assert text.count("rotate(-90 ") == 2 + 2
    assert [maps.numbered(k, 13, 1) for k in range(6)] == [True, False, False, False, True, False]


@pytest.mark.slow
def test_many_pairs_of_maps_stand_beside_each_other(tmp_path: Path) -> None:
    sizes = []
    for heads in (["nl"], ["nl", "nr"], []):
        api.load("dyck1.srasp").trace("()", plot=tmp_path / "x.svg", head=heads)
        text = (tmp_path / "x.svg").read_text(encoding="utf-8")
        sizes.append([float(one) for one in re.findall(r'<svg [^>]*viewBox="0 0 (\S+) (\S+)"', text)[0]])
        assert text.count(">reads (query)<") == 2 * (len(heads) if heads else 7)
    (width, height), (same, double), (wide, high) = sizes
    assert same == width
    assert double > 1.7 * height
    assert wide >= 2 * width - 100
    assert high < 1.6 * wide


@pytest.mark.slow
@pytest.mark.parametrize(("count", "ruled"), [(maps.FEW, 2), (maps.FEW + 1, 0)])
def test_cells_have_lines_between_them_while_they_are_large(tmp_path: Path, count: int, ruled: int) -> None:
    api.load("since").trace("a" * count, plot=tmp_path / "x.svg")
    text = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert text.count('stroke="#ffffff" stroke-width="0.4"') == ruled


def test_nothing_is_drawn_of_many_heads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "MOST_DRAWN", 1)
    model = api.load("dyck1.srasp")
    error = raised(InputError, lambda: model.trace("()", plot=tmp_path / "x.svg"))
    assert error.message == "a picture has room for 1 heads, but there are 7"
    assert not list(tmp_path.iterdir())
    model.trace("()", plot=tmp_path / "x.svg", head="ok: none")
    assert (tmp_path / "x.svg").exists()


def test_an_svg_needs_no_matplotlib(hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    hardsim("trace", "since", "cba", "--plot", tmp_path / "x.svg").exits(0)
    hardsim("trace", "since", "cba", "--plot", tmp_path / "x.png").refused("needs matplotlib, which is not installed")


def test_an_svg_says_what_is_wrong_and_frames_it(hardsim: Cli, tmp_path: Path) -> None:
    """At the constant temperature 1 the sixth to eighth query give the key that hard attention reads less than half."""
    target = tmp_path / "x.svg"
    hardsim("trace", "since", "--regime", "none", "cbaacbaa", "--plot", target).exits(1)
    picture = ElementTree.fromstring(target.read_bytes())
    texts = ["".join(one.itertext()) for one in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "since: cbaacbaa"
    assert texts[1].startswith("softmax answers wrongly; ")
    assert map_svg.LEFT_ALONE in texts
    assert "layer 1, S4.read: a S b, read at the last position with !a | b" in texts
    frames = [one.get("stroke-width", "") for one in picture.iter() if one.get("stroke") == map_svg.MARK]
    # One frame around three rows of the soft map, and in both maps the cell where the answer goes wrong.
    assert sorted(frames) == ["1.5"] + ["3"] * 2
    assert map_svg.runs([5, 6, 7]) == [(5, 3)]
    assert map_svg.runs([0, 2, 3, 9]) == [(0, 1), (2, 2), (9, 1)]
    assert map_svg.runs([]) == []
    assert " ".join(texts[2:5]).startswith(
        "thick frame: layer 1, S4.read, position 8 (a): hard attention reads position 6 (b), "
    )
    hardsim("trace", "since", "cbaacbaa", "--plot", target).exits(0)
    assert map_svg.MARKED not in target.read_text(encoding="utf-8")
    assert map_svg.LEFT_ALONE not in target.read_text(encoding="utf-8")


@pytest.mark.parametrize("share", [Fraction(k, 8) for k in range(9)])
def test_colours_are_those_of_cividis(share: Fraction) -> None:
    from matplotlib import colormaps

    exact = colormaps["cividis"](float(share))[:3]
    found = [int(map_svg.colour(float(share))[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    assert max(abs(one - other) for one, other in zip(exact, found, strict=True)) < 0.02


def test_the_cells_of_a_map_are_its_weights(tmp_path: Path) -> None:
    """The areas of the paths of each colour are the numbers of cells of that colour."""
    rows: list[list[float | None]] = [[1.0, None, None], [0.5, 0.5, None], [0.25, 0.25, 0.5]]
    text = map_svg.svg(["t"], [map_svg.Pair("p", rows, rows, ())], map_svg.Axis("abc", {0: "1"}, False))
    found = dict.fromkeys(map(map_svg.colour, (1, 0.5, 0.25)), 0.0)
    for shade, path in re.findall(r'<path fill="(#\w+)" d="([^"]*)"', text):
        for width, height in re.findall(r"h([\d.]+)v([\d.]+)", path):
            found[shade] += float(width) * float(height) / map_svg.CELL**2
    assert list(found.values()) == [2, 6, 4]


def test_every_colour_besides_the_weights_has_a_dark_form(hardsim: Cli, tmp_path: Path) -> None:
    """Text stands out on a dark page as on a light one (contrast at least 4.5, WCAG 2); cells keep their colours."""
    target = tmp_path / "x.svg"
    hardsim("trace", "since", "--regime", "none", "cbaacbaa", "--plot", target).exits(1)
    text = target.read_text(encoding="utf-8")
    used = set(re.findall(r'(?:fill|stroke)="(#\w{6})"', text))
    cells = {map_svg.colour(k / 100) for k in range(101)} | {map_svg.colour((k + 0.5) / 100) for k in range(100)}
    assert used - cells == set(map_svg.DARK)
    for old, new in map_svg.DARK.items():
        assert f'[fill="{old}"]{{fill:{new}}}[stroke="{old}"]{{stroke:{new}}}' in text
    assert not cells.intersection(map_svg.DARK)

    def luminance(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for written in (map_svg.TEXT, map_svg.NUMBER, map_svg.MARK):
        for one, ground in ((written, map_svg.GROUND), (map_svg.DARK[written], map_svg.DARK[map_svg.GROUND])):
            low, high = sorted((luminance(one), luminance(ground)))
            assert (high + 0.05) / (low + 0.05) >= 4.5


def test_what_no_font_has_is_no_warning(hardsim: Cli, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hardsim("trace", "-e", "O '日'", "--alphabet", "日 y", "日 y", "--plot", tmp_path / "x.svg").exits(0)
    assert ">日<" in (tmp_path / "x.svg").read_text(encoding="utf-8")


def test_dollars_are_no_mathematics(hardsim: Cli, tmp_path: Path) -> None:
    target = tmp_path / "x.svg"
    hardsim("trace", "-e", "O '$x'", "--alphabet", "$x $y", "$x $y $x", "--plot", target).exits(0)
    # Two maps, two axes, two positions.
    assert target.read_text(encoding="utf-8").count(">$x<") == 8
