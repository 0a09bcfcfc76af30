"""A researcher's own system: a Python class in a file of theirs.

It runs behind the same batching as all others::

    class MySystem:
        def predict(self, items):
            return [{"answer": "...", "facts": [["Title", 0]]} for item in items]

``predict`` takes a list of QAItem and returns an answer for each, in their order: a QAPrediction or a
mapping with its fields (see ``modelserver.systems.base.complete_prediction``). The class may also have:

=====================  ================================================================================
``__init__(device)``   receives the device, as text, if it takes an argument of that name
``check(item)``        raises ValueError, whose text the caller reads, for an item it cannot take
``cost(item)``         how much work an item is, as a whole number (default: its words)
``description``        a line for people (default: the first of the docstring)
``revision``           the key under which predictions are stored, at most 50 characters (default: a
                       digest of the file alone: set one if the answers also depend on weights)
``thread_safe``        True if several threads may call it at once (default: ``predict`` one at a time,
                       and ``check`` and ``cost`` one at a time, maybe beside ``predict``)
``weight_bytes``       memory of its weights (default: torch modules among its attributes)
``explainable`` and    the methods of ``modelserver.saliency.attribution.Explainable``, for saliency
``scores``
=====================  ================================================================================
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from analysis.io.errors import NO_FILE
from modelserver.saliency.attribution import explain
from modelserver.systems.base import (
    complete_prediction,
    count_weight_bytes,
    count_words,
    describe_error,
    is_out_of_memory,
    require_revision,
)
from modelserver.wire.errors import InvalidRequest, UnusableSystem
from modelserver.wire.schema import Explanation, QAItem, QAPrediction, SaliencyOptions
from modelserver.wire.system_protocol import Explainer


class OwnSystem:
    """An object of the researcher's class as the server sees it."""

    def __init__(self, inner: Any, *, name: str, description: str, revision: str) -> None:
        self.name, self.description, self.revision = name, description, revision
        self.weight_bytes = count_weight_bytes(inner)
        self._inner = inner
        shared = getattr(inner, "thread_safe", False) is True
        # Two: a request is looked at while another computes, or it could not be refused in time.
        self._turn, self._look = _make_lock(shared), _make_lock(shared)

    def cost(self, item: QAItem) -> int:
        """Return the class's own cost, else the words of question and context.

        Raises ValueError.
        """
        say: Callable[[QAItem], int] | None = getattr(self._inner, "cost", None)
        if say is None:
            return count_words(item)
        with self._look, _prevent_exit():
            cost = int(say(item))
        if cost < 0:
            raise ValueError(f"cost returned {cost}, which is below 0")
        return cost

    def check(self, item: QAItem) -> None:
        """Raise InvalidRequest if the class's own check raises ValueError."""
        look = getattr(self._inner, "check", None)
        if look is None:
            return
        try:
            with self._look, _prevent_exit():
                look(item)
        except ValueError as error:
            raise InvalidRequest(str(error)) from error

    @property
    def explain(self) -> Explainer | None:
        """Return the saliency function, or None if the class lacks its methods."""
        named = (getattr(self._inner, name, None) for name in ("explainable", "scores"))
        return self._explain if all(map(callable, named)) else None

    def _explain(self, items: Sequence[QAItem], options: SaliencyOptions) -> list[Explanation]:
        with self._turn, _prevent_exit():
            return explain(self._inner, list(items), options, revision=self.revision)

    def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
        """Answer the items.

        Raises ValueError when the class does not answer each of them as declared.
        """
        with self._turn, _prevent_exit():
            answers = self._inner.predict(list(items))
            if isinstance(answers, str | bytes | Mapping) or not isinstance(answers, Iterable):
                raise ValueError(f"predict returned {type(answers).__name__}, not a list of answers")
            answers = list(answers)
        if len(answers) != len(items):
            raise ValueError(f"predict returned {len(answers)} answers to {len(items)} items")
        return [complete_prediction(item, answer) for item, answer in zip(items, answers, strict=True)]


def _make_lock(shared: bool) -> contextlib.AbstractContextManager[Any]:
    return contextlib.nullcontext() if shared else threading.Lock()


@contextlib.contextmanager
def _prevent_exit() -> Iterator[None]:
    """Turn what would end the thread, such as SystemExit, into a RuntimeError."""
    try:
        yield
    except Exception:
        raise
    except BaseException as error:
        raise RuntimeError(describe_error(error)) from error


def load(file: Path, class_name: str, device: str, *, name: str) -> OwnSystem:
    """Load a class from a Python file and make its system.

    Raises UnusableSystem, naming the file, the class and what is missing or went wrong.
    """
    where = f"{file}: class {class_name}"
    kind: Any = getattr(_load_module(file), class_name, None)
    if not inspect.isclass(kind):
        raise UnusableSystem(f"{where}: the file defines no such class")
    for method, needed in (("predict", True), ("check", False), ("cost", False)):
        function = getattr(kind, method, None)
        if function is None and needed:
            raise UnusableSystem(f"{where}: it has no method {method}(items)")
        if function is not None and not callable(function):
            raise UnusableSystem(f"{where}: {method} is not a method")
        if inspect.iscoroutinefunction(function):
            raise UnusableSystem(f"{where}: {method} is asynchronous; write it without async")
    try:
        with _prevent_exit():
            takes_device = "device" in inspect.signature(kind).parameters
            inner: Any = kind(**({"device": device} if takes_device else {}))
    except Exception as error:  # user code
        memory = "out of memory: " if is_out_of_memory(error) else ""
        raise UnusableSystem(f"{where}: it cannot be created: {memory}{describe_error(error)}") from error
    description = _read_description(inner, where) or (inspect.getdoc(kind) or where).partition("\n")[0]
    size = getattr(inner, "weight_bytes", None)
    if size is not None and (not isinstance(size, int) or size < 0):
        raise UnusableSystem(f"{where}: weight_bytes is {size!r}, and not a number of bytes")
    given = getattr(inner, "revision", None)
    try:
        of_file = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
        revision = of_file if given is None else require_revision(given, where)
    except ValueError as error:
        raise UnusableSystem(str(error)) from error
    return OwnSystem(inner, name=name, description=description, revision=revision)


def _load_module(file: Path) -> ModuleType:
    name = f"own_system_{hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:12]}"
    if not file.is_file():
        raise UnusableSystem(f"{file}: {NO_FILE}")
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
        with _prevent_exit():
            spec.loader.exec_module(module)
    except SyntaxError as error:
        raise UnusableSystem(f"{error.filename or file}, line {error.lineno}: {error.msg}") from error
    except Exception as error:  # user code
        raise UnusableSystem(f"{file}: it cannot be imported: {describe_error(error)}") from error
    return module


def _read_description(inner: object, where: str) -> str:
    description = getattr(inner, "description", None)
    if description is None:
        return ""
    if not isinstance(description, str) or not description.strip():
        raise UnusableSystem(f"{where}: description is {description!r}, and not a text")
    return description
