"""Redis with a password and TLS, a replica, and three Sentinels.

The Sentinels promote the replica when the master dies.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

import redis

from scripts.debian import find_redis_server
from scripts.sites import servers
from scripts.sites.processes import Part, Supervisor, free_port
from tests.deploy.certificates import Certificate
from tests.waiting import eventually

# Sentinels write passwords into their files without quotes: one with a space would keep them from starting.
PASSWORD, SENTINEL_PASSWORD, MASTER = "of@the/servers", "of@the/sentinels", "touchstone"


class RedisGroup:
    """Two servers and three Sentinels, by name."""

    def __init__(self, folder: Path, parts: Supervisor, tls: Certificate) -> None:
        program = find_redis_server()
        if program is None:
            raise servers.NotAvailable("redis-server is not installed (Debian package redis-server).")
        self._program, self._folder, self._supervisor, self._tls = str(program), folder, parts, tls
        self.ports = {"redis 1": free_port(), "redis 2": free_port()}
        self.sentinels = {f"sentinel {number}": free_port() for number in (1, 2, 3)}
        self.parts = {name: self._server(name) for name in self.ports}
        self.parts |= {name: self._sentinel(name) for name in self.sentinels}

    @property
    def settings(self) -> dict[str, str]:
        """Return the settings of a site that uses them."""
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.sentinels.values())
        password = quote(PASSWORD, safe="")
        return {
            "REDIS_URL": f"rediss+sentinel://:{password}@{hosts}/{MASTER}/0",
            "REDIS_CA_FILE": str(self._tls.certificate),
            "REDIS_SENTINEL_PASSWORD": SENTINEL_PASSWORD,
        }

    def start(self) -> None:
        """Start all; return when the Sentinels know the replica and each other."""
        for part in self.parts.values():
            self._supervisor.start(part)
        self._supervisor.wait_ready()
        eventually(self.is_whole)

    def is_whole(self) -> bool:
        """Return True if a failover would work now."""
        try:
            for port in self.sentinels.values():
                state = self._client(port, SENTINEL_PASSWORD).sentinel_master(MASTER)
                healthy = [
                    replica
                    for replica in self._client(port, SENTINEL_PASSWORD).sentinel_slaves(MASTER)
                    if not replica["is_disconnected"] and replica["master-link-status"] == "ok"
                ]
                if state["num-other-sentinels"] != 2 or state["is_disconnected"] or not healthy:
                    return False
        except redis.RedisError:
            return False
        return True

    def master(self) -> str:
        """Return the name of the server that is the master now."""
        for port in self.sentinels.values():
            try:
                address = self._client(port, SENTINEL_PASSWORD).sentinel_get_master_addr_by_name(MASTER)
            except redis.RedisError:
                continue
            return next(name for name, port in self.ports.items() if port == address[1])
        raise AssertionError("no Sentinel answers")

    def _client(self, port: int, password: str) -> redis.Redis:
        return redis.Redis(
            "127.0.0.1",
            port,
            password=password,
            socket_timeout=2,
            ssl=True,
            ssl_ca_certs=str(self._tls.certificate),
        )

    def _encrypted(self, port: int) -> list[str]:
        return [
            *("--port", "0", "--tls-port", str(port), "--bind", "127.0.0.1", "--daemonize", "no"),
            *("--tls-cert-file", str(self._tls.certificate), "--tls-key-file", str(self._tls.key)),
            *("--tls-ca-cert-file", str(self._tls.certificate)),
            *("--tls-auth-clients", "no", "--tls-replication", "yes"),
        ]

    def _server(self, name: str) -> Part:
        """Return a server whose file Redis may write.

        Redis writes there whose replica it is, so that a later start does not fall back.
        """
        folder = self._folder / name.replace(" ", "-")
        folder.mkdir()
        lines = [
            *(f'dir "{folder}"', f'requirepass "{PASSWORD}"', f'masterauth "{PASSWORD}"'),
            *("appendonly yes", 'save ""', "maxmemory-policy noeviction"),
        ]
        if name != "redis 1":
            lines.append(f"replicaof 127.0.0.1 {self.ports['redis 1']}")
        path = folder / "redis.conf"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = [self._program, str(path), *self._encrypted(self.ports[name])]
        return self._part(name, command, self.ports[name], PASSWORD)

    def _sentinel(self, name: str) -> Part:
        """A Sentinel writes what it learns into its file, too."""
        path = self._folder / f"{name.replace(' ', '-')}.conf"
        lines = [
            f"sentinel monitor {MASTER} 127.0.0.1 {self.ports['redis 1']} 2",
            f'sentinel auth-pass {MASTER} "{PASSWORD}"',
            f'sentinel sentinel-pass "{SENTINEL_PASSWORD}"',
            f"sentinel down-after-milliseconds {MASTER} 1000",
            f"sentinel failover-timeout {MASTER} 5000",
            f'requirepass "{SENTINEL_PASSWORD}"',
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        port = self.sentinels[name]
        command = [self._program, str(path), "--sentinel", *self._encrypted(port)]
        return self._part(name, command, port, SENTINEL_PASSWORD)

    def _part(self, name: str, command: list[str], port: int, password: str) -> Part:
        def ready() -> bool:
            try:
                return bool(self._client(port, password).ping())
            except redis.RedisError:
                return False

        log = self._folder / f"{name.replace(' ', '-')}.log"
        return Part(name=name, command=command, log=log, env=os.environ, ready=ready)
