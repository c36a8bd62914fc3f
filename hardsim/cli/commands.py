"""The commands as one typer application, and `dispatch`, which turns whatever happens into one exit code."""

from __future__ import annotations

import io
import os
import re
import sys
from glob import glob
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hardsim.checking.options import Request
from hardsim.cli import streams
from hardsim.cli.manual import COMMANDS
from hardsim.cli.options import taking
from hardsim.cli.streams import CODES, LostOutput, say, warn
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
    """Imports the module of a command when there is something for it to do."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that was called, and what it was given."""
        name, _, rest = super().resolve_command(ctx, args)
        manual = COMMANDS[str(name)]

        def command(request: Request) -> None:
            import_module(f"hardsim.cli.{name}").command(request)

        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        page = alone.command(name, help=manual.text, epilog=CODES, options_metavar=manual.usage)
        page(taking(manual, command))
        return name, typer.main.get_command(alone), rest


app = typer.Typer(
    name="hardsim",
    cls=Commands,
    help=HELP,
    epilog=f"{CODES}\n{ENVIRONMENT}",
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"hardsim {__version__}\n")
        raise typer.Exit


VERSION = typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")


@app.callback()
def root(version: Annotated[bool, VERSION] = False) -> None:
    """The options of `hardsim` itself."""


for _name, _manual in COMMANDS.items():
    app.command(_name, short_help=_manual.purpose)(lambda: None)


def _usage_message(error: Any) -> list[str]:
    """The lines that a usage error prints, with the way out where a file or a word was taken for an option."""
    if type(error).__name__ != "NoArgsIsHelpError":  # whose message is the whole help
        error.message = visible(error.message)
    text = io.StringIO()
    error.show(text)
    lines = [re.sub("^Error: ", "error: ", line) for line in text.getvalue().rstrip("\n").split("\n")]
    if hasattr(error, "option_name") and hasattr(error, "possibilities"):
        lines.append("Files and words that start with '-' follow '--', which stands after the options.")
    return lines


def _misplaced(arguments: list[str]) -> str | None:
    """An option after the '--' that ends the options, if there is one."""
    rest = arguments[arguments.index("--") + 1 :] if "--" in arguments else []
    return next((text for text in rest if re.match(r"--[a-z]{2}", text)), None)


def dispatch(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; nothing but KeyboardInterrupt is raised."""
    if arguments is None:
        arguments = sys.argv[1:]
        if os.name == "nt":  # no shell there expands patterns
            meant = [os.path.expandvars(os.path.expanduser(text)) for text in arguments]
            arguments = [name for text in meant for name in glob(text) or [text]]
    code = _dispatch(arguments)
    option = _misplaced(arguments)
    if code == streams.BAD_INPUT and option is not None:
        warn(f"{option} stands after '--' and was read as a file or a word: options stand before '--'")
    return code


def _dispatch(arguments: list[str]) -> int:
    if not streams.open_streams():
        say("error: standard output is closed; send it somewhere, such as /dev/null")
        return streams.BAD_INPUT
    try:
        code = _code(arguments)
        sys.stdout.flush()  # what was printed may still be waiting for its reader
        return code
    except LostOutput as lost:
        streams.drop_stdout()
        if lost.unread:
            return streams.CLOSED_PIPE
        say(f"error: standard output cannot be written ({lost}); send it somewhere else")
        return streams.BAD_INPUT


def _code(arguments: list[str]) -> int:
    """The exit code of a command; typer's own way to run one answers Ctrl-C by itself. LostOutput is all it raises."""
    group = typer.main.get_command(app)
    try:
        with group.make_context("hardsim", arguments) as context:
            group.invoke(context)
    except typer.Exit as left:
        return left.exit_code
    except USAGE_ERROR as error:
        say(*_usage_message(error))
        return streams.BAD_INPUT
    except LostOutput:
        raise
    except Exception as error:
        return streams.report(error)
    return streams.AGREED
