"""The data of a study to export: versions, participants, questions, rules.

Participants come in chunks, so that a large study fits in memory.
"""

import hashlib
import hmac
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from analysis.participants.exclusion_rules import Rule, parse_rules
from foundation.batches import cut_batches
from studyapp.definition.frozen.freezing import FrozenStudy
from studyapp.definition.participation.suspicion_flags import Flag
from studyapp.definition.questions.question import Question, list_question_parts
from studyapp.definition.questions.scale_scores import Score, list_scale_scores
from studyapp.exports.columns import Column
from studyapp.exports.question_columns import (
    QUESTION_ORDER,
    build_display_columns,
    build_question_columns,
    score_columns,
)
from studyapp.models import Condition, Mode, Participant, Study, StudyVersion
from studyapp.queries.design.correctness import read_decided_answers
from studyapp.queries.participants.facts import Facts, read_person_facts
from studyapp.queries.participants.flags import list_participant_flags
from studyapp.queries.running import results
from studyapp.queries.running.results import Row

BY_HAND = "by hand"
# Participants whose pages and events are in memory at once.
CHUNK = 200


@dataclass(frozen=True)
class StudyData:
    """A study with its verified versions.

    ``frozen`` is keyed by version number, ``modes`` are those of the exported participants. ``flagged`` are
    those whose flags are read, None for all, and ``read_facts`` returns what rules about participants read.
    """

    study: Study
    versions: list[StudyVersion]
    frozen: dict[int, FrozenStudy]
    public: bool
    modes: Collection[str] = tuple(Mode.values)
    flagged: Collection[int] | None = None
    read_facts: Callable[[Study], dict[int, Facts]] = read_person_facts

    @cached_property
    def participants(self) -> list[Row]:
        """Participants with their pseudonym, in the order of every table.

        The public variant is ordered by its own pseudonyms: the order of arrival would reveal who came when.
        """
        rows = self.read_participants(None)
        return sorted(rows, key=lambda row: row["participant_id"]) if self.public else rows

    def read_participants(self, keys: Sequence[int] | None) -> list[Row]:
        """Return the participants with these keys, or all, in order of arrival."""
        rows = [row for row in results.read_participants(self.study, keys) if row["mode"] in self.modes]
        for row in rows:
            row["participant_id"] = self._pseudonym(row["public_id"])
            row["version"], row["condition"] = row["version_number"], row["condition_name"]
            for name in ("link_label", "behaviour", "outcome", "language", "device", "group"):
                row[name] = row[name] or None
        return rows

    def _pseudonym(self, public_id: str) -> str:
        if not self.public:
            return public_id
        key = bytes.fromhex(self.study.pseudonym_key)
        return "p" + hmac.new(key, public_id.encode(), hashlib.sha256).hexdigest()[:20]

    @cached_property
    def conditions(self) -> list[Condition]:
        """The conditions of all versions, with their systems, runs and scores."""
        return results.read_conditions(self.study)

    @cached_property
    def correct(self) -> dict[tuple[int, int], bool]:
        """The correctness of shown answers by condition and item key."""
        return results.read_correctness(self.study)

    @cached_property
    def decided(self) -> dict[tuple[int, str], bool]:
        """The decisions of judges about answers to the questions of the study."""
        return read_decided_answers(self.study)

    def questions(self, questionnaire: str) -> tuple[Column, ...]:
        """Return the columns of a questionnaire over all versions.

        Those of orders and scores are last.
        """
        numbers = [version.number for version in self.versions]
        asked = [
            question for number in numbers for question in self.find_asked_questions(number, questionnaire)
        ]
        scores = [score for number in numbers for score in self.scores(number, questionnaire)]
        part = "item" if questionnaire == "item_questionnaire" else questionnaire
        has_order = any(part in content.random_order for content in self.frozen.values())
        composite = [
            question
            for content in self.frozen.values()
            for question in self._select_questions(content, questionnaire)
            if question.is_composite
        ]
        orders = (*build_display_columns(composite), *([QUESTION_ORDER] if has_order else []))
        return (*build_question_columns(asked), *orders, *score_columns(scores))

    @staticmethod
    def _select_questions(content: FrozenStudy, questionnaire: str) -> Sequence[Question]:
        if questionnaire == "stages":
            return [*content.screening, *content.comprehension_questions]
        asked: Sequence[Question] = getattr(content, questionnaire)
        return asked

    def find_asked_questions(self, version: int, questionnaire: str) -> list[Question]:
        """Return the questions of a questionnaire in one version, by their parts.

        "stages" has the questions of screening and comprehension check.
        """
        return self._asked[version, questionnaire]

    def scores(self, version: int, questionnaire: str) -> list[Score]:
        """Return the scores of scales on a page of one version."""
        return self._scores[version, questionnaire]

    @cached_property
    def _asked(self) -> dict[tuple[int, str], list[Question]]:
        names = ("item_questionnaire", "pre_survey", "post_survey", "stages")
        return {
            (number, name): list_question_parts(self._select_questions(content, name))
            for number, content in self.frozen.items()
            for name in names
        }

    @cached_property
    def _scores(self) -> dict[tuple[int, str], list[Score]]:
        return {
            (number, name): [] if name == "stages" else list_scale_scores(asked, self.frozen[number].scales)
            for (number, name), asked in self._asked.items()
        }

    def rules(self, version: int) -> list[dict[str, Any]]:
        """Return the exclusion rules of a version.

        The exclusions by hand are the last rule, if there are any.
        """
        rules = [rule.model_dump(mode="json") for rule in self.frozen[version].rules]
        if self._excluded_by_hand:
            rules.append({"name": self.by_hand, "kind": "by_hand", "participants": self._excluded_by_hand})
        return rules

    @cached_property
    def _excluded_by_hand(self) -> list[str]:
        return sorted(map(self._pseudonym, results.list_manual_exclusions(self.study)))

    @cached_property
    def by_hand(self) -> str:
        """The name of the exclusions by hand, which no rule of the study has."""
        taken = {rule.name for content in self.frozen.values() for rule in content.rules}
        name = BY_HAND
        while name in taken:
            name += " of researchers"
        return name

    def flags_of(self, person: Row) -> str | None:
        """Return the flags of a participant, joined by ;."""
        return ";".join(self._flags.get(person["pk"], ())) or None

    @cached_property
    def _flags(self) -> dict[int, list[Flag]]:
        people = Participant.objects.filter(version__study=self.study)
        return list_participant_flags(people if self.flagged is None else people.filter(pk__in=self.flagged))

    @cached_property
    def facts(self) -> dict[int, Facts]:
        """Facts for rules about participants, by key; not of those who withdrew."""
        return self.read_facts(self.study)

    @cached_property
    def parsed_rules(self) -> dict[int, list[Rule]]:
        """The exclusion rules by version, as the analysis applies them."""
        return {number: parse_rules(self.rules(number)) for number in self.frozen}

    def chunks(self) -> Iterator[list[Row]]:
        """Return participants in chunks, without those who withdrew."""
        participants = (
            participant for participant in self.participants if participant["status"] != "withdrawn"
        )
        return cut_batches(participants, CHUNK)


def load_study_data(study: Study, *, public: bool, modes: Collection[str] = tuple(Mode.values)) -> StudyData:
    """Load a study with its verified versions.

    Raises as `results.list_verified_versions`.
    """
    versions = results.list_verified_versions(study)
    frozen = {version.number: FrozenStudy.model_validate(version.frozen) for version in versions}
    return StudyData(study, versions, frozen, public, modes)
