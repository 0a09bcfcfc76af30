"""Reading datasets and their questions."""

from studyapp.errors import NotFound
from studyapp.models import Dataset


def dataset_named(name: str) -> Dataset:
    """Return a dataset. Raises NotFound, which lists those there are."""
    try:
        return Dataset.objects.get(name=name)
    except Dataset.DoesNotExist:
        names = ", ".join(Dataset.objects.order_by("name").values_list("name", flat=True))
        known = f"there are: {names}" if names else "there is none yet; bring one in with import_dataset"
        raise NotFound(f"there is no dataset {name!r}; {known}") from None
