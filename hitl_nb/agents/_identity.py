"""Ids, names and a mark for calls whose provider gives none, gives one twice, or mixes them up.

An answer finds its call by the id alone. Gemini streams `""` for every call, Ollama counts from 0 in every reply
(facts/crewai.md §9.19): with such an id an answer could land on another question, so it gets a fresh one.
"""

import uuid

MIXED_UP = " <fragments of this call and of another one cannot be told apart>"
"""Behind the arguments of such a call: what is not JSON asks nobody, and the model reads why."""


def fresh_call_id() -> str:
    """Give an id that no other call has. OpenAI takes 40 characters at most."""
    return f"call_{uuid.uuid4().hex}"


def fresh_message_id() -> str:
    """Give an id that no other message has."""
    return f"msg_{uuid.uuid4().hex}"
