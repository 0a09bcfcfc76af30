"""Tests of questionnaires and their templates."""

import pytest
from pydantic import ValidationError

from studyapp.definition.questions.questionnaires import TEMPLATES, Questionnaire

XQA = TEMPLATES["xqa-2020"]


def test_template_of_2020():
    assert [q.key for q in XQA.item] == ["rated_correct", "known_before", "certainty", "helpfulness"]
    assert [q.key for q in XQA.post_survey] == [
        "trust",
        "relevant_information",
        "irrelevant_information",
        "satisfaction",
    ]
    assert [q.role for q in XQA.item] == ["correctness_rating", "known_before", "certainty", "helpfulness"]
    assert [q.scale == "yes_no" for q in XQA.item] == [True, True, False, False]
    assert all(q.required and q.role == q.key for q in XQA.post_survey)
    assert XQA.item[2].choices[0] == ("1", "Strongly disagree")
    assert XQA.item[2].choices[4] == ("5", "Strongly agree")


def test_a_questionnaire_takes_the_rest_from_a_template():
    questionnaire = Questionnaire.model_validate(
        {"template": "xqa-2020", "pre_survey": [{"template": "demographics"}]}
    )
    assert questionnaire.item == XQA.item
    assert [q.key for q in questionnaire.pre_survey] == ["age", "gender", "english", "education"]
    assert [q.key for q in questionnaire.all][:5] == [
        "age",
        "gender",
        "english",
        "education",
        "rated_correct",
    ]
    with pytest.raises(
        ValidationError,
        match="unknown template 'xqa'; known templates: advice, counterfactual, pictures, preference, "
        "simulation, xqa-2020",
    ):
        Questionnaire.model_validate({"template": "xqa"})
