"""Time limits of pages: whether one ran out, by the server's clock.

Pure: no Django.
"""

import math

# Seconds after the limit in which a page that the browser sends at the end may still arrive.
GRACE = 5.0


def has_run_out(seconds: float | None, limit: int | None, *, sent_at_the_end: bool) -> bool:
    """Return whether the time of a page ran out.

    Args:
        seconds: Time for which the page was shown until it arrived; None if that is unknown.
        limit: The limit in seconds; None without one.
        sent_at_the_end: The browser sent the page because the time was over.
    """
    if seconds is None or limit is None:
        return False
    return seconds > limit + GRACE or (sent_at_the_end and seconds >= limit)


def is_too_late(seconds: float | None, limit: int | None) -> bool:
    """Return whether the answers of a page came after the grace period.

    They are not stored then.
    """
    return seconds is not None and limit is not None and seconds > limit + GRACE


def compute_time_left(seconds: float | None, limit: int | None) -> int | None:
    """Return the seconds that are left, rounded up; None without a limit.

    A page that the browser sends when they are over does not come too early.
    """
    return None if limit is None else max(0, math.ceil(limit - (seconds or 0)))
