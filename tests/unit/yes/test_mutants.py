"""The property test notices whatever idea is taken away; `mutants.py` lists them.

Here each is shown by one afternoon; `make properties` also has it found by chance.
"""

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.unit.yes.chance import in_cells, with_an_agent
from tests.unit.yes.mutants import MUTANTS, planted
from tests.unit.yes.test_model import LONG, live

SEARCH = settings(
    max_examples=1000,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)

each_mutant = pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)


def wrong(afternoon):
    """What was wrong with it; to break down is wrong, too."""
    try:
        return live(afternoon)
    except Exception as error:
        return [repr(error)]


def test_there_are_enough_of_them():
    assert len(MUTANTS) >= 10


@each_mutant
def test_its_afternoon_shows_it(mutant):
    with planted(mutant):
        assert wrong(MUTANTS[mutant])
    assert live(MUTANTS[mutant]) == []


class Noticed(BaseException):
    """Ends the search: one fault is enough."""


def noticed(strategy):
    """How many afternoons it took, what was wrong, and the last of them; None if nothing was."""
    lived = []

    @SEARCH
    @given(strategy)
    def search(afternoon):
        lived.append(afternoon)
        if faults := wrong(afternoon):
            raise Noticed(faults, afternoon)

    try:
        search()
    except Noticed as found:
        return len(lived), *found.args
    return None


@pytest.mark.skipif(not LONG, reason="make properties")
@pytest.mark.timeout(1800)
@each_mutant
def test_chance_shows_it(mutant):
    with planted(mutant):
        found = noticed(with_an_agent if MUTANTS[mutant].rounds else in_cells)
    assert found is not None
    print(f"{mutant.__name__}: noticed in afternoon {found[0]}: {found[1][0]}")
