"""What a question is before it is asked, and while nobody waits for it: never something that counts as a yes.

``if approve("Drop?"): drop()`` forgets one word, and an ordinary coroutine is true. So whatever asks gives an
`Unasked`: a coroutine for all that awaits, an error with the line to write for all else. ``.start()`` on it asks in
the background, and gives the `Question` that a later cell awaits::

    Unawaited    the coroutine that refuses to be anything else          _unawaited.py
    Unasked      an `Unawaited` that can be started
    Question     one that was started                                    _question.py
    NotAnAnswer  what both refuse, and with which words
"""

from hitl_nb._awaiting._question import (
    NotAnAnswer,
    Question,
    Stage,
    Status,
    Words,
    current_question,
    in_background,
    line_of,
    over,
    say,
)
from hitl_nb._awaiting._unawaited import Unasked, Unawaited
from hitl_nb._doors import at_home

__all__ = [
    "NotAnAnswer",
    "Question",
    "Stage",
    "Status",
    "Unasked",
    "Unawaited",
    "Words",
    "current_question",
    "in_background",
    "line_of",
    "over",
    "say",
]

at_home(Question)
