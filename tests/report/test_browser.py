"""The report in a real browser: open, filter, search, links, comparison; by keys, on a phone."""

from __future__ import annotations

import json
import re
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.support.ui import Select

from tests.agents.command import toolhop
from tests.faults.test_benchmark_kills import written as rows_of
from tests.report.browser import Keys, Page
from tests.report.conftest import fresh
from tests.report.made import SLIP, SOLVED, Script, trace, write_run
from tests.report.texts import BIG, HOSTILE
from toolhop_agents.ablate.folder import AblationFolder
from toolhop_agents.ablate.result import result
from toolhop_agents.ablate.table import headlines, main_rows
from toolhop_agents.report.collect import Report, collect
from toolhop_agents.report.conversation import body
from toolhop_agents.report.pack import Chunks
from toolhop_agents.report.page import render
from toolhop_agents.report.runs import open_sources
from toolhop_env import benchmarks
from toolhop_env.benchmark import Benchmark, Milestone, Presentation
from toolhop_env.benchmarks import named
from toolhop_env.feedback import Level
from toolhop_env.measures import Measure, Scorer, Unit
from toolhop_sandbox.outcome import JSON

pytestmark = pytest.mark.browser

EPISODE = "_mandatory_e1_a1"


def test_opens_with_figures_and_charts_asks_for_nothing_and_complains_of_nothing(
    page: Page,
) -> None:
    page.open()
    page.until("return document.querySelector('figure svg') !== null")
    assert page.texts("h1") == [f"A {HOSTILE}"]
    assert "11 episodes" in page.one(".facts").text
    for section in page.texts("h2"):
        page.js("document.getElementById(arguments[0])?.scrollIntoView()", section)
    page.js("window.scrollTo(0, document.body.scrollHeight)")
    page.until("return document.querySelectorAll('figure svg').length >= 3")
    assert page.requests() == []
    assert page.errors() == []


def test_the_policy_stops_what_a_text_might_try(page: Page) -> None:
    page.open()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.3)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/"
        said = page.js(
            """
            const tries = [];
            try { document.body.innerHTML += '<img src=x>'; tries.push('markup'); } catch {}
            const inline = document.createElement('script');
            try { inline.text = 'window.hurt = 1'; document.head.append(inline); } catch {}
            if (window.hurt) tries.push('script');
            const image = new Image();
            image.src = arguments[0];
            const script = document.createElement('script');
            try { script.src = arguments[0]; document.head.append(script); } catch {}
            return fetch(arguments[0]).then(() => [...tries, 'fetch'], () => tries);
            """,
            address,
        )
        assert said == []
        with pytest.raises(TimeoutError):
            server.accept()


def test_filters_narrow_the_list_and_stand_in_the_address(page: Page) -> None:
    page.open("#view=episodes")
    page.until_text("#total", "11 episodes")
    Select(page.one("#filter-verdict")).select_by_value("wrong")
    page.until_text("#total", "of 11 episodes")
    wrong = page.texts(".row b")
    assert "beta" in wrong
    assert "alpha" not in wrong
    assert "verdict=wrong" in page.hash
    Select(page.one("#filter-verdict")).select_by_value("")
    for name, value, listed in (
        ("error", "wrong_type", {"beta", "fork"}),
        ("mode", "free", {"gamma"}),
        ("domain", "Arithmetic", {"beta", "fork", "hebrew", "long", "open"}),
        ("verdict", "errored", {"lost"}),
        ("verdict", "unfinished", {"open"}),
        ("verdict", "branch", {"fork"}),
    ):
        page.filtered(name, value)
        assert set(page.texts(".row b")) == listed, (name, value)
    page.open("#view=episodes&verdict=wrong")
    assert page.texts(".row b") == wrong
    page.js("location.hash = '#view=episodes'")
    page.until_text("#total", "11 episodes")
    page.one("#filter-item").send_keys("alp")
    page.until_text("#total", "1 of 11 episodes")
    assert page.texts(".row b") == ["alpha"]


