"""Files that name people on their platform: IDs and payments.

They are apart from every bundle.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal

from studyapp.models import Mode, Study
from studyapp.queries.participants.privacy import list_external_ids
from studyapp.queries.participants.recruitment import find_shown_code

ID_COLUMNS = (
    *("participant_id", "mode", "platform", "person_id", "session_id"),
    *("outcome", "completion_code", "completed_at", "returned_at"),
)
PAYMENT_COLUMNS = ("person_id", "amount", "platform", "session_id", "outcome", "completion_code")
NOTHING: Mapping[str, Decimal] = {}
# The columns of `PAYMENT_COLUMNS` in the files that platforms take, with the heads that they ask for.
# Prolific's bulk bonus has no head.
FORMATS: Mapping[str, Mapping[str, str]] = {
    "all": {name: name for name in PAYMENT_COLUMNS},
    "prolific": {"person_id": "", "amount": ""},
    "mturk": {"person_id": "WorkerId", "session_id": "AssignmentId", "amount": "BonusAmount"},
}


def build_external_id_rows(study: Study) -> Iterator[tuple[str, ...]]:
    """Yield the platform's IDs of participants, with the codes shown."""
    for ids in list_external_ids(study).iterator(chunk_size=1000):
        person = ids.participant
        yield (
            *(person.public_id, ids.mode, ids.platform, ids.person_id, ids.session_id),
            *(person.outcome, find_shown_code(person)),
            *(at.isoformat() if at else "" for at in (person.completed_at, person.returned_at)),
        )


def build_payment_rows(
    study: Study, amounts: Mapping[str, Decimal], earned: Mapping[str, Decimal] = NOTHING
) -> Iterator[tuple[str, ...]]:
    """Yield the payments of live participants by outcome.

    Submissions that were returned are left out.

    Args:
        study: The study.
        amounts: The amount of each outcome that is paid.
        earned: The amount that participants get beside it, by public ID.
    """
    rows = list_external_ids(study).filter(
        mode=Mode.LIVE, participant__outcome__in=list(amounts), participant__returned_at__isnull=True
    )
    for ids in rows.iterator(chunk_size=1000):
        person = ids.participant
        amount = amounts[person.outcome] + earned.get(person.public_id, Decimal(0))
        yield (
            *(ids.person_id, f"{amount:.2f}", ids.platform, ids.session_id),
            *(person.outcome, find_shown_code(person)),
        )


def build_payment_file(
    study: Study,
    amounts: Mapping[str, Decimal],
    file_format: str,
    earned: Mapping[str, Decimal] = NOTHING,
) -> tuple[list[str], Iterator[list[str]]]:
    """Return head and rows of a file that a platform takes.

    Only people of that platform are in it, and nobody with an amount of 0. The head is empty if the
    platform wants none.
    """
    columns = FORMATS[file_format]
    indices = [PAYMENT_COLUMNS.index(name) for name in columns]
    platform = PAYMENT_COLUMNS.index("platform")
    rows = (
        [row[index] for index in indices]
        for row in build_payment_rows(study, amounts, earned)
        if file_format == "all" or (row[platform] == file_format and Decimal(row[1]))
    )
    return [head for head in columns.values() if head], rows
