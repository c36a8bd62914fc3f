"""The commands as one typer application, and `dispatch`, which turns whatever happens into one exit code."""

from __future__ import annotations

import io
import re
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hardsim.cli import bound, check, compile, eval, examples, failures, prove, show, verify, words
from hardsim.cli.failures import CODES
from hardsim.cli.streams import ClosedPipe, Interrupted, drop_stdout, lost_stream, note, open_streams, say, use_utf8
from hardsim.version import __version__
from hardsim.visible import visible

HELP = """Do soft-attention transformers do what hard attention says?

hardsim reads formulas of linear temporal logic (.ltl), S-RASP programs (.srasp) and hard-attention models (.ahat.json),
makes of them softmax transformers with rational weights, runs these in arbitrary precision, and reports whether they
answer exactly what hard attention answers.

\b
Start here:
  hardsim examples                          the formulas that come with hardsim
  hardsim examples since > since.ltl        one of them, to try
  hardsim check since.ltl                   compile it and check every word up to length 8
  hardsim check since.ltl --regime none     see plain softmax fail
  hardsim bound since.ltl                   gaps, temperatures and errors beside the theory
  hardsim prove since.ltl                   prove it for every word up to length 64
  hardsim COMMAND --help                    the manual of a command
"""

ENVIRONMENT = "Environment: NO_COLOR turns colours off, HARDSIM_DEBUG=1 shows the traceback of an internal error."

USAGE_ERROR: Any = typer.BadParameter.__mro__[1]
"""The base of all usage errors; typer exports only this subclass."""


class Commands(TyperGroup):
    """Keeps a closed pipe and Ctrl-C apart: typer would turn the one into exit code 1 and be silent on the other."""

    def make_context(self, *arguments: Any, **extra: Any) -> Any:
        """Read the command line; raises ClosedPipe if the reader of the help has gone, Interrupted after Ctrl-C."""
        try:
            return super().make_context(*arguments, **extra)
        except BrokenPipeError:
            raise ClosedPipe from None
        except KeyboardInterrupt:
            raise Interrupted from None

    def invoke(self, ctx: Any) -> Any:
        """Run the command; raises ClosedPipe if its reader has gone, Interrupted after Ctrl-C."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            raise ClosedPipe from None
        except KeyboardInterrupt:
            raise Interrupted from None
        except typer.Exit:
            # A command ends with an exit code; what it printed may still be waiting for a reader who has gone.
            try:
                sys.stdout.flush()
            except BrokenPipeError:
                raise ClosedPipe from None
            raise


app = typer.Typer(
    name="hardsim",
    cls=Commands,
    help=HELP,
    epilog=f"{CODES}\n{ENVIRONMENT}",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"hardsim {__version__}\n")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
]


@app.callback()
def root(version: Version = False) -> None:
    """The options of `hardsim` itself."""


OPTIONS = "[OPTIONS]"
for _name, _command, _help, _short, _usage in (
    ("check", check.check, check.HELP, "Is the compiled transformer right, word by word?", OPTIONS),
    ("prove", prove.prove, prove.HELP, "Is it right on all words up to a length?", OPTIONS),
    ("verify", verify.verify, verify.HELP, "Is a certificate of such a proof right?", OPTIONS),
    ("eval", eval.evaluate_words, eval.HELP, "What is answered on given words?", f"{OPTIONS} [FILE]"),
    ("words", words.words, words.HELP, "Which words are accepted, up to a length?", OPTIONS),
    ("show", show.show, show.HELP, "What was the formula compiled into?", OPTIONS),
    ("compile", compile.compile_model, compile.HELP, "Write the transformer to a file.", OPTIONS),
    ("bound", bound.bound, bound.HELP, "What does the theory allow, and what happens?", OPTIONS),
    ("examples", examples.examples, examples.HELP, "List or print what is shipped.", OPTIONS),
):
    app.command(_name, help=_help, short_help=_short, epilog=CODES, options_metavar=_usage)(_command)


def _usage_message(error: Any) -> list[str]:
    """The lines that a usage error prints, with the way out where a file or a word was taken for an option."""
    if type(error).__name__ != "NoArgsIsHelpError":  # whose message is the whole help
        error.message = visible(error.message)
    text = io.StringIO()
    error.show(text)
    lines = text.getvalue().rstrip("\n").split("\n")
    if hasattr(error, "option_name") and hasattr(error, "possibilities"):
        lines.append("Files and words that start with '-' follow '--', which stands after the options.")
    return lines


def _misplaced(arguments: list[str]) -> str | None:
    """An option after the '--' that ends the options, if there is one."""
    rest = arguments[arguments.index("--") + 1 :] if "--" in arguments else []
    return next((text for text in rest if re.match(r"--[a-z]{2}", text)), None)


def dispatch(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; nothing but KeyboardInterrupt is raised."""
    code = _dispatch(arguments)
    option = _misplaced(sys.argv[1:] if arguments is None else arguments)
    if code == failures.BAD_INPUT and option is not None:
        note(f"{option} stands after '--' and was read as a file or a word: options stand before '--'")
    return code


def _dispatch(arguments: list[str] | None) -> int:
    use_utf8()
    if not open_streams():
        say("error: standard output is closed; send it somewhere, such as /dev/null")
        return failures.BAD_INPUT
    try:
        code = app(arguments, prog_name="hardsim", standalone_mode=False)
        return code if isinstance(code, int) else failures.AGREED
    except USAGE_ERROR as error:
        say(*_usage_message(error))
        return failures.BAD_INPUT
    except (Interrupted, typer.Abort):
        say("interrupted")
        return failures.INTERRUPTED
    except (ClosedPipe, BrokenPipeError):
        drop_stdout()
        return failures.CLOSED_PIPE
    except OSError as error:
        if not lost_stream(error):
            return failures.report(error)
        say(f"error: standard output cannot be written ({error.strerror}); send it somewhere else")
        drop_stdout()
        return failures.BAD_INPUT
    except Exception as error:
        return failures.report(error)
