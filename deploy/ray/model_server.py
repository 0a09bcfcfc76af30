"""Serve the model server's wire protocol as a deployment of Ray Serve.

``PYTHONPATH=. python deploy/ray/model_server.py --systems qi2019 --replicas 2`` serves one address, which is
the site's MODEL_SERVER_URL. Each replica holds the whole application of ``python -m modelserver serve`` with
one worker process. It asks for the bearer token in MODELSERVER_TOKEN. Without RAY_ADDRESS it runs on this
machine. A cluster needs this checkout and its requirements on every node.
"""

from __future__ import annotations

import argparse
import asyncio
import os

from ray import serve
from starlette.types import ASGIApp, Receive, Scope, Send

from modelserver.serving.devices import Hardware
from modelserver.serving.http import create_app
from modelserver.serving.service import Service
from modelserver.serving.system_spec import parse
from modelserver.serving.worker_pool import WorkerPool

DRAIN_SECONDS = 30.0


class Replica:
    """The model server's ASGI application, with its worker, in a replica."""

    def __init__(self, systems: str, device: str, token: str | None) -> None:
        self.pool = WorkerPool([Hardware(device)], parse(systems) if systems else None)
        self.service = Service(self.pool.sources(), token=token, restarts=self.pool.restarts)
        self.app: ASGIApp = create_app(self.service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or live from startup to shutdown."""
        if scope["type"] != "lifespan":
            await self.app(scope, receive, send)
            return
        await receive()
        work = asyncio.create_task(self.service.work())
        try:
            await self.service.load()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await self.service.drain(DRAIN_SECONDS)
        finally:
            work.cancel()
            self.pool.end()
        await send({"type": "lifespan.shutdown.complete"})


def build_application(systems: str, device: str, replicas: int, token: str | None) -> serve.Application:
    """Return the application, whose requests go to the replicas in turn."""

    def build() -> ASGIApp:
        return Replica(systems, device, token)

    deployment = serve.deployment(
        serve.ingress(build)(), name="modelserver", num_replicas=replicas, max_ongoing_requests=64,
        ray_actor_options={"num_gpus": 0 if device == "cpu" else 1},
        graceful_shutdown_timeout_s=DRAIN_SECONDS,
    )  # fmt: skip
    return deployment.bind()


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description="Serve the model server with Ray Serve.")
    parser.add_argument("--systems", default="", help="as for `modelserver serve`; default: all shipped")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"], help="of each replica")
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8100)
    options = parser.parse_args()
    serve.start(http_options={"host": options.host, "port": options.port})
    token = os.environ.get("MODELSERVER_TOKEN") or None
    app = build_application(options.systems, options.device, options.replicas, token)
    serve.run(app, name="modelserver", route_prefix="/", blocking=True)


if __name__ == "__main__":
    main()
