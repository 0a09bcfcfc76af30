"""Signs that somebody did not take part in earnest.

Pure: no Django.

A flag blocks nobody and excludes nobody by itself: it is shown, exported, and left to the rules that the
study was launched with. Each can hit an honest person too.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

Flag = Literal[
    "impossible_speed",
    "straight_lining",
    "identical_pattern",
    "honeypot",
    "focus_loss",
    "failed_attention",
    "failed_comprehension",
]
FLAGS: tuple[Flag, ...] = get_args(Flag)

HONEYPOT_FIELD = "homepage"  # of every page with questions; people do not see it
IMPOSSIBLE_SECONDS = 3.0  # nobody reads a question, an answer and its explanation in less
IMPOSSIBLE_SHARE = 0.2  # of the items: once can be a slip of the finger
FEWEST_ITEMS = 5  # below, the same answers everywhere say little
HIDDEN_SHARE = 0.25  # of the time on the items

MEANINGS: dict[Flag, str] = {
    "impossible_speed": f"at least {100 * IMPOSSIBLE_SHARE:g} % of the items took less than "
    f"{IMPOSSIBLE_SECONDS:g} s on the server's clock",
    "straight_lining": f"the same answers to all questions at every one of at least {FEWEST_ITEMS} items",
    "identical_pattern": f"the same answers at the same items as somebody else, at least {FEWEST_ITEMS}",
    "honeypot": "a field that people do not see was filled",
    "focus_loss": f"the page was hidden for more than {100 * HIDDEN_SHARE:g} % of the time on the items",
    "failed_attention": "an attention item was not answered as it asks",
    "failed_comprehension": "a try of the comprehension check failed; a later one may have passed",
}


@dataclass(frozen=True)
class ItemPage:
    """A submitted item: its answers, its time, and how long it was hidden (None without JavaScript)."""

    item: str
    answers: Mapping[str, object]
    seconds: float | None
    total_ms: int | None = None
    hidden_ms: int | None = None


def own_flags(pages: Sequence[ItemPage]) -> list[Flag]:
    """Return the flags that one participant's items tell by themselves."""
    found: list[Flag] = []
    times = [page.seconds for page in pages if page.seconds is not None]
    fast = sum(seconds < IMPOSSIBLE_SECONDS for seconds in times)
    if fast and fast >= IMPOSSIBLE_SHARE * len(times):
        found.append("impossible_speed")
    if len(pages) >= FEWEST_ITEMS and len({_text(page.answers) for page in pages}) == 1:
        found.append("straight_lining")
    total = sum(page.total_ms or 0 for page in pages)
    if total and sum(page.hidden_ms or 0 for page in pages) > HIDDEN_SHARE * total:
        found.append("focus_loss")
    return found


def pattern(pages: Iterable[ItemPage]) -> str | None:
    """Return a digest of which answers were given to which items; None for too few items."""
    answers = {page.item: page.answers for page in pages}
    return hashlib.sha256(_text(answers).encode()).hexdigest() if len(answers) >= FEWEST_ITEMS else None


def shared(patterns: Iterable[str | None]) -> set[str]:
    """Return the patterns that more than one participant has."""
    counts = Counter(one for one in patterns if one is not None)
    return {one for one, count in counts.items() if count > 1}


def in_order(found: Iterable[Flag]) -> list[Flag]:
    """Flags once each, in the order of `FLAGS`."""
    kept = set(found)
    return [flag for flag in FLAGS if flag in kept]


def _text(value: Mapping[str, object]) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
