"""The command ``agreement``."""

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from ..gold_agreement import Agreement, agreement
from ..gold_agreement.files import read_annotations
from ..io.errors import InputError
from ..stats.bootstrap_sums import Quantity
from .options import Count, print_json


def print_agreement(gold: Path, /, *, resamples: Count = 2000, seed: Count = 1, json: bool = False) -> None:
    """Measure inter-annotator agreement of a gold file, node by node.

    Args:
        gold: Items with several people's annotations, as export_gold --format jsonl writes them.
        resamples: Bootstrap replicates over items; 0 for no confidence intervals.
        seed: Seed of the bootstrap.
        json: Print JSON instead of a table.
    """
    kind, items = read_annotations(gold)
    shared = [item for item in items if len(item.objects) > 1]
    if not shared:
        raise InputError(gold, "no item has finished annotations of two people")
    result = agreement(shared, kind, rng=np.random.default_rng(seed), resamples=resamples)
    if json:
        print_json({"kind": kind, "items": len(shared), **_as_json(result)})
    else:
        _print_table(result, f"Inter-annotator agreement on {kind}, {len(shared)} items")


def _as_json(result: Agreement) -> dict[str, Any]:
    return {
        "groups": [
            {"by": group.by, "name": group.name, "measure": measure, **_build_quantity_json(quantity)}
            for group, measures in result.groups.items()
            for measure, quantity in measures.items()
        ],
        "first_differences": {
            module or "none": count for module, count in result.count_parting_modules().items()
        },
    }


def _build_quantity_json(quantity: Quantity) -> dict[str, Any]:
    return {"value": quantity.value, "interval": quantity.bounds, "n": quantity.n, "reason": quantity.reason}


def _print_table(result: Agreement, title: str) -> None:
    table = Table(title=title)
    for heading in ("group", "measure"):
        table.add_column(heading)
    for heading in ("value", "95 % confidence interval", "n"):
        table.add_column(heading, justify="right")
    for group, measures in result.groups.items():
        name = group.name if group.by == group.name else f"{group.by} {group.name}"
        for measure, quantity in measures.items():
            if quantity.value is None:
                table.add_row(name, measure, "–", quantity.reason, str(quantity.n))
                continue
            low_high = quantity.interval
            interval = f"{low_high.low:.3f} to {low_high.high:.3f}" if low_high else ""
            table.add_row(name, measure, f"{quantity.value:.3f}", interval, str(quantity.n))
    Console().print(table)
