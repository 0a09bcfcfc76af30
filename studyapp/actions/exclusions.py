"""Exclude participants from the analysis by hand, and include them again.

The answers stay, and so does what the participant may do. The export marks the trials, and the report shows
results with and without them.
"""

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from foundation.errors import Conflict
from studyapp.actions import events
from studyapp.models import ManualExclusion, Participant


@transaction.atomic
def exclude_participant(*, participant: Participant, reason: str, by: User | None) -> ManualExclusion:
    """Exclude every trial of a participant.

    Raises:
        Conflict: The participant is excluded already.
    """
    row, is_new = ManualExclusion.objects.get_or_create(
        participant=participant, defaults={"reason": reason, "excluded_by": by}
    )
    if not is_new:
        raise Conflict(_("This participant is excluded already."))
    events.record(kind="participant_excluded", participant=participant, by=by, data={"reason": reason})
    return row


@transaction.atomic
def include_participant(*, participant: Participant, reason: str, by: User | None) -> None:
    """End the exclusion by hand of a participant.

    Raises:
        Conflict: The participant is not excluded by hand.
    """
    deleted, _rows = ManualExclusion.objects.filter(participant=participant).delete()
    if not deleted:
        raise Conflict(_("This participant is not excluded by hand."))
    events.record(kind="participant_included", participant=participant, by=by, data={"reason": reason})
