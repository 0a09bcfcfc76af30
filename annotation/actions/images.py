"""Store uploaded images of a project."""

from pathlib import Path
from typing import NamedTuple

from django.db import transaction

from accounts.models import User
from annotation.actions import audit
from annotation.content.schemas import Image
from annotation.errors import BadImage, conflict_at
from annotation.formats.images import read_image_size
from annotation.models import ImageFile, Project
from foundation.errors import BadFile
from foundation.images import image_files

SHAPE = 0.01  # tolerated difference in aspect ratio between a file and its item


class Kept(NamedTuple):
    """An image as the site stores it."""

    width: int | None
    height: int | None
    path: str


def require_shape(name: str, kept: Kept, image: Image) -> None:
    """Check that the aspect ratio matches.

    Boxes are fractions, so another size does no harm.
    """
    if kept.width and kept.height and image.width and image.height:
        ratio = kept.width * image.height / (kept.height * image.width)
        if abs(ratio - 1) > SHAPE:
            raise conflict_at(
                name,
                "is %(width)s × %(height)s pixels here, and %(width2)s × %(height2)s for the "
                "item: boxes would not fit",
                width=kept.width,
                height=kept.height,
                width2=image.width,
                height2=image.height,
            )


@transaction.atomic
def add_image(*, project: Project, name: str, source: Path, by: User) -> ImageFile:
    """Store an image under the name by which items refer to it.

    The same image again changes nothing.

    Raises:
        BadImage: It is not an image that browsers show.
        Conflict: The project has another image of this name, or of another shape.
    """
    try:
        width, height = read_image_size(source)
        path = image_files.store_image(source)
    except BadFile as error:
        raise BadImage(str(error).replace(str(source), name)) from error
    # Two uploads of one name take turns.
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    stored = ImageFile.objects.filter(project=project, name=name).first() or ImageFile(
        project=project, name=name
    )
    shown = Kept(stored.width, stored.height, stored.path)
    require_shape(name, shown, Image(name=name, width=width, height=height))
    if stored.path:
        if Path(stored.path).stem != Path(path).stem:  # both are named by their content
            raise conflict_at(name, "the project has another image of this name; choose another name")
        return stored
    stored.width, stored.height, stored.path = width, height, path
    stored.save()
    audit.record(project=project, kind="image_added", by=by, data={"name": name})
    return stored
