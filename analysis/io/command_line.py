"""Command lines built on cyclopts: one way to name, run and end them.

The exit status is 0 when the command did its work, 1 when it failed because
of files or data, 2 for bad usage (what the command line alone shows to be
wrong) and 130 when Ctrl-C interrupted it. Standard error gives the reason.
"""

from __future__ import annotations

import functools
import gc
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, ParamSpec, TypeVar

from cyclopts import App, ArgumentCollection, CycloptsError, Group, Parameter, UnknownCommandError

FAILED = 1
BAD_USAGE = 2
INTERRUPTED = 130

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class BadUsage(CycloptsError):
    """Options are missing, or contradict each other."""


def only_with(option: str) -> Group:
    """Return the group of an option and of those that need it."""
    return Group(validator=functools.partial(_check_effect, option, is_needed=True))


def only_without(option: str) -> Group:
    """Return the group of an option and of those that it rules out."""
    return Group(validator=functools.partial(_check_effect, option, is_needed=False))


def _check_effect(option: str, arguments: ArgumentCollection, *, is_needed: bool) -> None:
    """Raise ValueError for an option that has no effect.

    Args:
        option: Name of the option that decides on the others.
        arguments: The options of its group, given or not.
        is_needed: The others need it; otherwise it takes the effect of theirs away.
    """
    names = {
        argument.tokens[0].keyword or argument.name: option in argument.names
        for argument in arguments
        if argument.has_tokens
    }
    decisive = next((name for name, decides in names.items() if decides), None)
    other = next((name for name, decides in names.items() if not decides), None)
    if other is None or is_needed == (decisive is not None):
        return
    if is_needed:
        raise ValueError(f"{other} needs {option}: add it, or leave {other} out")
    raise ValueError(f"{other} has no effect with {decisive}: leave one of them out")


def always_json(command: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Give a command that always prints JSON the option ``--json``.

    Programs can then add it to every command that prints a result.
    """
    help_text = "Accepted, and changes nothing: this command always prints JSON."
    option = inspect.Parameter(
        "json",
        inspect.Parameter.KEYWORD_ONLY,
        default=True,
        annotation=Annotated[bool, Parameter(help=help_text, show_default=False)],
    )
    signature = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def run_command(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        options.pop("json", None)
        return command(*arguments, **options)

    parameters = [*signature.parameters.values(), option]
    setattr(run_command, "__signature__", signature.replace(parameters=parameters))  # noqa: B010 - unknown to mypy
    return run_command


def build_command_line(name: str, description: str, version: str) -> App:
    """Return an app without commands.

    Register commands by import path (``app.command("package.module:function",
    name=..., help=...)``): a module is then imported only when its command
    runs, and help and completion stay fast.

    Args:
        name: The program as people type it, such as ``python -m analysis``.
        description: One sentence for the top of the help.
        version: Shown by ``--version``.
    """
    return App(
        name=name,
        help=description,
        version=version,
        exit_on_error=False,
        print_error=False,
        help_on_error=False,
        result_action="return_value",
        # No --no-json beside --json, no --empty-names beside lists; the last of repeated options counts.
        default_parameter=Parameter(negative=(), allow_repeating=True, show_default=_format_default),
    )


def _format_default(value: object) -> str | None:
    """Format the default of an option for its help.

    Switches and empty lists have none.
    """
    if value is None or value is False or value == ():
        return None
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def run(app: App, arguments: Sequence[str] | None, failures: tuple[type[Exception], ...]) -> int:
    """Run one command and return its exit status.

    Args:
        app: From `build_command_line`.
        arguments: Without the program's name; None for those of this process.
        failures: Errors whose text is for people: the command failed with
            that sentence. Any other error is a defect and keeps its traceback.
    """
    gc.set_threshold(50_000)  # of 700: among modules, looking for garbage takes a sixth of the start
    tokens = sys.argv[1:] if arguments is None else list(arguments)
    try:
        command, bound, _ = app.parse_args(tokens)
        if command == app.help_print and not set(app.help_flags) & set(tokens):
            sys.stderr.write("error: a command is missing; --help lists the commands\n")
            return BAD_USAGE
        status = command(*bound.args, **bound.kwargs)
    except UnknownCommandError as error:
        # Its own text would import every command.
        sys.stderr.write(
            f"error: unknown command {(error.unused_tokens or [''])[0]!r}; --help lists the commands\n"
        )
        return BAD_USAGE
    except CycloptsError as error:
        sys.stderr.write(f"error: {error}\n")
        return BAD_USAGE
    except failures as error:
        sys.stderr.write(f"error: {error}\n")
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    return status if isinstance(status, int) else 0
