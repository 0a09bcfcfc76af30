"""The tabs of a study, with the pages below each of them."""

from typing import Any, NamedTuple

from django import template
from django.http import HttpRequest
from django.template import Context
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.policy_table import Act
from studyapp.models import Study

register = template.Library()


class Sheet(NamedTuple):
    """A page: its words, its view, its act, and views that show it, too."""

    label: str | Promise
    view: str
    act: Act
    others: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()

    @property
    def views(self) -> set[str]:
        """The names of the views that show the page."""
        return {self.view, *self.others}


# A tab leads to the first page that the reader may open; a single page has no second row.
TABS: tuple[tuple[str | Promise, tuple[Sheet, ...]], ...] = (
    (
        _("Overview"),
        (
            Sheet(_("Figures"), "staff_study", Act.STUDY_SEE),
            Sheet(
                _("Running"), "staff_running", Act.STUDY_RESULTS, ("staff_write_note", "staff_set_condition")
            ),
        ),
    ),
    (
        _("Design"),
        (
            Sheet(
                _("Studio"),
                "studio_step",
                Act.STUDY_EDIT,
                (
                    *("studio_review", "studio_items", "studio_row", "studio_scales"),
                    # Forms that were refused are shown again under their own address.
                    *("studio_next", "studio_change_items", "studio_accept", "studio_replace"),
                    *("studio_rehearse", "studio_launch", "studio_upload_image"),
                ),
                ("texts",),
            ),
            Sheet(_("Preview"), "staff_preview", Act.STUDY_SEE),
            Sheet(_("Compare versions"), "staff_compare", Act.STUDY_SEE),
        ),
    ),
    (
        _("Participants"),
        (
            Sheet(
                _("Participants"),
                "staff_people",
                Act.STUDY_RESULTS,
                (
                    *("staff_person", "staff_withdraw_person", "staff_delete_person"),
                    *("staff_anonymise_person", "staff_exclude_person", "staff_include_person"),
                    "staff_replace_link",
                ),
            ),
            Sheet(
                _("Payments"),
                "staff_payments",
                Act.STUDY_PERSONAL,
                ("staff_preview_payments", "staff_payments_file"),
            ),
        ),
    ),
    (_("Responses"), (Sheet(_("Responses"), "staff_responses", Act.STUDY_RESULTS),)),
    (
        _("Results"),
        (
            Sheet(_("Report"), "staff_results", Act.STUDY_RESULTS, ("staff_make_report",)),
            Sheet(_("Estimates"), "staff_estimates", Act.STUDY_RESULTS),
            Sheet(_("Correctness"), "correctness_study", Act.JUDGE),
        ),
    ),
    (
        _("Settings"),
        (
            Sheet(_("Links and bots"), "staff_settings", Act.STUDY_SEE, ("staff_make_link", "staff_bots")),
            Sheet(_("Members"), "staff_members", Act.STUDY_EDIT, ("staff_share",)),
            Sheet(_("Webhooks"), "staff_webhooks", Act.STUDY_EDIT, ("staff_add_webhook", "staff_webhook")),
            Sheet(_("Privacy"), "staff_privacy", Act.STUDY_PERSONAL),
            Sheet(_("Log"), "staff_log", Act.STUDY_RESULTS),
            Sheet(_("Duplicate"), "staff_duplicate", Act.STUDY_EDIT),
        ),
    ),
)


@register.inclusion_tag("studyapp/staff/tabs.html", takes_context=True)
def study_tabs(context: Context, study: Study) -> dict[str, Any]:
    """Draw the tabs of a study, and the pages of the current one."""
    request: HttpRequest = context["request"]
    match = request.resolver_match
    here = match.url_name if match is not None else None
    may: frozenset[Act] = getattr(request, "may", frozenset())
    tabs: list[tuple[str | Promise, str, bool]] = []
    pages: list[tuple[str | Promise, str, bool]] = []
    for label, sheets in TABS:
        open_sheets = [sheet for sheet in sheets if sheet.act in may]
        if not open_sheets:
            continue
        is_here = any(here in sheet.views for sheet in open_sheets)
        tabs.append((label, _build_address(open_sheets[0], study), is_here))
        if is_here and len(open_sheets) > 1:
            pages = [
                (sheet.label, _build_address(sheet, study), here in sheet.views) for sheet in open_sheets
            ]
    return {"tabs": tabs, "pages": pages}


def _build_address(sheet: Sheet, study: Study) -> str:
    return reverse(f"studyapp:{sheet.view}", args=[study.slug, *sheet.arguments])
