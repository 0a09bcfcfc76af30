"""Store the images of a project: uploaded one by one, or with items."""

from pathlib import Path
from typing import Any, NamedTuple

from django.db import transaction

from accounts.models import User
from annotation.actions import audit
from annotation.actions.bulk_insert import insert
from annotation.content.schemas import Image, ItemRecord
from annotation.errors import BadImage, Conflict, conflict_at
from annotation.formats.images import ImageFolder, read_image_size
from annotation.models import ImageFile, Project
from foundation.errors import BadFile
from foundation.images import image_files
from foundation.imports.findings import Findings
from foundation.messages import extract_message

IMAGE = ("project_id", "name", "width", "height", "path")
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


class ImportedImages:
    """The images of an import: those of its items, or of earlier ones."""

    def __init__(
        self, project: Project, folder: ImageFolder | None, *, dry_run: bool, findings: Findings
    ) -> None:
        self.project, self.folder, self.dry_run, self._findings = project, folder, dry_run, findings

    def keep(self, records: list[ItemRecord]) -> int:
        """Store the images that the project lacks; with a folder, their files."""
        named: dict[str, tuple[ItemRecord, Image]] = {}
        for record, image in ((entry, image) for entry in records for image in entry.images):
            _record, first = named.setdefault(image.name, (record, image))
            with self._findings.refusing_entry(record.external_id, Conflict, BadFile):
                require_shape(image.name, Kept(first.width, first.height, ""), image)
            if not (first.width and first.height):
                named[image.name] = (record, image)
        rows = self.project.image_files.filter(name__in=named).values_list("name", "width", "height", "path")
        there = {name: Kept(width, height, path) for name, width, height, path in rows} if named else {}
        new: list[tuple[Any, ...]] = []
        for name, (record, image) in named.items():
            with self._findings.refusing_entry(record.external_id, Conflict, BadFile):
                self._keep_image(name, image, there.get(name), new)
        insert(ImageFile, IMAGE, new)
        return len(new)

    def find_files(self) -> int:
        """Bring the files of images that lack theirs and are in the folder."""
        assert self.folder is not None
        number = 0
        for kept in self.project.image_files.filter(path="").order_by("pk").iterator():
            image = Image(name=kept.name, width=kept.width, height=kept.height)
            try:
                self.folder.find(kept.name)
                self._keep_image(kept.name, image, Kept(kept.width, kept.height, ""), [])
                number += 1
            except ValueError:
                continue  # it may come with another upload
            except (Conflict, BadFile) as error:
                self._findings.refuse(error, Path(kept.name))
        return number

    def _keep_image(self, name: str, image: Image, kept: Kept | None, new: list[tuple[Any, ...]]) -> None:
        """Add an image to the new ones, or its file to one that lacks it."""
        if kept is not None:
            require_shape(name, kept, image)
        if kept is None or (self.folder is not None and not kept.path):
            file = self._file(image)
            if kept is None:
                new.append((self.project.pk, name, *file))
            else:
                require_shape(name, kept, Image(name=name, width=file.width, height=file.height))
                self.project.image_files.filter(name=name).update(**file._asdict())

    def _file(self, image: Image) -> Kept:
        """Return what is stored of an image, copying and measuring its file."""
        if self.folder is None:
            return Kept(image.width, image.height, "")
        try:
            source = self.folder.find(image.name)
        except ValueError as error:
            raise Conflict(extract_message(error)) from error
        kept = Kept(source.width, source.height, "")
        require_shape(image.name, kept, image)
        if self.dry_run:
            return kept
        return kept._replace(path=image_files.store_image(self.folder.root / source.name))
