"""The device that a worker computes on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Hardware:
    """A device by torch's name, and how systems compute there.

    ``half`` computes in bfloat16 if torch holds that safe; the weights stay as they are, and since the
    answers do not, the revision says so. ``compiled`` translates encoders for the device.
    """

    device: str = "cpu"
    half: bool = False
    compiled: bool = False
