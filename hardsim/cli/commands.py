"""The commands as one typer application, and `dispatch`, which turns every outcome into one exit code."""

from __future__ import annotations

import io
import os
import re
import sys
from functools import cache
from glob import glob
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from hardsim.cli import exit_codes, streams
from hardsim.cli.activity import alive
from hardsim.cli.exit_codes import CODES
from hardsim.cli.manual import COMMANDS
from hardsim.cli.refusals import document_usage_error, documented
from hardsim.cli.start import resume_collection
from hardsim.cli.streams import LostOutput, say, warn
from hardsim.cli.typer_options import all_options, flag, options_of, plainly, renamed, taking, unknown_option
from hardsim.errors import LONGEST_MESSAGE, InputError, did_you_mean, limited
from hardsim.examples import located
from hardsim.options.table import Request, signed
from hardsim.version import __version__
from hardsim.visible import visible

HELP = "Does softmax answer as hard attention does? Try: hardsim check since"
ALL_OPTIONS = "[--version] [-h | --help] [--help-all]"
"""All options of the application, in the first line of the help of one screen."""

HELP_ALL = """Does this softmax transformer answer exactly as hard attention does, on every word?

hardsim reads formulas of linear temporal logic (.ltl), S-RASP programs (.srasp), C-RASP programs (.cr) and
hard-attention models (.ahat.json). It compiles them into softmax transformers with rational weights, runs these in
arithmetic with rigorous error bounds, and reports whether they answer exactly as hard attention does. It also checks
external networks against specifications (.spec), and compares formulas with regular expressions (.re).

\b
Start here:
  hardsim examples                     list the formulas, programs and models that come with hardsim
  hardsim check since                  compile one, try every word up to length 8, prove all
  hardsim check since --regime none    see plain softmax fail
  hardsim prove since --all-n          prove it for every length
  hardsim bound since                  compare gaps, temperatures and errors with the theory
  hardsim eval since cba bac           print the answers on words of your own
  hardsim new my_gpt2/                 write a specification for a network of your own
  hardsim examples since > mine.ltl    copy a formula to change it
  hardsim help COMMAND                 show what a command does, on one screen
  hardsim COMMAND --help-all           show the whole manual of a command
"""

ENVIRONMENT = "Environment: NO_COLOR turns colours off; HARDSIM_DEBUG=1 shows the traceback of an internal error."
BRIEF_CODES = "Exit codes: 0 agreed, 1 a mismatch, 2 bad input, 3 undecided."

USAGE_ERROR: Any = typer.BadParameter.__mro__[1]
"""Base class of all usage errors; typer exports only this subclass."""
COMPLETE = "_HARDSIM_COMPLETE"
"""Environment variable that a shell sets when it asks for completions."""


class Page(TyperCommand):
    """A command whose help fits on one screen."""

    def get_help(self, ctx: Any) -> str:
        """Return the help page with the options that most people use."""
        return str(page(str(self.name), brief=True).get_help(ctx))

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all options and arguments of the command."""
        return plainly(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments of the command, in which options may have earlier names."""
        return super().parse_args(ctx, renamed(args, str(self.name)))


@cache
def page(name: str, brief: bool) -> Any:
    """Return a command as an object of typer: for its brief help page, or with its whole manual, to be run. It is made
    once, because typer takes milliseconds; runs change nothing in it."""
    manual = COMMANDS[name]

    def command(request: Request) -> None:
        """Import the module of the command only when it is run, and run it."""
        with documented(name, request):
            # A regime that does not exist is reported before anything is read.
            if "regime" in options_of(name):
                request.options()
            module = import_module(f"hardsim.cli.{name}")
            resume_collection()
            module.command(request)

    def manual_page(context: Any) -> str:
        return str(TyperCommand.get_help(page(name, brief=False), context))

    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    text, codes = (manual.brief, BRIEF_CODES) if brief else (manual.text, CODES)
    cls = TyperCommand if brief else Page
    # An application of one command per page, because typer builds all commands of an application at once.
    add = alone.command(name, cls=cls, help=text, epilog=codes, options_metavar=manual.usage)
    add(taking(name, command, brief, manual_page))
    return typer.main.get_command(alone)


class Commands(TyperGroup):
    """The group of all commands, which makes a command when it is asked for."""

    def get_help(self, ctx: Any) -> str:
        """Return the help of the application: one screen with all commands, so without empty lines and options."""
        return str(application(brief=True).get_help(ctx)).replace("\n\n", "\n")

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all options of the application."""
        return plainly(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name and the object of the command that was called, and its arguments."""
        name, *rest = args
        if name in COMMANDS:
            return name, page(name, brief=False), rest
        if name == "help":
            return super().resolve_command(ctx, args)
        # The most frequent mistakes: a mistyped command, and a file without a command.
        near = did_you_mean(name, (*COMMANDS, "help"))
        if not near and os.path.exists(located(name)):
            near = f"write a command before the file: hardsim check {name}"
        return ctx.fail(f"no command is called {name!r}{near and f'; {near}'}")


def _version(value: bool) -> None:
    if value:
        sys.stdout.write(f"hardsim {__version__}\n")
        raise typer.Exit


VERSION = flag("version", "-V", "--version", callback=_version, help="Print the version, and exit.")
NAMED = typer.Argument(metavar="COMMAND", hidden=True, autocompletion=lambda: list(COMMANDS))


