"""Reading datasets and their questions."""

from accounts.models import Workspace
from foundation.errors import NotFound
from foundation.messages import say
from predictions.models import Dataset


def read_dataset_names(workspace: Workspace) -> list[str]:
    """Return the names of the datasets of a workspace in order."""
    return list(workspace.datasets.order_by("name").values_list("name", flat=True))


def find_dataset(name: str, workspace: Workspace) -> Dataset:
    """Return a dataset of a workspace.

    Raises:
        NotFound: The workspace has none of this name; lists those it has.
    """
    try:
        return Dataset.objects.get(workspace=workspace, name=name)
    except Dataset.DoesNotExist:
        names = ", ".join(read_dataset_names(workspace))
        raise NotFound(
            say("there is no dataset %(name)r; there are: %(known)s", name=name, known=names)
            if names
            else say(
                "there is no dataset %(name)r, nor any other yet; bring one in with import_dataset", name=name
            )
        ) from None
