"""The page of roles is what the policy says."""

from scripts.pages.roles import PAGE, build_page


def test_the_page_is_up_to_date():
    assert PAGE.read_text("utf-8") == build_page(), "write it again: .venv/bin/python -m scripts.pages.roles"
