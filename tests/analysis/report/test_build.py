"""The report is complete, deterministic and claims no more than the data."""

import csv
import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from analysis.participants.bundle import load_bundle
from analysis.planning.declared_plan import Plan
from analysis.report.build import build_report
from analysis.report.page import SORTING, Page, render, write_page
from analysis.report.sections.exclusions import build_exclusions_section
from analysis.report.sections.systems import build_ranks_section
from analysis.scores.score_table import SCORES
from analysis.study.analysis import Options, analyse
from tests.analysis.bundles import planted_study, rules
from tests.analysis.quick_reports import build_words

OPTIONS = Options(resamples=60)
ALL = tuple(score.key for score in SCORES)
FEW = ("em", "f1", "sp_f1", "farm_4")  # scores
VOID = {"meta", "br", "path", "use", "rect", "image", "hr", "img", "link", "circle"}


def scores(systems=("sys-1", "sys-2", "sys-3"), keys=ALL):
    """Scores of systems; relating all of them to people takes seconds."""
    return {
        name: {key: round(0.3 + 0.1 * i + 0.01 * j, 3) for j, key in enumerate(keys)}
        for i, name in enumerate(systems)
    }


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    flow = {"assigned": 7, "started": 7, "dropped_at": {"2": 1}, "completed": 6, "withdrawn": 0, "active": 0}
    folder = planted_study(
        tmp_path_factory.mktemp("study"),
        scores=scores(),
        flow={"modes": {"live": {"consented": 28, "conditions": {"one": flow}}}},
    )
    return analyse(load_bundle(folder), OPTIONS)


@pytest.fixture(scope="module")
def page(study):
    return build_report(study)


