"""Parts that are asked on several pages: their answers and times in one.

Pure: no Django.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from studyapp.rules.page_timing import LARGEST, PageTiming

# The record that a page before the last leaves in its row.
PageRecord = dict[str, Any]


def build_page_record(
    answers: Mapping[str, Any], changes: Mapping[str, int], timing: PageTiming, **more: Any
) -> PageRecord:
    """Return the record of a page until the part is complete."""
    return {"answers": dict(answers), "changes": dict(changes), "timing": asdict(timing), **more}


def merge_answers(earlier: Sequence[PageRecord] | None) -> dict[str, Any]:
    """Return the answers of earlier pages."""
    return {key: answer for record in earlier or () for key, answer in record["answers"].items()}


def merge_pages(earlier: Sequence[PageRecord]) -> tuple[dict[str, Any], dict[str, int], PageTiming]:
    """Return answers, changes and times of pages, in order, as of one page.

    A time is their sum, and missing if it is missing on one page. The first interaction is that of the first
    page.
    """
    changes = {key: n for record in earlier for key, n in record["changes"].items()}
    clocks = [record["timing"] for record in earlier]
    summed = {
        name: None if any(clock[name] is None for clock in clocks)
        else min(sum(clock[name] for clock in clocks), LARGEST)
        for name in clocks[0]
    }  # fmt: skip
    summed["first_interaction_ms"] = clocks[0]["first_interaction_ms"]
    return merge_answers(earlier), changes, PageTiming(**summed)
