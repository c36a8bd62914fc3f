"""The parameters that typer makes of the table of options (`hardsim.options.table`)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from inspect import Parameter
from typing import Annotated, Any

import typer

from hardsim.cli import streams
from hardsim.cli.completion import Completion
from hardsim.cli.manual import COMMANDS
from hardsim.errors import InputError, enumerated, nearest
from hardsim.options.table import ALIKE, OPTIONS, Request, signed

HELP_ALL = "help_all"
PATHS = frozenset({"PATH", "FILE", "DIR"})
"""Names that the help gives to values that are names of files."""
SEPARATED = " Write '--' before files and words that start with '-'."
NEAR = 0.75
"""Least similarity of a mistyped option: --resume and --regime, two options of `check`, are less similar."""


def options_of(command: str) -> list[str]:
    """Return the fields of the options and arguments of a command, in the order of the table."""
    if command in ALIKE:
        other, left_out = ALIKE[command]
        return [name for name in options_of(other) if name not in left_out]
    return [name for name, one in OPTIONS.items() if command in one.commands]


def unknown_option(typed: str, context: Any) -> tuple[str, str]:
    """Return the message for an option that a command, or the application, lacks, and a line that says what to do. An
    option of other commands is called that; a name that no command knows may be a slip."""
    command, above = str(context.command.name), context.parent is None
    message, page = f"no such option: {typed}", "--help-all" if command in COMMANDS else "--help"
    listed = f"`hardsim {command} {page}` lists its options."
    if above:
        listed = "Options follow the command, as in `hardsim check FILE --max-n 8`; `hardsim --help` lists them."
    if advice := _instead(typed, command):
        return message, advice
    if others := _takers(typed):
        return f"{message}{'' if above else f' ({others})'}", listed
    own = [name for one in context.command.get_params(context) for name in (*one.opts, *one.secondary_opts)]
    if near := _suggestion(typed, [name for name in own if name.startswith("--")]):
        return f"{message}; {near}", ""
    return message, f"{listed}{'' if above else SEPARATED}"


def _instead(typed: str, command: str) -> str:
    """Return what to do instead of an option that the command lacks, though it takes the options of another command;
    "" for any other option."""
    _, left_out = ALIKE.get(command, (command, {}))
    return next((text for name, text in left_out.items() if typed in OPTIONS[name].names), "")


def _takers(typed: str) -> str:
    """Return "an option of" and the commands that take an option of this name, or of this earlier name; "" if none
    does."""
    taking = [one for one in COMMANDS if one not in ALIKE and typed in _spellings(one)]
    return f"an option of {enumerated(taking, 3)}" if taking else ""


def _suggestion(typed: str, own: Sequence[str]) -> str:
    """Return which option is most likely meant by a name that no command knows: one of `own`, the names of the
    command's options, or an option of another command; "" if none is near."""
    others = (name for one in COMMANDS for name in _spellings(one) if name.startswith("--"))
    near = nearest(typed, [*own, *others], NEAR)
    return near and f"did you mean {near}{'' if near in own else f' ({_takers(near)})'}?"


def _spellings(command: str) -> list[str]:
    """Return all names of the options of a command."""
    return [name for one in options_of(command) for name in OPTIONS[one].spellings]


def parameter(name: str, command: str, brief: bool) -> Parameter:
    """Return the parameter that typer needs for a field, on a brief or a whole help page. Arguments are hidden, because
    typer would list their Python types; the text of the command describes them."""
    one, command = OPTIONS[name], ALIKE.get(command, (command,))[0]
    default, metavar = one.default_of(command), one.metavar
    if not one.names:
        needed = default == ()  # which typer checks; the others have better errors
        completion = None if needed else Completion(name)
        hidden = brief or not needed
        info = typer.Argument(
            ... if needed else default, metavar=metavar, show_default=False, hidden=hidden, autocompletion=completion
        )
    else:
        info = typer.Option(
            default,
            *one.names,
            metavar=metavar or None,
            help=one.help_of(command, brief),
            # The default of --tables depends on the number of inputs, as its help says.
            show_default=command not in one.own and default is not None,
            hidden=brief and command not in one.brief.split(),
            autocompletion=Completion(name),
        )
    many = one.type.startswith(("list", "Sequence"))
    kind = list[str] if many else str if metavar else bool
    return Parameter(
        name, Parameter.KEYWORD_ONLY, default=info, annotation=kind if default is not None else kind | None
    )


def flag(name: str, *flags: str, **settings: Any) -> Parameter:
    """Return a flag that is handled before anything else is read, such as --version."""
    info = typer.Option(*flags, is_eager=True, **settings)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, info])


def all_options(show: Callable[[Any], str]) -> Parameter:
    """Return the option --help-all, which prints the page that `show` makes from a context."""

    def callback(context: typer.Context, value: bool) -> None:
        if value:
            sys.stdout.write(f"{show(context)}\n")
            raise typer.Exit

    return flag(HELP_ALL, "--help-all", callback=callback, help="Show everything, and exit.")


def plainly(options: list[Any]) -> list[Any]:
    """Make options return the typed text, or the value that the table reads from it, and return these options. typer's
    own way to read values imports pydantic, which takes as long as all other imports of the command line."""
    for one in options:
        if "process_value" not in vars(one):
            one.process_value = partial(_value, one, one.process_value)
    return options


def _value(option: Any, typers: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    """Return the value of an option; if the value is missing, typer reports that. A text that the table refuses is a
    usage error."""
    if option.required and option.value_is_missing(value):
        return typers(context, value)
    entry = OPTIONS.get(option.name)
    if entry is not None and entry.names and entry.metavar in PATHS:
        _require_names([value] if isinstance(value, str) else value or (), context, option)
    if isinstance(value, str) and entry is not None and entry.kind.parse is not None:
        try:
            value = entry.kind.parse(value)
        except InputError as error:
            raise typer.BadParameter(f"{error.message}. {error.hint}", context, option) from None
    return value if option.callback is None else option.callback(context, option, value)


def _require_names(values: Iterable[str], context: Any, option: Any) -> None:
    """Raise a usage error for the name of a file that begins like an option: most likely the name was left out."""
    for value in values:
        if value.startswith("--"):
            message = f"the name of a file is missing before {value}. Write ./{value} if this is the name."
            raise typer.BadParameter(message, context, option)


def renamed(arguments: list[str], command: str) -> list[str]:
    """Return the arguments with earlier names of options replaced by the present ones; a note names each."""
    taken = [OPTIONS[name] for name in options_of(command)]
    present = {old: one.flag for one in taken for old in one.aliases.split()}
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    for place, text in enumerate(options):
        name, equals, value = text.partition("=")
        if name in present:
            streams.warn(f"{name} is now called {present[name]}")
            arguments = [*arguments[:place], f"{present[name]}{equals}{value}", *arguments[place + 1 :]]
    return arguments


def taking(
    name: str, command: Callable[[Request], None], brief: bool, show: Callable[[Any], str]
) -> Callable[..., None]:
    """Return a function for typer that takes the options of the command `name` and runs `command`; a brief page shows
    only the options that most people use."""

    def run(context: typer.Context, **values: Any) -> None:
        del values[HELP_ALL]
        sources = {name: context.get_parameter_source(name) for name in values}
        written = frozenset(name for name, source in sources.items() if source and source.name == "COMMANDLINE")
        request = Request(**values, written=written)
        streams.hush(request.quiet)
        command(request)

    taken = [parameter(field, name, brief) for field in options_of(name)]
    taken.append(all_options(show))
    taken.append(Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context))
    return signed(run, taken)