def test_search_finds_words_in_calls_and_opens_the_call_they_are_in(page: Page) -> None:
    page.open("#view=episodes")
    page.one("#search").send_keys('OSLO "its length"')
    page.until_text("#total", "of 11 episodes")
    assert set(page.texts(".row b")) == {"alpha", "beta", "gamma", "fork"}
    assert {mark.lower() for mark in page.texts(".row mark")} <= {"oslo", "its length"}
    page.one("#search").clear()
    page.one("#search").send_keys("must be of type integer")
    page.until_text("#total", "2 of 11 episodes")
    page.one(".row").click()
    page.until("return document.getElementById('call-3') !== null")
    assert "call=3" in page.hash
    page.until("return document.activeElement.id === 'call-3'")
    assert page.js("return CSS.highlights.get('found').size") > 0
    page.open("#view=episodes&q=nowhere+to+be+found")
    page.until_text("#total", "0 of 11 episodes")
    assert page.errors() == []


def test_a_link_to_a_call_works_on_load_and_on_back_and_forward(page: Page) -> None:
    page.open(f"#episode=alpha{EPISODE}&call=2")
    assert page.focused == "call-2"
    assert page.js("return document.getElementById('call-2').classList.contains('linked')")
    top = page.js("return document.getElementById('call-2').getBoundingClientRect().top")
    assert 0 <= top < 900
    page.js("location.hash = arguments[0]", f"#episode=beta{EPISODE}&call=3")
    page.until_text("#episode-title", "beta")
    page.until("return document.activeElement.id === 'call-3'")
    page.driver.back()
    page.until_text("#episode-title", "alpha")
    page.until("return document.activeElement.id === 'call-2'")
    page.driver.forward()
    page.until_text("#episode-title", "beta")
    page.open("#episode=nobody")
    assert "no episode “nobody”" in page.one(".detail").text


def test_an_episode_is_shown_in_full(page: Page) -> None:
    page.open(f"#episode=beta{EPISODE}")
    outcome = page.one(".outcome").text
    for part in (
        "gold\n16",
        "answer\n5",
        "strict\nwrong",
        "hops by own tool\n2 of 3",
        "3 calls, 1 failed",
    ):
        assert part in outcome
    failed = page.one("#call-3").text
    for part in ("power", "hop 3", "wrong type", "not run", '"base": "4"', "feedback, detailed"):
        assert part in failed
    assert "would have worked: type converted" in failed
    assert '"base": 4' in failed
    assert page.count(".timeline .part") == 3 + 3 + 1
    page.one(".timeline .part.bad").click()
    page.until("return location.hash.includes('call=3')")
    page.read(f"alpha{EPISODE}", "alpha")
    assert "300 in" not in page.one(".outcome").text
    assert "400 in, 80 out" in page.one(".outcome").text
    assert page.texts(".turn-head .note")[0] == "100 tokens in, 20 out · 500 ms · $0.00200"
    page.read(f"lost{EPISODE}", "lost")
    assert "the endpoint did not answer" in page.one(".ending").text
    page.read(f"open{EPISODE}", "open")
    assert "No end was written" in page.one(".ending").text


def test_a_link_into_a_long_episode_leads_to_the_call(page: Page) -> None:
    page.open(f"#episode=long{EPISODE}&call=35")
    page.until("return document.activeElement.id === 'call-35'")
    place = "document.getElementById('call-35').getBoundingClientRect()"
    page.until(f"return {place}.top > 0 && {place}.bottom < innerHeight")
    page.js("document.querySelector('.timeline .part').focus()")
    page.press(*[Keys.ARROW_RIGHT] * 3, Keys.ENTER)
    page.until("return document.activeElement.id === 'call-2'")
    page.until("return document.getElementById('call-2').getBoundingClientRect().top > 0")


def test_branches_stand_side_by_side_with_what_they_share_folded(page: Page) -> None:
    page.open("#episode=fork-branch")
    Select(page.one("#compare-with")).select_by_value(f"fork{EPISODE}")
    page.until("return document.querySelector('.compare') !== null")
    assert page.texts("#shared summary") == ["2 turns alike"]
    assert not page.one("#shared .turn").is_displayed()
    page.one("#shared summary").click()
    assert page.one("#shared .turn").is_displayed()
    sides = page.texts(".sides:not(.heads) .side .feedback")
    assert any("The call failed." in side for side in sides)
    assert any("must be of type integer" in side for side in sides)
    Select(page.one("#side-a")).select_by_value(f"fork{EPISODE}")
    page.until_text("#shared summary", "turns alike")
    page.open(f"#compare=fork{EPISODE}&with=alpha{EPISODE}")
    assert page.texts("#shared summary") == ["2 turns alike"]
    assert page.texts("h1") == ["fork and alpha"]
    assert page.errors() == []


