"""Accounts need a cache, which counts wrong codes; here it is in this process."""

import pytest
from django.core.cache import cache


@pytest.fixture(autouse=True)
def _memory(settings):
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    cache.clear()
