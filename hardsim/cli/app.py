"""The command line: the application, and `main`, which turns whatever happens into one exit code."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hardsim.cli import check, compile, eval, examples, failures, show, words
from hardsim.cli.failures import CODES
from hardsim.cli.streams import ClosedPipe, drop_stdout, lost_stream, say, use_utf8
from hardsim.version import __version__

HELP = """Do soft-attention transformers do what hard attention says?

hardsim reads formulas of linear temporal logic (.ltl), compiles them into softmax transformers with rational weights,
runs these in arbitrary precision, and reports whether they accept exactly what hard attention accepts.

\b
Start here:
  hardsim examples                          the formulas that come with hardsim
  hardsim examples since > since.ltl        one of them, to try
  hardsim check since.ltl                   compile it and check every word up to length 8
  hardsim check since.ltl --regime none     see plain softmax fail
  hardsim COMMAND --help                    the manual of a command
"""

ENVIRONMENT = "Environment: NO_COLOR turns colours off, HARDSIM_DEBUG=1 shows the traceback of an internal error."

USAGE_ERROR: Any = typer.BadParameter.__mro__[1]
"""The base of all usage errors; typer exports only this subclass."""


class Commands(TyperGroup):
    """Keeps a closed pipe apart from other failures to write, which typer would turn into exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; raises ClosedPipe if its reader has gone."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            raise ClosedPipe from None
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
for _name, _command, _help, _usage in (
    ("check", check.check, check.HELP, OPTIONS),
    ("eval", eval.evaluate_words, eval.HELP, f"{OPTIONS} [FILE]"),
    ("words", words.words, words.HELP, OPTIONS),
    ("show", show.show, show.HELP, OPTIONS),
    ("compile", compile.compile_model, compile.HELP, OPTIONS),
    ("examples", examples.examples, examples.HELP, OPTIONS),
):
    app.command(_name, help=_help, epilog=CODES, options_metavar=_usage)(_command)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; nothing is raised."""
    use_utf8()
    try:
        code = app(arguments, prog_name="hardsim", standalone_mode=False)
        return code if isinstance(code, int) else failures.AGREED
    except USAGE_ERROR as error:
        error.show()
        return failures.BAD_INPUT
    except (KeyboardInterrupt, typer.Abort):
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


def main() -> None:
    """The console script."""
    sys.exit(run())
