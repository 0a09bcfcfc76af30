"""Mixes of simulated people: the share of each behaviour. No Django."""

import math
import random
from collections.abc import Collection, Mapping


def parse_mix(text: str, behaviours: Collection[str]) -> dict[str, float]:
    """Parse shares such as ``honest=0.7,random=0.3``; a bare name has share 1.

    Returns:
        The share of each behaviour; they add up to 1.

    Raises:
        ValueError: The text is malformed or names an unknown behaviour.
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


def draw_behaviours(n: int, mix: Mapping[str, float], *, seed: int) -> list[str]:
    """Return the shuffled behaviours of ``n`` bots (largest remainder method)."""
    exact = {name: share * n for name, share in mix.items()}
    counts = {name: math.floor(number) for name, number in exact.items()}
    by_remainder = sorted(exact, key=lambda name: counts[name] - exact[name])
    for name in by_remainder[: n - sum(counts.values())]:
        counts[name] += 1
    kinds = [name for name, count in counts.items() for _ in range(count)]
    random.Random(f"{seed}/kinds").shuffle(kinds)
    return kinds
