"""Who asks: an agent is anything that turns a `RunAgentInput` into a stream of AG-UI events.

The protocol is ag-ui-protocol's own (https://docs.ag-ui.com): each run gets the whole history and ends at a tool
call; the session answers it and runs the agent again. `FlowAgent` wraps a CrewAI Flow, `HttpAgent` any AG-UI server,
`ChatAgent` a model without a framework; an object of your own with the one method `run` works as it is, and may make
whole calls out of what its provider streams with `CallAssembler`.
"""

from hitl_nb._doors import all_at_home
from hitl_nb.agents._call_assembler import CallAssembler, Fragment
from hitl_nb.agents._litellm import provider_of as provider_of
from hitl_nb.agents._litellm import taken_by as taken_by
from hitl_nb.agents._protocol import Agent
from hitl_nb.agents._protocol import AnyAgent as AnyAgent
from hitl_nb.agents._protocol import agent_of as agent_of
from hitl_nb.agents._reply import FINISHED as FINISHED
from hitl_nb.agents._reply import Heard as Heard
from hitl_nb.agents._reply import Listening as Listening
from hitl_nb.agents._reply import Reply as Reply
from hitl_nb.agents._reply import thoughts_of as thoughts_of
from hitl_nb.agents.chat import ChatAgent
from hitl_nb.agents.flow import RESERVED as RESERVED
from hitl_nb.agents.flow import FlowAgent
from hitl_nb.agents.http import HttpAgent

# For users. `x as x` above is what the other rooms of the house take; it is promised to nobody else.
__all__ = ["Agent", "CallAssembler", "ChatAgent", "FlowAgent", "Fragment", "HttpAgent"]

all_at_home(globals())
