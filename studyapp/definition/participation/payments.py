"""Orders to pay participants: what to do for whom, and files of amounts.

Pure: no Django.
"""

import csv
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from io import StringIO
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from foundation.errors import BadFile
from foundation.frozen_model import FrozenModel
from foundation.messages import say

# The end of a submission. Visitors without consent are not stored; "late" finished after a return.
Group = Literal[
    "done", "late", "screened_out", "failed_comprehension", "full", "returned", "active", "withdrawn"
]
SENT_AWAY: tuple[Group, ...] = ("screened_out", "failed_comprehension", "full")
MOST_AMOUNT = Decimal(1000)  # for one person: a slip such as 150 for 1.50 should be caught before
MOST_ROWS = 5000
_AMOUNT = re.compile(r"\d{1,6}(\.\d{1,2})?")
_HEADS = {"id", "participant", "participant_id", "person_id", "prolific_id"}

Amount = Annotated[Decimal, Field(gt=0, le=MOST_AMOUNT, decimal_places=2)]


class PaymentOrder(FrozenModel):
    """An order: the acts on the platform, and the people.

    Attributes:
        approve: Approve the submissions of those who completed.
        returns: Ask these groups to return their submissions.
        bonus: The name of the bonus; a participant gets each name once.
        bonus_each: The bonus of everybody who completed.
        bonus_amounts: The bonus by ID, of the platform or of the study.
        screen_out: The pay of everybody who was screened out.
        currency: The currency of the study on the platform.
    """

    approve: bool = False
    returns: tuple[Group, ...] = ()
    bonus: Annotated[str, Field(max_length=50)] = "bonus"
    bonus_each: Amount | None = None
    bonus_amounts: Mapping[str, Amount] = {}
    screen_out: Amount | None = None
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] = "GBP"


def read_amounts(content: bytes, name: str) -> dict[str, Decimal]:
    """Parse a CSV file of IDs and amounts, with or without a header.

    Raises:
        BadFile: A line is malformed; names the line and the column.
    """
    path = Path(name)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFile(path, say("the file is not UTF-8 text")) from error
    amounts: dict[str, Decimal] = {}
    try:
        for line, row in enumerate(csv.reader(StringIO(text), strict=True), start=1):
            cells = [cell.strip() for cell in row]
            if not any(cells) or (line == 1 and cells[0].lower() in _HEADS):
                continue
            if len(cells) != 2 or not cells[0] or ";" in cells[0]:
                message = say("a line has an ID and an amount, separated by a comma, such as abc123,1.50")
                raise BadFile(path, message, line=line)
            if cells[0] in amounts:
                raise BadFile(path, say("%(id)s is listed twice", id=cells[0]), line=line, field="id")
            amounts[cells[0]] = _parse_amount(path, line, cells[1])
    except csv.Error as error:
        raise BadFile(path, say("the file is not CSV: %(error)s", error=str(error))) from error
    if not amounts:
        raise BadFile(path, say("the file has no amounts"))
    if len(amounts) > MOST_ROWS:
        raise BadFile(path, say("a file may have %(most)d amounts at most", most=MOST_ROWS))
    return amounts


def _parse_amount(path: Path, line: int, text: str) -> Decimal:
    try:
        amount = Decimal(text) if _AMOUNT.fullmatch(text) else None
    except InvalidOperation:
        amount = None
    if amount is None or not 0 < amount <= MOST_AMOUNT:
        message = say(
            "%(text)s is not an amount above 0 and up to %(most)s, such as 1.50", text=text, most=MOST_AMOUNT
        )
        raise BadFile(path, message, line=line, field="amount")
    return amount
