"""The cache holds JSON: what others write into the broker never runs."""

import os
import pickle
from pathlib import Path

import pytest
import redis
from django.conf import settings
from django.core.cache import caches
from django.test import override_settings


class Harm:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize("value", [7, True, None, "y", 1.5, [1_800_000_000.5, 2], {"a": ["b"]}])
def test_it_works(redis_url: str, value: object):
    with override_settings(CACHES={"default": settings.CACHES["default"] | {"LOCATION": redis_url}}):
        cache = caches["default"]
        cache.set("key", value)
        assert cache.get("key") == value
        assert type(cache.get("key")) is type(value)


def test_it_counts(redis_url: str):
    with override_settings(CACHES={"default": settings.CACHES["default"] | {"LOCATION": redis_url}}):
        cache = caches["default"]
        assert cache.add("count", 0)
        assert [cache.incr("count") for _ in range(3)] == [1, 2, 3]


def test_a_pickle_in_the_broker_does_not_run(redis_url: str, tmp_path: Path):
    with override_settings(CACHES={"default": settings.CACHES["default"] | {"LOCATION": redis_url}}):
        cache = caches["default"]
        with redis.Redis.from_url(redis_url) as client:
            client.set(cache.make_key("key"), pickle.dumps(Harm(tmp_path / "made")))
        with pytest.raises(ValueError):
            cache.get("key")
        assert not (tmp_path / "made").exists()