def test_keys_alone_are_enough(page: Page) -> None:
    page.open()
    page.press(Keys.TAB)
    assert page.focused == "skip"
    page.press(Keys.ENTER)
    assert page.focused == "main"
    page.press("/")
    page.until("return document.activeElement.id === 'search'")
    page.press(Keys.ARROW_DOWN)
    assert page.focused == "list"
    page.press("/")
    page.press(Keys.ESCAPE)
    page.until("return document.activeElement.id === 'list'")
    page.press(Keys.HOME, Keys.ARROW_DOWN)
    active = page.one("#list").get_attribute("aria-activedescendant")
    assert page.texts(f"#{active} b") == ["beta"]
    page.press(Keys.ENTER)
    page.until_text("#episode-title", "beta")
    assert page.focused == "episode-title"
    assert page.texts('.row[aria-selected="true"] b') == ["beta"]
    stops = page.js(
        "return [...document.querySelectorAll('.turns a')].filter((e) => e.tabIndex >= 0)"
    )
    assert stops == [], "the time line leads to turns and calls, with one stop"
    page.press(Keys.ESCAPE)
    page.until("return document.activeElement.id === 'list'")
    assert "episode=" not in page.hash
    page.press(Keys.END, Keys.ENTER)
    page.until_text("#episode-title", "wide")
    rings = page.js(
        """
        const bare = [];
        for (const e of document.querySelectorAll('main a, main button, main select, main input')) {
          e.focus({ focusVisible: true });
          const style = getComputedStyle(e);
          const seen = e.checkVisibility() && document.activeElement === e;
          if (seen && style.outlineStyle === 'none') bare.push(e.outerHTML.slice(0, 80));
        }
        return bare;
        """
    )
    assert rings == []


def test_every_control_has_a_name_and_every_id_is_there_once(page: Page) -> None:
    for place in ("", "#view=episodes", f"#episode=beta{EPISODE}", "#episode=hostile" + EPISODE):
        page.open(place)
        nameless = page.js(
            """
            const named = (e) => e.ariaLabel || e.textContent.trim() || e.labels?.length
              || e.querySelector('[aria-label]');
            return [...document.querySelectorAll('a, button, select, input')]
              .filter((e) => !named(e)).map((e) => e.outerHTML.slice(0, 90));
            """
        )
        assert nameless == []
        twice = page.js(
            "const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);"
            "return ids.filter((id, n) => ids.indexOf(id) !== n)"
        )
        assert twice == []


def contrast(page: Page, selector: str) -> float:
    """The contrast of an element's text with what is behind it (WCAG 2, 1.4.3)."""
    return float(
        page.js(
            """
            const e = document.querySelector(arguments[0]);
            const parse = (text) => text.match(/[\\d.]+/g).map(Number);
            let behind = e;
            while (parse(getComputedStyle(behind).backgroundColor)[3] === 0) {
              behind = behind.parentElement;
            }
            const light = (rgb) => {
              const part = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
              return 0.2126 * part(rgb[0]) + 0.7152 * part(rgb[1]) + 0.0722 * part(rgb[2]);
            };
            const [a, b] = [getComputedStyle(e).color, getComputedStyle(behind).backgroundColor]
              .map((text) => light(parse(text))).sort((x, y) => y - x);
            return (a + 0.05) / (b + 0.05);
            """,
            selector,
        )
    )


def test_no_explanation_is_for_the_mouse_alone(page: Page) -> None:
    for place in ("", "#view=episodes", f"#episode=fork{EPISODE}"):
        page.open(place)
        assert page.count("main [title], main svg title") == 0, place
    page.js("document.querySelector('.timeline a').focus()")
    assert page.one("#part-said").text == page.js("return document.activeElement.ariaLabel")
    page.open()
    legend = "[aria-labelledby=h-answers] details.legend"
    page.js(f"document.querySelector('{legend} summary').focus()")
    page.press(Keys.ENTER)
    page.until(f"return document.querySelector('{legend}').open")
    assert named("toolhop").lead.says in page.one(f"{legend} dl").text


