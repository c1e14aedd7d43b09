"""Whatever people, kernels and code do, in whatever order: what runs is what the model allows (`model.py`).

300 afternoons; `make properties` has 2,000, and the search for each planted fault (`mutants.py`).
"""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.unit.yes.afternoon import Afternoon, Do
from tests.unit.yes.chance import in_cells, with_an_agent
from tests.unit.yes.judge import faults
from tests.unit.yes.model import Ask, Row
from tests.unit.yes.world import Clock, World

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "properties"
HALF = settings(max_examples=1000 if LONG else 150, deadline=None, suppress_health_check=list(HealthCheck))


@contextmanager
def lived(afternoon: Afternoon) -> Iterator[World]:
    """Live through an afternoon, and give the world as it is then."""
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner(loop_factory=Clock) as runner:
        world = World(afternoon, Path(folder) / "journal.sqlite")
        try:
            runner.run(world.play())
            yield world
        finally:
            world.close()


def live(afternoon: Afternoon) -> list[str]:
    """Live through an afternoon, and give what was wrong with it."""
    with lived(afternoon) as world:
        return list(faults(world))


@pytest.mark.timeout(1800)
@HALF
@given(with_an_agent)
def test_what_an_agent_runs_is_what_the_model_allows(afternoon):
    assert live(afternoon) == []


@pytest.mark.timeout(1800)
@HALF
@given(in_cells)
def test_what_cells_run_is_what_the_model_allows(afternoon):
    assert live(afternoon) == []


def test_a_stop_while_the_question_is_written_tells_what_another_kernel_has_run():
    one_after_the_other = Row((Ask("Ada"), Ask("Bob")))
    afternoon = Afternoon(
        people=(one_after_the_other, Row((Ask("nobody"),))),
        does=(Do("kernel", pace=2), Do("stop"), Do("click")),
        rounds=(1,),
    )
    assert live(afternoon) == []
