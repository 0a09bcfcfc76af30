"""A clock that is off by the seconds in the file CLOCK_OFFSET.

Python runs this at its start where PYTHONPATH names this folder. The site reads the time by these two
functions alone; ``datetime`` itself is known to programs in C by its size and place.
"""

import os
import time
from datetime import UTC, datetime
from pathlib import Path

from django.utils import timezone

_FILE = Path(os.environ["CLOCK_OFFSET"])
_really = time.time


def _moved() -> float:
    return _really() + float(_FILE.read_text("ascii"))


time.time = _moved
timezone.now = lambda: datetime.fromtimestamp(_moved(), UTC)