def test_a_setting_that_one_run_lacks_says_so(driver: Chrome, tmp_path: Path) -> None:
    folders = [write_run(tmp_path, [Script("alpha", turns=SOLVED)], name=n) for n in ("a", "b")]
    manifest = json.loads((folders[0] / "manifest.json").read_text())
    manifest["settings"]["limit"] = "6"
    (folders[0] / "manifest.json").write_text(json.dumps(manifest))
    page = fresh(driver, written(collect(open_sources(folders)), tmp_path / "page.html")).open()
    assert "limit6 / none" in page.texts(".heading .settings div")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_can_be_read(page: Page, scheme: str) -> None:
    page.prefer(scheme)
    page.open(f"#episode=beta{EPISODE}")
    background = page.js("return getComputedStyle(document.body).backgroundColor")
    dark = sum(map(int, background[4:-1].split(","))) < 3 * 128
    assert dark is (scheme == "dark")
    places = (".note", ".kicker", ".tag.code", ".bad .label", ".repair .label", ".row-more")
    for selector in (*places, ".json-key", ".outcome dt", ".mark-wrong", ".top nav a", ".chip"):
        if page.count(selector):
            assert contrast(page, selector) >= 4.5, (scheme, selector)
    other = "light" if scheme == "dark" else "dark"
    page.one("#theme").click()
    assert page.js("return document.documentElement.dataset.theme") == other
    # In the same tab: what is stored reaches another one a moment later.
    page.driver.refresh()
    page.until("return document.documentElement.dataset.ready === 'yes'")
    assert page.js("return getComputedStyle(document.body).backgroundColor") != background
    page.js("localStorage.clear()")


OPEN_ALL = """
document.querySelectorAll('details').forEach((e) => { e.open = true; });
document.querySelectorAll('section').forEach((e) => { e.style.contentVisibility = 'visible'; });
"""


def test_a_phone_shows_everything_without_scrolling_sideways(page: Page) -> None:
    items = ("beta", "hostile", "hebrew", "wide")
    page.resize(375, 700)
    for place in (
        "",
        "#view=episodes",
        *(f"#episode={item}{EPISODE}" for item in items),
        f"#compare=fork-branch&with=fork{EPISODE}",
    ):
        page.open(place)
        page.js(OPEN_ALL)
        assert page.js("return document.documentElement.scrollWidth") <= 375, place
        if place.startswith("#episode"):
            assert not page.one("#list").is_displayed()
            page.one(".back").click()
            page.until("return document.getElementById('list').offsetHeight > 0")
            assert page.count("#episode-title") == 0


def test_no_table_is_cut_off_at_any_width(page: Page) -> None:
    page.open()
    page.js(OPEN_ALL)
    for width in (375, 721, 850, 1000, 1090, 1300):
        page.resize(width, 900)
        page.until(f"return innerWidth === {width}")
        page.until(
            "return [...document.querySelectorAll('table')]"
            ".every((e) => e.scrollWidth <= e.parentElement.clientWidth + 1)"
        )


def test_on_a_phone_a_value_stands_beside_its_label_and_a_small_table_is_one(page: Page) -> None:
    page.resize(390, 844)
    page.open()
    page.js(OPEN_ALL)
    page.until("return document.querySelector('.cards') !== null")
    high = page.js(
        """
        return [...document.querySelectorAll('.cards td')]
          .filter((e) => e.checkVisibility() && e.offsetHeight > 48).map((e) => e.textContent);
        """
    )
    assert high == []
    # Columns that fit stay columns.
    assert page.count("[aria-labelledby=h-errors] table:not(.cards) thead") == 1


def test_hostile_texts_are_shown_and_do_nothing(page: Page) -> None:
    page.open(f"#episode=hostile{EPISODE}")
    assert page.texts(".said")[0] == HOSTILE
    assert any(HOSTILE in text for text in page.texts("#call-2"))
    assert page.count("img") == 0
    assert page.js("return window.hurt") is None
    shown = page.texts(".said")[1]
    assert "U+202E" in shown
    assert "U+001B" in shown
    assert "U+0000" in shown
    assert "\u202e" not in shown
    # Numbers keep every digit, and a key that stands twice stands twice.
    arguments = page.texts("#call-1 .args")[0]
    assert "12345678901234567890" in arguments
    assert arguments.count('"n"') == 2
    assert "1.10" in arguments
    page.one("#raw").click()
    page.until("return document.querySelector('#raw').ariaPressed === 'true'")
    assert page.texts("#call-1 .args")[0] == BIG
    page.one("#raw").click()
    page.open("#view=episodes&q=" + quote(HOSTILE))
    page.until_text("#total", "1 of 11")
    assert page.errors() == []
    assert page.requests() == []


