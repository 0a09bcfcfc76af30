"""Names of systems to serve on the command line (``--systems``).

=============================  ========================================================================
NAME                           a system of this package with its shipped weights
NAME=FOLDER                    the same with the weights in a folder
NAME=SYSTEM:FOLDER             a system of this package under another name
NAME=path/to/file.py:Class     a user's own class
NAME=FILE.yaml                 a language model behind an OpenAI-compatible server
NAME=http://host:port/path     a remote server; ``#revision`` at the end names what it serves
=============================  ========================================================================
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from modelserver.wire.load_balancing import is_server_url
from modelserver.wire.redaction import redact_logins

_NAME = re.compile(r"\w[\w.-]{0,99}")
_OWN = re.compile(r"(.+\.py):(\w+)")
_CARRIED = re.compile(r"([a-z0-9][a-z0-9-]*):(.*)")


@dataclass(frozen=True)
class ShippedSpec:
    """A system of this package; without a folder, with its shipped weights."""

    name: str
    system: str
    folder: Path | None = None


@dataclass(frozen=True)
class ClassSpec:
    """A class in a Python file."""

    name: str
    file: Path
    class_name: str


@dataclass(frozen=True)
class RemoteSpec:
    """A system that another server computes.

    Without a revision, the server's answers have to name one.
    """

    name: str
    url: str = field(repr=False)  # may hold a password
    revision: str | None = None


@dataclass(frozen=True)
class ChatSpec:
    """A language model behind another server, as its YAML file says."""

    name: str
    file: Path


LocalSpec = ShippedSpec | ClassSpec
ServedSpec = LocalSpec | RemoteSpec | ChatSpec


def select_local_specs(choices: Sequence[ServedSpec]) -> tuple[LocalSpec, ...]:
    """Return the systems that are computed here, not by another server."""
    return tuple(choice for choice in choices if not isinstance(choice, RemoteSpec | ChatSpec))


def parse(text: str) -> list[ServedSpec]:
    """Parse a comma-separated list of systems.

    Raises ValueError, which names the part that is wrong.
    """
    choices = [_parse_choice(part.strip()) for part in text.split(",") if part.strip()]
    names = [choice.name for choice in choices]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two systems have the name {name!r}")
    if not choices:
        raise ValueError("no system is named")
    return choices


def _parse_remote(name: str, where: str) -> RemoteSpec:
    url, _, revision = where.partition("#")
    if not is_server_url(url):
        raise ValueError(
            f"{redact_logins(url)!r} is not the address of a server, such as http://127.0.0.1:9000/answer"
        )
    return RemoteSpec(name, url, revision or None)


def _parse_choice(part: str) -> ServedSpec:
    name, given, where = part.partition("=")
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} in {redact_logins(part)!r} is not a valid name: use letters, digits, '.', '_' and '-'"
        )
    if given and not where:
        raise ValueError(f"{redact_logins(part)!r} has nothing after '='")
    if where.startswith(("http://", "https://")):
        return _parse_remote(name, where)
    if own := _OWN.fullmatch(where):
        return ClassSpec(name, Path(own[1]), own[2])
    if where.endswith(".py"):
        raise ValueError(f"{part!r} names a file without a class; write {part}:Class")
    if where.endswith((".yaml", ".yml")) and not where.startswith("causal-lm:"):
        return ChatSpec(name, Path(where.removeprefix("chat:")))
    if (carried := _CARRIED.fullmatch(where)) and not Path(where).exists():
        if not carried[2]:
            raise ValueError(f"{part!r} names no folder after {carried[1]!r}")
        return ShippedSpec(name, carried[1], Path(carried[2]))
    return ShippedSpec(name, name, Path(where) if where else None)
