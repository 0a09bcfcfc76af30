"""The images of items, for participants who see them and for users."""

import re

from django.http import Http404, HttpRequest, HttpResponseBase
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.policy_table import Act
from accounts.rights.roles import can
from foundation.images.image_files import build_image_response
from studyapp.models import Study
from studyapp.queries.studies import list_image_paths
from studyapp.views.access import participant_of

_NAME = re.compile(r"[0-9a-f]{64}\.[a-z0-9]{1,5}")


@require_safe
def item_image(request: HttpRequest, slug: str, name: str) -> HttpResponseBase:
    """Return the bytes of an image by its name.

    Participants get the images of their own version. Users who see the study
    get any image, because they also preview drafts.
    """
    path = f"{name[:2]}/{name}"
    if not _NAME.fullmatch(name) or not _may_see(request, slug, path):
        raise Http404(_("This study has no such image."))
    return build_image_response(path)


def _may_see(request: HttpRequest, slug: str, path: str) -> bool:
    participant = participant_of(request, slug)
    if participant is not None and path in list_image_paths(participant.version):
        return True
    # A name is the hash of the image, so only a person who has the image can ask for it.
    study = Study.objects.select_related("workspace").filter(slug=slug).first()
    user = request.user
    return study is not None and isinstance(user, User) and can(user, Act.STUDY_SEE, study)
