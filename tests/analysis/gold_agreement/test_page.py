"""The example of the reference page runs as it stands."""

from tests.analysis.faithfulness.test_page import run


def test_the_example_runs(capsys):
    run("gold-agreement")
    printed = capsys.readouterr().out
    assert "Group(by='given agreed children', name='filter')" in printed
    assert "'filter'" in printed.splitlines()[-2]
    assert "median=(1, (0.5, 0.2, 0.9, 0.7))" in printed
