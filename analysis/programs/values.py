"""Numbers and dates as a text states them: "49-yard", "6 December 1905".

Also "twenty-one" and "1.5 million".
"""

import re

SMALL = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15,
    "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30,
    "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_DIGITS = re.compile(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+")
_WORD = re.compile(r"[a-z]+")
_MONTHS = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
]  # fmt: skip
MONTH = "|".join(rf"{month[:3]}(?:{month[3:]})?" for month in _MONTHS) + "|Sept"
_NUMERIC_DATE = re.compile(r"(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?!\d)")
_WRITTEN_DATE = re.compile(
    rf"(?:(?P<before>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?\b(?P<month>{MONTH})\b\.?\s*"
    r"(?:(?P<after>\d{1,2})(?:st|nd|rd|th)?\b)?(?:\s*,?\s*(?P<year>\d{3,4}))?",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"(?<!\d)(\d{1,4})\s*B\.?C\.?(?:E\.?)?(?![A-Za-z])")
_YEAR = re.compile(r"(?<!\d)\d{3,4}(?!\d)")


def number_of(text: str) -> int | float | None:
    """Read the first number of a text, in digits or in English words.

    Args:
        text: A quote or an answer.

    Returns:
        An integer or a float; None without a number.

    Examples:
        >>> number_of("a 49-yard pass"), number_of("twenty-one points")
        (49, 21)
    """
    digits = _DIGITS.search(text)
    words = _read_spelled_number(text.lower())
    if digits is None or (words is not None and words[1] < digits.start()):
        return None if words is None else words[0]
    plain = digits[0].replace(",", "")
    number = float(plain) if "." in plain else int(plain)
    after = _WORD.match(text.lower(), digits.end() + 1)
    return number * SCALES[after[0]] if after is not None and after[0] in SCALES else number


def _read_spelled_number(text: str) -> tuple[int, int] | None:
    """Read the first spelled-out number, with its offset."""
    total, current, begin, end = 0, 0, None, 0
    for match in _WORD.finditer(text):
        word = match[0]
        if begin is not None and text[end : match.start()].strip(" -"):
            break  # something stands between: another number
        if word in SMALL:
            current += SMALL[word]
        elif word in SCALES and begin is not None:
            current = max(current, 1) * SCALES[word]
            if SCALES[word] > 100:
                total, current = total + current, 0
        elif begin is None:
            continue
        elif word != "and":
            break
        begin = match.start() if begin is None else begin
        end = match.end()
    return None if begin is None else (total + current, begin)


def date_of(text: str) -> str | None:
    """Read the first date of a text.

    Of a date BCE only the year is read.

    Args:
        text: A quote or an answer.

    Returns:
        Year, year-month or year-month-day in the form of ISO 8601, in which the year before 0001 is 0000 and
        305 BCE is -0304; None without a year.
    """
    before = _BEFORE.search(text)
    if before is not None:
        year = 1 - int(before[1])
        return f"{year:05}" if year < 0 else f"{year:04}"
    numeric = _NUMERIC_DATE.search(text)
    if numeric is not None:
        return _format_iso(numeric[1], int(numeric[2]), numeric[3])
    for written in _WRITTEN_DATE.finditer(text):
        if written["year"]:
            month = 1 + [name[:3] for name in _MONTHS].index(written["month"][:3].capitalize())
            return _format_iso(written["year"], month, written["before"] or written["after"])
    alone = _YEAR.search(text)
    return None if alone is None else f"{int(alone[0]):04}"


def _format_iso(year: str, month: int, day: str | None) -> str | None:
    if not 1 <= month <= 12 or (day is not None and not 1 <= int(day) <= 31):
        return None
    return f"{int(year):04}-{month:02}" + (f"-{int(day):02}" if day else "")


def compare_dates(first: str, second: str) -> int | None:
    """Return -1, 0 or 1 if the first date is earlier, the same or later.

    None if the dates do not say: 1905 and 1905-12 cannot be ordered; 1905 and
    1906-01 can.
    """
    earlier, later = split_date(first), split_date(second)
    for mine, theirs in zip(earlier, later, strict=False):
        if mine != theirs:
            return -1 if mine < theirs else 1
    return 0 if len(earlier) == len(later) else None


def count_years_between(first: str, second: str) -> int:
    """Subtract two dates' years, without sign, as DROP's questions ask."""
    return abs(split_date(first)[0] - split_date(second)[0])


def split_date(date: str) -> tuple[int, ...]:
    """Return year, month and day, as far as they are stated."""
    year, *rest = date.removeprefix("-").split("-")
    return (-int(year) if date.startswith("-") else int(year), *(int(part) for part in rest))
