"""MCP: what a server asks the user is answered by a form in the cell, and a person stands before its tools.

::

    async with ElicitingSession(read, write, elicitation_callback=elicitation("weather")) as session:
        gate_mcp(session, when=lambda tool, args: tool != "forecast")
"""

from hitl_nb._doors import all_at_home
from hitl_nb.mcp._crewai import elicitation_for_crewai
from hitl_nb.mcp._elicitation import elicitation
from hitl_nb.mcp._gate import gate_mcp
from hitl_nb.mcp._session import ElicitingSession

__all__ = ["ElicitingSession", "elicitation", "elicitation_for_crewai", "gate_mcp"]

all_at_home(globals())
