"""Every exported table and its columns, except those of questions.

Rows, files and codebook are made from these.

Pure: no Django.
"""

from functools import partial
from typing import Literal, NamedTuple

from analysis.scores import hotpotqa
from analysis.scores.erasure import DIFFERENCES
from analysis.scores.farm_loca import REMOVALS
from analysis.scores.score_table import SCORES
from studyapp.definition.participation.suspicion_flags import FEWEST_CHARACTERS, FEWEST_ITEMS, MEANINGS

ColumnType = Literal["string", "integer", "number", "boolean", "time", "json", "mixed"]
Public = Literal["as is", "date", "pseudonym", "withheld"]


class Column(NamedTuple):
    """A column of an exported table.

    ``source`` is the model field that it comes from ("" if computed), ``public`` is what the public variant
    does with it.
    """

    name: str
    type: ColumnType
    meaning: str
    source: str = ""
    unit: str = ""
    values: str = ""
    public: Public = "as is"


class Table(NamedTuple):
    """A table with one row per ``row``.

    The columns of a questionnaire come between ``before`` and ``after``.
    """

    row: str
    before: tuple[Column, ...]
    after: tuple[Column, ...] = ()
    questionnaire: Literal["item_questionnaire", "pre_survey", "post_survey", "stages"] | None = None

    def columns(self, questions: tuple[Column, ...]) -> tuple[Column, ...]:
        """Return all columns, with those of the questionnaire in between."""
        return (*self.before, *questions, *self.after)


_MODES = "live; pilot; bot"
_CONDITION = "name of the condition; empty for a participant before the assignment or with several conditions"


def _build_field_column(
    model: str,
    name: str,
    type: ColumnType,
    meaning: str,
    unit: str = "",
    values: str = "",
    public: Public = "as is",
) -> Column:
    """Return a column with the name of the model's field that it comes from."""
    return Column(name, type, meaning, f"{model}.{name}", unit, values, public)


_participant = partial(_build_field_column, "Participant")
_stage = partial(_build_field_column, "StageResponse")
_item, _stimulus = partial(_build_field_column, "Item"), partial(_build_field_column, "Stimulus")
_judgement = partial(_build_field_column, "Judgement")
_PARTICIPANT_COLUMNS = (
    Column(
        "participant_id",
        "string",
        "pseudonym, stable within the study; the public variant has another one",
        "Participant.public_id",
        public="pseudonym",
    ),
    _participant("mode", "string", "how the participant came", values=_MODES),
    Column("version", "integer", "version of the study", "StudyVersion.number"),
    Column("condition", "string", _CONDITION, "Condition.name"),
)


def _build_moment_column(name: str, meaning: str, model: str = "Participant") -> Column:
    return _build_field_column(model, name, "time", meaning, "UTC", public="date")


def _build_clock_columns(model: str) -> tuple[Column, ...]:
    """Return the two clocks of a page.

    The browser's columns are empty without JavaScript.
    """
    client = partial(_build_field_column, model)
    return (
        _build_moment_column("shown_at", "server clock when first shown", model),
        _build_moment_column("submitted_at", "server clock when submitted", model),
        Column(
            "server_ms",
            "integer",
            "submitted minus first shown, server clock; empty if it was set back",
            "",
            "ms",
        ),
        client("client_total_ms", "integer", "time on the page, browser clock", "ms"),
        client("client_visible_ms", "integer", "time with the page visible, browser clock", "ms"),
        client("client_hidden_ms", "integer", "time with the page hidden, browser clock", "ms"),
        client("hidden_count", "integer", "how often the page was hidden", "count"),
        client("first_interaction_ms", "integer", "from page ready to the first input, browser clock", "ms"),
    )


_FLAGS = Column(
    "flags",
    "string",
    "signs that the participant may not have taken part seriously, joined by ;",
    values="; ".join(f"{flag} = {meaning}" for flag, meaning in MEANINGS.items()),
)

# The meaning of each part's column, which is empty if its score is not given.
_PARTS = {
    **{score.key: f"{score.label} of this question" for score in SCORES if score.key in hotpotqa.KEYS},
    "span_answer": "1 where the answer is a span, else 0",
    "inside": "1 where the answer lies in one sentence that is predicted relevant, else 0",
    "outside": "1 where the answer lies in one sentence that is not predicted relevant, else 0",
    **{
        f"{name}_{k}": f"1 where the answer changes without the first {k} facts predicted {which}, else 0"
        for name, which in (("c_rel", "relevant"), ("c_irr", "irrelevant"))
        for k in REMOVALS
    },
    **{score.key: f"{score.label} of this question" for score in SCORES if score.key in DIFFERENCES},
}

