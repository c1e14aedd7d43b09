"""Review cards for data: a table of any length, a queue to label, a change to code, SQL before it runs; and answers.

In code they are ``await review(df, drop=True, edit=["income"])``, ``await review_table(df)``, ``await
review_code(after, before=before)`` and ``await label(texts, ["good", "bad"])``. ``render=DiffReview`` draws what a tool
or a gate proposes, ``render=SqlReview`` a statement before it runs.
"""

from hitl_nb._doors import all_at_home
from hitl_nb.data._answer import Change, TableAnswer
from hitl_nb.data._answer import TableType as TableType
from hitl_nb.data._batch import Batch as Batch
from hitl_nb.data._batch import Show as Show
from hitl_nb.data._labels import Labels
from hitl_nb.data._labels import LabelsType as LabelsType
from hitl_nb.data._pass import Agreement, Disputed
from hitl_nb.data._stored import MOST_CELLS as MOST_CELLS
from hitl_nb.data._stored import StoredFrame as StoredFrame
from hitl_nb.data._stored import stored_table as stored_table
from hitl_nb.data._table import Table as Table
from hitl_nb.data._table import is_frame as is_frame
from hitl_nb.data.diff_review import DiffReview
from hitl_nb.data.label_queue import LabelQueue
from hitl_nb.data.label_queue import Queued as Queued
from hitl_nb.data.sql_review import Database as Database
from hitl_nb.data.sql_review import SqlReview
from hitl_nb.data.table_review import Shown as Shown
from hitl_nb.data.table_review import StoredReview as StoredReview
from hitl_nb.data.table_review import TableReview
from hitl_nb.data.table_review import as_at_home as as_at_home
from hitl_nb.data.table_review import frame_review_of as frame_review_of

# For users. `x as x` above is what the other rooms of the house take; it is promised to nobody else.
__all__ = [
    "Agreement",
    "Change",
    "DiffReview",
    "Disputed",
    "LabelQueue",
    "Labels",
    "SqlReview",
    "TableAnswer",
    "TableReview",
]

all_at_home(globals())
