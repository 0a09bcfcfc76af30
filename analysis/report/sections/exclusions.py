"""Section on exclusions: rules, trials, participants, clocks, overlap."""

from collections import Counter
from functools import partial

from ...participants.exclusion_rules import CLOCK_LABELS, Exclusions
from ...study.analysis import Study
from ..page import Block, Points, Section, Text
from ..tables import Column, Table, capitalise_sentence, format_number

NOTHING_LEFT = (
    "The exclusion rules leave no trial, so there are no results: this report ends with the participants and "
    "the exclusions."
)


def build_exclusions_section(study: Study) -> Section:
    """Show the exclusions by rule and condition, and the published figure."""
    exclusions = study.exclusions
    if not study.bundle.rules:
        text = f"The study has no exclusion rules: all {exclusions.total} submitted trials are retained."
        return Section("exclusions", "Exclusions", [Text(text)])
    blocks: list[Block] = [
        Text(
            f"The rules exclude {exclusions.excluded} of {exclusions.total} submitted trials "
            f"({_format_percent(exclusions.percent)}). A missing time or answer never excludes a trial. "
            + (
                NOTHING_LEFT
                if exclusions.excluded == exclusions.total
                else "The report gives results with and without the exclusions."
            )
        ),
        _tabulate_rules(study, exclusions),
        *_count_by_clock(exclusions),
        *_count_excluded_people(study, exclusions),
        _tabulate_excluded_trials(study, exclusions),
    ]
    if exclusions.overlap:
        blocks.append(_tabulate_overlap(exclusions))
    else:
        blocks.append(Text("No trial is excluded by more than one rule."))
    blocks += _compare_with_publication(study, exclusions)
    disagreement = _describe_disagreement(study)
    if disagreement:
        blocks.append(Text(disagreement, "note"))
    return Section("exclusions", "Exclusions", blocks)


def _tabulate_rules(study: Study, exclusions: Exclusions) -> Table:
    columns = [
        Column("rule", "name", "Rule"),
        Column(
            "definition", lambda rule: capitalise_sentence(rule.describe()), "Excludes a trial", is_text=True
        ),
        Column("excluded", lambda rule: exclusions.by_rule[rule.name], "Trials hit"),
        Column("only_by_rule", lambda rule: exclusions.only_by_rule[rule.name], "By this rule alone"),
    ]
    return Table.from_columns("exclusion_rules", "Exclusion rules", study.bundle.rules, columns)


def _count_by_clock(exclusions: Exclusions) -> list[Block]:
    """Count the trials by the clock that each rule about time read."""
    words = {str(clock): label for clock, label in CLOCK_LABELS.items()}
    words["none"] = "no clock, so they are not excluded"
    sentences = [
        f"{rule}: " + "; ".join(f"{count} trials by {words[clock]}" for clock, count in read.items()) + "."
        for rule, read in exclusions.clocks.items()
    ]
    return [Text("Clocks that the rules about time read:"), Points(sentences)] if sentences else []


def _count_excluded_people(study: Study, exclusions: Exclusions) -> list[Block]:
    """Count the participants whom rules exclude, by rule and condition."""
    if not exclusions.people_by_rule:
        return []
    columns = [
        Column("rule", lambda row: row[0], "Rule"),
        *(
            Column((condition.name,), partial(_count_people_in, condition.name), condition.title)
            for condition in study.conditions
            if not study.task.pairs
        ),
        Column("all", partial(_count_people_in, ""), "All"),
    ]
    together = Counter(names for names in exclusions.people.values() if len(names) > 1)
    count = len(exclusions.people)
    people = "1 participant is" if count == 1 else f"{count} participants are"
    notes = [
        f"{people} excluded as a whole, with their surveys, after the rules about trials were applied.",
        *(f"{count} by {' and '.join(names)} together." for names, count in sorted(together.items())),
    ]
    caption = "Excluded participants per rule and condition"
    rows = list(exclusions.people_by_rule.items())
    return [Table.from_columns("excluded_participants", caption, rows, columns, notes)]


def _count_people_in(condition: str, row: tuple[str, dict[str, int]]) -> int:
    return row[1].get(condition, 0)


def _tabulate_excluded_trials(study: Study, exclusions: Exclusions) -> Table:
    rows = [
        (condition.title, *exclusions.by_condition.get(condition.name, (0, 0)))
        for condition in study.conditions
        if not study.task.pairs
    ]
    columns = [
        Column("condition", lambda row: row[0], "Condition"),
        Column("submitted", lambda row: row[1], "Submitted trials"),
        Column("excluded", lambda row: row[2], "Excluded"),
        Column(
            "excluded_percent",
            _compute_excluded_percent,
            "Excluded (%)",
            lambda row: format_number(_compute_excluded_percent(row), 2),
        ),
    ]
    rows.append(("All", exclusions.total, exclusions.excluded))
    return Table.from_columns("exclusions_by_condition", "Excluded trials per condition", rows, columns)


def _compute_excluded_percent(row: tuple[str, int, int]) -> float | None:
    return 100 * row[2] / row[1] if row[1] else None


def _tabulate_overlap(exclusions: Exclusions) -> Table:
    columns = [
        Column("rules", lambda row: ";".join(row[0]), "Rules", lambda row: " and ".join(row[0])),
        Column("trials", lambda row: row[1], "Trials"),
    ]
    caption = "Trials excluded by exactly these rules together"
    return Table.from_columns("exclusion_overlap", caption, list(exclusions.overlap.items()), columns)


def _compare_with_publication(study: Study, exclusions: Exclusions) -> list[Block]:
    published = study.version.published
    if published is None:
        return []
    blocks: list[Block] = []
    if published.excluded_percent is not None:
        blocks.append(
            Text(
                f"The publication of this study reports {published.excluded_percent:.2f} % of the responses "
                f"as excluded; the rules above give {exclusions.excluded} of {exclusions.total}, "
                f"{_format_percent(exclusions.percent)}. This report uses the recomputed exclusions."
            )
        )
    if published.note:
        blocks.append(Text(published.note, "note"))
    return blocks


def _describe_disagreement(study: Study) -> str:
    """Describe differences between the export's marks and the rules."""
    stored = study.trials["excluded_by"].fillna("")
    if not (stored != "").any():
        return ""
    same = [
        set(filter(None, text.split(";"))) == set(names)
        for text, names in zip(stored, study.exclusions.names, strict=True)
    ]
    wrong = len(same) - sum(same)
    if not wrong:
        return ""
    return (
        f"In {wrong} trials the column excluded_by of the bundle differs from what its rules give; "
        "this report applies the rules."
    )


def _format_percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f} %"