class Outline(HTMLParser):
    """Collect what the tests ask for, and check that tags nest."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.tags, self.attributes = [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [value for name, value in attrs if name in ("href", "src", "xlink:href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


def outline(html):
    parser = Outline()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return parser


def test_it_works(study, page, tmp_path):
    paths = write_page(page, tmp_path / "out")
    assert paths[0] == tmp_path / "out" / "report.html"
    names = {path.relative_to(tmp_path / "out").as_posix() for path in paths}
    assert {
        "tables/measures.csv",
        "tables/measures.tex",
        "tables/rank_table_1.csv",
        "tables/rank_table_2.csv",
        "tables/correlations.csv",
        "tables/exclusion_rules.csv",
        "figures/fraction-correct-by-condition.svg",
        "figures/fp-by-condition.svg",
        "figures/over-estimation-by-condition.svg",
        "figures/time-by-certainty.svg",
        "figures/differences-forest.svg",
        "figures/helpfulness-by-condition.svg",
        "tables/schema.json",
    } <= names
    assert all(path.stat().st_size for path in paths)


def test_the_page_needs_nothing_else_and_is_well_formed(page):
    html = render(page)
    parser = outline(html)
    assert len(parser.ids) == len(set(parser.ids))
    for link in parser.links:
        assert re.match(r"#|tables/|figures/|refit\.R$", link), link
    assert not re.search(r"@import|url\((?!#)", html)
    assert re.findall("<script>(.*?)</script>", html, re.DOTALL) == [SORTING]
    inside = [link[1:] for link in parser.links if link.startswith("#")]
    assert set(inside) <= set(parser.ids)
    assert {section.name for section in page.sections} <= set(inside)


def test_the_page_is_accessible(page):
    html = render(page)
    parser = outline(html)
    assert parser.tags.count("h1") == 1
    assert parser.tags.count("caption") == parser.tags.count("table") > 8
    headings = [int(tag[1]) for tag in parser.tags if re.fullmatch("h[1-6]", tag)]
    assert all(second <= first + 1 for first, second in pairwise(headings))
    scopes = [value for tag, name, value in parser.attributes if tag == "th" and name == "scope"]
    assert len(scopes) == parser.tags.count("th")
    labels = [value for tag, name, value in parser.attributes if tag == "svg" and name == "aria-label"]
    assert len(labels) == parser.tags.count("figure") > 8
    assert any("one: " in label and "95 % interval" in label for label in labels)
    assert ("html", "lang", "en") in parser.attributes


def test_the_same_bundle_and_seed_give_the_same_bytes(study, page, tmp_path):
    again = analyse(load_bundle(study.bundle.path), OPTIONS)
    write_page(page, tmp_path / "a")
    write_page(build_report(again), tmp_path / "b")
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert len(files) > 20
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes(), file


def test_another_seed_draws_other_intervals_around_the_same_values(tmp_path):
    bundle = load_bundle(planted_study(tmp_path))
    studies = [analyse(bundle, Options(seed=seed, resamples=60)) for seed in (1, 2)]
    first, second = (study.retained.estimates.get("agreement", "one") for study in studies)
    assert first.value == second.value
    assert first.interval != second.interval


def test_old_files_of_an_earlier_report_go_and_others_stay(page, tmp_path):
    write_page(page, tmp_path)
    manifest = tmp_path / "files.json"
    listed = json.loads(manifest.read_text("utf-8"))
    listed["sha256"] |= {"tables/stale.csv": "0", "../outside.csv": "0", "notes.txt": "0"}
    manifest.write_text(json.dumps(listed), "utf-8")
    for name in ("tables/stale.csv", "tables/mine.csv", "notes.txt"):
        (tmp_path / name).write_text("x", "utf-8")
    write_page(page, tmp_path)
    assert not (tmp_path / "tables/stale.csv").exists()
    assert (tmp_path / "tables/mine.csv").exists()
    assert (tmp_path / "notes.txt").exists()


def test_tables_hold_the_same_numbers_as_the_study(study, page, tmp_path):
    write_page(page, tmp_path)
    with (tmp_path / "tables/measures.csv").open(encoding="utf-8") as file:
        rows = {(r["exclusions"], r["condition"], r["measure"]): r for r in csv.DictReader(file)}
    for view, exclusions in ((study.retained, "with"), (study.everything, "without")):
        for (measure, condition), estimate in view.estimates.table.items():
            row = rows[exclusions, condition, measure]
            assert row["value"] == ("" if estimate.value is None else repr(estimate.value))
            assert int(row["undefined"]) == estimate.undefined
    with (tmp_path / "tables/correlations.csv").open(encoding="utf-8") as file:
        pairs = list(csv.DictReader(file))
    relations = study.retained.relations
    assert len(pairs) == 3 * len(relations.measures) * len(relations.scores)
    for row in pairs:
        correlation = relations.get(row["measure"], row["score"]).correlations[row["coefficient"]]
        assert row["value"] == ("" if correlation.value is None else repr(correlation.value))
        values = [study.retained.estimates.get(row["measure"], arm.name).value for arm in study.systems]
        assert (int(row["n"]), row["p"]) == (3 - values.count(None), "")


@pytest.mark.parametrize("least", [0.9, 0.51])
def test_only_cells_whose_sign_recurs_are_coloured(study, least):
    pairs = study.retained.relations.pairs.values()
    shown = [pair for pair in pairs if pair.measure.headline and pair.score.headline]
    section = build_ranks_section(study.retained.relations, plan=Plan(sign_share=least))
    html = render(Page("", "", {}, [section]))
    coloured = 0
    for kind in ("desirable", "undesirable"):
        count = sum(pair.desirable == kind and pair.sign_share >= least for pair in shown)
        assert html.count(f'class="sign {kind}"') == count
        coloured += count
    assert coloured < sum(bool(pair.desirable) for pair in shown)
    assert coloured or least == 0.9


@pytest.mark.parametrize(
    ("mode", "banner"), [("bot", "programs, not people"), ("pilot", "This is a pilot"), ("live", "")]
)
def test_the_banner(tmp_path, mode, banner):
    study = analyse(load_bundle(planted_study(tmp_path / mode, people=2, mode=mode)), OPTIONS)
    html = render(build_words(study))
    assert study.mode == mode
    assert ('<p class="banner"' in html) is bool(banner)
    assert banner in html


def test_n_and_chance_are_said(page):
    html = render(page)
    assert "With n = 3 systems the smallest two-sided p that any ranking could reach is 0.33" in html
    assert "in 33 % of the cases by chance" in html


def test_two_systems_have_correlations_that_say_how_little_they_show(tmp_path):
    arms = {"one": "sys-1", "two": "sys-2", "truth": None}
    study = analyse(load_bundle(planted_study(tmp_path, arms=arms, scores=scores(keys=FEW))), OPTIONS)
    html = render(build_words(study))
    assert "With two systems every correlation is +1 or −1" in html
    assert "whatever the score" in html
    assert "Pearson r, n = 2 systems" in html
    assert abs(
        study.retained.relations.get("agreement", "em").correlations["pearson"].value
    ) == pytest.approx(1)


def test_no_scores_and_no_systems(tmp_path):
    arms = {"truth": None, "other truth": None}
    study = analyse(load_bundle(planted_study(tmp_path, arms=arms)), OPTIONS)
    html = render(build_words(study))
    assert "No condition of this study shows a system" in html
    assert study.systems == []


def test_a_missing_score_says_why(tmp_path):
    values = scores(keys=FEW)
    values["sys-2"] |= {"farm_4": None}
    del values["sys-3"]
    study = analyse(load_bundle(planted_study(tmp_path, scores=values)), OPTIONS)
    html = render(build_words(study))
    assert "no farm_4 here" in html
    assert "no scores for this system" in html
    assert "Systems without model scores: “sys-3”." in html
    relation = study.retained.relations.get("agreement", "farm_4")
    assert (relation.n, relation.rank) == (1, None)
    assert study.retained.relations.get("agreement", "em").n == 2


def test_without_rules_nothing_is_excluded(tmp_path):
    study = analyse(load_bundle(planted_study(tmp_path, rules=[])), OPTIONS)
    assert "The study has no exclusion rules" in str(build_exclusions_section(study))
    assert study.exclusions.excluded == 0


def test_rules_that_leave_nothing_leave_a_report_without_results(tmp_path):
    harsh = [{"name": "all", "kind": "min_time", "clock": "server", "milliseconds": 10**9}]
    study = analyse(load_bundle(planted_study(tmp_path, rules=harsh)), OPTIONS)
    page = build_words(study)
    assert "The exclusion rules leave no trial, so there are no results" in page.banner
    assert [section.name for section in page.sections] == [
        "summary", "sample", "participants", "exclusions", "reproduction",
    ]  # fmt: skip
    assert len(study.retained.trials) == 0
    assert study.exclusions.excluded == len(study.trials)
    assert not study.retained.estimates.has_value("agreement")


def test_the_clock_is_that_of_the_rules_or_the_first_with_a_value(tmp_path):
    study = analyse(load_bundle(planted_study(tmp_path / "a", rules=rules("client_total"))), OPTIONS)
    assert study.clock == "server"  # the browser's clock has no value in this bundle
    assert study.exclusions.clocks["too-fast"] == {"server": len(study.trials)}


def test_withdrawn_people_and_other_modes_are_left_out(tmp_path):
    folder = planted_study(tmp_path)
    people = (
        (folder / "participants.csv")
        .read_text("utf-8")
        .replace("one-000,live,1,one,completed", "one-000,live,1,one,withdrawn")
    )
    (folder / "participants.csv").write_text(people.replace("two-000,live", "two-000,bot"), "utf-8")
    trials = (folder / "trials.csv").read_text("utf-8").replace("two-000,live", "two-000,bot")
    (folder / "trials.csv").write_text(trials, "utf-8")
    study = analyse(load_bundle(folder), OPTIONS)
    assert (study.withdrawn, study.other_modes) == (1, {"bot": 8})
    assert len(study.people) == 22
    assert study.retained.estimates.get("agreement", "one").participants == 5
    html = render(build_words(study))
    assert "1 more withdrew" in html
    assert "8 trials of mode bot are left out" in html
    bots = analyse(load_bundle(folder), Options(resamples=60, mode="bot"))
    assert len(bots.people) == 1


def test_marks_of_the_export_that_disagree_are_reported(tmp_path):
    folder = planted_study(tmp_path)
    lines = (folder / "trials.csv").read_text("utf-8").splitlines()
    lines = [
        f"{lines[0]},excluded_by",
        f"{lines[1]},too-slow;known-before",
        *(f"{line}," for line in lines[2:]),
    ]
    (folder / "trials.csv").write_text("\n".join(lines), "utf-8")
    study = analyse(load_bundle(folder), OPTIONS)
    wrong = 1 + study.exclusions.excluded
    assert f"In {wrong} trials the column excluded_by" in str(build_exclusions_section(study))


def test_trials_excluded_by_hand_are_not_said_of_rules(tmp_path):
    by_hand = {"name": "by-hand", "kind": "by_hand", "participants": ["one-000"]}
    study = analyse(load_bundle(planted_study(tmp_path / "hand", rules=[by_hand])), OPTIONS)
    total = study.exclusions.total
    page = render(build_words(study))
    assert f"The study has no exclusion rules; researchers excluded 8 of {total} trials by hand." in page
    assert "1 participant is excluded as a whole" in page
    slow = next(rule for rule in rules() if rule["name"] == "too-slow")
    study = analyse(load_bundle(planted_study(tmp_path / "both", rules=[slow, by_hand])), OPTIONS)
    more = study.exclusions.only_by_rule["by-hand"]
    by_rules = study.exclusions.by_rule["too-slow"]
    assert study.exclusions.excluded == by_rules + more
    assert (
        f"definition leave out {by_rules} of {total} trials; researchers excluded {more} more by hand."
        in render(build_words(study))
    )


def test_partly_known_correctness_is_said(tmp_path):
    folder = planted_study(tmp_path, rules=[])
    lines = (folder / "trials.csv").read_text("utf-8").splitlines()
    lines[1] = lines[1].rpartition(",")[0] + ","
    (folder / "trials.csv").write_text("\n".join(lines), "utf-8")
    study = analyse(load_bundle(folder), OPTIONS)
    assert study.retained.estimates.get("fp", "one").trials == 47
    assert "not recorded for 1 of 192 retained trials" in render(build_words(study))


def test_titles_are_escaped(tmp_path):
    arms = {"<b>bold</b>": "sys-1", "two & three": "sys-2"}
    study = analyse(load_bundle(planted_study(tmp_path, arms=arms)), OPTIONS)
    html = render(build_words(study))
    assert "<b>bold" not in html
    assert "&lt;b&gt;bold" in html
    assert "A study &amp; its title" in html


def test_one_participant_in_all(tmp_path):
    study = analyse(load_bundle(planted_study(tmp_path, arms={"one": "sys-1"}, people=1)), OPTIONS)
    estimate = study.retained.estimates.get("agreement", "one")
    assert estimate.value is not None
    assert estimate.interval is None
    assert "Systems can be compared from two on" in render(build_words(study))


def test_without_resamples_there_are_no_intervals_and_the_page_says_so(tmp_path):
    study = analyse(load_bundle(planted_study(tmp_path, scores=scores(keys=FEW))), Options(resamples=0))
    html = render(build_words(study))
    assert html.count("Confidence intervals were switched off (--resamples 0).") == 3
    assert "In brackets" not in html
    assert study.retained.estimates.get("agreement", "one").interval is None
