"""One address of Redis in the words of the queue and of the cache."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.checks import is_this_machine
from config.environment.redis_addresses import MasterPool, RedisAddress
from tests.config.test_settings import load

SENTINELS = "rediss+sentinel://:p%40ss@one.example.org:26380,two.example.org/touchstone/3"


def test_a_plain_server_needs_nothing_more() -> None:
    address = RedisAddress("redis://:pw@queue:6379/0")
    assert address.broker_url() == address.cache_location() == "redis://:pw@queue:6379/0"
    assert (address.broker_ssl(), address.broker_options(), address.cache_options()) == (None, {}, {})
    assert RedisAddress("redis+socket:///srv/broker.sock").cache_location() == "unix:///srv/broker.sock"


def test_tls_is_checked_against_the_given_certificates() -> None:
    address = RedisAddress("rediss://queue:6379/0", ca_file="/etc/ca.pem")
    assert address.broker_ssl() == {"ssl_cert_reqs": ssl.CERT_REQUIRED, "ssl_ca_certs": "/etc/ca.pem"}
    assert address.cache_options() == {"ssl_ca_certs": "/etc/ca.pem"}
    assert RedisAddress("rediss://queue:6379/0").broker_ssl() == {"ssl_cert_reqs": ssl.CERT_REQUIRED}


def test_sentinels_are_told_to_both() -> None:
    address = RedisAddress(SENTINELS, ca_file="/etc/ca.pem", sentinel_password="other")
    assert address.broker_url() == (
        "sentinel://:p%40ss@one.example.org:26380/3;sentinel://:p%40ss@two.example.org:26379/3"
    )
    options = address.broker_options()
    assert options["master_name"] == "touchstone"
    assert options["sentinel_kwargs"]["password"] == "other"
    assert options["sentinel_kwargs"]["ssl"] is True
    pool = MasterPool.from_url("", **{k: v for k, v in address.cache_options().items() if k != "pool_class"})
    assert (pool.service_name, pool.connection_kwargs["db"]) == ("touchstone", 3)
    assert pool.connection_kwargs["password"] == "p@ss"
    assert "p%40ss" not in repr(address)


@pytest.mark.parametrize(
    "url",
    ["redis+sentinel://:p@one:26379", "redis+sentinel://one,/touchstone", "redis+sentinel://one/touchstone/x",
     "redis+sentinel://one:port/touchstone"],
)  # fmt: skip
def test_malformed_sentinels_are_explained(url: str, tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"REDIS_URL must be redis\+sentinel://"):
        load(tmp_path, SECRET_KEY="k", REDIS_URL=url)


def test_one_sentinel_elsewhere_makes_the_broker_another_machine() -> None:
    assert is_this_machine("redis+sentinel://127.0.0.1:1,127.0.0.1:2/touchstone")
    assert not is_this_machine("redis+sentinel://127.0.0.1:1,10.0.0.2:2/touchstone")