TABLES: dict[str, Table] = {
    "trials": Table(
        "participant and item (assigned trials, answered or not)",
        before=(
            *_PARTICIPANT_COLUMNS,
            Column("item_id", "string", "external id of the question", "Item.external_id"),
            Column("position", "integer", "1-based position in this participant's order", "Trial.position"),
            *_build_clock_columns("Trial"),
        ),
        questionnaire="item_questionnaire",
        after=(
            Column(
                "articles_opened",
                "integer",
                "how often the participant opened the articles that the explanation does not use; empty "
                "without JavaScript",
                "Trial.articles",
                "count",
            ),
            Column(
                "articles_open_ms",
                "integer",
                "how long they were open in all, browser clock",
                "Trial.articles",
                "ms",
            ),
            Column(
                "articles_log",
                "json",
                "each opening, a JSON list of [name, ms from page ready to the opening, ms open]",
                "Trial.articles",
            ),
            _stimulus(
                "system_correct",
                "boolean",
                "whether the shown answer is correct: as judges decided, else by exact match",
            ),
            _FLAGS,
            Column(
                "excluded_by",
                "string",
                "names of the exclusion rules that hit this trial, joined by ;",
            ),
        ),
    ),
    "participants": Table(
        "participant",
        before=(
            *_PARTICIPANT_COLUMNS,
            _participant(
                "status", "string", "status of the participant", values="active; completed; ended; withdrawn"
            ),
            _participant(
                "outcome",
                "string",
                "outcome of the participant; empty while in progress",
                values="done; screened_out; failed_comprehension; full",
            ),
            _participant(
                "stage",
                "string",
                "the last stage that the participant reached",
                values="screening; instructions; comprehension; pre_survey; items",
            ),
            _participant("language", "string", "language of the pages"),
            _participant(
                "device",
                "string",
                "coarse class of the device at consent, from the kind of pointer and the width of the "
                "screen; empty without JavaScript",
                values="phone; tablet; desktop",
            ),
            _participant(
                "group", "string", "the participant's assignment: the condition, or a group of several"
            ),
            _participant(
                "order_row",
                "integer",
                "row of the Latin square that orders the conditions, 0-based; in a preference study the way "
                "to begin with the sides, 0 or 1; empty for one condition",
            ),
            _participant(
                "rotation",
                "integer",
                "rotation of the blocks of items over the conditions, or of the items over the pairs, "
                "0-based; empty for one condition",
            ),
            Column(
                "link_label",
                "string",
                "label of the link the participant came by",
                "EntryLink.label",
                public="withheld",
            ),
            Column(
                "behaviour",
                "string",
                "what simulated the participant: a behaviour, a mix of them, or a language model with its "
                "file and revision; empty for people",
                "EntryLink.behaviour",
            ),
            _build_moment_column("consented_at", "server clock at consent"),
            _build_moment_column("assigned_at", "server clock at the assignment"),
            _build_moment_column("started_at", "server clock when the first item was shown"),
            _build_moment_column("completed_at", "server clock when the post survey was stored"),
            _build_moment_column("ended_at", "server clock when the participant ended, completed or not"),
            _build_moment_column(
                "returned_at", "server clock when the platform reported the submission as returned"
            ),
            Column("finished_late", "boolean", "whether the participant completed after returned_at"),
            _participant("items_submitted", "integer", "items submitted", unit="count"),
            Column("attention_failed", "integer", "attention items not answered as instructed", unit="count"),
            Column("comprehension_tries", "integer", "tries of the comprehension check", unit="count"),
            Column(
                "alike_items",
                "integer",
                "the largest number of items with the same answers to all rating scales",
                unit="count",
            ),
            Column(
                "duplicate_answers",
                "boolean",
                "whether another participant of the version and mode gave the same answers to all items, "
                f"at least {FEWEST_ITEMS}",
            ),
            Column(
                "duplicate_text",
                "boolean",
                "whether another participant of the version and mode typed the same text, of at least "
                f"{FEWEST_CHARACTERS} characters",
            ),
            Column(
                "order_seed",
                "integer",
                "seed of this participant's order of items",
                "Participant.order_seed",
                public="withheld",  # old ones reveal the order of arrival, from which they were derived
            ),
            Column(
                "approved",
                "boolean",
                "whether the platform confirmed the approval of the submission; empty without any payment "
                "by the page of payments",
            ),
            Column(
                "paid",
                "number",
                "bonuses and screen-out pay that the platform confirmed, without the declared pay; empty "
                "without any",
                "Payment.amount",
                "money",
            ),
            Column("paid_currency", "string", "currency of paid", "Payment.currency"),
            _FLAGS,
            Column(
                "excluded_by",
                "string",
                "names of the rules that exclude the whole participant, joined by ;; by hand if researchers "
                "did",
            ),
            Column(
                "excluded_reason",
                "string",
                "reason for an exclusion by hand",
                "ManualExclusion.reason",
                public="withheld",  # written by a member of staff, who may name somebody
            ),
        ),
    ),
    "checks": Table(
        "participant and practice or attention item (laid out, answered or not)",
        before=(
            *_PARTICIPANT_COLUMNS,
            Column(
                "item_id", "string", "external id of the question, or id of the check", "Item.external_id"
            ),
            Column("check_kind", "string", "what it is for", "Item.kind", values="practice; attention"),
            Column(
                "position",
                "integer",
                "1-based position among the practice items, or among the others",
                "Trial.position",
            ),
            *_build_clock_columns("Trial"),
        ),
        questionnaire="item_questionnaire",
        after=(
            Column(
                "check_passed",
                "boolean",
                "whether an attention item was answered as instructed; empty for practice",
                "Trial.passed",
            ),
        ),
    ),
    "stages": Table(
        "page before the items that a participant came to: screening, instructions, try of the comprehension "
        "check",
        before=(
            *_PARTICIPANT_COLUMNS,
            _stage("stage", "string", "which page", values="screening; instructions; comprehension"),
            _stage("attempt", "integer", "1-based try"),
            *_build_clock_columns("StageResponse"),
        ),
        questionnaire="stages",
        after=(_stage("passed", "boolean", "whether the answers passed; empty if there is nothing to pass"),),
    ),
    "pre_survey": Table(
        "participant who submitted the survey before the items, or some of its pages: then submitted_at is "
        "empty; times of the browser are added up over the pages",
        before=(*_PARTICIPANT_COLUMNS, *_build_clock_columns("StageResponse")),
        questionnaire="pre_survey",
    ),
    "post_survey": Table(
        "participant who submitted the post survey, or some of its pages: then submitted_at is empty; times "
        "of the browser are added up over the pages",
        before=(*_PARTICIPANT_COLUMNS, *_build_clock_columns("SurveyResponse")),
        questionnaire="post_survey",
    ),
    "events": Table(
        "logged act; those of staff first, then by participant, each in order of time",
        before=(
            _build_moment_column("at", "server clock", "Event"),
            Column(
                "participant_id",
                "string",
                "whose act; empty for acts of staff",
                "Event.participant",
                public="pseudonym",
            ),
            Column("kind", "string", "what was done", "Event.kind"),
            Column("data", "json", "details of the act, a JSON object", "Event.data", public="withheld"),
        ),
    ),
    "items": Table(
        "version, condition and item",
        before=(
            Column("version", "integer", "version of the study", "StudyVersion.number"),
            Column("condition", "string", "name of the condition", "Condition.name"),
            Column("system", "string", "name of the system; empty for ground truth", "Condition.system"),
            Column("item_id", "string", "external id of the question", "Item.external_id"),
            _item("kind", "string", "whether it counts or is for practice", values="item; practice"),
            _item("position", "integer", "1-based position in the definition"),
            Column("question", "string", "the question as shown", "Item.text"),
            _item("gold_answer", "string", "the annotated answer"),
            _stimulus("shown_answer", "string", "the answer that participants saw"),
            _stimulus(
                "facts", "json", "the facts shown as explanation, a JSON list of [title, sentence index]"
            ),
            Column(
                "rationale",
                "string",
                "the explanation that the system wrote, as participants saw it; empty if they saw none",
            ),
            _stimulus("exact_match", "boolean", "shown answer equals the gold answer after normalisation"),
            _stimulus("answer_f1", "number", "token F1 of the shown answer", unit="fraction"),
            _stimulus(
                "system_correct",
                "boolean",
                "whether the shown answer is correct: as two judges decided, else by exact match",
            ),
            _stimulus(
                "judged_by",
                "string",
                "source of system_correct: exact match, gold, one judge, two judges, third judge, "
                "discussion; imported data may say more, which the public variant leaves out",
            ),
            Column(
                "settled_how",
                "string",
                "how judges decided; empty if they did not",
                "JudgedAnswer.settled_how",
                values="agreement; third judge; discussion",
            ),
            _build_moment_column("settled_at", "server clock when it was decided", "JudgedAnswer"),
            Column(
                "settled_by",
                "string",
                "user name of the person who stored the decision",
                "JudgedAnswer.settled_by",
                public="withheld",
            ),
            Column(
                "settled_note",
                "string",
                "reason for the decision about a disagreement",
                "JudgedAnswer.note",
                public="withheld",
            ),
        ),
    ),
    "judgements": Table(
        "version, condition, item and judgement, if judges decided system_correct",
        before=(
            Column("version", "integer", "version of the study", "StudyVersion.number"),
            Column("condition", "string", "name of the condition", "Condition.name"),
            Column("item_id", "string", "external id of the question", "Item.external_id"),
            _judgement("place", "integer", "1 for the first judge, 2 for the second"),
            _judgement("judge", "string", "user name of the judge", public="withheld"),
            _judgement("is_correct", "boolean", "the judge's decision"),
            _judgement("note", "string", "the judge's note", public="withheld"),
            _build_moment_column("at", "server clock", "Judgement"),
        ),
    ),
    "question_scores": Table(
        "system and question of its data set: what the question adds to the scores in scores.json",
        before=(
            Column("system", "string", "name of the system", "QuestionScore.score"),
            Column("question_id", "string", "external id of the question", "QuestionScore.question"),
            *(
                Column(name, "number", meaning, "QuestionScore.parts", "fraction")
                for name, meaning in _PARTS.items()
            ),
        ),
    ),
}
