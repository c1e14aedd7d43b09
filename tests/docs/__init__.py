"""The site: made of the README, the notebooks and the docstrings, read as a person reads it."""

import logging

# One state of the gallery is a card whose own function fails; whoever builds the site need not read its traceback.
logging.getLogger("hitl_nb").addHandler(logging.NullHandler())
