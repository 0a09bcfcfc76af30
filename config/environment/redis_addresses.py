"""The ways to reach Redis, in the words of queue and cache.

=========================  ==================================================================
``redis+socket://PATH``    a socket of this machine
``redis://HOST``           one server
``rediss://HOST``          one server by TLS
``redis+sentinel://…``     the server that Sentinels name as the master
``rediss+sentinel://…``    the same, server and Sentinels by TLS
=========================  ==================================================================

Sentinels are written as ``redis+sentinel://:PASSWORD@HOST:PORT,HOST:PORT/MASTER/DATABASE``. When the master
fails, they choose a replica, and each new connection asks them which it is.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import quote, unquote, urlsplit

from redis.sentinel import Sentinel, SentinelConnectionPool

SENTINEL_SCHEMES = ("redis+sentinel", "rediss+sentinel")
SENTINEL_PORT = 26379
CONNECT_SECONDS = 5.0  # a machine that is away does not refuse connections


@dataclass(frozen=True)
class RedisAddress:
    """An address of Redis as the settings give it.

    ``ca_file`` names the certificates that sign those of the servers; without it the machine's are used.
    """

    url: str = field(repr=False)
    ca_file: str = ""
    sentinel_password: str = field(default="", repr=False)

    @property
    def is_sentinel(self) -> bool:
        """Return True if Sentinels name the server."""
        return urlsplit(self.url).scheme in SENTINEL_SCHEMES

    @property
    def is_tls(self) -> bool:
        """Return True if connections are encrypted."""
        return urlsplit(self.url).scheme.startswith("rediss")

    def broker_url(self) -> str:
        """Return the address in the words of Celery.

        Raises:
            ValueError: The address of the Sentinels is malformed.
        """
        if not self.is_sentinel:
            return self.url
        login = f":{quote(self._password, safe='')}@" if self._password else ""
        _, database = self._master()
        return ";".join(f"sentinel://{login}{host}:{port}/{database}" for host, port in self._sentinels())

    def broker_ssl(self) -> dict[str, Any] | None:
        """Return the options of the queue's TLS, or None without TLS."""
        return {"ssl_cert_reqs": ssl.CERT_REQUIRED, **self._certificates()} if self.is_tls else None

    def broker_options(self) -> dict[str, Any]:
        """Return the options of the queue's transport."""
        if not self.is_sentinel:
            return {}
        master, _ = self._master()
        return {
            "master_name": master,
            "sentinel_kwargs": self._build_sentinel_options(),
            "socket_connect_timeout": CONNECT_SECONDS,
            "socket_keepalive": True,
        }

    def cache_location(self) -> str:
        """Return the address in the words of Django's cache."""
        return self.url.replace("redis+socket://", "unix://")

    def cache_options(self) -> dict[str, Any]:
        """Return the options of the cache's connections."""
        if self.is_sentinel:
            return {"pool_class": "config.environment.redis_addresses.MasterPool", "address": self}
        return self._certificates() if self.is_tls else {}

    def pool_options(self) -> dict[str, Any]:
        """Return the options of a pool of connections to the master."""
        master, database = self._master()
        return {
            "service_name": master,
            "sentinel_manager": Sentinel(self._sentinels(), sentinel_kwargs=self._build_sentinel_options()),
            "password": self._password or None,
            "db": database,
            "ssl": self.is_tls,
            **self._certificates(),
        }

    @property
    def _password(self) -> str:
        login, at, _ = urlsplit(self.url).netloc.rpartition("@")
        return unquote(login.partition(":")[2]) if at else ""

    def _sentinels(self) -> list[tuple[str, int]]:
        hosts = urlsplit(self.url).netloc.rpartition("@")[2].split(",")
        parts = [urlsplit(f"//{host}") for host in hosts]
        if not all(part.hostname for part in parts):
            raise ValueError("an address of a Sentinel is empty")
        return [(str(part.hostname), part.port or SENTINEL_PORT) for part in parts]

    def _master(self) -> tuple[str, int]:
        name, _, database = urlsplit(self.url).path.strip("/").partition("/")
        if not name or not (database or "0").isdecimal():
            raise ValueError("the name of the master, or the number of its database, is missing")
        return unquote(name), int(database or 0)

    def _build_sentinel_options(self) -> dict[str, Any]:
        options: dict[str, Any] = {
            "socket_timeout": CONNECT_SECONDS, "socket_connect_timeout": CONNECT_SECONDS
        }  # fmt: skip
        if self.sentinel_password:
            options["password"] = self.sentinel_password
        return options | ({"ssl": True, **self._certificates()} if self.is_tls else {})

    def _certificates(self) -> dict[str, Any]:
        return {"ssl_ca_certs": self.ca_file} if self.is_tls and self.ca_file else {}


class MasterPool(SentinelConnectionPool):
    """Connections of the cache to the server that is the master now."""

    @classmethod
    def from_url(cls, url: str, **options: Any) -> Self:
        """Make the pool as Django's cache asks for it.

        Args:
            url: Unused: one URL cannot name several Sentinels.
            options: The `RedisAddress` as ``address``, and options of each connection.
        """
        address: RedisAddress = options.pop("address")
        return cls(**address.pool_options(), **options)
