"""Metrics of one model server, in a registry of its own.

Models run in worker processes, but everything counted here happens in the
server's process, so no metric has to be collected from the workers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.core import CounterMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from modelserver.serving.batching import BatchReport
from modelserver.serving.model_cache import Change

logger = logging.getLogger(__name__)

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
ITEMS = (1, 2, 4, 8, 16, 32, 64, 128, 256)

disable_created_metrics()  # they would double the number of series, and nobody reads them


class Metrics:
    """The metrics of one server.

    The callables are read when the page is asked for.
    """

    def __init__(
        self,
        *,
        waiting: Callable[[], int],
        loaded_systems: Callable[[], int],
        loaded_bytes: Callable[[], int],
        is_ready: Callable[[], bool],
        restarts: Callable[[], int],
    ) -> None:
        self._registry = registry = CollectorRegistry()

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"modelserver_{name}", text, labels, registry=registry)

        def histogram(name: str, text: str, *labels: str, buckets: tuple[float, ...] = SECONDS) -> Histogram:
            return Histogram(f"modelserver_{name}", text, labels, buckets=buckets, registry=registry)

        def gauge(name: str, text: str, read: Callable[[], float]) -> None:
            Gauge(f"modelserver_{name}", text, registry=registry).set_function(read)

        self.requests = counter("requests_total", "Responses", "path", "status")
        self.request_seconds = histogram("request_seconds", "Time to answer", "path")
        self.items = counter("items_total", "Items by outcome", "system", "outcome")
        self.batch_items = histogram("batch_items", "Items in a batch", "system", buckets=ITEMS)
        self.batch_seconds = histogram("batch_seconds", "Time to compute a batch", "system")
        self.wait_seconds = histogram("wait_seconds", "Longest wait of an item in a batch", "system")
        self.tokens = counter("tokens_total", "Tokens computed", "system")
        self.padding = counter("padding_tokens_total", "Padding computed", "system")
        gauge("queue_items", "Items waiting", waiting)
        self.loads = counter("loads_total", "Attempts to load a system", "system", "outcome")
        self.load_seconds = histogram("load_seconds", "Time to load a system", "system")
        self.unloads = counter("unloads_total", "Systems unloaded from memory", "system")
        gauge("loaded_systems", "Systems in memory", loaded_systems)
        gauge("loaded_bytes", "Bytes of the weights of loaded systems", loaded_bytes)
        gauge("ready", "1 when the server takes predictions", is_ready)
        registry.register(_Restarts(restarts))

    def count_batch(self, report: BatchReport) -> None:
        """Count one batch."""
        system = report.system
        self.batch_items.labels(system).observe(report.items)
        self.batch_seconds.labels(system).observe(report.seconds)
        self.wait_seconds.labels(system).observe(report.waited)
        self.tokens.labels(system).inc(report.tokens)
        self.padding.labels(system).inc(report.padded_tokens - report.tokens)
        logger.debug("batch", extra={"fields": vars(report)})

    def count_change(self, change: Change) -> None:
        """Count and log that a system was loaded or unloaded, or failed to load."""
        if change.kind == "unloaded":
            self.unloads.labels(change.system).inc()
        else:
            self.loads.labels(change.system, change.kind).inc()
            self.load_seconds.labels(change.system).observe(change.seconds)
        fields: dict[str, object] = {"system": change.system, "seconds": round(change.seconds, 3)}
        if change.kind == "failed":
            logger.error("not loaded", extra={"fields": fields | {"reason": change.reason}})
        else:
            fields |= {"bytes": change.size, "revision": change.revision}
            logger.info(change.kind, extra={"fields": fields})

    def page(self) -> bytes:
        """Return all metrics in the Prometheus text format 0.0.4, in UTF-8."""
        return generate_latest(self._registry)


class _Restarts(Collector):
    """A counter whose value the worker pool keeps."""

    def __init__(self, read: Callable[[], int]) -> None:
        self._read = read

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Yield the counter with its current value."""
        yield CounterMetricFamily(
            "modelserver_process_restarts", "Worker processes restarted", value=self._read()
        )