@cache
def application(brief: bool) -> Any:
    """Return the application with all commands, made once: for the help of one screen, or with all texts, to be run."""
    app = typer.Typer(
        name="hardsim",
        cls=TyperGroup if brief else Commands,
        help=HELP if brief else HELP_ALL,
        epilog=None if brief else f"{CODES}\n{ENVIRONMENT}",
        rich_markup_mode=None,
        add_completion=not brief,
        no_args_is_help=True,
        options_metavar=ALL_OPTIONS if brief else "[OPTIONS]",
        add_help_option=not brief,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )

    def show(context: Any) -> str:
        return str(TyperGroup.get_help(application(brief=False), context))

    app.callback()(signed(lambda **_: None, [] if brief else [VERSION, all_options(show)]))
    for name, manual in COMMANDS.items():
        app.command(name, short_help=manual.purpose)(lambda: None)
    app.command("help", short_help="Show what a command does, on one screen.", hidden=brief)(_help)
    return typer.main.get_command(app)


def _help(context: typer.Context, command: Annotated[str | None, NAMED] = None) -> None:
    """Print what a command does, on one screen, as `hardsim COMMAND --help` does."""
    above: Any = context.parent
    if command is None:
        sys.stdout.write(f"{above.get_help()}\n")
        return
    name, found, _ = above.command.resolve_command(above, [command])
    found.make_context(name, ["--help"], parent=above)


def _usage_message(error: Any, arguments: list[str]) -> list[str]:
    """Return the lines to print for a usage error, with advice if a file or a word was taken for an option."""
    if type(error) is typer.BadParameter:  # a value: how options are written is not the question
        return [f"error: {visible(limited(error.format_message(), LONGEST_MESSAGE))}"]
    advice = ""
    if hasattr(error, "option_name") and hasattr(error, "possibilities"):
        # typer names only a part of a mistyped option, and suggests several others. An option that it names whole goes
        # first, because a right one may begin with it.
        named = [text.partition("=")[0] for text in arguments if text.startswith(error.option_name)]
        given = min(named, key=lambda text: text != error.option_name, default=error.option_name)
        error.possibilities = []
        error.message, advice = unknown_option(given, error.ctx)
    if type(error).__name__ != "NoArgsIsHelpError":  # whose message is the whole help
        error.message = visible(limited(error.message, LONGEST_MESSAGE))
    text = io.StringIO()
    error.show(text)
    lines = [re.sub("^Error: ", "error: ", line) for line in text.getvalue().rstrip("\n").split("\n")]
    return [*lines, *[advice] * bool(advice)]


def _misplaced(arguments: list[str]) -> str | None:
    """Return the first option after the '--' that ends the options, or None."""
    rest = arguments[arguments.index("--") + 1 :] if "--" in arguments else []
    return next((text for text in rest if re.match(r"--[a-z]{2}", text)), None)


def dispatch(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code. No exception but KeyboardInterrupt leaves this function."""
    if arguments is None:
        arguments = sys.argv[1:]
        if os.name == "nt":  # no shell there expands patterns
            expanded = [os.path.expandvars(os.path.expanduser(text)) for text in arguments]
            arguments = [name for text in expanded for name in glob(text) or [text]]
    code = _dispatch(arguments)
    option = _misplaced(arguments)
    if code == exit_codes.BAD_INPUT and option is not None:
        warn(f"{option} was read as a file or a word, because it stands after '--': write options before '--'")
    return code


def _dispatch(arguments: list[str]) -> int:
    if not streams.open_streams():
        say("error: standard output is closed; send it somewhere, such as /dev/null")
        return exit_codes.BAD_INPUT
    try:
        with alive("hardsim"):
            code = _code(arguments)
        sys.stdout.flush()  # what was printed may still be waiting for its reader
        return code
    except LostOutput as lost:
        streams.drop_stdout()
        if lost.unread:
            return exit_codes.CLOSED_PIPE
        say(f"error: standard output cannot be written ({lost}); send it somewhere else")
        return exit_codes.worst([*lost.codes, exit_codes.BAD_INPUT])


def require_completion() -> None:
    """Check the environment variable of completion requests, which may be set although no shell asks. Raises
    InputError, naming the variable."""
    instruction, counted = os.environ[COMPLETE], os.environ.get("COMP_CWORD", "")
    known = re.fullmatch("(complete|source)_(bash|zsh|fish|powershell|pwsh)", instruction)
    if known is None or (instruction == "complete_bash" and not ("COMP_WORDS" in os.environ and counted.isdecimal())):
        message = f"{COMPLETE} is set to {instruction!r}, but no shell asks for completions"
        raise InputError(message, f"Unset {COMPLETE}; `hardsim --install-completion` sets up completion in your shell.")


def _code(arguments: list[str]) -> int:
    """Run a command and return its exit code. Only LostOutput and KeyboardInterrupt are raised. (typer's own runner
    would handle Ctrl-C itself.)"""
    group = application(brief=False)
    try:
        if COMPLETE in os.environ:
            require_completion()
            group.main(arguments, prog_name="hardsim", complete_var=COMPLETE)
        with group.make_context("hardsim", arguments) as context:
            group.invoke(context)
    except typer.Exit as left:
        return left.exit_code
    except SystemExit as left:  # typer's own way to leave, where completion is concerned
        return left.code if isinstance(left.code, int) else exit_codes.AGREED
    except USAGE_ERROR as error:
        say(*_usage_message(error, arguments))
        if arguments and arguments[0] in COMMANDS:
            document_usage_error(error, arguments[1:], page(arguments[0], brief=False))
        return exit_codes.BAD_INPUT
    except LostOutput:
        raise
    except Exception as error:
        return streams.report(error)
    return exit_codes.AGREED
