"""What a journal looks like in a notebook: quiet, themed, and never anybody's markup."""

import re
from datetime import UTC, datetime, timedelta

import matplotlib as mpl
import pytest

from hitl_nb._calls import Handle, Outcome
from hitl_nb.journal import Journal
from hitl_nb.journal._views import summary_of
from tests.unit.journal.asking import STEPS, Step, answered, asked

mpl.use("agg")
EVIL = '<img src=x onerror="alert(1)"><script>alert(1)</script>'


@pytest.fixture
async def full(journal):
    answered(journal, value=STEPS.steps, id="1")
    answered(journal, value=[STEPS.steps[0], Step(description="fly", status="disabled")], id="2", by="bob")
    ends: list[tuple[Outcome, str | None]] = [("declined", "no"), ("expired", None), ("cancelled", None)]
    for number, (outcome, reason) in enumerate(ends, start=3):
        call = asked(journal, id=str(number))
        Handle.of(call).close(outcome, reason, by="ada" if outcome == "declined" else None)
        journal.answered(call)
    journal.late(call, "late", "eve")
    asked(journal, id="6")
    return journal


def row(kind, *, asked_at, seconds=None, late=0, by=None):
    outcome = {"approved": "answered", "open": None}.get(kind, kind)
    edited = "[]" if kind == "approved" else None
    moment = asked_at.isoformat()
    return {"outcome": outcome, "edited": edited, "asked_at": moment, "seconds": seconds, "late": late, "by": by}


async def test_each_call_is_counted_once(full):
    summary = full.summary()
    assert (summary.asked, summary.approved, summary.edited, summary.declined) == (6, 1, 1, 1)
    assert (summary.expired, summary.cancelled, summary.other, summary.open, summary.late) == (1, 1, 0, 1, 1)
    assert summary.by == {"ada": 2, "bob": 1}
    assert len(summary.moments) == 6


def test_what_was_withdrawn_is_told_apart_from_what_ended_otherwise():
    day = datetime(2026, 1, 2, tzinfo=UTC)
    summary = summary_of([row(kind, asked_at=day) for kind in ("cancelled", "aborted", "superseded", "invalid")])
    assert (summary.cancelled, summary.other) == (1, 3)
    assert repr(summary) == "<Summary 4 asked: 1 cancelled · 3 other>"


def test_the_median_is_that_of_answers_and_not_of_timeouts():
    day = datetime(2026, 1, 2, tzinfo=UTC)
    calls = [row("approved", asked_at=day, seconds=seconds) for seconds in (1.0, 3.0, 200.0)]
    calls += [row("expired", asked_at=day, seconds=9999.0), row("open", asked_at=day)]
    assert summary_of(calls).median_seconds == 3.0
    assert summary_of(calls[3:]).median_seconds is None


@pytest.mark.parametrize(("seconds", "words"), [(2.345, "2.3 s"), (90.0, "1.5 min"), (7200.0, "2.0 h")])
def test_it_reads_as_a_sentence(seconds, words):
    day = datetime(2026, 1, 2, tzinfo=UTC)
    summary = summary_of([row("approved", asked_at=day, seconds=seconds, late=2), row("open", asked_at=day)])
    assert repr(summary) == f"<Summary 2 asked · median {words} to answer: 1 approved · 1 open · 2 late>"
    assert repr(summary_of([])) == "<Summary 0 asked>"


async def test_a_summary_is_a_table_with_every_kind_that_there_is(full):
    html = full.summary()._repr_html_()
    for kind in ("approved", "edited", "declined", "expired", "cancelled", "open"):
        assert f">{kind}</td>" in html
    assert "decided by ada 2, bob 1" in html
    assert "1 late answer that changed nothing" in html


async def test_the_last_twenty_calls_are_shown_newest_first(journal):
    for number in range(25):
        answered(journal, id=f"call_{number}", message=f"Question {number}?")
    html = journal._repr_html_()
    assert re.findall(r"Question (\d+)\?", html) == [str(number) for number in range(24, 4, -1)]
    assert "the last 20 calls" in html


