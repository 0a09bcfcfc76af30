"""Whole numbers that people and browsers send."""

KEY_DIGITS = 18  # that a key of the database may have


def parse_whole_number(text: str, most_digits: int = KEY_DIGITS) -> int | None:
    """Parse decimal digits; return None for anything else and too many."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= most_digits else None
