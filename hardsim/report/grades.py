"""Write the HTML page of `hardsim equiv`, for teachers: a row for each file, then every file that is not the same.

The page needs no other file, no network and no script. All text from files goes through `page.text`, which makes it
visible and escapes it: a file may have any name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hardsim.campaign.result import Verdict
from hardsim.lazy_dataclass import dataclass
from hardsim.measuring.equiv import INCLUDED, EquivResult
from hardsim.records import NOTHING
from hardsim.report.notices import Note
from hardsim.report.outcome import Finished, Outcome
from hardsim.report.page import HEAD, STYLE, text
from hardsim.targets.result import Answer, plural

GRADES = {
    Verdict.PROVED: ("right", "green"),
    Verdict.CERTIFIED: ("right on the words tried", "green"),
    Verdict.REFUTED: ("wrong", "red"),
    Verdict.UNDECIDED: ("not decided", "yellow"),
}
"""The grade that a verdict gives to a file, and the colour of its text."""
HEADERS = ("file", "result", "word", "first file", "this file", "mistake, or how far the result reaches")


@dataclass(frozen=True, slots=True)
class GradedFile:
    """A file of the page: its outcome, and its comparison (None: there is none)."""

    name: str
    outcome: Outcome
    result: EquivResult | None
    notes: tuple[str, ...] = ()
    """Remarks on how the file was read."""

    @property
    def grade(self) -> tuple[str, str]:
        """Return the grade of the file, and the colour of its text."""
        if self.result is not None:
            return GRADES[self.result.verdict]
        return ("cannot be compared" if self.outcome.code else "not compared"), "yellow"

    @property
    def explained(self) -> bool:
        """Return True if the file has a section of its own."""
        return self.result is None or self.result.word is not None or bool(self.notes)


def render(reference: str, finished: Finished, results: Sequence[EquivResult], notes: Sequence[Note] = ()) -> str:
    """Return the page. `results` compare files with the file `reference`; `finished` has their outcomes, and those of
    files without a result, in the order of the files. `notes` are remarks on how files were read."""
    files = list(_files(finished, results, notes))
    named = [note for note in notes if note.input in (None, reference)]
    own = [note.message if note.input is None else f"{reference}: {note.message}" for note in named]
    included = any(one.relation == INCLUDED for one in results)
    relation = "should accept every word that it accepts" if included else "should accept the same words"
    title = f"Compared with {reference}"
    heads = "".join(f'<th class="left">{text(head)}</th>' for head in HEADERS)
    rows = "".join(_row(number, one) for number, one in enumerate(files))
    body = [
        f"<h1>{text(title)}</h1>",
        f"<p>Each file {relation}. {text(_counted(files))}</p>",
        *(f"<p><b>{text(remark)}</b></p>" for remark in finished.remarks),
        *(f"<p>{text(remark)}</p>" for remark in own),
        f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>',
        *(_section(number, one) for number, one in enumerate(files) if one.explained),
    ]
    whole = "\n".join(body)
    return f"{HEAD}<title>{text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{whole}\n</body>\n</html>\n"


def _files(finished: Finished, results: Sequence[EquivResult], notes: Sequence[Note]) -> Iterator[GradedFile]:
    compared = {one.other: one for one in results}
    for one in finished.outcomes:
        # The outcome of a comparison with an expression has the name of the file.
        joint = len(results) == 1 and one.verdict and one.input == results[0].input
        result = results[0] if joint else compared.get(one.input or "")
        name = one.input or "the command line" if result is None else result.other
        yield GradedFile(name, one, result, tuple(note.message for note in notes if note.input == name))


def _counted(files: Sequence[GradedFile]) -> str:
    """Return the number of files by grade."""
    grades = [one.grade[0] for one in files]
    counts = ", ".join(f"{grades.count(one)} {one}" for one in dict.fromkeys(grades))
    return f"{plural(len(grades), 'file')}: {counts}."


def _row(number: int, file: GradedFile) -> str:
    outcome, result, (grade, colour) = file.outcome, file.result, file.grade
    name = f'<a href="#file{number}">{text(file.name)}</a>' if file.explained else text(file.name)
    reach = outcome.message if result is None else result.reach + "; interrupted" * result.partial
    if outcome.place is not None:
        reach = f"line {outcome.place[0]}, column {outcome.place[1]}: {reach}"
    found = [NOTHING, NOTHING, NOTHING]
    if result is not None and result.word is not None:
        found = [f"<code>{text(outcome.word)}</code>", _answer(result.answer), _answer(result.other_answer)]
    cells = [name, f'<b class="{colour}">{text(grade)}</b>', *found, text(reach)]
    return "<tr>" + "".join(f'<td class="left">{cell}</td>' for cell in cells) + "</tr>\n"


def _answer(answer: Answer) -> str:
    return NOTHING if answer is None else "accepts" if answer else "rejects"


def _section(number: int, file: GradedFile) -> str:
    """Return the section on a file that differs, cannot be compared, or has a remark."""
    outcome, result, (grade, colour) = file.outcome, file.result, file.grade
    found = [f'<h2 id="file{number}">{text(file.name)}</h2>', f'<p><b class="{colour}">{text(grade)}</b></p>']
    found += [f"<p>{text(note)}</p>" for note in file.notes]
    if result is None:
        lines = "\n".join(map(text, (outcome.details or outcome.message).split("\n")))
        return "\n".join([*found, f"<pre>{lines}</pre>"])
    if result.word is None:
        return "\n".join(found)
    found += [f"<p>{text(result.reach)}:</p>", f"<pre>{text(outcome.word)}</pre>"]
    for name, answer in ((result.input, result.answer), (result.other, result.other_answer)):
        found.append(f"<p>{text(name)} {_answer(answer)} it.</p>")
    return "\n".join(found)
