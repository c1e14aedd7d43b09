"""Fixtures of hitl_nb for pytest: a model and people from a script, and recorded sessions.

Every run of pytest in this environment loads it, also one that has nothing to do with hitl_nb: whatever takes time to
import is imported by the test that uses it.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from hitl_nb.testing import Replay, ScriptedModel, ScriptedPerson


@pytest.fixture
def scripted_model() -> "Iterator[Callable[..., ScriptedModel]]":
    """A model from a script, installed until the end of the test: ``scripted_model([says("Hi.")])`` makes one."""
    from hitl_nb.testing import ScriptedModel

    with ExitStack() as stack:
        yield lambda turns, **options: stack.enter_context(ScriptedModel(turns, **options))


@pytest.fixture
def scripted_person(request: pytest.FixtureRequest) -> "Iterator[Callable[..., ScriptedPerson]]":
    """A person from a script: ``scripted_person([True])`` makes one; answers that nobody asked for are an error."""
    from hitl_nb.testing import ScriptedPerson

    people: list[ScriptedPerson] = []

    def make(answers: Any, **options: Any) -> ScriptedPerson:
        people.append(ScriptedPerson(answers, **options))
        return people[-1]

    failed = request.session.testsfailed
    yield make
    # The failure of the test tells more than the answers it left over.
    if request.session.testsfailed == failed:
        for person in people:
            person.check_all_used()


@pytest.fixture
def replay(request: pytest.FixtureRequest) -> "Callable[[str], Replay]":
    """A recorded session in place of model and people: called with a file beside the test, it gives the block."""
    from hitl_nb.testing import replay

    return lambda file: replay(request.path.parent / file)
