"""Writes of entry links."""

from django.db import transaction

from accounts.models import User
from studyapp.actions import events
from studyapp.definition.participation.recruitment import Recruitment
from studyapp.errors import StudyRefused
from studyapp.link_tokens import make_entry_token
from studyapp.models import EntryLink, Mode, Study


@transaction.atomic
def create_link(
    *,
    study: Study,
    by: User | None,
    label: str = "",
    mode: str = Mode.LIVE,
    single_use: bool = False,
    quota: int | None = None,
    recruitment: Recruitment | None = None,
    behaviour: str = "",
) -> tuple[EntryLink, str]:
    """Create an entry link and return it with its token.

    The token is not stored and cannot be retrieved again. ``quota`` limits the number of participants of
    the link; ``recruitment`` replaces that of the study. ``behaviour`` says what simulates participants.

    Raises:
        ValueError: the mode is unknown or does not fit a rehearsal, the label is longer than 100
            characters, the quota is below 1, or a link for people has a behaviour.
        StudyRefused: a single-use link has a quota.
    """
    if mode not in Mode.values:
        raise ValueError(f"mode: must be one of {', '.join(Mode.values)}, not {mode!r}")
    if len(label) > 100:
        raise ValueError("label: may have 100 characters at most")
    if quota is not None and quota < 1:
        raise ValueError("quota: must be at least 1")
    if quota is not None and single_use:
        raise StudyRefused(("quota",), "a single-use link admits one participant; leave the quota out")
    if behaviour and mode != Mode.BOT:
        raise ValueError("behaviour: only bots have one")
    if study.rehearsal_of_id is not None:
        if mode == Mode.LIVE:
            raise ValueError("mode: nobody in a rehearsal is a live participant")
        recruitment = Recruitment(platform="generic")  # bots and the team come from no platform
    token, token_hash = make_entry_token()
    link = EntryLink.objects.create(
        study=study,
        token_hash=token_hash,
        label=label,
        mode=mode,
        behaviour=behaviour,
        single_use=single_use,
        quota=quota,
        recruitment=recruitment.model_dump(mode="json") if recruitment else None,
        created_by=by,
    )
    events.record(
        kind="link_created",
        study=study,
        by=by,
        data={
            "label": label,
            "mode": mode,
            **({"behaviour": behaviour} if behaviour else {}),
            "single_use": single_use,
            "quota": quota,
            "platform": recruitment.platform if recruitment else None,
        },
    )
    return link, token
