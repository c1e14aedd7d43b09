"""The house's figures say what they are said to say, shown on houses of a few lines."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.house import LIMITS, Figure, exceeded, figures_of
from tests.house_click import figures_of as figures_of_way
from tests.house_click import trace

REPO = Path(__file__).resolve().parents[2]
SOURCES = [path for path in sorted((REPO / "hitl_nb").rglob("*.py")) if path.name != "__main__.py"]
Build = Callable[[dict[str, str]], dict[str, Figure]]


@pytest.fixture
def house(tmp_path: Path) -> Build:
    """Gives the figures of a package of these files."""

    def build(files: dict[str, str]) -> dict[str, Figure]:
        for name, text in {"__init__": "def door(): ...", **files}.items():
            path = tmp_path / "hitl_nb" / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return figures_of(tmp_path)

    return build


def test_a_module_with_one_user_is_counted_unless_a_table_of_contents_is_that_user(house):
    figures = house(
        {
            "cards/__init__": "from hitl_nb.cards._shown import shown",
            "cards/_shown": "def shown(): ...",
            "cards/_one": "def one(): ...",
            "cards/_two": "from hitl_nb.cards._one import one\ndef two(): ...",
            "cards/_three": "from hitl_nb.cards import _two",
            "cards/_four": "def four():\n    from hitl_nb.cards._two import two",
        }
    )
    assert figures["modules"].value == 7
    assert figures["with a single user"].behind == ["hitl_nb.cards._one ← hitl_nb.cards._two"]
    assert figures["with a single user, %"].value == 14.3


def test_any_is_found_in_every_annotation_however_deep_quoted_or_behind_an_alias(house):
    code = """
from typing import Any, Literal
Json = dict[str, Any]
Many = list[Json]
class Card:
    value: Any
    kind: Literal["Any words"]
    def answer(self, value: int, *rest: "list[Any]", **options: Many) -> Json | None: ...
    def plain(self) -> str: ...
"""
    figures = house({"cards": code})
    assert figures["annotations that hold Any, %"].value == 28.6  # 2 of 7
    assert figures["… also through an alias, %"].value == 57.1


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("is a protocol", ("class Settling:", "class Settling(Protocol):")),
        ("is abstract", ("    def settle", "    @abstractmethod\n    def settle")),
        ("is shown", ("class Settling:", '__all__ = ["Settling"]\nclass Settling:')),
        ("is made by itself", ("class Settling:", "def alone(): return Settling()\nclass Settling:")),
        ("has another subclass", ("class Settling:", "class Other(Settling): ...\nclass Settling:")),
        ("is from another room", ("hitl_nb._calls", "hitl_nb.people")),
    ],
)
def test_a_base_is_one_half_of_its_only_subclass_unless_it(house, what, change):
    halves = {
        "_calls/_settling": "class Settling:\n    def settle(self): ...",
        "_calls/_call": "from hitl_nb._calls._settling import Settling\nclass Call(Settling): ...",
    }
    assert house(halves)["classes in halves"].behind == ["Settling/Call in _calls"], what
    changed = {name: text.replace(*change) for name, text in halves.items()}
    if change[1] == "hitl_nb.people":
        changed |= {"people/_settling": changed.pop("_calls/_settling"), "_calls/_settling": ""}
    assert house(changed)["classes in halves"].behind == [], what


def test_private_members_of_another_room_count_and_those_of_libraries_stand_apart(house):
    figures = house(
        {
            "_calls/_call": "class Call:\n    def _open(self): self._state = 1\n    def meet(self, one): one._open()",
            "_calls/__init__": "from hitl_nb._calls._call import Call\ndef _help(): ...",
            "session": """
from hitl_nb._calls import Call, _help
from hitl_nb._calls._call import Call as Deep
from library._inside import thing
import library
class Session:
    def _open(self): ...
    def run(self, call: Call, row, other):
        call._open()
        row._replace(a=1)
        row._repr_html_()
        other._state = 2
        getattr(other, "_state")
        self._open()
        other._open()
        library._member()
