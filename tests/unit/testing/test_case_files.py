"""The file of a recorded session gives back exactly what was recorded."""

import json

from hypothesis import given
from hypothesis import strategies as st

from hitl_nb._secrets import MASK
from hitl_nb.testing import calls, says
from hitl_nb.testing._case import Answer, Case, Exchange, read, write
from hitl_nb.testing._replay import aligned, difference

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=6,
)
PARTS = st.one_of(
    st.text(st.characters(codec="utf-8"), min_size=1).map(says),
    st.builds(lambda args: calls("tool", id="call_1", args=args), JSON),
    st.builds(lambda text: calls("tool", id="call_1", raw=text), st.text(st.characters(codec="utf-8"))),
    st.builds(lambda args: calls("tool", id="call_1", raw=json.dumps(args, separators=(",", ":"))), JSON),
)
MESSAGES = st.lists(st.fixed_dictionaries({"role": st.sampled_from(["user", "tool"]), "content": JSON}), max_size=4)
REQUESTS = st.fixed_dictionaries({"messages": MESSAGES, "tools": st.lists(JSON, max_size=1), "options": st.just({})})
TURNS = st.builds(
    Exchange, request=REQUESTS, parts=st.lists(PARTS, max_size=2), finish=st.sampled_from([None, "length"])
)
ANSWERS = st.builds(
    Answer,
    call=st.just("call_1"),
    tool=st.just("tool"),
    question=st.text(st.characters(codec="utf-8")),
    args=JSON,
    outcome=st.sampled_from(["answered", "declined", "expired"]),
    answer=st.none(),
    reason=st.none() | st.text(st.characters(codec="utf-8"), min_size=1),
)


@given(st.lists(TURNS, max_size=3), st.lists(ANSWERS, max_size=2))
def test_what_is_written_is_read_back(tmp_path_factory, turns, answers):
    path = tmp_path_factory.getbasetemp() / "case.json"
    case = Case(turns=turns, answers=answers)
    write(path, case.plain())
    assert read(path) == case


def test_a_readable_difference_shows_where_and_what_and_not_how_the_list_moved():
    old = {"messages": [{"role": "user", "content": "Hi"}, {"role": "user", "content": "One\ntwo\nthree"}]}
    new = {"messages": [{"role": "system", "content": "Be kind"}, *old["messages"]]}
    assert [line for line in difference(old, new, "old", "now").splitlines()[2:] if line[0] in "+-"] == [
        "+  -",
        '+    content: "Be kind"',
        '+    role: "system"',
    ]
    changed = {"messages": [old["messages"][0], {"role": "user", "content": "One\n2\nthree"}]}
    assert "-      two\n+      2" in difference(old, changed, "old", "now")


def test_a_long_difference_says_how_much_more_there_is():
    shown = difference({}, {"lines": [str(number) for number in range(500)]}, "old", "now").splitlines()
    assert len(shown) == 61
    assert shown[-1].endswith("more lines")


def test_stars_stand_for_any_secret_and_for_nothing_else():
    assert aligned(MASK, "hunter2") == MASK
    assert aligned(MASK, 1234) == MASK
    assert aligned(f"key {MASK}!", "key hunter2!") == f"key {MASK}!"
    assert aligned(f"key {MASK}!", "kex hunter2!") == "kex hunter2!"
    assert aligned({"a": MASK, "b": 1}, {"a": "x", "b": 2}) == {"a": MASK, "b": 2}
    assert aligned([MASK], ["x", "y"]) == [MASK, "y"]
    assert aligned(f'{{"a": "{MASK}"}}', '{"a":"x"}') == f'{{"a": "{MASK}"}}'
