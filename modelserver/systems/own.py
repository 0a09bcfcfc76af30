"""A researcher's own system: a Python class in a file of theirs, behind the same batching as all others.

::

    class MySystem:
        def predict(self, items):
            return [{"answer": "...", "facts": [["Title", 0]]} for item in items]

``predict`` takes a list of QAItem and returns an answer for each, in their order: a QAPrediction or a mapping
with its fields (see ``modelserver.systems.base.completed``). It may have as well:

=====================  ================================================================================
``__init__(device)``   is given the device, as text, when it takes an argument of that name
``check(item)``        raises ValueError, whose text the caller reads, for an item it cannot take
``cost(item)``         how much work an item is, as a whole number (default: its words)
``description``        a line for people (default: the first of the docstring)
``revision``           what the predictions are stored under (default: a digest of the file)
``thread_safe``        True when several threads may call it at once (default: one at a time)
``weight_bytes``       memory of its weights (default: torch modules among its attributes)
=====================  ================================================================================
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import inspect
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from modelserver.errors import InvalidRequest, ModelServerError, UnusableSystem
from modelserver.schema import QAItem, QAPrediction
from modelserver.shelf import weight_bytes
from modelserver.systems.base import completed, words


class OwnSystem:
    """An object of the researcher's class as the server sees it."""

    def __init__(self, inner: Any, *, name: str, description: str, revision: str) -> None:
        self.name, self.description, self.revision = name, description, revision
        self.weight_bytes = weight_bytes(inner)
        self._inner = inner
        shared = getattr(inner, "thread_safe", False) is True
        self._turn: contextlib.AbstractContextManager[Any] = (
            contextlib.nullcontext() if shared else threading.Lock()
        )

    def cost(self, item: QAItem) -> int:
        """Return what the class says, else the words of question and context."""
        say: Callable[[QAItem], int] | None = getattr(self._inner, "cost", None)
        return words(item) if say is None else int(say(item))

    def check(self, item: QAItem) -> None:
        """Raise InvalidRequest where the class's own check raises ValueError."""
        look = getattr(self._inner, "check", None)
        if look is None:
            return
        try:
            look(item)
        except ValueError as error:
            raise InvalidRequest(str(error)) from error

    def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
        """Answer the items. Raises ValueError when the class does not answer each of them as declared."""
        with self._turn:
            answers = list(self._inner.predict(list(items)))
        if len(answers) != len(items):
            raise ValueError(f"predict returned {len(answers)} answers to {len(items)} items")
        return [completed(item, answer) for item, answer in zip(items, answers, strict=True)]


def load(file: Path, class_name: str, device: str, *, name: str) -> OwnSystem:
    """Load a class from a Python file and make its system.

    Raises UnusableSystem, naming the file, the class and what is missing or went wrong.
    """
    where = f"{file}: class {class_name}"
    kind: Any = getattr(_module(file), class_name, None)
    if not inspect.isclass(kind):
        raise UnusableSystem(f"{where}: the file defines no such class")
    for method, needed in (("predict", True), ("check", False), ("cost", False)):
        found = getattr(kind, method, None)
        if found is None and needed:
            raise UnusableSystem(f"{where}: it has no method {method}(items)")
        if found is not None and not callable(found):
            raise UnusableSystem(f"{where}: {method} is no method")
    try:
        takes_device = "device" in inspect.signature(kind).parameters
        inner: Any = kind(**({"device": device} if takes_device else {}))
    except ModelServerError:
        raise
    except Exception as error:  # anybody's code
        raise UnusableSystem(f"{where}: it cannot be made: {type(error).__name__}: {error}") from error
    description = _text(inner, "description", where) or (inspect.getdoc(kind) or where).partition("\n")[0]
    revision = _text(inner, "revision", where) or _digest(file)
    return OwnSystem(inner, name=name, description=description, revision=revision)


def _module(file: Path) -> ModuleType:
    name = f"own_system_{hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:12]}"
    if not file.is_file():
        raise UnusableSystem(f"{file}: there is no such file")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # So that it can import the files beside it, and is found by whatever looks classes up by module.
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise UnusableSystem(f"{error.filename or file}, line {error.lineno}: {error.msg}") from error
    except Exception as error:  # anybody's code
        raise UnusableSystem(f"{file}: it cannot be imported: {type(error).__name__}: {error}") from error
    return module


def _text(inner: object, attribute: str, where: str) -> str:
    found = getattr(inner, attribute, None)
    if found is None:
        return ""
    if not isinstance(found, str) or not found.strip():
        raise UnusableSystem(f"{where}: {attribute} is {found!r}, and not a text")
    return found


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:12]
