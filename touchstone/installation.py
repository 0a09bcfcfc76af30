"""The folder of this installation, and its analysis.

In a deployed release or a checkout the analysis is the folder `analysis` beside this package; in an installed
distribution it is a part of it.
"""

import importlib
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent


def is_deployed() -> bool:
    """Test whether this is a deployed release or a checkout."""
    return (ROOT / "manage.py").is_file()


def import_analysis(module: str = "") -> ModuleType:
    """Import the analysis or one of its modules.

    Args:
        module: Its name below the analysis, with a dot in front.

    Returns:
        The module.
    """
    if not is_deployed():
        return importlib.import_module(f"touchstone.analysis{module}")
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return importlib.import_module(f"analysis{module}")
