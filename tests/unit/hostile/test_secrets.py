"""A secret is planted in each way in, and is in no way out; whoever decides sees what they approve, tools get it."""

import json
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import BaseModel, Field

from hitl_nb import Journal, Session, human_in_the_loop, use
from hitl_nb._calls import fingerprint, print_of
from hitl_nb._process import not_believed
from hitl_nb._secrets import KnownSecrets, is_secret_name, shown_address
from hitl_nb.agents import HttpAgent
from hitl_nb.data import Database
from hitl_nb.errors import HitlError, UsageError
from hitl_nb.inbox import Inbox, serve
from hitl_nb.testing import calls, says
from tests.unit.hostile import mutants
from tests.unit.hostile.mutants import MUTANTS, planted
from tests.unit.hostile.secret_ways import LONG, ONLY_QUOTED, SCENES, SHORT, World

pytestmark = pytest.mark.timeout(300)

CELLS = [(scene, LONG) for scene in SCENES] + [(scene, SHORT) for scene in SCENES if scene not in ONLY_QUOTED]


async def lived(scene: str, secret: str, folder: Path) -> tuple[World, list[str]]:
    with World(folder, secret) as world, use(journal=world.journal):
        await SCENES[scene](world)
        return world, world.leaks()


@pytest.mark.parametrize(("scene", "secret"), CELLS)
async def test_no_way_out_tells_it(scene, secret, tmp_path):
    _, leaks = await lived(scene, secret, tmp_path)
    assert leaks == [], f"{scene} → {leaks}"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
async def test_each_mask_is_missed(mutant, tmp_path):
    scene, secret = MUTANTS[mutant]
    with planted(mutant):
        _, leaks = await lived(scene, secret, tmp_path)
    assert leaks != []


async def test_the_search_looks_at_every_way_out(tmp_path):
    world, _ = await lived("an answer", LONG, tmp_path)
    looked_at = {name for name, texts in world.out.items() if any("ada" in text or "who" in text for text in texts)}
    assert looked_at >= {
        *("repr", "record text/html", "record text/plain", "card, decided", "widget state", "journal html"),
        *("export jsonl", "export csv", "frame", "events", "journal file", "recording"),
    }


@pytest.mark.parametrize(("scene", "ways"), [("words", {"error", "traceback", "repr"}), ("a rule that fails", {"log"})])
async def test_and_at_errors_and_logs(scene, ways, tmp_path):
    world, _ = await lived(scene, LONG, tmp_path)
    assert ways <= {name for name, texts in world.out.items() if "".join(texts)}


def test_the_masks_are_listed_and_each_is_one():
    listed = re.findall(r"^(\w+) {2,}\S", mutants.__doc__ or "", re.MULTILINE)
    assert listed == [mutant.__name__ for mutant in MUTANTS]


@pytest.mark.parametrize("scene", ["api_key", "token", "api_key, plain card", "token, approval", "headers and rows"])
async def test_whoever_decides_sees_what_has_only_the_name_of_a_secret(scene, tmp_path):
    world, _ = await lived(scene, LONG, tmp_path)
    assert LONG in world.live[0]


@pytest.mark.parametrize("scene", ["SecretStr", "format: password", "writeOnly", "SecretStr, plain card"])
async def test_what_is_declared_is_on_no_card(scene, tmp_path):
    world, _ = await lived(scene, LONG, tmp_path)
    assert LONG not in "".join(world.live)


async def test_a_tool_gets_the_true_value_and_the_model_what_it_was_always_told(tmp_path):
    world, _ = await lived("a tool's error", LONG, tmp_path)
    assert world.ran == [LONG]
    assert world.requests[1].messages[-1]["content"] == f"Error: {LONG} is expired"


async def test_an_undeclared_answer_reaches_the_model(tmp_path):
    world, _ = await lived("an undeclared answer", LONG, tmp_path)
    assert json.loads(world.requests[1].messages[-1]["content"]) == {"user": "ada", "api_key": LONG}


async def test_a_tool_may_say_that_a_name_means_nothing(tmp_path):
    open_token = Annotated[str, Field(json_schema_extra={"writeOnly": False})]

    @human_in_the_loop
    def tag(token: open_token, api_key: str) -> str:
        """Tag a word."""
        raise NotImplementedError

    with World(tmp_path, LONG) as world:
        args = {"token": "an-open-word", "api_key": LONG}
        await world.talk([calls("tag", **args), says("ok")], [tag], lambda call: call.respond("noun"))
        assert world.leaks() == []
        told = {name: "".join(texts) for name, texts in world.out.items()}
    for way in ("record text/html", "journal file", "recording", "frame"):
        assert "an-open-word" in told[way], way


SECRET_NAMES = """
    api_key apiKey API-KEY x-api-key OPENAI_API_KEY token accessToken access_token refresh_token password db_password
    Passwd passphrase secret client_secret authorization Authorization private_key credentials cookie Set-Cookie pin otp
""".split()
PLAIN_NAMES = """
    max_tokens tokens token_count tokenizer next_page_token user key keys primary_key keyboard name secretary
    password_hint author authorized passenger pinned pin_code_length cookies_accepted shipping description
""".split()


