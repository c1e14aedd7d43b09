"""The one error of the journal itself."""

from hitl_nb.errors import HitlError


class JournalError(HitlError):
    """The journal cannot be opened, read or written: a folder without permission, a damaged or newer file.

    What was to be recorded is not: nothing of it may be shown, executed or delivered.
    """
