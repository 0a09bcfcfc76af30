"""Command lines built on cyclopts: one way to name, run and end them.

The exit status is 0 when the command did its work, 1 when it failed (the
reason is one line on standard error), 2 for bad usage and 130 when Ctrl-C
interrupted it.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError, Parameter, UnknownCommandError

FAILED = 1
BAD_USAGE = 2
INTERRUPTED = 130


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
