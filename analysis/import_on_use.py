"""Import the public names of a package when they are first used.

Most of what a site or a command needs of a package needs neither pandas nor pyarrow, which take half a second
and 100 MB.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any


def import_on_use(package: str, modules: Iterable[str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose modules hold its names.

    No public name may be that of a module: importing the module would put it in the name's place.

    Args:
        package: Its name; it declares `__all__`.
        modules: Names without the package; the first one that has a name gives it, so cheap ones come first.
    """

    def get_name(name: str) -> Any:
        if name in import_module(package).__all__:
            for module in modules:
                contents = vars(import_module(f"{package}.{module}"))
                if name in contents:
                    return contents[name]
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get_name
