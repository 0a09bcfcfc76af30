"""Random streams by name: no number depends on what else was drawn.

A stream that is spawned by its number changes when another part is added before it. One that is derived from
a name stays the same, whichever other parts run and in whichever order.
"""

import hashlib

import numpy as np

_BYTES = 16  # of a digest: two names share a stream once in 10^38 pairs


def derive_stream(rng: np.random.Generator, *names: str) -> np.random.Generator:
    """Derive the stream of a part from the seed of `rng` and the part's names.

    `rng` is not drawn from. The same seed and names give the same stream.

    Examples:
        >>> rng = np.random.default_rng(1)
        >>> derive_stream(rng, "learning").random() == derive_stream(rng, "learning").random()
        True
        >>> derive_stream(rng, "learning").random() == derive_stream(rng, "calibration").random()
        False
    """
    parent = rng.bit_generator.seed_seq
    assert isinstance(parent, np.random.SeedSequence)  # as of every generator made by default_rng
    digest = hashlib.sha256("\0".join(names).encode()).digest()[:_BYTES]
    words = tuple(int.from_bytes(digest[start : start + 4], "big") for start in range(0, _BYTES, 4))
    return np.random.default_rng(
        np.random.SeedSequence(parent.entropy, spawn_key=(*parent.spawn_key, *words))
    )