def test_right_to_left_text_runs_its_own_way_and_leaves_the_rest(page: Page) -> None:
    page.open(f"#episode=hebrew{EPISODE}")
    directions = page.js(
        "return ['.said', '.question', '.kicker'].map((s) =>"
        " getComputedStyle(document.querySelector(s)).direction)"
    )
    assert directions == ["rtl", "rtl", "ltr"]


def written(report: Report, file: Path) -> Path:
    file.write_text("".join(render(report, title="made")), encoding="utf-8")
    return file


@pytest.mark.parametrize("begun", [0, 2], ids=["no episode", "none ended"])
def test_a_run_that_has_hardly_begun_can_be_opened(
    driver: Chrome, tmp_path: Path, begun: int
) -> None:
    open_ones = [Script(f"item-{n}", turns=SOLVED[:n], ending=None) for n in range(begun)]
    folder = write_run(tmp_path, open_ones, status="started")
    page = fresh(driver, written(collect(open_sources([folder])), tmp_path / "page.html"))
    for place in ("", "#view=episodes"):
        page.open(place)
        assert page.errors() == []
    page.until_text("#total", f"{begun} episodes")
    assert page.count(".row") == begun


def many(folder: Path, items: int) -> Report:
    """A report on 2 epochs of so many items, made of the rows and bodies of two episodes."""
    pattern = [Script("solved", turns=SOLVED), Script("slip", turns=SLIP)]
    report = collect(open_sources([write_run(folder, pattern)]))
    patterns: Any = report.data["rows"]
    chunks, rows = Chunks(), list[JSON]()
    for number in range(2 * items):
        item, which = f"item-{number // 2}", number % 3 != 0
        place = chunks.add(body(trace(pattern[which]), named("toolhop")))
        more: dict[str, JSON] = {"item": item, "epoch": number % 2 + 1, "at": list(place)}
        rows.append({**patterns[1 - which], **more, "key": f"{item}-{number}"})
    chunks.close()
    return Report({**report.data, "rows": rows}, tuple(chunks.done), len(rows), 0)


def test_a_thousand_episodes_put_only_what_is_seen_into_the_document(
    driver: Chrome, tmp_path: Path
) -> None:
    file = written(many(tmp_path, 500), tmp_path / "many.html")
    page = fresh(driver, file)
    page.open("#view=episodes")
    page.until_text("#total", "1,000 episodes")
    assert page.count(".row") < 60
    assert page.js("return document.querySelectorAll('*').length") < 1500
    page.js("document.getElementById('list').scrollTop = 1e9")
    page.until("return document.getElementById('row-999') !== null")
    assert page.count(".row") < 60
    page.press("/")
    page.one("#search").send_keys("item-499")
    page.until_text("#total", "2 of 1,000 episodes")
    page.open("#view=overview")
    assert page.js("return document.querySelectorAll('*').length") < 2500
    assert file.stat().st_size < 1_500_000


def test_an_ablation_is_drawn(driver: Chrome, ablation: Path, tmp_path: Path) -> None:
    report = collect(open_sources([ablation]))
    page = fresh(driver, written(report, tmp_path / "page.html"))
    page.open()
    section = "[aria-labelledby=h-ablation-0]"
    page.js(f"document.querySelector('{section}').scrollIntoView()")
    page.until(f"return document.querySelector('{section} figure svg') !== null")
    assert page.texts(f"{section} figcaption")[0].startswith(
        "Difference: strict, percentage points"
    )
    cells = page.texts(f"{section} table:first-of-type tbody tr:first-child td")
    assert cells[:3] == ["detailed, minimal", "strict %", "2"], "what two prefixes share is one row"
    folder = AblationFolder.open(ablation)
    found = result(folder.ablation, folder.episodes(), folder.planned()).rows
    said = list(headlines(folder.ablation, main_rows(folder.ablation, found)))
    assert page.texts(".heading .effect") == said
    assert said[0].startswith("Feedback detailed → minimal: strict goes from 100.0 to 0.0 per cent")
    assert "agentscript" in page.texts(".heading .settings div")
    assert page.texts(f"{section} table:first-of-type thead th")[4:6] == ["detailed", "minimal"]
    heads = page.texts("th[scope=col]")
    assert not any(head.startswith(("tokens", "cost")) for head in heads), "none were counted"
    summaries = page.texts(f"{section} summary")
    assert "By the hop of the first failed call" in summaries
    assert any("discordant pair" in text for text in summaries)
    page.js(OPEN_ALL)
    page.one(f"{section} .discordant a").click()
    page.until("return document.querySelector('.compare') !== null")
    assert page.texts(".heads .badge") == ["Adetailed", "Bdetailed-then-minimal"]
    sides = page.js("return [...document.querySelectorAll('.side')].map((e) => e.dataset.side)")
    assert set(sides) == {"A", "B"}, "on a phone the letter stands beside each turn"
    page.js("location.hash = '#view=episodes&group=B'")
    page.until_text("#total", "2 of")
    assert set(page.texts(".row .badge")) == {"Bdetailed-then-minimal"}
    assert page.errors() == []


