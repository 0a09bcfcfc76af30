"""The command line: ``python -m modelserver serve|train|search|predict|evaluate|list|world|scenes|…``.

The exit status is 0, 1 for a failed job and 2 for bad usage.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from modelserver.serving.batching import CPU_TOKENS, GPU_TOKENS, BatchLimits, batch_tokens
from modelserver.serving.devices import Hardware
from modelserver.serving.lifecycle import bind, run
from modelserver.serving.logs import log_to_stderr
from modelserver.serving.service import ServerLimits, Service
from modelserver.serving.system_spec import ServedSpec, parse
from modelserver.serving.worker_pool import WorkerPool
from modelserver.wire.errors import ModelServerError, UnreadableData

DEFAULTS = ServerLimits()
MOST_PROCESSES = 4  # where nobody said how many: each takes the memory of torch and of all loaded systems

# Torch takes seconds to import. The modules that need it are therefore imported when their command has
# been chosen: `list --help`, a wrong argument or a taken port answer at once.
MODULES = {
    "train": ("modelserver.training.recurrent", "train a system"),
    "search": (
        "modelserver.training.hyperparameter_search",
        "search the costs of the coupling regulariser at random",
    ),
    "predict": ("modelserver.evaluation.predict_file", "predict a file of questions in the HotpotQA form"),
    "evaluate": ("modelserver.evaluation.scores", "score a system on a file of questions with gold answers"),
    "text-table": ("modelserver.training.text_nmn_table", "train and score the variants of text-nmn"),
    "world": ("modelserver.world", "generate a fictional text world to train and test on"),
    "scenes": ("modelserver.world.scenes", "generate pairs of pictures with sentences, programs, gold boxes"),
    "visual-table": ("modelserver.training.visual_nmn_table", "train and score variants of visual-nmn"),
    "visual-evaluate": ("modelserver.modular.visual.evaluating", "score visual-nmn on generated scenes"),
    "visual-splits": ("modelserver.training.visual_nmn_splits", "train on some programs, test on others"),
    "visual-nlvr": ("modelserver.training.visual_nmn_nlvr", "train and score visual-nmn on NLVR"),
    "games": ("modelserver.world.games", "generate game reports with questions, programs and gold spans"),
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
    add(
        "--systems",
        type=_systems,
        metavar="LIST",
        default=os.environ.get("MODELSERVER_SYSTEMS") or None,
        help="comma-separated NAME, NAME=FOLDER, NAME=SYSTEM:FOLDER, NAME=file.py:Class or NAME=http://… "
        "(default: MODELSERVER_SYSTEMS, else all with shipped weights)",
    )
    add(
        "--load",
        choices=("start", "first-use"),
        default="start",
        help="when systems are loaded (default: %(default)s)",
    )
    add(
        "--token-file",
        type=Path,
        help="file with the bearer token to ask for (or MODELSERVER_TOKEN)",
    )
    _hardware_arguments(parser)
    _limit_arguments(parser)
    add("--log-level", choices=("debug", "info", "warning", "error"), default="info")
    parser.set_defaults(command=_serve, refuse=parser.error)


def _hardware_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--device",
        type=_devices,
        default=("cpu",),
        help="cpu, cuda, or several as in cuda:0,cuda:1, one for each process in turn (default: cpu)",
    )
    add(
        "--max-memory",
        type=_bytes,
        metavar="BYTES",
        help="bound of all loaded weights, as in 800M or 12G (default: none)",
    )
    add("--half", action="store_true", help="compute in bfloat16; needs a GPU, and revisions say it")
    add("--compile", action="store_true", help="translate encoders with torch.compile, for long runs")
    add(
        "--processes",
        type=_positive,
        metavar="N",
        help="processes that compute, each with a copy of every loaded system "
        f"(default: one a core, at most {MOST_PROCESSES}; on GPUs one each)",
    )
    add("--threads", type=_positive, metavar="N", help="CPU threads of each (default: OMP_NUM_THREADS or 1)")


def _limit_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--max-batch-tokens",
        type=_positive,
        help=f"tokens in a batch, padding included (default: {CPU_TOKENS} on a CPU, {GPU_TOKENS} on a GPU)",
    )
    limits, batch = DEFAULTS, DEFAULTS.batch
    for flag, count, text in (
        ("--max-item-tokens", batch.item_tokens, "tokens of one item"),
        ("--max-batch-items", batch.items, "items in a batch"),
        ("--queue", batch.queue, "items that may wait before 503 is answered"),
        ("--max-items", limits.items, "items in one request"),
        ("--max-body-bytes", limits.body_bytes, "bytes of one request"),
    ):
        parser.add_argument(flag, type=_positive, default=count, help=f"{text} (default: %(default)s)")
    for flag, seconds, text in (
        ("--timeout", limits.timeout, "deadline of a request that names none, s"),
        ("--drain-seconds", 30.0, "time to finish what is queued at the end, s"),
        ("--remote-timeout", 60.0, "longest wait for a server elsewhere, s"),
        ("--batch-timeout", limits.longest_timeout, "time to compute a batch before its process is ended, s"),
    ):
        parser.add_argument(flag, type=_seconds, default=seconds, help=f"{text} (default: %(default)g)")


def _systems(text: str) -> list[ServedSpec]:
    try:
        return parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _devices(text: str) -> tuple[str, ...]:
    devices = tuple(part.strip() for part in text.split(","))
    for device in devices:
        if not re.fullmatch(r"[a-z]+(:\d+)?", device):
            raise argparse.ArgumentTypeError(f"{device!r} is no device; write cpu, cuda or cuda:1")
    return devices


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+)([KMGT]?)", text.upper())
    if not found or not int(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of bytes above 0, such as 800M or 12G")
    return int(found[1]) * 1024 ** " KMGT".index(found[2] or " ")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port between 0 and 65535")
    return int(text)


def _serve(options: argparse.Namespace) -> int:
    _require_fitting(options)
    log_to_stderr(options.log_level)
    token = _token(options.token_file)
    listener = bind(options.host, options.port)
    # Read by torch when a process imports it. One core a batch and a batch a core: threads of torch that
    # share one batch wait for each other, so that one of them on a busy core holds up all.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if options.threads:
        os.environ["OMP_NUM_THREADS"] = str(options.threads)
    hardware = _hardware(options)
    limits = ServerLimits(
        body_bytes=options.max_body_bytes,
        items=options.max_items,
        timeout=options.timeout,
        batch=BatchLimits(
            tokens=options.max_batch_tokens or batch_tokens(options.device[0]),
            item_tokens=options.max_item_tokens,
            items=options.max_batch_items,
            queue=options.queue,
        ),
    )
    pool = WorkerPool(
        hardware,
        options.systems,
        remote_seconds=options.remote_timeout,
        batch_seconds=options.batch_timeout,
    )
    with listener, pool as processes:
        service = Service(
            processes.sources(),
            limits=limits,
            token=token,
            threads=len(hardware),
            preload=options.load == "start",
            memory=options.max_memory,
            restarts=processes.restarts,
        )
        return run(service, listener, drain_seconds=options.drain_seconds, at_end=processes.end)


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


def _require_fitting(options: argparse.Namespace) -> None:
    """Exit with 2 where arguments contradict each other."""
    if options.half and any(device.startswith("cpu") for device in options.device):
        options.refuse("--half needs a GPU: name one with --device cuda")
    if options.processes and options.processes < len(options.device):
        options.refuse(f"--processes {options.processes} leaves some of {len(options.device)} devices idle")


def _hardware(options: argparse.Namespace) -> list[Hardware]:
    """Return what each process computes on."""
    devices: tuple[str, ...] = options.device
    usual = min(MOST_PROCESSES, len(os.sched_getaffinity(0))) if devices == ("cpu",) else len(devices)
    count = options.processes or usual
    return [
        Hardware(devices[number % len(devices)], options.half, options.compile) for number in range(count)
    ]


def _list(options: argparse.Namespace) -> int:
    from modelserver.registry import SYSTEMS, WEIGHTS  # imports torch: see MODULES

    width = max(map(len, SYSTEMS))
    print(f"{'SYSTEM':<{width}}  WEIGHTS  DESCRIPTION")
    for name, spec in SYSTEMS.items():
        weights = "shipped" if (WEIGHTS / name).is_dir() else "none"
        print(f"{name:<{width}}  {weights:<7}  {spec.description}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
