"""Numbers, truth values, words, secrets and addresses in the environment.

Each is read strictly: the error for a value that cannot be used names the setting and what to set it to.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from modelserver.wire.redaction import redact_logins

# The names of all settings, and of those that are secrets: a backup holds the others.
SETTINGS_READ: set[str] = set()
SETTINGS_SECRET: set[str] = set()


def _parse_switch(text: str) -> bool:
    """Parse true or false in the words of django-environ; empty is false."""
    word = text.strip().lower()
    if word in environ.Env.BOOLEAN_TRUE_STRINGS:
        return True
    if word in ("false", "off", "n", "no", "0", ""):
        return False
    raise ValueError(text)


class Environment(environ.Env):
    """The environment, which notes the names that are read."""

    # The parser of each type but text, and what it allows. django-environ takes any unknown word for false.
    PARSERS: ClassVar[dict[Any, tuple[Callable[[str], Any], str]]] = {
        bool: (_parse_switch, "true or false"),
        int: (int, "a whole number"),
    }

    def get_value(self, var: str, cast: Any = None, *arguments: Any, **options: Any) -> Any:
        """Return a setting.

        Raises:
            ImproperlyConfigured: It should be a number or a truth value, and is not.
        """
        SETTINGS_READ.add(var)
        if cast not in self.PARSERS:
            return super().get_value(var, cast, *arguments, **options)
        parse, allowed = self.PARSERS[cast]
        try:
            return super().get_value(var, parse, *arguments, **options)
        except ValueError as error:
            raise ImproperlyConfigured(f"{var} is {self.ENVIRON[var]!r}; set it to {allowed}.") from error


env = Environment()


def read_choice(name: str, allowed: Iterable[str], *, default: str) -> str:
    """Return a setting that is one of several words, in capitals or not.

    Raises:
        ImproperlyConfigured: It is another word.
    """
    value = env.str(name, default=default)
    words = {word.lower(): word for word in allowed}
    if value.lower() not in words:
        *others, last = words.values()
        raise ImproperlyConfigured(f"{name} is {value!r}; set it to {', '.join(others)} or {last}.")
    return words[value.lower()]


def read_secret(name: str, default: str = "") -> str:
    """Return a secret from the file of NAME_FILE, else from NAME.

    Containers hand secrets over as files, which no list of processes and no dump of an environment shows.

    Raises:
        ImproperlyConfigured: The file cannot be read.
    """
    SETTINGS_SECRET.add(name)
    path = env.str(f"{name}_FILE", default="")
    if not path:
        return env.str(name, default=default)
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise ImproperlyConfigured(f"{name}_FILE is {path!r}, which cannot be read: {error}") from error


def read_address(
    name: str, url: str, schemes: Iterable[str], parse: Callable[[str], dict[str, Any]], example: str
) -> dict[str, Any]:
    """Return Django's settings of a service from its address.

    Raises:
        ImproperlyConfigured: The address has another scheme, or cannot be read.
    """
    try:
        if urlsplit(url).scheme in schemes:
            return parse(url)
    except ValueError:  # such as a port that is not a number
        pass
    shown = redact_logins(url).rpartition("@")[2]  # no login, in an address without a scheme either
    raise ImproperlyConfigured(f"{name} is {shown!r}; set it to an address such as {example}.")
