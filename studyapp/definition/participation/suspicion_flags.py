"""Signs of participants who may not have taken part seriously.

Pure: no Django. A flag neither blocks nor excludes anybody by itself: it is shown, exported, and left to
the rules that the study was launched with. Each can hit an honest participant too.
"""

import hashlib
import json
from collections.abc import Mapping
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
# Those that follow from all items; the others, from one page.
OF_ALL_ITEMS: tuple[Flag, ...] = ("impossible_speed", "straight_lining", "identical_pattern", "focus_loss")

HONEYPOT_FIELD = "homepage"  # of every page with questions; hidden from people
IMPOSSIBLE_SECONDS = 3.0  # too short to read a question, an answer and its explanation
IMPOSSIBLE_SHARE = 0.2  # of the items: once can be a slip of the finger
FEWEST_ITEMS = 5  # below, the same answers everywhere say little
FEWEST_CHARACTERS = 20  # of a typed text: two people may both type "none"
HIDDEN_SHARE = 0.25  # of the time on the items

MEANINGS: dict[Flag, str] = {
    "impossible_speed": f"at least {100 * IMPOSSIBLE_SHARE:g} % of the items took less than "
    f"{IMPOSSIBLE_SECONDS:g} s on the server's clock",
    "straight_lining": f"the same answers to all questions at each of at least {FEWEST_ITEMS} items",
    "identical_pattern": f"the same answers to at least {FEWEST_ITEMS} items as another participant",
    "honeypot": "a hidden field was filled in",
    "focus_loss": f"the page was hidden for more than {100 * HIDDEN_SHARE:g} % of the time on the items",
    "failed_attention": "an attention item was not answered as instructed",
    "failed_comprehension": "a try of the comprehension check failed, even if a later one passed",
}


@dataclass(frozen=True)
class ItemPage:
    """A submitted item: answers, time and hidden time.

    The times of the browser are None without JavaScript.
    """

    item: str
    answers: Mapping[str, object]
    seconds: float | None
    total_ms: int | None = None
    hidden_ms: int | None = None


def hash_values(*values: object) -> int:
    """Return a number for values, of 52 bits.

    Those of 2,000 items can be added in a column of the database. Two different answers have the same number
    once in 10^15 pairs.
    """
    text = json.dumps(values, sort_keys=True, ensure_ascii=False)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7]) >> 4


def normalise_typed_text(answer: object) -> str | None:
    """Return a typed text for comparison; None for short ones and others.

    Letter case and white space do not matter.
    """
    text = " ".join(answer.casefold().split()) if isinstance(answer, str) else ""
    return text if len(text) >= FEWEST_CHARACTERS else None