def test_a_name_says_so_only_as_a_whole():
    assert [name for name in SECRET_NAMES if not is_secret_name(name)] == []
    assert [name for name in PLAIN_NAMES if is_secret_name(name)] == []
    assert is_secret_name("password", in_rows=True)
    assert not is_secret_name("token", in_rows=True)


def test_flags_and_nothing_are_no_secrets_and_rows_of_words_are_recalled():
    assert print_of({"password": True, "token": None, "api_key": ""}).durable
    assert print_of({"rows": [{"token": "the", "tag": "DET"}]}).durable
    assert not print_of({"token": "the"}).durable
    assert not print_of([{"db_password": "x"}]).durable


def test_in_a_process_two_secrets_differ_and_in_a_file_nobody_can_tell():
    one, other = {"api_key": "one"}, {"api_key": "other"}
    assert print_of(one).digest != print_of(other).digest
    assert print_of(one).digest == print_of({"api_key": "one"}).digest
    assert fingerprint(one) == fingerprint(other)
    assert fingerprint(one) != fingerprint({"api_key": True})


class Declared(BaseModel):
    key: Annotated[str, Field(json_schema_extra={"writeOnly": True}, alias="theKey")]
    token: Annotated[str, Field(json_schema_extra={"writeOnly": False})] = ""


def declared(key: str, token: str = "") -> Declared:
    return Declared.model_validate({"theKey": key, "token": token})


def test_a_model_says_itself_which_of_its_fields_are_secrets():
    assert fingerprint(declared("one")) == fingerprint(declared("other"))
    assert not print_of(declared("one")).durable
    assert print_of(declared("one")).digest != print_of(declared("other")).digest
    assert fingerprint(declared("one", "a")) != fingerprint(declared("one", "b"))


def test_a_short_secret_is_found_as_a_word_where_people_read():
    secrets = KnownSecrets(whole_words_below=8)
    secrets.add(["token", "hunter2-hunter2"])
    assert secrets.scrub_text("a token, a tokenizer, xhunter2-hunter2x") == ("a **********, a tokenizer, x**********x")


def test_only_the_latest_are_kept():
    secrets = KnownSecrets(at_most=2)
    secrets.add(["first-one", "second-one", "third-one"])
    assert secrets.scrub_text("first-one second-one third-one") == "first-one ********** **********"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://host:8000/agent", "http://host:8000/agent"),
        ("https://ada:pw@host/a?key=1#f", "https://host/a?…"),
        ("https://t0ken@host", "https://host"),
        ("ada:pw@host", "ada:**********"),
        ("http://[::1", "**********"),
    ],
)
def test_an_address_is_shown_without_what_is_nobodys_business(url, shown):
    assert shown_address(url) == shown


HOOK = "s3cr3t-hook"
ADDRESSES = [
    f"https:{HOOK}",
    f"HTTP:{HOOK}",
    f"https://[x/{HOOK}",
    f"https:///{HOOK}",
    f"ftp://ada:{HOOK}@host/x",
    f"postgres://ada:{HOOK}@[::1/db",
    f"postgresql://ada:{HOOK}@localhost:port/db",
    f"POSTGRESQL://ada:{HOOK}@localhost:1/db?connect_timeout=1",
    f"mysql://ada:{HOOK}@host/db",
]
DOORS: dict[str, Callable[[str], object]] = {
    "a webhook": lambda address: Inbox(notify=address),
    "a session": Session,
    "an agent": HttpAgent,
    "a journal": Journal,
    "the journal of an inbox": Inbox,
    "the default journal": lambda address: use(journal=address),
    "where a page listens": lambda address: serve(Journal("memory"), bind=address),
    "a preview of SQL": lambda address: Database.at(address),
}


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("door", DOORS)
def test_no_secret_of_an_address_is_quoted_whichever_door_refuses_it(door, address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        said = repr(DOORS[door](address))
    except HitlError as error:
        said = "".join(traceback.format_exception(error))
    assert HOOK not in said
    assert [each.name for each in tmp_path.rglob("*") if HOOK in str(each)] == []


def test_the_path_of_a_webhook_is_its_secret():
    hook = "https://hooks.example/services/T0/B1/s3cr3t"
    assert shown_address(hook, path=False) == "https://hooks.example/…"
    assert "s3cr3t" not in repr(Inbox(notify=hook))
    with pytest.raises(UsageError, match=r"`notify='ftp://hooks.example/…'` is not the address of a webhook"):
        Inbox(notify=hook.replace("https", "ftp"))


@pytest.mark.parametrize("name", ["HITL_NB_JOURNAL", "HITL_NB_PEOPLE"])
def test_an_address_in_a_variable_that_is_not_believed_is_not_quoted_either(name, monkeypatch):
    monkeypatch.setenv(name, f"postgresql://ada:{HOOK}@host/db?password={HOOK}")
    said = not_believed(name, "hitl_nb.use(...)")
    assert HOOK not in said
    assert "postgresql://ada@host/db" in said
