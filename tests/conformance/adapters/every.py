"""All of them; importing this imports every framework."""

from tests.conformance.adapters import crewai, langgraph, pydantic_ai, strands

BENCHES = [
    langgraph.LangGraphDefault,
    langgraph.LangGraphOutcome,
    langgraph.MiddlewareDefault,
    langgraph.MiddlewareOutcome,
    langgraph.PerCallDefault,
    pydantic_ai.PydanticAI,
    crewai.Seed,
    crewai.Feedback,
    crewai.FeedbackOutcome,
    strands.Strands,
]
