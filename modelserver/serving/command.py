"""The command ``serve``: address, systems, devices and limits."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from analysis.commands.options import Positive
from analysis.io.command_line import BadUsage
from analysis.io.errors import describe_os_error
from modelserver.inputs.packing import BatchLimits, choose_batch_tokens
from modelserver.serving.devices import Hardware
from modelserver.serving.lifecycle import bind, run
from modelserver.serving.logs import log_to_stderr
from modelserver.serving.service import ServerLimits, Service
from modelserver.serving.system_spec import ServedSpec, parse
from modelserver.serving.worker_pool import WorkerPool
from modelserver.wire.errors import UnreadableData

DEFAULTS = ServerLimits()
MOST_PROCESSES = 4  # by default: each takes the memory of torch and of all loaded systems


def _parse_systems(_: Any, tokens: Sequence[Any]) -> tuple[ServedSpec, ...] | None:
    text = tokens[0].value
    return tuple(parse(text)) if text else None  # MODELSERVER_SYSTEMS may be set and empty


def _parse_devices(_: Any, tokens: Sequence[Any]) -> tuple[str, ...]:
    devices = tuple(part.strip() for part in tokens[0].value.split(","))
    for device in devices:
        if not re.fullmatch(r"cpu|(cuda|mps|xpu)(:\d+)?", device):
            raise ValueError(f"{device!r} is not a device; write cpu, cuda or cuda:1")
    return devices


def _parse_bytes(_: Any, tokens: Sequence[Any]) -> int:
    text = tokens[0].value
    match = re.fullmatch(r"(\d+)([KMGT]?)", text.upper())
    if not match or not int(match[1]):
        raise ValueError(f"{text!r} is not a number of bytes above 0, such as 800M or 12G")
    return int(match[1]) * 1024 ** " KMGT".index(match[2] or " ")


def _check_seconds(_: Any, seconds: float) -> None:
    if not 0 < seconds < math.inf:
        raise ValueError("must be a number of seconds above 0")


Bytes = Annotated[int, Parameter(converter=_parse_bytes, metavar="BYTES")]
Devices = Annotated[tuple[str, ...], Parameter(converter=_parse_devices, n_tokens=1, metavar="DEVICES")]
Seconds = Annotated[float, Parameter(validator=_check_seconds)]


@Parameter(name="*")
@dataclass(frozen=True)
class ComputeOptions:
    """Devices, memory and processes.

    Attributes:
        device: cpu, cuda, or several as in cuda:0,cuda:1, one for each
            process in turn.
        max_memory: Bound of all loaded weights, as in 800M or 12G; none by
            default.
        half: Compute in bfloat16; needs a GPU, and revisions say it.
        compile: Compile encoders with torch.compile, for long runs.
        processes: Worker processes, each with a copy of every loaded system;
            by default one a core, at most 4, and one for each GPU.
        threads: CPU threads of each process; OMP_NUM_THREADS or 1 by default.
    """

    device: Devices = ("cpu",)
    max_memory: Bytes | None = None
    half: bool = False
    compile: bool = False
    processes: Annotated[Positive | None, Parameter(env_var="MODELSERVER_PROCESSES")] = None
    threads: Positive | None = None

    def contradiction(self) -> str | None:
        """Return a message if the options contradict each other."""
        if self.half and any(device.startswith("cpu") for device in self.device):
            return (
                "--half needs a GPU, because most CPUs are slower in bfloat16: name one with --device cuda, "
                "or leave out --half"
            )
        if self.processes and self.processes < len(self.device):
            return f"--processes {self.processes} leaves some of {len(self.device)} devices idle"
        return None

    def hardware(self) -> list[Hardware]:
        """Return what each process computes on."""
        on_cpu = self.device == ("cpu",)
        usual = min(MOST_PROCESSES, len(os.sched_getaffinity(0))) if on_cpu else len(self.device)
        return [
            Hardware(self.device[number % len(self.device)], self.half, self.compile)
            for number in range(self.processes or usual)
        ]


@Parameter(name="*")
@dataclass(frozen=True)
class LimitOptions:
    """Bounds of requests, batches and queues.

    Attributes:
        max_batch_tokens: Tokens in a batch, padding included; 5120 on a CPU
            and 16384 on a GPU by default.
        max_item_tokens: Tokens of one item.
        max_batch_items: Items in a batch.
        queue: Items that may wait before the server answers 503.
        max_items: Items in one request.
        max_body_bytes: Bytes of one request.
        timeout: Deadline of a request that names none (s).
        drain_seconds: Time to finish queued items at the end (s).
        remote_timeout: Longest wait for a remote server (s).
        batch_timeout: Time to compute a batch before its process ends (s).
    """

    max_batch_tokens: Positive | None = None
    max_item_tokens: Positive = DEFAULTS.batch.item_tokens
    max_batch_items: Positive = DEFAULTS.batch.items
    queue: Positive = DEFAULTS.batch.queue
    max_items: Positive = DEFAULTS.items
    max_body_bytes: Positive = DEFAULTS.body_bytes
    timeout: Seconds = DEFAULTS.timeout
    drain_seconds: Seconds = 30.0
    remote_timeout: Seconds = 60.0
    batch_timeout: Seconds = DEFAULTS.longest_timeout

    def limits(self, device: str) -> ServerLimits:
        """Return the limits of a server whose first device this is."""
        return ServerLimits(
            body_bytes=self.max_body_bytes,
            items=self.max_items,
            timeout=self.timeout,
            batch=BatchLimits(
                tokens=self.max_batch_tokens or choose_batch_tokens(device),
                item_tokens=self.max_item_tokens,
                items=self.max_batch_items,
                queue=self.queue,
            ),
        )


def serve(
    *,
    host: str = "127.0.0.1",
    port: Annotated[int, Parameter(validator=Number(gte=0, lte=65_535))] = 8100,
    systems: Annotated[
        tuple[ServedSpec, ...] | None,
        Parameter(converter=_parse_systems, n_tokens=1, metavar="SYSTEMS", env_var="MODELSERVER_SYSTEMS"),
    ] = None,
    load: Literal["start", "first-use"] = "start",
    token_file: Path | None = None,
    log_level: Literal["debug", "info", "warning", "error"] = "info",
    compute: ComputeOptions = ComputeOptions(),
    bounds: LimitOptions = LimitOptions(),
) -> int:
    """Answer over HTTP.

    Args:
        host: Address to listen on; by default reachable from this machine
            only.
        port: Port to listen on; 0 takes a free one.
        systems: Comma-separated NAME, NAME=FOLDER, NAME=SYSTEM:FOLDER,
            NAME=file.py:Class or NAME=http://…; all with shipped weights by
            default.
        load: When systems are loaded.
        token_file: File with the bearer token to ask for (or
            MODELSERVER_TOKEN).
        log_level: Least severe level of the log.
        compute: Devices and processes.
        bounds: Bounds of requests, batches and queues.
    """
    if message := compute.contradiction():
        raise BadUsage(message)
    log_to_stderr(log_level)
    token = _read_token(token_file)
    listener = bind(host, port)
    # Torch reads it when a process imports it. One thread a batch and a batch a core: threads that share a
    # batch wait for each other, so that one of them on a busy core holds up all.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if compute.threads:
        os.environ["OMP_NUM_THREADS"] = str(compute.threads)
    hardware = compute.hardware()
    pool = WorkerPool(
        hardware, systems, remote_seconds=bounds.remote_timeout, batch_seconds=bounds.batch_timeout
    )
    with listener, pool as processes:
        service = Service(
            processes.sources(),
            limits=bounds.limits(compute.device[0]),
            token=token,
            threads=len(hardware),
            preload=load == "start",
            memory=compute.max_memory,
            restarts=processes.restarts,
        )
        return run(service, listener, drain_seconds=bounds.drain_seconds, at_end=processes.end)


def _read_token(path: Path | None) -> str | None:
    if path is None:
        return os.environ.get("MODELSERVER_TOKEN") or None
    try:
        token = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UnreadableData(f"{path}: {describe_os_error(error)}") from error
    if not token:
        raise UnreadableData(f"{path}: holds no token")
    return token
