"""The client half of AG-UI, without any input or output: check, expand and reduce a stream of events.

For an agent behind any transport that gives events as dicts:

```python
from hitl_nb.agui import ChunkExpander, Conversation, Verifier, parse_event

expander, verifier, conversation = ChunkExpander(), Verifier(), Conversation()
for data in stream:
    if (event := parse_event(data)) is not None:
        for whole in expander.feed(event):
            verifier.feed(whole)
            conversation.apply(whole)
conversation.messages, conversation.state, conversation.pending_interrupts
```

Or, with all events at hand: `apply(verify(expand_chunks(events)))`. `PartialArgs` shows the arguments of a
tool call while they are being written. The behaviour is that of the released web client, @ag-ui/client 1.0.
"""

from hitl_nb._doors import all_at_home
from hitl_nb.agui._events import ChunkExpander, expand_chunks, parse_event
from hitl_nb.agui._fragments import PartialArgs
from hitl_nb.agui._fragments import WholeTexts as WholeTexts
from hitl_nb.agui._messages import PLACEHOLDER as PLACEHOLDER
from hitl_nb.agui._messages import Grown as Grown
from hitl_nb.agui._messages import Proven as Proven
from hitl_nb.agui._messages import check as check
from hitl_nb.agui._messages import open_calls as open_calls
from hitl_nb.agui._messages import paired as paired
from hitl_nb.agui._messages import tool_calls as tool_calls
from hitl_nb.agui._messages import without_torn_calls as without_torn_calls
from hitl_nb.agui._reduce import Conversation, apply
from hitl_nb.agui._verify import Verifier, verify

# For users. `x as x` above is what the other rooms of the house take; it is promised to nobody else.
__all__ = [
    "ChunkExpander",
    "Conversation",
    "PartialArgs",
    "Verifier",
    "apply",
    "expand_chunks",
    "parse_event",
    "verify",
]

all_at_home(globals())