async def test_a_row_says_what_was_asked_and_decided_by_whom(full):
    html = full._repr_html_()
    for text in (
        "generate_steps",
        "Do it?",
        "approved",
        "edited",
        "declined",
        "expired",
        "cancelled",
        "open",
        "no",
        "bob · card",
    ):
        assert text in html
    assert "pack" in html


def test_an_empty_journal_says_so():
    with Journal("memory") as journal:
        assert journal._repr_html_().endswith("&lt;Journal memory · 0 calls&gt;: nothing asked yet</span>")
        assert "0 asked" in journal.summary()._repr_html_()


async def test_nothing_anybody_wrote_is_markup(journal):
    call = asked(journal, message=EVIL)
    call.decline(EVIL, by=EVIL)
    journal.answered(call)
    answered(journal, {"q": EVIL}, EVIL, id="2", by=EVIL, message=EVIL)
    for html in (journal._repr_html_(), journal.summary()._repr_html_()):
        assert "<img" not in html
        assert "<script" not in html
        assert "&lt;img" in html
        # Our own tags only, and none of them with an event handler.
        assert set(re.findall(r"<(\w+)", html)) <= {
            "table",
            "caption",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "span",
            "div",
            "strong",
            "br",
        }
        assert not re.findall(r"<[^>]* on\w+=", html)


async def test_characters_that_hide_themselves_are_shown(journal):
    answered(journal, {"q": "?"}, "pay \u202e001\u202c\u200b now", message="\x1b[31mred")
    html = journal._repr_html_()
    assert "pay \\u202e001\\u202c\\u200b now" in html
    assert "\\u001b[31mred" in html
    assert html.count("⚠ This text contains invisible") == 2
    assert not set(html) & set("\u202e\u202c\u200b\x1b")


async def test_a_long_text_says_how_much_of_it_is_hidden(journal):
    answered(journal, {"q": "?"}, "x" * 1000)
    assert "… (880 more characters)" in journal._repr_html_()


async def test_colours_come_from_the_notebook_with_a_fallback(full):
    for html in (full._repr_html_(), full.summary()._repr_html_()):
        colours = re.findall(r"(?:color|background):([^;\"]+)", html)
        assert colours
        assert all(re.fullmatch(r"var\(--jp-[\w-]+,[^)]+\)", colour) for colour in colours), colours


# -- the plot --------------------------------------------------------------------------------------------------


def drawn(axes):
    """Kind → how many calls its bars stand for."""
    return {bars.get_label(): sum(bar.get_height() for bar in bars) for bars in axes.containers}


async def test_a_plot_draws_every_call_once(full):
    axes = full.summary().plot()
    assert drawn(axes) == {"approved": 1, "edited": 1, "declined": 1, "expired": 1, "cancelled": 1, "open": 1}
    assert axes.get_ylabel() == "calls asked per minute"
    assert axes.get_title().startswith("6 asked")


@pytest.mark.parametrize(
    ("span", "unit", "bars"),
    [
        (timedelta(minutes=30), "minute", 4),
        (timedelta(hours=30), "hour", 4),
        (timedelta(days=30), "day", 4),
        (timedelta(days=900), "week", 4),
    ],
)
def test_bars_are_as_wide_as_the_time_asks_for(span, unit, bars):
    start = datetime(2026, 1, 5, 12, 30, 15, tzinfo=UTC)
    moments = [start + span * number / 3 for number in range(4)]
    calls = [row("approved", asked_at=moment, seconds=1.0) for moment in [*moments, start]]
    axes = summary_of(calls).plot()
    [container] = axes.containers
    assert axes.get_ylabel() == f"calls asked per {unit}"
    assert [bar.get_height() for bar in container] == [2, 1, 1, 1]
    assert len(container) == bars


async def test_a_plot_goes_where_it_is_told_to(full):
    import matplotlib.pyplot as plt

    _, given = plt.subplots()
    assert full.summary().plot(ax=given) is given
    plt.close("all")


def test_a_plot_of_nothing_is_empty():
    assert summary_of([]).plot().containers == []
