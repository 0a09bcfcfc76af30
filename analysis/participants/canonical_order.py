"""An order of participants that follows from their answers alone.

The public variant of a bundle has other pseudonyms and hence another order of rows. A bootstrap draws the
participants by their place, so that intervals of the two variants would differ by chance. Both have the same
answers and times: participants in the order of these have the same place in both. Two participants whose data
are all the same may take either place, because swapping them changes no number.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

WHO = "participant_id"
# They differ between the variants, and nothing but their presence enters a number.
_DATES = ("submitted_at", "started_at")


def sort_canonically(
    trials: pd.DataFrame, participants: pd.DataFrame, post_survey: pd.DataFrame | None
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame | None]:
    """Sort the tables of a bundle by participant, and trials by item.

    trials, participants, post_survey: as a bundle holds them; each has a column participant_id, and every
    participant is in `participants`.
    """
    people = participants[WHO]
    keys = pd.DataFrame({"person": _hash_rows(participants), WHO: people})
    for name, table in (("trials", trials), ("post", post_survey)):
        if table is not None:
            keys[name] = _sum_digests(table, people)
    ordered = keys.sort_values([*(str(name) for name in keys if name != WHO), WHO])
    position = pd.Series(np.arange(len(ordered)), index=ordered[WHO])
    trials = _sort_table(trials, [trials[WHO].map(position), trials["item_id"]])
    participants = _sort_table(participants, [people.map(position)])
    if post_survey is not None:
        post_survey = _sort_table(post_survey, [post_survey[WHO].map(position)])
    return trials, participants, post_survey


def _sort_table(table: pd.DataFrame, keys: list[pd.Series]) -> pd.DataFrame:
    order = np.lexsort([key.to_numpy() for key in reversed(keys)])
    return table.iloc[order].reset_index(drop=True)


def _hash_rows(table: pd.DataFrame) -> NDArray[np.uint64]:
    """Return a number for each row, of all but who and when."""
    content = table[sorted(str(name) for name in table if name not in (WHO, *_DATES))]
    dated = {name: table[name].notna() for name in _DATES if name in table}
    return np.asarray(pd.util.hash_pandas_object(content.assign(**dated), index=False), dtype=np.uint64)


def _sum_digests(table: pd.DataFrame, people: pd.Series) -> NDArray[np.uint64]:
    """Add the numbers of each participant's rows, in any order."""
    sums = np.zeros(len(people), dtype=np.uint64)
    person = pd.Index(people).get_indexer(pd.Index(table[WHO]))
    has_person = person >= 0
    np.add.at(sums, person[has_person], _hash_rows(table)[has_person])
    return sums
