"""Draw bound reports: gap, error and temperature against n on log axes, for `--plot` and `hardsim report`.

Lines differ in shade, dash and marker, so that they can be distinguished in grey print and by colour-blind readers; the
colours are those of Okabe and Ito. The same report gives the same file.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import PurePath
from typing import Any
from warnings import catch_warnings, filterwarnings

from hardsim.errors import InputError
from hardsim.measuring.bound import BoundLength, BoundResult
from hardsim.version import install_hint

COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", "--", ":", "-.")
LONGEST_NAME = 40
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

FARTHEST = Fraction(10**300)
"""Largest number on an axis, and the inverse of the smallest: floats, and marks of an axis, end soon after."""

Value = Callable[[BoundLength], Fraction | None]

PANELS: tuple[tuple[str, tuple[tuple[str, Value], ...]], ...] = (
    ("score gap", (("measured", lambda x: x.score_gap), ("declared", lambda x: x.declared_gap))),
    ("error of an attended value", (("measured", lambda x: x.error), ("bound", lambda x: None if x.void else x.bound))),
    (
        "temperature",
        (
            ("Theorem 26", lambda x: x.theorem if x.score_gap is not None else None),
            ("right up to", lambda x: x.right),
            ("wrong at", lambda x: x.wrong),
            ("used", lambda x: x.temperature if x.score_gap is not None else None),
        ),
    ),
)


FORMATS: dict[str, dict[str, str | None]] = {
    ".svg": {"Date": None, "Creator": "hardsim"},
    ".png": {"Software": "hardsim"},
    ".pdf": {"CreationDate": None, "Creator": "hardsim"},
}
"""Formats of a picture by the ending of its name, with the metadata of the file: nothing that changes from day
to day."""
DOTS = 150
"""Resolution of a .png, in dots per inch."""


def format_of(path: str) -> str:
    """Return the ending of a picture's name, which is its format. Raises InputError if pictures are not drawn in that
    format."""
    found = next((end for end in FORMATS if path.endswith(end)), None)
    if found is None:
        raise InputError(f"--plot {path}: unknown picture format", "Give a name that ends in .svg, .png or .pdf.")
    return found


def require_drawable() -> None:
    """Import the modules of matplotlib that draw. Raises InputError if matplotlib is not installed, or its settings
    keep it from starting."""
    try:
        import matplotlib.backends.backend_agg
        import matplotlib.backends.backend_pdf
        import matplotlib.backends.backend_svg
        import matplotlib.figure
        import matplotlib.style  # noqa: F401
    except ModuleNotFoundError:
        raise InputError("--plot needs matplotlib, which is not installed", install_hint("plot")) from None
    except Exception as error:  # whatever a setting leads to
        hint = "Its settings are in the variable MPLBACKEND, and in matplotlibrc or the file that MATPLOTLIBRC names."
        raise InputError(f"--plot: matplotlib does not start with its settings: {error}", hint) from None


def draw(results: Sequence[BoundResult], form: str = ".svg") -> bytes:
    """Return the picture of bound reports as a file in the format `form` (a key of FORMATS)."""

    def panels(figure: Any) -> None:
        for index, (title, series) in enumerate(PANELS):
            _panel(figure.add_subplot(1, len(PANELS), index + 1), title, series, results)

    return picture((13, 4.2), panels, form, {"font.size": 9.0})


def picture(
    size: tuple[float, float], draw_on: Callable[[Any], None], form: str, settings: Mapping[str, float]
) -> bytes:
    """Return a picture as a file in the format `form` (a key of FORMATS), the same file each time. `size` is in inches,
    and `draw_on` draws on a matplotlib figure."""
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # An .svg names all fonts of the family in every text; matplotlib brings this one.
    usual = {"svg.hashsalt": "hardsim", "svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans"], "figure.dpi": DOTS}
    with style.context(usual | dict(settings), after_reset=True):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)  # saving takes that of the format
        draw_on(figure)
        target = io.BytesIO()
        with catch_warnings():
            # What no font has is a box in the picture, or in an .svg left to who shows it.
            filterwarnings("ignore", "Glyph .* missing from font")
            figure.savefig(target, format=form[1:], metadata=FORMATS[form])
    return target.getvalue()


def points_of(result: BoundResult, value: Value) -> list[tuple[int, float]]:
    """Return the points (length, number) of a line on log axes; only numbers above 0 and within the range of
    the axis."""
    points = [(length.n, value(length)) for length in result.lengths]
    return [(n, float(y)) for n, y in points if y is not None and 1 / FARTHEST <= y <= FARTHEST]


def _panel(axes: Any, title: str, series: Sequence[tuple[str, Value]], results: Sequence[BoundResult]) -> None:
    drawn = 0
    for number, result in enumerate(results):
        for kind, (label, value) in enumerate(series):
            points = points_of(result, value)
            if not points:
                continue
            # With one result the name of the input would only repeat the title.
            name = label if len(results) == 1 else f"{label}: {name_of(result)}"
            axes.plot(
                *zip(*points, strict=True),
                label=name.replace("$", r"\$"),  # a pair of them would begin mathematics
                color=COLOURS[(number + kind) % len(COLOURS)],
                linestyle=DASHES[kind % len(DASHES)],
                marker=MARKERS[(2 * number + kind) % len(MARKERS)],
                markersize=4,
            )
            drawn += 1
    axes.set_title(title)
    axes.set_xlabel("n (positions)")
    axes.set_xscale("log")
    axes.grid(True, which="major", color="#cccccc", linewidth=0.5)
    if drawn:
        axes.set_yscale("log")
        # A legend wider than its panel must not take the room of the panels.
        axes.legend().set_in_layout(False)


def name_of(result: BoundResult) -> str:
    """Return the name of a line in a picture of several results: the file without its directory, shortened, and the
    regime."""
    name = PurePath(result.input).name
    if len(name) > LONGEST_NAME:
        name = f"{name[: LONGEST_NAME // 2]}...{name[-LONGEST_NAME // 2 :]}"
    return name if result.regime is None else f"{name}, {result.regime}"
