"""Random afternoons (Hypothesis): people made of people, and things in a row that go wrong."""

import dataclasses
import itertools

from hypothesis import strategies as st

from tests.unit.yes.afternoon import CONTENTS, EDITS, SETTLED, Afternoon, Cell, Do
from tests.unit.yes.model import All, Ask, Memo, Row, Rule, Then


def _often(*strategies):
    """One of these; all as often, however many they are made of."""
    return st.integers(0, len(strategies) - 1).flatmap(strategies.__getitem__)


_asks = st.builds(Ask, st.just(""), st.sampled_from([True, True, True, False]))
_rules = st.builds(
    Rule,
    st.just(""),
    st.sampled_from(["allow", "deny"]),
    st.sampled_from(["small", "small", "raises", "greedy"]),
    st.sampled_from([None, "tool", "interrupt"]),
)
_leaf = _often(_asks, _asks, _asks, _asks, _asks, _rules)


def _made_of(inner):
    return _often(
        st.builds(Then, st.tuples(inner, inner)),
        st.builds(All, st.tuples(inner, inner)),
        st.builds(Then, st.tuples(inner)),
        st.builds(Memo, st.tuples(inner)),
    )


_person = _often(_leaf, _leaf, _made_of(_leaf), _made_of(_often(_leaf, _made_of(_leaf))))


def named(who, names):
    """The same people, each with a name of their own."""
    match who:
        case Ask(_, card):
            return Ask(f"p{next(names)}", card)
        case Rule(_, effect, when, kind):
            return Rule(f"r{next(names)}", effect, when, kind)
    return type(who)(tuple(named(each, names) for each in who.people))


def _row(first):
    # What comes first comes most often.
    some = _often(
        st.tuples(_made_of(_asks)),
        st.tuples(_asks, _asks),
        st.tuples(_asks),
        st.tuples(_leaf, _asks),
        st.tuples(_asks, _rules),
        st.tuples(_person),
        st.tuples(_made_of(_leaf), _person),
    )
    return some.map(lambda people: named(Row(people), itertools.count(first)))


_pick = st.sampled_from([0, 0, 0, 1, 1, 2, 3])
_pace = st.sampled_from([SETTLED, SETTLED, SETTLED, 0, 1, 2, 3])
_hasty = st.integers(0, 4)
_changed = st.integers(0, 4)
_said = st.sampled_from([0, 0, 0, 2, 2, 3, 4])


def _do(*verbs, pick=_pick, what=st.just(0), pace=_pace):  # noqa: B008 - a strategy is a value
    edit = st.integers(0, len(EDITS) - 1)
    return st.builds(Do, verb=st.sampled_from(verbs), pick=pick, what=what, how=st.integers(0, 2), edit=edit, pace=pace)


_latest, _before = st.just(0), st.sampled_from([1, 1, 2])
_answer = _do("click", "say", "code", what=_said)
_change = _do("change", "change", "change_given", what=_changed)

# What goes wrong goes wrong in a row of things; each of them also happens by itself.
_late = st.tuples(_do("time", "pass", pick=_latest), _do("click", "click", "say", pick=_before, what=_said))
_changed_before = st.tuples(_do("change", what=_changed), _do("click", "say", pick=_latest))
_changed_after = st.tuples(_do("click", "say", pick=_latest, pace=_hasty), _do("change", pick=_latest, what=_changed))
_given_changed = st.tuples(_do("say", pick=_latest, what=st.just(2), pace=_hasty), _do("change_given", what=_changed))
_for_all = st.tuples(_do("code", "click", pick=st.just(2), what=_said))  # the question of which several have one each
_race = st.tuples(_do("kernel"), _do("click", "say", what=_said), _do("click", "say", pick=_before, what=_said))
_crash = st.tuples(_do("say", "code"), _do("kill"), _do("kernel"))
_lost = st.tuples(
    _do("kernel"), _do("say", pick=_before, pace=_hasty), _do("kill", pick=_before), _do("say", pick=_latest)
)
_anything = st.tuples(_do("time", "pass", "kernel", "stop", "work", "kill", "change"))
_events = _often(
    *[st.tuples(_answer)] * 2,
    *[_late] * 3,
    _for_all,
    _changed_before,
    *[_changed_after] * 2,
    _given_changed,
    _race,
    _crash,
    _lost,
)
_events = _often(*[_events] * 6, _anything)


def _in_a_row(events, least, most):
    return st.lists(events, min_size=least, max_size=most).map(lambda some: tuple(itertools.chain(*some)))


_cell = st.builds(
    Cell,
    asks=st.sampled_from(["approve", "interrupt", "interrupt", "pay"]),
    about=st.sampled_from([0, 0, 0, *range(len(CONTENTS))]),
    message=st.sampled_from([0, 0, 1]),
    key=st.booleans(),
    again=st.sampled_from([False, False, False, True]),
    people=st.sampled_from([0, 0, 1]),
    timeout=st.sampled_from([False, False, True]),
    to=st.sampled_from([None, Ask("boss"), Rule("late", "deny"), Rule("late", "allow", "always", "interrupt")]),
)


_differs = {
    "message": lambda cell: 1 - cell.message,
    "people": lambda cell: 1 - cell.people,
    "about": lambda cell: (cell.about + 1) % len(CONTENTS),
    "asks": lambda cell: "approve" if cell.asks == "interrupt" else "interrupt",
    "key": lambda cell: not cell.key,
    "again": lambda cell: not cell.again,
    "to": lambda cell: Ask("boss") if cell.to is None else None,
    "timeout": lambda cell: not cell.timeout,
}


@st.composite
def _asked_again(draw):
    """A cell is run, somebody answers, and it is run once more: the same, or with one thing that differs."""
    cell = dataclasses.replace(draw(_cell), again=False, key=draw(st.sampled_from([True, True, False])))
    name = draw(st.sampled_from(["", "", "message", "people", *_differs]))
    other = dataclasses.replace(cell, **{name: _differs[name](cell)}) if name else cell
    says = draw(st.lists(_do("say", pick=st.sampled_from([0, 0, 1]), what=_said), min_size=1, max_size=2))
    between = draw(_often(st.just(()), st.just(()), st.tuples(_change)))
    return (Do("cell", cell=cell), *says, *between, Do("cell", cell=other))


# What cannot be copied is changed while the grant is on its way to the disk.
_stubborn = st.tuples(
    st.just(Do("cell", cell=Cell(asks="pay", about=len(CONTENTS) - 1))),
    _do("say", pick=_latest, pace=_hasty),
    _do("change", pick=_latest, what=st.just(4)),
)
_asked = st.tuples(st.builds(Do, verb=st.just("cell"), pick=_pick, pace=_pace, cell=_cell))
_changed_payload = st.tuples(_asked, _changed_after).map(lambda parts: parts[0] + parts[1])
_journals = st.sampled_from(["file", "file", "file", "memory", "off"])

with_an_agent = st.builds(
    Afternoon,
    people=st.tuples(_row(1), st.just(Row((Ask("nobody"),)))),
    does=_in_a_row(_events, 2, 6),
    rounds=st.sampled_from([(1,), (1,), (1, 1), (2,), (2, 1)]),
    journal=_journals,
    slow=st.booleans(),
)
in_cells = st.builds(
    Afternoon,
    people=st.tuples(_row(1), _often(_row(1), _row(20))),
    does=_in_a_row(_often(_events, _changed_payload, _asked, *[_asked_again()] * 4, _stubborn), 1, 6).map(
        lambda does: (Do("cell", cell=Cell()), *does)
    ),
    journal=_journals,
    slow=st.booleans(),
)
