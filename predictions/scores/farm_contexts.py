"""The distinct reduced contexts of a prediction. Pure.

Source: Schuff et al. 2020, §4.2, and for facts alone DeYoung et al. 2020, §4. The order of the facts
is defined in ``analysis.scores.farm_loca``.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.scores.farm_loca import REMOVALS, reduce_context, removal_order
from modelserver.wire.schema import Context

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True)
class Reductions:
    """The reduced contexts of a prediction by digest.

    Attributes:
        full: The digest of the unreduced context.
        relevant: For each k, the digest of the context without up to k relevant facts.
        irrelevant: For each k, the digest of the context without up to k irrelevant facts.
        without: The digest of the context without all relevant facts; empty if it is not wanted.
        only: For each k, the digest of the context of up to k relevant facts alone; for k = 0, of all of
            them. Empty if they are not wanted.
        contexts: The context of each digest but ``full``, whose answer is known.
    """

    full: str
    relevant: dict[int, str]
    irrelevant: dict[int, str]
    without: str
    only: dict[int, str]
    contexts: dict[str, Context]


def build_reductions(
    context: Sequence[Sequence[Any]],
    facts: Sequence[Sequence[Any]],
    probabilities: Sequence[Sequence[Any]],
    *,
    with_erasure: bool = False,
) -> Reductions:
    """Return the reductions of one prediction.

    context: ``[[title, [sentence, ...]], ...]``; facts: those predicted relevant, ``[[title, index], ...]``;
    probabilities: ``[[title, index, p], ...]`` of every fact, in the order of the context.

    ``with_erasure`` adds the contexts of comprehensiveness and sufficiency.

    Raises ValueError when a fact predicted relevant has no probability.
    """
    order = removal_order(probabilities, facts)
    contexts: dict[str, Context] = {}

    def store_without(removed: Sequence[tuple[str, int]]) -> str:
        reduced = reduce_context(context, removed, len(removed))
        key = compute_digest(reduced)
        contexts[key] = [(title, sentences) for title, sentences in reduced]
        return key

    def store_only(kept: Sequence[tuple[str, int]]) -> str:
        return store_without([fact for fact in (*order.relevant, *order.irrelevant) if fact not in kept])

    full = compute_digest(context)
    result = Reductions(
        full=full,
        relevant={k: store_without(order.relevant[:k]) for k in REMOVALS},
        irrelevant={k: store_without(order.irrelevant[:k]) for k in REMOVALS},
        without=store_without(order.relevant) if with_erasure else "",
        only={k: store_only(order.relevant[:k] if k else order.relevant) for k in (0, *REMOVALS)}
        if with_erasure
        else {},
        contexts=contexts,
    )
    contexts.pop(full, None)
    return result


def compute_digest(context: Sequence[Sequence[Any]]) -> str:
    """Return the SHA-256 of a context, in hex digits."""
    return hashlib.sha256(_encode(context).encode()).hexdigest()
