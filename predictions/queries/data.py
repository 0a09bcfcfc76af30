"""Reading datasets and their questions."""

from foundation.errors import NotFound
from foundation.messages import say
from predictions.models import Dataset


def dataset_named(name: str) -> Dataset:
    """Return a dataset. Raises NotFound, which lists those there are."""
    try:
        return Dataset.objects.get(name=name)
    except Dataset.DoesNotExist:
        names = ", ".join(Dataset.objects.order_by("name").values_list("name", flat=True))
        raise NotFound(
            say("there is no dataset %(name)r; there are: %(known)s", name=name, known=names)
            if names
            else say(
                "there is no dataset %(name)r; there is none yet; bring one in with import_dataset", name=name
            )
        ) from None
