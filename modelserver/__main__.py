"""The command line: ``python -m modelserver serve|train|search|predict|evaluate|list|world``.

The exit status is 0, 1 for a failed job and 2 for bad usage.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from modelserver.batching import BatchLimits
from modelserver.errors import ModelServerError, UnknownSystem, UnreadableData, UnreadableWeights
from modelserver.server import Loader, ServerLimits, Service
from modelserver.serving import bind, log_to_stderr, run

DEFAULTS = ServerLimits()

# Torch takes seconds to import. The modules that need it are therefore imported when their command has
# been chosen: `list --help`, a wrong argument or a taken port answer at once.
MODULES = {
    "train": ("modelserver.training", "train a system"),
    "search": ("modelserver.search", "search the costs of the coupling regulariser at random"),
    "predict": ("modelserver.prediction", "predict a file of questions in the HotpotQA form"),
    "evaluate": ("modelserver.evaluation", "score a system on a file of questions with gold answers"),
    "world": ("modelserver.world", "generate a fictional text world to train and test on"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser(given[0] if given else "").parse_args(given)
    try:
        command: Callable[[argparse.Namespace], int] = options.command
        return command(options)
    except ModelServerError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130


def _parser(chosen: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m modelserver", description="Systems and their server.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _serve_arguments(commands.add_parser("serve", help="answer over HTTP"))
    for name, (module, text) in MODULES.items():
        command = commands.add_parser(name, help=text)
        if name == chosen:
            _delegate(command, importlib.import_module(module))
    commands.add_parser("list", help="list the systems").set_defaults(command=_list)
    return parser


def _delegate(parser: argparse.ArgumentParser, module: Any) -> None:
    parser.description = (module.__doc__ or "").partition("\n")[0]
    module.add_arguments(parser)
    parser.set_defaults(command=module.run)


def _serve_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen on (default: %(default)s, this machine only)")
    add("--port", type=_port, default=8100, help="0 takes a free one (default: %(default)s)")
    add("--systems", help="comma-separated NAME or NAME=WEIGHTS_FOLDER (default: all with shipped weights)")
    add("--device", default="cpu", help="cpu, cuda, cuda:1 … (default: %(default)s)")
    add(
        "--token-file",
        type=Path,
        help="file with the bearer token to ask for (or MODELSERVER_TOKEN)",
    )
    add("--threads", type=_positive, help="batches computed at once (default: cores; on a GPU 1)")
    limits, batch = DEFAULTS, DEFAULTS.batch
    for flag, default, text in (
        ("--max-batch-tokens", batch.tokens, "tokens in a batch, padding included; also the longest item"),
        ("--max-batch-items", batch.items, "items in a batch"),
        ("--queue", batch.queue, "items that may wait before 503 is answered"),
        ("--max-items", limits.items, "items in one request"),
        ("--max-body-bytes", limits.body_bytes, "bytes of one request"),
    ):
        add(flag, type=_positive, default=default, help=f"{text} (default: %(default)s)")
    add("--timeout", type=float, default=limits.timeout, help="deadline of a request that names none, s")
    add("--drain-seconds", type=float, default=30.0, help="time to finish what is queued at the end, s")
    add("--log-level", choices=("debug", "info", "warning", "error"), default="info")
    parser.set_defaults(command=_serve)


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port between 0 and 65535")
    return int(text)


def _serve(options: argparse.Namespace) -> int:
    log_to_stderr(options.log_level)
    token = _token(options.token_file)
    listener = bind(options.host, options.port)
    # Read by torch when it is imported. One core a batch and a batch a core: threads of torch that share
    # one batch wait for each other, so that one of them on a busy core holds up all.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    cores = len(os.sched_getaffinity(0)) if options.device == "cpu" else 1
    limits = ServerLimits(
        body_bytes=options.max_body_bytes,
        items=options.max_items,
        timeout=options.timeout,
        batch=BatchLimits(
            tokens=options.max_batch_tokens, items=options.max_batch_items, queue=options.queue
        ),
    )
    with listener:
        service = Service(
            _loaders(options.systems, options.device),
            limits=limits,
            token=token,
            threads=options.threads or cores,
        )
        return run(service, listener, drain_seconds=options.drain_seconds)


def _token(path: Path | None) -> str | None:
    if path is None:
        return os.environ.get("MODELSERVER_TOKEN") or None
    try:
        token = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UnreadableData(f"{path}: {error.strerror}") from error
    if not token:
        raise UnreadableData(f"{path}: holds no token")
    return token


def _loaders(chosen: str | None, device: str) -> dict[str, Loader]:
    """Return how to load each chosen system.

    Raises UnknownSystem for a name that is none, and UnreadableWeights when nothing is left to serve.
    """
    from modelserver.systems import SYSTEMS, WEIGHTS, load_system  # imports torch: see MODULES

    if chosen is None:
        folders: dict[str, Path | None] = {name: None for name in SYSTEMS if (WEIGHTS / name).is_dir()}
    else:
        pairs = [part.strip().partition("=") for part in chosen.split(",") if part.strip()]
        folders = {name: Path(folder) if folder else None for name, _, folder in pairs}
    for name in folders:
        if name not in SYSTEMS:
            raise UnknownSystem(f"no system {name!r}; known systems: {', '.join(SYSTEMS)}")
    if not folders:
        raise UnreadableWeights("nothing to serve: train a system, or name one with --systems NAME=FOLDER")
    return {
        name: partial(load_system, name, weights=folder, device=device) for name, folder in folders.items()
    }


def _list(options: argparse.Namespace) -> int:
    from modelserver.systems import SYSTEMS, WEIGHTS  # imports torch: see MODULES

    width = max(map(len, SYSTEMS))
    print(f"{'SYSTEM':<{width}}  WEIGHTS  DESCRIPTION")
    for name, spec in SYSTEMS.items():
        weights = "shipped" if (WEIGHTS / name).is_dir() else "none"
        print(f"{name:<{width}}  {weights:<7}  {spec.description}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
