"""Run the model server as a process: socket, signals, drain, exit status."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from typing import NoReturn

import uvicorn

from modelserver.serving.http import create_app
from modelserver.serving.service import Service
from modelserver.wire.errors import PortTaken

logger = logging.getLogger(__name__)

# Seconds after which a thread that computes in Python lets another go on. By default 5 ms, in which the batch
# that a free process could compute would wait for requests to be read.
SWITCH_SECONDS = 0.0005


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes a free one.

    Raises PortTaken, saying why it could not.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2_048)
    except OSError as error:
        where = f"{host} port {port}"
        # Python adds the address to the text of a taken port, and names' errors have numbers below 0.
        number = error.errno or 0
        reason = os.strerror(number) if number > 0 else error.strerror or str(error)
        raise PortTaken(f"cannot listen on {where}: {reason}; choose another with --port") from error
    # Connections inherit it. asyncio sets it only on sockets it made itself, and without it every small
    # answer waits 40 ms for an acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def format_url(listener: socket.socket) -> str:
    """Return the URL under which a listening socket is reached."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Http(uvicorn.Server):
    """uvicorn without its signal handlers.

    They would end the process by the signal instead of with status 0.
    """

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(
    service: Service, listener: socket.socket, *, stop: asyncio.Event, drain_seconds: float = 30.0
) -> bool:
    """Serve until ``stop`` is set, then finish what is queued and answer it.

    Returns False when ``drain_seconds`` did not suffice. Raises what loading a system raises.
    """
    config = uvicorn.Config(
        create_app(service), log_config=None, access_log=False, lifespan="off", ws="none",
        server_header=False, proxy_headers=False, timeout_keep_alive=30, timeout_graceful_shutdown=5,
    )  # fmt: skip
    http = _Http(config)
    answering = asyncio.create_task(http.serve(sockets=[listener]))
    computing = asyncio.create_task(service.work())
    loading = asyncio.create_task(service.load())
    stopped = asyncio.create_task(stop.wait())
    try:
        await _wait_until_stopped(stopped, {answering, computing, loading})
        logger.info("draining", extra={"fields": {"queued": service.waiting}})
        return await service.drain(drain_seconds)
    finally:
        http.should_exit = True
        await asyncio.wait({answering})
        for task in (computing, loading, stopped):
            task.cancel()


async def _wait_until_stopped(stopped: asyncio.Task[bool], parts: set[asyncio.Task[None]]) -> None:
    """Return when told to stop; raise as soon as any part fails.

    Only loading may end before.
    """
    pending: set[asyncio.Task[None] | asyncio.Task[bool]] = {stopped, *parts}
    while stopped in pending:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()


def run(
    service: Service,
    listener: socket.socket,
    *,
    drain_seconds: float,
    at_end: Callable[[], None] = lambda: None,
) -> NoReturn:
    """Serve until SIGTERM or SIGINT, then end the process.

    The exit status is 0, or 1 if work was left undone. ``at_end`` is called when everything is answered;
    it ends what threads may still wait for.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    logger.info("listening", extra={"fields": {"url": format_url(listener), "pid": os.getpid()}})
    if service.token is None and not ip_address(listener.getsockname()[0]).is_loopback:
        logger.warning("this address answers all callers; require a token with --token-file")
    finished = asyncio.run(_run(service, listener, drain_seconds, at_end))
    logger.info("stopped", extra={"fields": {"finished": finished}})
    logging.shutdown()
    # All is answered and written. Taking torch apart would need seconds, and could hang or crash while a
    # system is still at work in its thread.
    os._exit(0 if finished else 1)


async def _run(
    service: Service, listener: socket.socket, drain_seconds: float, at_end: Callable[[], None]
) -> bool:
    stop = asyncio.Event()

    def on_signal() -> None:
        if stop.is_set():
            os._exit(1)  # asked twice: at once
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, on_signal)
    try:
        return await serve(service, listener, stop=stop, drain_seconds=drain_seconds)
    finally:
        at_end()  # before the loop is closed, which waits for the threads that have items looked at
