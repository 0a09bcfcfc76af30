"""Uncertain numbers from 0 to K, from counting to comparing modules.

Source: Subramanian et al. 2020, Table 3. A number is a Normal variable, made categorical over 0 … K with
continuity correction to be compared. A number may also carry its exact distribution, as the count of
independent boxes does; `add`, `subtract` and `divide` use moments alone, as the table does.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

K = 72  # the largest count: 36 proposals in each of two images
LEAST_VARIANCE = 1e-8  # of a number without doubt, so that its Normal has a density
LEAST_DIVISOR = 1e-3  # division by an expected count below it is division by it


@dataclass(frozen=True)
class Number:
    """A batch of uncertain numbers.

    mean, variance: [n]. exact: [n, K + 1], the probability of each value, or None for that of the Normal.
    """

    mean: Tensor
    variance: Tensor
    exact: Tensor | None = None

    @property
    def probabilities(self) -> Tensor:
        """[n, K + 1], each row summing to one."""
        return self.exact if self.exact is not None else categorical(self.mean, self.variance)


def categorical(mean: Tensor, variance: Tensor) -> Tensor:
    """Return Pr[X = k], [..., K + 1], of Normal variables [...].

    It is Φ(k + ½) − Φ(k − ½), with the tails at 0 and K.
    """
    edges = torch.arange(K, device=mean.device, dtype=mean.dtype) + 0.5
    deviation = variance.clamp(min=LEAST_VARIANCE).sqrt()
    below = torch.special.ndtr((edges - mean[..., None]) / deviation[..., None])
    nothing, all_ = torch.zeros_like(below[..., :1]), torch.ones_like(below[..., :1])
    return torch.diff(torch.cat([nothing, below, all_], dim=-1))


def poisson_binomial(p: Tensor) -> Tensor:
    """Return the distribution of the number of boxes, [..., K + 1].

    Boxes are independent with probabilities p [..., m]. Computed by convolution, one box at a time. More
    than K boxes count as K.
    """
    probabilities = torch.zeros(*p.shape[:-1], K + 1, dtype=p.dtype, device=p.device)
    probabilities[..., 0] = 1
    for chance in p.unbind(dim=-1):
        moved = probabilities * chance[..., None]
        more = torch.cat([torch.zeros_like(moved[..., :1]), moved[..., :-1]], dim=-1)
        overflow = torch.cat([torch.zeros_like(moved[..., :-1]), moved[..., -1:]], dim=-1)
        probabilities = probabilities - moved + more + overflow
    return probabilities


def add(a: Number, b: Number) -> Number:
    """Return a + b."""
    return Number(a.mean + b.mean, a.variance + b.variance)


def subtract(a: Number, b: Number) -> Number:
    """Return a − b."""
    return Number(a.mean - b.mean, a.variance + b.variance)


def divide(a: Number, b: Number) -> Number:
    """Return a ÷ b by the delta method (Seltman 2018); a may be 0."""
    divisor = b.mean.clamp(min=LEAST_DIVISOR)
    mean = a.mean / divisor + b.variance * a.mean / divisor**3
    return Number(mean, a.variance / divisor**2 + b.variance * a.mean**2 / divisor**4)


def equal(a: Number, b: Number) -> Tensor:
    """Return Pr[a = b], [n], of independent numbers."""
    return (a.probabilities * b.probabilities).sum(dim=-1)


def less(a: Number, b: Number) -> Tensor:
    """Return Pr[a < b], [n]."""
    first, second = a.probabilities, b.probabilities
    above = 1 - second.cumsum(dim=-1)  # Pr[b > k]
    return (first * above).sum(dim=-1).clamp(0, 1)


def greater(a: Number, b: Number) -> Tensor:
    """Return Pr[a > b], [n]."""
    return less(b, a)


def less_equal(a: Number, b: Number) -> Tensor:
    """Return Pr[a ≤ b], [n]."""
    return (less(a, b) + equal(a, b)).clamp(0, 1)


def greater_equal(a: Number, b: Number) -> Tensor:
    """Return Pr[a ≥ b], [n]."""
    return less_equal(b, a)
