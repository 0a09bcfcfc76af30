"""Accounts get a cache in this process; a cache counts wrong codes."""

import pytest
from django.core.cache import cache


@pytest.fixture(autouse=True)
def _memory(settings):
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    cache.clear()
