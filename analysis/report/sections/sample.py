"""Section on the sample: participants, recruitment, checks and consent."""

from ...participants.sample import NOT_RECORDED, describe_sample
from ...study.analysis import Study
from ..page import Block, Details, Section, Text
from ..tables import Column, Table, format_number


def build_sample_section(study: Study) -> Section:
    """Describe the participants who count, and what they consented to."""
    facts = describe_sample(study.bundle, study.version, study.mode, study.people)
    absent = [fact.about for fact in facts if fact.value == NOT_RECORDED]
    recorded = [fact for fact in facts if fact.value != NOT_RECORDED]
    columns = [
        Column("about", "about", "Trait"),
        Column("value", "value", "Value", is_text=True),
        Column("participants", "count", "Participants", cell=lambda fact: format_number(fact.count, 0)),
        Column("statistic", "statistic", "Statistic", cell=lambda fact: format_number(fact.statistic, 1)),
    ]
    blocks: list[Block] = [
        Text(
            f"The {len(study.people)} participants who count: with a trial or a survey, and not withdrawn. "
            "Participants who were not assigned to a condition are counted over all versions."
        )
    ]
    if recorded:
        blocks.append(Table.from_columns("sample", "Description of the sample", recorded, columns))
    if absent:
        blocks.append(Text(f"Not recorded: {', '.join(absent).lower()}."))
    return Section("sample", "Sample", [*blocks, _build_consent_block(study)])


def _build_consent_block(study: Study) -> Block:
    """Show the text that participants consented to, on request."""
    consent = study.version.definition.consent
    if not consent:
        return Text("The bundle does not hold the text that participants consented to.", "note")
    text = (
        f"All participants consented to this text of version {study.version.version}. Its translations are "
        "in study_version.json; the column language of participants.csv names each one's."
    )
    return Details("Consent text", [Text(text), *(Text(part, "note") for part in consent.split("\n\n"))])
