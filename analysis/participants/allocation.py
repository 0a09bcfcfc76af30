"""Allocation of participants to conditions.

Each participant saw one condition (between), all of them (within), or all of a
group (mixed).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..io.errors import AnalysisError
from .study_version import Condition, Version
from .tasks import TASKS
from .tasks.preference import split_sides

if TYPE_CHECKING:
    import pandas as pd

Design = Literal["between", "within", "mixed"]


@dataclass(frozen=True)
class Allocation:
    """Participants with their groups of conditions.

    Attributes:
        groups: Name of a group to its conditions, in the order of the study;
            participants of a group see all its conditions. In a between-subject
            design each condition is a group.
        people: Columns participant_id and group, one row per participant who
            counts.
    """

    groups: dict[str, tuple[str, ...]]
    people: pd.DataFrame

    @property
    def design(self) -> Design:
        """Design of the study: between, within or mixed."""
        if all(len(conditions) == 1 for conditions in self.groups.values()):
            return "between"
        return "within" if len(self.groups) == 1 else "mixed"

    @property
    def words(self) -> str:
        """The design as text, for sentences such as "… in four … conditions"."""
        return {"between": "between-subject", "within": "within-subject", "mixed": "partly within-subject"}[
            self.design
        ]

    def has_same_participants(self, first: str, second: str) -> bool:
        """Test whether the same participants saw both conditions.

        Args:
            first: Name of a condition.
            second: Name of another condition.

        Returns:
            True if some group has both.
        """
        return any(first in own and second in own for own in self.groups.values())

    def membership(self) -> pd.DataFrame:
        """List participants with each condition of their group.

        Returns:
            Columns participant_id and condition, a row for each pair of them.
        """
        import pandas as pd

        rows = [(group, condition) for group, own in self.groups.items() for condition in own]
        conditions = pd.DataFrame(rows, columns=["group", "condition"])
        return self.people.merge(conditions, on="group")[["participant_id", "condition"]]


def allocate(version: Version, people: pd.DataFrame, trials: pd.DataFrame) -> Allocation:
    """Allocate the participants who count to their conditions.

    If the version names no groups, conditions that one participant saw together are one group.

    Args:
        version: Frozen definition with the conditions.
        people: One row per participant who counts: `participant_id`, `condition` (missing if a participant
            saw several) and, if known, `group`.
        trials: Their submitted ones, with `participant_id` and `condition`; of a preference task
            `left_condition` and `right_condition`.

    Returns:
        The groups of conditions, and the participants with their groups.

    Raises:
        AnalysisError: A participant has conditions of two groups, or of none.
    """
    import pandas as pd

    if TASKS[version.task.kind].pairs:
        trials = split_sides(trials)
    pairs = trials[["participant_id", "condition"]].drop_duplicates()
    groups = _read_declared_groups(version.conditions) or _link_conditions(version.conditions, pairs)
    group_of = {condition: group for group, own in groups.items() for condition in own}
    seen = pairs.assign(group=pairs["condition"].map(group_of))[["participant_id", "group"]]
    seen = seen.drop_duplicates()
    twice = seen["participant_id"].duplicated()
    if twice.any():
        who = seen.loc[twice, "participant_id"].iloc[0]
        raise AnalysisError(
            f"study_version.json has no group of all the conditions that participant {who!r} saw"
        )
    by_trials = dict(zip(seen["participant_id"], seen["group"], strict=True))
    own = people["condition"].map(group_of).astype(object)
    own = own.where(own.notna(), people["participant_id"].map(by_trials).astype(object))
    if "group" in people:
        named = people["group"].where(people["group"].isin(list(groups))).astype(object)
        own = own.where(own.notna(), named)
    if own.isna().any():
        who = people.loc[own.isna(), "participant_id"].iloc[0]
        raise AnalysisError(f"participant {who!r} has neither a condition nor a trial")
    return Allocation(groups, pd.DataFrame({"participant_id": people["participant_id"], "group": own}))


def _read_declared_groups(conditions: list[Condition]) -> dict[str, tuple[str, ...]]:
    """Return the groups that conditions name; empty if any names none."""
    if not all(condition.group for condition in conditions):
        return {}
    names = dict.fromkeys(condition.group or "" for condition in conditions)
    return {name: tuple(c.name for c in conditions if c.group == name) for name in names}


def _link_conditions(conditions: list[Condition], pairs: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    """Link conditions that some participant saw together.

    The link may go through other participants.
    """
    link = {condition.name: condition.name for condition in conditions}
    several = pairs[pairs["participant_id"].duplicated(keep=False)]
    for seen in {frozenset(own) for _, own in several.groupby("participant_id")["condition"]}:
        joined = {link[name] for name in seen}
        link = {name: min(joined) if first in joined else first for name, first in link.items()}
    groups: dict[str, list[str]] = {}
    for condition in conditions:
        groups.setdefault(link[condition.name], []).append(condition.name)
    return {" and ".join(names): tuple(names) for names in groups.values()}
