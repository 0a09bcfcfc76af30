"""Mixes of simulated people: shares by behaviour from a short text, and as many of each kind. No Django."""

import math
import random
from collections.abc import Collection, Mapping


def parse_mix(text: str, behaviours: Collection[str]) -> dict[str, float]:
    """Shares by behaviour from ``honest=0.7,random=0.3``, made to add up to 1; a bare name is the whole.

    Raises ValueError with a sentence.
    """
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _equals, share = part.strip().partition("=")
        if name not in behaviours:
            raise ValueError(f"there is no behaviour {name!r}; there is {', '.join(behaviours)}")
        if name in shares:
            raise ValueError(f"{name} is given twice")
        try:
            shares[name] = float(share or 1)
        except ValueError:
            shares[name] = math.nan
        if not (math.isfinite(shares[name]) and shares[name] >= 0):
            raise ValueError(f"the share of {name} is {share!r}; it must be a number, 0 or more")
    total = sum(shares.values())
    if not total:
        raise ValueError("the shares are all 0")
    return {name: share / total for name, share in shares.items()}


def deal(n: int, mix: Mapping[str, float], *, seed: int) -> list[str]:
    """The behaviour of each of ``n`` in the shares of ``mix`` (largest remainders), shuffled."""
    exact = {name: share * n for name, share in mix.items()}
    counts = {name: math.floor(number) for name, number in exact.items()}
    by_remainder = sorted(exact, key=lambda name: counts[name] - exact[name])
    for name in by_remainder[: n - sum(counts.values())]:
        counts[name] += 1
    kinds = [name for name, count in counts.items() for _ in range(count)]
    random.Random(f"{seed}/kinds").shuffle(kinds)
    return kinds