# --- benchmarks that the page knows nothing of

POINTS = Benchmark(
    name="points",
    version="1",
    modes=("mandatory",),
    measures=(
        Measure("depth", "How deep it went.", leads=True, title="depth reached", unit=Unit.POINTS),
        Measure("polite", "It was polite.", scorer=Scorer.OFFICIAL, binary=True),
        Measure("terse", "It was terse.", scorer=Scorer.STRICT, binary=True),
    ),
    gold=lambda item: item.answer,
    score=lambda played, _: {
        "depth": None if "dull" in played.started.item else (1.5 * len(played.calls), 1.0),
        "polite": (1.0, 1.0),
        "terse": (float(not played.calls), 1.0),
    },
    presentation=Presentation(
        "Points",
        milestones=lambda played: [Milestone("a call", "", bool(played.calls))],
        milestone="stage",
    ),
)


def test_a_benchmark_with_measures_of_its_own_stands_beside_another(
    driver: Chrome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(benchmarks.BENCHMARKS.own, "points", "tests.report.test_browser:POINTS")
    own = [
        Script("deep", turns=SOLVED, benchmark="points"),
        Script("flat", turns=[], benchmark="points"),
        Script("dull", turns=SOLVED, benchmark="points"),
    ]
    minimal = replace(own[0], level=Level.MINIMAL, name="deep-minimal")
    folders = [
        write_run(tmp_path, own, name="own"),
        write_run(tmp_path, [minimal], name="minimal"),
        write_run(tmp_path, [Script("alpha", turns=SOLVED)], name="toolhop"),
    ]
    page = fresh(driver, written(collect(open_sources(folders)), tmp_path / "page.html"))
    page.open()
    heads = page.texts("[aria-labelledby=h-answers] > .scroll:first-of-type table th[scope=col]")
    assert heads[2:5] == ["depth reached", "polite %", "terse %"]
    assert "strict %" in heads
    rows = page.texts("[aria-labelledby=h-answers] > .scroll:first-of-type table tbody tr")
    (detailed,) = (row for row in rows if "points · detailed" in row)
    assert "2.25 ± 2.25100.0 [43.9, 100.0]" in detailed, "a mean over the two that have a figure"
    assert page.texts("[aria-labelledby=h-answers] figcaption")[0].startswith(
        "Points: polite, terse, per cent"
    )
    assert "Points: calls by stage" in page.texts("h2")
    assert "depth reached" in page.texts("[aria-labelledby=h-levels] td")
    page.read(f"deep{EPISODE}", "deep")
    outcome = page.one(".outcome").text
    for part in ("gold\n16", "depth reached\n4.50", "polite\nright", "terse\nwrong"):
        assert part in outcome
    assert page.texts("details.fold summary")[0] == "1 stage, 1 reached"
    assert page.texts(".call .tag")[0] == "stage 1"
    assert page.texts(".row.opened .row-facts") == [" 4.50"]
    for verdict, listed in (
        ("scored", {"deep", "flat"}),
        ("unscored", {"dull"}),
        ("differ", {"deep", "dull"}),
        ("right", {"alpha"}),
    ):
        page.filtered("verdict", verdict)
        assert set(page.texts(".row b")) == listed, verdict
    page.filtered("benchmark", "points")
    page.until_text("#total", "4 of 5 episodes")
    assert page.errors() == []


@pytest.mark.parametrize("name", ["nestools", "toolbehonest", "relytoolbench"])
def test_a_benchmark_of_many_measures_is_reachable_whole(
    name: str, driver: Chrome, tmp_path: Path
) -> None:
    data, agent = rows_of(name, tmp_path / "data"), "all-tools"
    flags = {"toolbehonest": ("--agent", "gold", "--mode", "level-1,level-2,level-3",
                              "--judge", "overlap")}  # fmt: skip
    done = toolhop("run", "--data", data, *flags.get(name, ("--agent", agent)), "--json",
                   "--log-dir", str(tmp_path / "logs"))  # fmt: skip
    folder, out = json.loads(done.stdout)["run"], tmp_path / "page.html"
    assert toolhop("report", folder, "--out", str(out)).returncode == 0
    page = Page(driver, out)
    for width in (390, 1400):
        page.resize(width, 900)
        page.open()
        page.js(OPEN_ALL)
        assert page.js("return document.documentElement.scrollWidth") <= width
        page.until(
            """
            return [...document.querySelectorAll('td, th')]
              .filter((e) => e.checkVisibility() && !e.closest('thead'))
              .every((e) => e.getBoundingClientRect().right <= innerWidth + 1);
            """
        )
    assert page.count("#h-totals") == (name != "nestools")
    assert page.count("[aria-labelledby=h-answers] details.others table") >= 1
    assert page.errors() == []


def played(folder: Path, *flags: str) -> Path:
    """The page of a run."""
    done = toolhop("run", *flags, "--json", "--log-dir", str(folder / "logs"))
    assert done.returncode == 0, done.stderr
    out = folder / f"page-{len([*folder.iterdir()])}.html"
    assert toolhop("report", json.loads(done.stdout)["run"], "--out", str(out)).returncode == 0
    return out


def test_a_scenario_shows_its_label_and_what_the_agent_did(driver: Chrome, tmp_path: Path) -> None:
    data = rows_of("scenarios", tmp_path / "data")
    flags = ("--data", data, "--agent", "asks-when-missing", "--sandbox", "process")
    page = fresh(driver, played(tmp_path, *flags))
    page.open("#episode=norway-missing-parameter_informed_e1_a1")
    assert "scenario: missing-parameter" in page.texts(".labels .tag")
    assert "gold\nask the user, then" in page.one(".outcome").text
    asked = page.one(".call.action").text
    for part in ("talk_to_user", "asks the user", "by rule", "the user\n"):
        assert part in asked
    page.read("norway-missing-tool_informed_e1_a1", "missing-tool")
    assert "asks for other tools" in page.texts(".call.action .tag")
    assert "gives up" in page.texts(".call.action .tag")
    # Nothing is said of what a scripted agent does not take.
    for place in ("", "#view=episodes", "#episode=norway-missing-tool_informed_e1_a1"):
        page.open(place)
        page.js(OPEN_ALL)
        text = page.one("main").text
        assert not re.search(r"(?<![\d.])0 s\b|\$0|\b0 tokens|\b0 calls|0/0", text), place
    assert page.texts(".turn-head .note")[0] == ""
    # A table of many rows and columns is in parts side by side with the rows' heads, none cut off.
    page.resize(1400, 900)
    page.open()
    page.js(OPEN_ALL)
    page.until(
        """
        const places = [...document.querySelectorAll('.scroll')].filter((e) => e.checkVisibility());
        return places.some((e) => e.children.length > 1)
          && places.every((e) => e.scrollWidth <= e.clientWidth + 1);
        """
    )
    by_kind = "[aria-labelledby=h-by-kind] .scroll table"
    heads = page.texts(f"{by_kind}:first-child tbody th")
    assert len(heads) > 2
    assert page.texts(f"{by_kind}:last-child tbody th") == heads
    columns = page.texts(f"{by_kind} thead th")
    assert columns.count("kind") == len(page.texts(f"{by_kind} thead"))
    assert len(columns) == len(set(columns)) + columns.count("kind") - 1


def test_what_judges_said_can_be_read(driver: Chrome, tmp_path: Path) -> None:
    data = rows_of("relytoolbench", tmp_path / "data")
    page = fresh(driver, played(tmp_path, "--data", data, "--agent", "always-ask"))
    page.open("#episode=G1_instruction-1_finish_e1_a1")
    assert "1 question to the judge: mechanical" in page.texts("summary")
    assert page.texts(".judged li") == ["answer status Unsolved: it gives up"]
    data = rows_of("toolbehonest", tmp_path / "rows")
    page = fresh(driver, played(tmp_path, "--data", data, "--agent", "gold", "--mode", "level-3",
                                "--judge", "overlap"))  # fmt: skip
    page.open("#episode=single_step-0-unsolvable_level-3_e1_a1")
    assert "1.00 Rings a bell." in page.texts(".judged li li")
