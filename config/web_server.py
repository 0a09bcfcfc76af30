"""The web server of the site: ``python -m config.web_server --port 8000``.

It loads the site once and then forks its processes, which share that memory as long as nobody writes to it.
Processes that load the site each for themselves would hold 140 MB each.
"""

from argparse import ArgumentParser

from granian import Granian
from granian.constants import Interfaces
from granian.log import LogLevels


def main() -> None:
    """Serve until a signal ends it; a process that dies is replaced."""
    parser = ArgumentParser(prog="python -m config.web_server", description="Serve the site over HTTP.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--workers", type=int, default=2, help="processes, one for each core")
    options = parser.parse_args()

    import config.wsgi  # noqa: F401 - the forked processes find it loaded

    # One thread a process: a page is work for the processor, and threads that take turns at it in one
    # process, or wait for each other's write to SQLite, made the slowest answers slower still.
    Granian(
        "config.wsgi:application",
        address=options.host,
        port=options.port,
        interface=Interfaces.WSGI,
        workers=options.workers,
        blocking_threads=1,
        websockets=False,
        log_level=LogLevels.warning,
        respawn_failed_workers=True,  # without this, all of them end with the first one that dies
        respawn_interval=1,
        workers_kill_timeout=5,
    ).serve()


if __name__ == "__main__":
    main()
