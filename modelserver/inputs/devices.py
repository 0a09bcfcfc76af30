"""The device of a command, checked before anything is computed."""

from typing import Annotated

import torch
from cyclopts import Parameter


def check_device(_: type, name: str) -> None:
    """Refuse a device that torch cannot compute on here.

    Raises:
        ValueError: torch does not know the device or cannot use it.
    """
    try:
        torch.empty(0, device=name)
    except (AssertionError, RuntimeError) as error:
        devices = _list_devices()
        if name not in devices:
            raise ValueError(f"Possible here: {', '.join(devices)}.") from None
        reason = str(error).partition("\n")[0]
        raise ValueError(reason) from None


def _list_devices() -> list[str]:
    """Return the devices of this machine, such as cpu, cuda and cuda:0."""
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    if accelerator is None:
        return ["cpu"]
    numbers = range(torch.accelerator.device_count())
    return ["cpu", accelerator.type, *(f"{accelerator.type}:{number}" for number in numbers)]


Device = Annotated[str, Parameter(validator=check_device)]
