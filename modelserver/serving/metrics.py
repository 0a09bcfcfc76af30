"""Counters, gauges and histograms of the model server, written in the Prometheus text format 0.0.4.

Every value is touched from the event loop alone, so nothing here locks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
ITEMS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Counter:
    """A number that only grows, kept apart by label values."""

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        self.name, self.text, self.labels = name, text, tuple(labels)
        self._values: dict[tuple[str, ...], float] = defaultdict(float)

    def add(self, *values: str, amount: float = 1) -> None:
        """Add to the counter with these label values, in the order of ``labels``."""
        self._values[values] += amount

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.text, "counter")
        for values, number in self._values.items():
            yield f"{self.name}{_labels(zip(self.labels, values, strict=True))} {_number(number)}"


class Histogram:
    """How often a value fell at or below each bound, with sum and count, kept apart by label values."""

    def __init__(self, name: str, text: str, bounds: Sequence[float], labels: Sequence[str] = ()) -> None:
        self.name, self.text, self.bounds, self.labels = name, text, tuple(bounds), tuple(labels)
        self._counts: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0] * (len(bounds) + 1))
        self._sums: dict[tuple[str, ...], float] = defaultdict(float)

    def observe(self, value: float, *values: str) -> None:
        """Count one observation under these label values."""
        self._counts[values][bisect_left(self.bounds, value)] += 1
        self._sums[values] += value

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.text, "histogram")
        for values, counts in self._counts.items():
            pairs = list(zip(self.labels, values, strict=True))
            running = 0
            for bound, count in zip((*map("{:g}".format, self.bounds), "+Inf"), counts, strict=True):
                running += count
                yield f"{self.name}_bucket{_labels([*pairs, ('le', bound)])} {running}"
            yield f"{self.name}_sum{_labels(pairs)} {self._sums[values]:.6f}"
            yield f"{self.name}_count{_labels(pairs)} {running}"


class Reading:
    """A number read when it is asked for: a gauge, or a counter that is kept elsewhere."""

    def __init__(self, name: str, text: str, read: Callable[[], float], kind: str = "gauge") -> None:
        self.name, self.text, self._read, self._kind = name, text, read, kind

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.text, self._kind)
        yield f"{self.name} {_number(self._read())}"


def render(series: Sequence[Counter | Histogram | Reading]) -> str:
    """Return all series as one page of text."""
    return "".join(f"{line}\n" for one in series for line in one.lines())


def _head(name: str, text: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _labels(pairs: Iterable[tuple[str, str]]) -> str:
    inner = ",".join(f'{label}="{_escape(value)}"' for label, value in pairs)
    return f"{{{inner}}}" if inner else ""


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
