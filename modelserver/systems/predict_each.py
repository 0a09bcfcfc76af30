"""Prediction of a batch whose items may fail: one failure costs no other."""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Sequence
from typing import Any

from modelserver.systems.base import describe_error, is_out_of_memory
from modelserver.wire.errors import BudgetSpent, LoadFailed, Unavailable
from modelserver.wire.schema import ItemError
from modelserver.wire.system_protocol import Asked, BatchTask, Outcome

logger = logging.getLogger(__name__)


def predict_each(system: BatchTask, items: Sequence[Asked]) -> list[Outcome]:
    """Predict a batch; halve it until failing items stand alone.

    An item that breaks the system, or a batch too big for the memory, costs
    the others nothing but time.

    Returns:
        Outcomes in the order of the items, an ItemError for each that failed.

    Raises:
        BudgetSpent: Nothing more may be asked.
        Unavailable: The system is; fewer items would fare no better.
        LoadFailed: The system could not be loaded.
    """
    try:
        return _predict_batch(system, items)
    except (Unavailable, LoadFailed, BudgetSpent):
        raise
    except Exception as error:  # the edge of the server: a system may be anybody's code
        if len(items) == 1:
            return [report_item_error(system, items[0], error)]
        exhausted = is_out_of_memory(error)
    # Only here, outside of the handler: the traceback holds what the failed batch had in memory.
    if exhausted:
        free_memory()
    middle = len(items) // 2
    return predict_each(system, items[:middle]) + predict_each(system, items[middle:])


def _predict_batch(system: BatchTask, items: Sequence[Asked]) -> list[Outcome]:
    outcomes = list(system.predict(items))
    if [outcome.id for outcome in outcomes] != [item.id for item in items]:
        raise ValueError("the system did not answer exactly the items it was given, in their order")
    return outcomes


def report_item_error(system: BatchTask, item: Asked, error: Exception) -> ItemError:
    """Return why an item failed, after logging the error."""
    log_failure("item_failed", error, system=system.name)
    if is_out_of_memory(error):
        message = f"{system.name} ran out of memory on this item alone: {describe_error(error)}"
        return ItemError(id=item.id, error="out_of_memory", message=message)
    return ItemError(
        id=item.id, error="prediction_failed", message=f"{system.name} failed: {describe_error(error)}"
    )


def free_memory() -> None:
    """Collect what nothing refers to, and give a GPU's unused memory back."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def log_failure(event: str, error: BaseException, **fields: Any) -> None:
    """Log type and line of an error.

    Its message is left out, because it may quote a participant's text.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "unknown"
    logger.error(event, extra={"fields": {"error": type(error).__name__, "at": where, **fields}})
