"""Values of the cache as JSON.

Django's own serializer unpickles what it reads. The broker holds the cache, so every program that can write
into the broker could run code in the web server.
"""

import json
from typing import Any


class JsonValues:
    """Write values as JSON; integers as they are, so that Redis counts."""

    def dumps(self, value: Any) -> int | bytes:
        """Return what the cache stores. Raises TypeError for other kinds."""
        return value if type(value) is int else json.dumps(value).encode()

    def loads(self, data: bytes) -> Any:
        """Return a stored value. Raises ValueError if it is not JSON."""
        return json.loads(data)
