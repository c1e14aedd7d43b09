"""Where a list of cards is drawn, as far as living pages have said so: silence is not zero."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitl_nb.cards._updates import Sights


class Clock:
    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("hitl_nb.cards._updates.time", clock)
    return clock


def says(sights, views, page="p", tab=None, **more):
    sights.note({"page": page, "tab": tab, "views": views, "gone": None if views else 5000, **more})


def test_a_page_that_says_zero_again_and_again_counts(clock):
    sights = Sights()
    for _ in range(4):
        says(sights, 0)
        clock.now += 1
    assert sights.zero_for == 3
    assert sights.gone == 5.0


def test_one_that_is_silent_does_not_count_however_long(clock):
    sights = Sights()
    says(sights, 0)
    clock.now += 3600
    assert sights.zero_for == 0
    assert Sights().zero_for == 0


def test_another_page_that_draws_it_outweighs_also_while_it_sleeps(clock):
    sights = Sights()
    says(sights, 1, page="asleep", tab="a")
    for _ in range(9):
        says(sights, 0, page="awake", tab="b")
        clock.now += 1
    assert sights.zero_for == 0
    sights.forget({"page": "asleep"})
    says(sights, 0, page="awake", tab="b")
    clock.now += 4
    says(sights, 0, page="awake", tab="b")
    assert sights.zero_for == 4


def test_a_page_that_was_loaded_after_an_output_was_displayed_does_not_know_where_it_is(clock):
    sights = Sights()
    assert sights.knows(90.0)
    says(sights, 1, page="before", tab="a", age=20_000)
    clock.now += 30
    says(sights, 1, page="before", tab="a", age=20_000)  # a clock that stood still while the laptop slept
    assert [sights.knows(shown) for shown in (79.0, 81.0)] == [False, True]
    says(sights, 1, page="after", tab="a", age=1_000)
    assert [sights.knows(shown) for shown in (81.0, 128.0, 130.0)] == [False, False, True]
    assert [sights.saw(stored) for stored in (127.0, 128.5)] == [True, False]
    says(sights, 1, page="second", tab="b", age=60_000)
    assert sights.knows(81.0)
    says(sights, 1, page="of another host")
    assert sights.knows(0.0)


def test_a_reload_is_another_page_in_the_place_of_the_first(clock):
    sights = Sights()
    says(sights, 1, page="before", tab="a")
    says(sights, 0, page="after", tab="a", born=3000)
    says(sights, 0, page="after", tab="a", born=3000)
    assert sights.is_zero
    assert sights.gone == 3.0  # what is run in the page that came back is run knowing that
    says(sights, 1, page="after", tab="a", born=3000)
    says(sights, 0, page="after", tab="a", born=3000)
    assert sights.gone == 5.0


def test_what_stands_behind_show_more_outputs_may_be_seen_yet():
    sights = Sights()
    says(sights, 0, behind=True)
    assert not sights.is_zero


def test_a_front_end_that_does_not_count_draws_what_it_asks_for():
    sights = Sights()
    sights.note({"op": "hello", "have": 0})
    assert sights.drawn


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.floats(0, 5)), max_size=30))
def test_zero_lasts_only_as_long_as_every_page_has_said_zero_last(said):
    sights, last, since, now = Sights(), {}, None, 1.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hitl_nb.cards._updates.time", SimpleNamespace(monotonic=lambda: now))
        for page, views, pause in said:
            now += pause
            last[page] = views
            says(sights, views, page=page)
            zero = not any(last.values())
            since = (now if since is None else since) if zero else None
            assert sights.zero_for == (0 if since is None else now - since)