""",
        }
    )
    assert figures["private members across rooms"].behind == [
        "hitl_nb.session → call._open",
        "hitl_nb.session → hitl_nb._calls._call.Call",
        "hitl_nb.session → hitl_nb._calls._help",
        "hitl_nb.session → other._state",
    ]
    assert figures["private members of libraries"].behind == [
        "hitl_nb.session → library._inside.thing",
        "hitl_nb.session → library._member",
    ]


def test_one_name_for_two_things_is_listed_where_the_things_stand_in_two_rooms(house):
    figures = house(
        {
            "cards/_rows": "def words(): ...\ndef twice(): ...\nclass Reply: ...",
            "cards/_text": "def twice(): ...",
            "session/_rows": "def words(): ...\nclass Reply:\n    def twice(self): ...",
        }
    )
    assert figures["names in several rooms"].behind == ["Reply 2", "words 2"]
    assert figures["modules of one name"].behind == ["_rows 2"]


def test_docstrings_lengths_long_files_and_comments(house):
    figures = house(
        {"a": '# why\ndef said():\n    """Say."""\n\n\ndef silent():  # aside\n    x = 1\n    return x\n\n'}
    )
    assert figures["public names with a docstring, %"].value == 33.3  # `door` has none either
    assert figures["lines a function, median"].value == 2
    assert figures["comment lines, %"].value == 10
    assert house({"b": "x = 1\n" * 421})["files over 420 lines"].behind == ["hitl_nb/b.py 421"]


def test_what_was_gained_is_kept():
    gained = {
        "modules": 181,
        "with a single user, %": 8,
        "annotations that hold Any, %": 11,
        "classes in halves": 0,
        "private members across rooms": 0,
        "names in several rooms": 92,
        "files over 420 lines": 25,
    }
    figures = {name: figure.value for name, figure in figures_of(REPO).items()}
    assert {name: figures[name] for name, most in gained.items() if figures[name] > most} == {}


def test_what_is_over_its_limit_is_named_and_what_has_none_is_not():
    assert exceeded({"modules": LIMITS["modules"], "classes in halves": 1, "comment lines, %": 99}) == [
        "classes in halves"
    ]


def test_the_command_reads_any_checkout_and_fails_only_when_asked_to_check(tmp_path):
    (tmp_path / "hitl_nb").mkdir()
    (tmp_path / "hitl_nb" / "__init__.py").write_text("from typing import Any\ndef f(x: Any): 1 / 0\nf(1)")
    command = [sys.executable, "-m", "tests.house", str(tmp_path), "--json"]
    shown = subprocess.run(command, capture_output=True, text=True, cwd=REPO, check=True)
    assert json.loads(shown.stdout)["exceeded"] == ["annotations that hold Any, %"]
    assert subprocess.run([*command, "--check"], capture_output=True, cwd=REPO).returncode == 1


def test_a_way_is_counted_in_functions_files_and_returns_to_a_file_that_was_left():
    way = [("a.py", "f"), ("a.py", "g"), ("b.py", "h"), ("a.py", "f"), ("b.py", "i"), ("c.py", "j")]
    assert list(figures_of_way("a click", way).values()) == [5, 3, 2]
    assert trace(way).split() == ["a.py", "f,", "g", "b.py", "h,", "i", "c.py", "j"]


WATCHED = """
import sys, threading
from pathlib import Path
from jupyter_client.session import Session
from tests.house_click import Way

way = Way(Path(sys.argv[1]))
way.watch()
import here
early = threading.Event()
thread = threading.Thread(target=lambda: (early.wait(), here.in_a_thread()))
thread.start()
here.before()
way.begins_with_the_next_answer()
wire = Session(key=b"")

def hears(op):
    message = wire.msg("comm_msg", {"data": {"method": "custom", "content": {"op": op}}})
    return wire.deserialize(wire.feed_identities(wire.serialize(message))[1])

hears("hello")
here.before()
here.receives(lambda: hears("respond"))
import here_later
early.set()
thread.join()
way.ends_before(here.after)()
here.after()
print([name for _, name in way.steps])
"""


def test_the_way_holds_each_function_of_the_package_in_every_thread_from_the_answer_to_the_request(tmp_path):
    here = "def before(): ...\ndef receives(hear): hear(); then()\ndef then(): [x for x in ()]\n"
    (tmp_path / "here.py").write_text(f"{here}def in_a_thread(): ...\ndef after(): ...\n")
    (tmp_path / "here_later.py").write_text("class NoStep: ...\n")
    command = [sys.executable, "-c", WATCHED, str(tmp_path)]
    path = f"{tmp_path}:{REPO}"
    done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": path}, check=False)
    assert done.stdout.strip() == "['receives', 'then', 'in_a_thread']", done.stderr


def test_contributing_lists_every_public_name_as_it_is():
    from tests.public_names import CONTRIBUTING, listed

    assert listed() in CONTRIBUTING.read_text(encoding="utf-8"), "write `python -m tests.public_names --write`"


def test_every_error_that_says_answer_it_names_the_line_that_shows_the_question_again():
    says = re.compile(r"\b[Aa]nswer (it|theirs|the card)\b")
    shows = re.compile(r"display\(|pending\(\)|resume\(\)|Three ways|Answer in a cell")
    found = [words for path in SOURCES for words in _texts(path) if says.search(words)]
    assert len(found) >= 3
    assert [words for words in found if not shows.search(words)] == []


def _texts(path: Path) -> Iterator[str]:
    """What is said: the texts that raise or are returned, in one piece each."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Raise | ast.Return | ast.Assign):
            parts = [part for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            yield "".join(str(part.value) for part in parts)
