"""Tests of what a launch refuses, field by field."""

import time
from datetime import date

import pytest

from studyapp.definition.schema import StudyDefinition
from studyapp.rules.launch_checks import launch_refusals

TODAY = date(2027, 5, 1)
LAUNCHABLE = {
    "study": "small",
    "title": "A small study",
    "dataset": "world",
    "conditions": [{"ground_truth": True}],
    "consent": "You take part in a study.\n\nContact: ann@example.org",
}


def refused(**changes):
    definition = StudyDefinition.model_validate(LAUNCHABLE | changes)
    return {
        ".".join(map(str, refusal.location)): str(refusal.message)
        for refusal in launch_refusals(definition, TODAY)
    }


def test_a_complete_definition_is_launched():
    assert refused() == {}
    assert refused(privacy={"retain_until": "2027-05-02"}) == {}
    assert refused(completion={"redirect_url": "https://p.example/?cc={code}"}) == {}


@pytest.mark.parametrize(
    ("consent", "sentence"),
    [
        ("I agree. [Say whom to ask.]", "the consent still holds the placeholder '[Say whom to ask.]'"),
        (
            f"I agree. [Say {'who ' * 40}asks.]",
            f"the consent still holds the placeholder '[Say {'who ' * 18}…]'",
        ),
        ("I agree. Ask ______.", "the consent still holds the placeholder '______'"),
        ("I agree. TODO contact", "the consent still holds the placeholder 'TODO'"),
        ("I agree.\n\nContact:\n", "the consent says nothing after 'Contact:'"),
        (
            "Purpose:\n\nContact: ann@example.org\nRisks:\n\nBenefits:",
            "the consent says nothing after 'Risks:'",
        ),
        ("  \n ", "the consent is empty"),
    ],
)
def test_unfinished_consent_is_refused(consent, sentence):
    assert refused(consent=consent) == {"consent": sentence}


def test_the_consent_of_a_translation_counts_too():
    assert "translations.de.consent" in refused(translations={"de": {"consent": "Ich nehme teil. [Kontakt]"}})


def test_quotas_of_answers_must_be_able_to_fill_the_study():
    question = {"key": "adult", "text": "Are you an adult?", "scale": "yes_no", "accept": [True]}
    screening = [{**question, "quotas": {"yes": 20}}]
    sentence = "the quotas of adult admit 20 of the 30 participants at most"
    assert refused(screening=screening, participants=30) == {"participants": sentence}
    assert refused(screening=screening, participants=20) == {}
    assert refused(screening=[{**screening[0], "accept": [True, False]}], participants=30) == {}


@pytest.mark.parametrize("day", ["1999-01-01", "2027-05-01"])
def test_data_are_kept_beyond_the_launch(day):
    assert list(refused(privacy={"retain_until": day})) == ["privacy.retain_until"]


def test_the_address_of_the_panel_gets_the_code():
    assert list(refused(completion={"redirect_url": "https://p.example/done"})) == ["completion.redirect_url"]


def test_a_long_line_of_spaces_costs_little():
    """Texts may have 20,000 characters."""
    begun = time.process_time()
    assert refused(consent=f"Contact: ann@example.org\n\na:{' ' * 19_000}x") == {}
    assert time.process_time() - begun < 0.5
