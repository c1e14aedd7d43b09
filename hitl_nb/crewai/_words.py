"""What a person says in words."""

from typing import Annotated, Final

from pydantic import StringConstraints

WORDS: Final = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
"""A text with something in it: to CrewAI an empty one means yes, and silence is never a yes."""
