"""No place shows a character that is not seen, or a word of two scripts, without a word about it: places × attacks."""

import asyncio
import html
import json
import traceback
import unicodedata
from contextlib import suppress
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any

import pandas
import pytest
import regex  # its tables are Unicode's own, and newer than those of `unicodedata`
from ag_ui.core import AssistantMessage

from hitl_nb import Call
from hitl_nb._calls import Handle
from hitl_nb._doctor import Finding, Report
from hitl_nb._schema import validator_for
from hitl_nb._text import HIDDEN, logger, mixed_words, visible, warning_about
from hitl_nb._transcript import CallEntry, MessageEntry, NoteEntry
from hitl_nb.cards import Approval, Choice, Form, Plain, QuickReply, StepReview, Text, TimePicker
from hitl_nb.cards._protocol import headline_of, item_of
from hitl_nb.cards._record import bundle, record_of_call
from hitl_nb.cards._registry import card_of
from hitl_nb.data import Shown, Table, TableAnswer, TableReview, TableType
from hitl_nb.errors import Declined, InvalidValue, Parked
from hitl_nb.inbox import _person
from hitl_nb.inbox._posting import Whom, posting_of
from hitl_nb.journal import Journal
from hitl_nb.mcp import elicitation, gate_mcp
from hitl_nb.session._run import Reply
from tests.unit.hostile.secret_ways import Heard

# ruff: noqa: RUF001 - letters that look like others are what this is about

# -- the rule, against Unicode's own tables --------------------------------------------------------------------------

SEEN_ALL_THE_SAME = regex.compile(
    r"[ \n\t\p{Prepended_Concatenation_Mark}]|[\U0001f000-\U0001faff\U0001fc00-\U0001fffd--\p{Assigned}]", regex.V1
)
HIDES = regex.compile(
    r"[\p{Default_Ignorable_Code_Point}\p{C}\p{Z}\u2800\u2d7f\ufffc\U0001107f\U00013441\U00013442\U00016fe4\U0001d159]",
    regex.V1,
)
ALL = [chr(code) for code in range(0x110000)]


@pytest.mark.timeout(600)  # 1,114,112 of them
def test_every_code_point_that_draws_nothing_is_written_out_and_no_other_is():
    wrong = []
    for sign in ALL:
        hides = bool(HIDES.match(sign)) and not SEEN_ALL_THE_SAME.match(sign)
        written_out = visible(sign) != sign
        if hides and not written_out:
            wrong.append(ascii(sign))
        if written_out and not hides and unicodedata.category(sign) != "Cn":
            wrong.append(ascii(sign))
    assert wrong == []


def test_what_is_written_out_is_its_code():
    assert visible("a\u202eb\U000e0041c\ud800\x1b\r") == "a\\u202eb\\U000e0041c\\ud800\\u001b\\u000d"


@pytest.mark.timeout(600)
def test_a_letter_of_another_script_inside_of_a_word_is_named_whatever_script():
    scripts = "Latin Common Inherited Han Hiragana Katakana Hangul Bopomofo Greek".split()
    together = regex.compile("[" + "".join("\\p{" + script + "}" for script in scripts) + "]")
    letters = [sign for sign in ALL if unicodedata.category(sign) in ("Lu", "Ll", "Lo")]
    others = [sign for sign in letters if not together.match(sign)]
    assert len(others) > 15_000
    assert [ascii(sign) for sign in others if visible(sign) == sign and not mixed_words(f"abc{sign}def")] == []
    own = [sign for sign in letters if regex.match(r"\p{Latin}", sign)]
    assert len(own) > 1_000
    assert [ascii(sign) for sign in own if mixed_words(f"abc{sign}def")] == []


@pytest.mark.parametrize(
    "text",
    [
        *("می\u200cخواهم", "کتاب\u200cها", "क्\u200dष", "ක්\u200dෂ", "\u0600\u0661\u0662", "ᠠ\u180bᠡ"),
        *("👨\u200d👩\u200d👧", "❤\ufe0f", "1\ufe0f\u20e3", "👍🏽", "🏳\ufe0f\u200d🌈", "🇺🇳", "\U0001fae8"),
        "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        *("Tシャツを3枚", "日本語\u3000テキスト", "東京Tower", "카카오Talk", "Привет, мир", "שלום", "ㄅ中A", "Ελλάδα"),
        *("µm", "μm", "Δx", "ρgh", "x₁ ≥ y²", "№5", "naïve", "e\u0301tude", "ʻokina", "ﬁn", "ıstanbul", "пример.com"),
        *("10\u202f000\u00a0€", "Prix\u00a0: 5\u202fkm", "«\u00a0oui\u00a0»", "tab\there\nand a line", "IT-отдел"),
    ],
)
def test_what_people_write_is_as_they_wrote_it_without_a_word(text):
    assert visible(text) == text
    assert warning_about(text) is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ab\u200ccd", "ab\\u200ccd"),
        ("کار\u200cها", "کار\\u200cها"),
        ("❤\ufe0f\ufe0f", "❤\ufe0f\\ufe0f"),
        ("🏴\U000e0068\U000e0069\U000e007f", "🏴\\U000e0068\\U000e0069\\U000e007f"),
        ("葛\U000e0100", "葛\\U000e0100"),
        ("a\u180bb", "a\\u180bb"),
        ("rm -rf /\u00a0tmp", "rm -rf /\\u00a0tmp"),
        ("a\u3000b", "a\\u3000b"),
        ("a\u200d👍", "a\\u200d👍"),
    ],
)
def test_what_is_legitimate_elsewhere_is_written_out_where_it_draws_nothing(text, shown):
    assert visible(text) == shown


def test_a_warning_names_the_words_and_how_many_more():
    words = [f"p\u0430ypal{letter}" for letter in "abcdefg"]
    lines = warning_about(" ".join(words)).split("\n")
    assert lines[0] == "“p\u0430ypala” mixes Latin and Cyrillic letters: p\\u0430ypala."
    assert lines[-1] == "… and 2 more such words."


# -- places × attacks -------------------------------------------------------------------------------------------------

SIGNS = (
    "\u3164\u034f\ufe00\u2800\u200b\u202e\u00ad\u115f\uffa0\u17b4\u180e\u2028\u2066\x00\x1b\x85\ufeff\u2060\u061c"
    "\u00a0\u2003\U0001d173\U00013430\U000e0041\U000e0100\U0001bca0\U00016fe4\U0001d159\U000f0000\ud83d\ufffe"
)
UNSEEN = {f"U+{ord(sign):04X}": sign for sign in SIGNS}
LOOK_ALIKE = {
    "a Cyrillic letter": "p\u0430ypal",
    "a Greek letter": "p\u03b1ypal",
    "an Armenian letter": "g\u0585ogle",
    "all Cyrillic": "\u0430\u0440\u0440\u04cf\u0435.com",
}
ATTACKS = {**{name: f"ab{sign}cd" for name, sign in UNSEEN.items()}, **LOOK_ALIKE}

ANY = validator_for({})


def _call(**about):
    return Call(**{"id": "c", "name": "pay", "args_type": ANY, **about})


def _drawn(call, args):
    Handle.of(call).open_now(args)
    try:
        return _seen(call)
    finally:
        Handle.of(call).close("superseded")


def _seen(call):
    item = item_of(CallEntry(key=call.occurrence, call=call), {})
    if item["card"] == "form":  # names are for the kernel; what is drawn are titles and values
        item = {**item, "props": {**item["props"], "form": _words_of(item["props"]["form"])}}
    return json.dumps(item, ensure_ascii=False), item["warning"] or ""


def _words_of(form):
    if isinstance(form, list):
        return [_words_of(part) for part in form]
    if isinstance(form, dict):
        kept = {"title", "description", "note", "label", "children", "branches", "item", "options"}
        return {name: _words_of(part) for name, part in form.items() if name in kept}
    return form if isinstance(form, str) else None


def card(render=Plain, *, args=None, **about):
    def place(attack):
        own = {name: part(attack) for name, part in about.items()}
        made = render(attack) if getattr(render, "__name__", "") == "<lambda>" else render
        return _drawn(_call(render=made, **own), args(attack) if args else {"to": "ada"})

    return place


def saved(mime, act, **about):
    def place(attack):
        own = {name: part(attack) for name, part in about.items() if name != "args"}
        call = _call(**{"render": Plain, **own})
        Handle.of(call).open_now(about["args"](attack) if "args" in about else {"to": "ada"})
        act(call, attack)
        return _both(bundle([(CallEntry(key="c", call=call), record_of_call(call))])[mime], mime)

    return place


def _both(text, kind="text/plain"):
    plain = html.unescape(text) if kind == "text/html" else text
    return plain, plain


def said(entry, kind=None):
    def place(attack):
        made = entry(attack)
        return (
            _both(bundle([(made, None)])[kind], kind)
            if kind
            else _both(json.dumps(item_of(made, {}), ensure_ascii=False))
        )

    return place


def in_journal(act, **about):
    def place(attack):
        with Journal("memory") as journal:
            call = _call(thread_id="t", **{name: part(attack) for name, part in about.items()})
            Handle.of(call).open_now({"to": "ada"})
            journal.asked(call, arguments="{}")
            act(call, attack)
            journal.answered(call)
            return _both(journal._repr_html_(), "text/html")

    return place


def error(of):
    def place(attack):
        try:
            raise of(attack)
        except Exception as raised:
            found = raised
        texts = [str(found), repr(found), "".join(traceback.format_exception(found))]
        return "\n".join(texts), min(texts, key=lambda text: text.count("⚠"))

    return place


def logged(log):
    def place(attack):
        lines = []
        handler = Heard(lines)
        logger().addHandler(handler)
        try:
            log(attack)
        finally:
            logger().removeHandler(handler)
        return _both("\n".join(lines))

    return place


def _log_raised(attack):
    try:
        raise ValueError(attack)
    except ValueError:
        logger().exception("It failed")


def shown_by_repr(make):
    return lambda attack: _both(repr(make(attack)))


def _headline(attack):
    call = _call(name=attack)
    Handle.of(call).open_now({})
    return _both(headline_of(call)["text"])


def _turn(attack):
    call = _call(render=Plain)
    Handle.of(call).open_now({})

    class Somebody:
        name = attack

    with Handle.of(call).turns.put_to(Somebody()):
        item = item_of(CallEntry(key="c", call=call), {})
    return json.dumps(item, ensure_ascii=False), item["warning"] or ""


def _problem(attack):
    call = _call(render=Plain)
    Handle.of(call).open_now({})
    Handle.of(call).problem(attack)
    item = item_of(CallEntry(key="c", call=call), {})
    return json.dumps(item, ensure_ascii=False), item["warning"] or ""


# -- the rooms beside: tables, the inbox, MCP, the doctor


def _table(attack, what):
    """A call about a table that holds an attack, and what is answered."""
    of = {what: attack}
    labels, columns = (
        pandas.Index(each, dtype=object) for each in ([of.get("label", "k"), "l"], [of.get("column", "x")])
    )
    frame = pandas.DataFrame([[of.get("cell", "a")], ["b"]], index=labels, columns=columns, dtype=object)
    table = Table(frame)
    column, checks = frame.columns[0], TableType(table, drop=True, edit=[0])
    render = partial(TableReview, drop=True, edit=[column])
    call = _call(message="Fine?", kind="interrupt", answer_type=checks, render=render, offer=TableAnswer(table))
    answer = TableAnswer.of(frame, keep=[True, False], changes=[(0, column, of.get("edit", "c"))])
    return call, Shown(table, call), answer


def table_card(what):
    return lambda attack: _drawn(*_table(attack, what)[:2])


def table_record(what, kind):
    def place(attack):
        call, about, answer = _table(attack, what)
        Handle.of(call).open_now(about)
        call.respond(answer)
        return _both(bundle([(CallEntry(key="c", call=call), record_of_call(call))])[kind], kind)

    return place


def in_inbox(show, kind="text/plain", **about):
    def place(attack):
        # A journal has neither of these: they are written out before it is written.
        attack = attack.translate({0: "\u200b", 0xD83D: "\u200b"})
        with Journal("memory") as journal:
            call = _call(thread_id="t", **{name: part(attack) for name, part in about.items() if name != "to"})
            Handle.of(call).open_now({})
            journal.asked(call, arguments="{}")
            posting = posting_of(call, Whom(to=attack if "to" in about else ""))
            journal.postings.begin_post(call, posting).result()
            return _both(show(journal.inbox()), kind)

    return place


def _webhook(attack):
    sent = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_person, "_send", lambda address, body: sent.append(json.loads(body)["text"]))
        _person.notify_of("https://example.org", _call(message=attack), "").join()
    return _both(sent[0])


def asked_by(ask):
    """What whoever is asked sees of a question that another room asks."""

    def place(attack):
        seen = []

        async def person(call):
            seen.append(_seen(call))
            call.decline("no")

        async def main():
            with suppress(Declined):
                await ask(attack, person)

        asyncio.run(main())
        return seen[0]

    return place


def _elicits(server, message, title, person):
    form = {"type": "object", "properties": {"it": {"type": "string", "title": title}}}
    params = SimpleNamespace(message=message, mode="form", requestedSchema=form)
    answers: Any = elicitation(server, people=person)
    return answers(None, params)


def _mcp_tool(attack, person):
    async def call_tool(name, arguments):
        return SimpleNamespace(content=[])

    async def list_tools():
        return SimpleNamespace(tools=[SimpleNamespace(name=attack, inputSchema={"type": "object"})])

    gated = gate_mcp(SimpleNamespace(call_tool=call_tool, list_tools=list_tools), server="orders", people=person)
    return gated.call_tool(attack, {})


def _mcp_refusal(attack):
    form = {"type": "object", "properties": {attack: {"type": "null"}}}
    params = SimpleNamespace(message="?", mode="form", requestedSchema=form)
    nobody: Any = print
    answers: Any = elicitation("orders", people=nobody)
    return _both(asyncio.run(answers(None, params)).message)


def _report(attack):
    return Report([Finding(about="name", level="ok", found=attack, write=f"write `{attack}`")])


def _yes(call, attack):
    call.respond(True)


def _edited(call, attack):
    call.respond({"to": attack})


def _schema(attack, **more):
    return validator_for({"type": "object", "properties": {"to": {"type": "string", **more}}})


PLACES = {
    "card: tool name": card(name=str),
    "card: message": card(message=str),
    "card: label": card(args=lambda attack: {attack: 1}),
    "card: value": card(args=lambda attack: {"to": attack}),
    "card: value inside": card(args=lambda attack: {"to": {"deep": [attack]}}),
    "card: key inside": card(args=lambda attack: {"to": {"deep": {attack: 1}}}),
    "card: problem": _problem,
    "card: whose turn": _turn,
    "approval": card(Approval, args=lambda attack: {"to": attack}),
    "choice: option": card(lambda attack: partial(Choice, options=[attack, "b"])),
    "choice: proposed": card(Choice, args=lambda attack: {"options": [attack, "b"]}),
    "reply: label": card(lambda attack: partial(QuickReply, choices={attack: 1})),
    "step": card(StepReview, args=lambda attack: {"steps": [{"description": attack, "status": "enabled"}]}),
    "text: placeholder": card(lambda attack: partial(Text, placeholder=attack)),
    "text: initial": card(lambda attack: partial(Text, initial=attack)),
    "time: slot": card(lambda attack: partial(TimePicker, slots=[attack])),
    "form: value": card(Form, args=lambda attack: {"to": attack}, args_type=_schema),
    "form: title": card(Form, args_type=lambda attack: _schema(attack, title=attack)),
    "form: description": card(Form, args_type=lambda attack: _schema(attack, description=attack)),
    "form: option": card(Form, args_type=lambda attack: _schema(attack, enum=["ada", attack])),
    "form: name": card(Form, args=lambda attack: {attack: 1}),
    "headline of a widget": _headline,
    "chat": said(lambda attack: MessageEntry(key="m", role="assistant", text=attack)),
    "note": said(lambda attack: NoteEntry(key="n", level="error", text=attack)),
    **{
        f"record ({kind[5:]}): {what}": make(kind)
        for kind, (what, make) in product(
            ("text/html", "text/plain"),
            {
                "chat": partial(said, lambda attack: MessageEntry(key="m", role="user", text=attack)),
                "note": partial(said, lambda attack: NoteEntry(key="n", level="info", text=attack)),
                "name": partial(saved, act=_yes, name=str),
                "message": partial(saved, act=_yes, message=str, kind=lambda _: "interrupt"),
                "label": partial(saved, act=_yes, args=lambda attack: {attack: 1}),
                "value": partial(saved, act=_yes, args=lambda attack: {"to": attack}),
                "answer": partial(saved, act=lambda call, attack: call.respond(attack)),
                "edit": partial(saved, act=_edited),
                "reason": partial(saved, act=lambda call, attack: call.decline(attack)),
                "who": partial(saved, act=lambda call, attack: call.decline("no", by=attack)),
                "refused": partial(saved, act=lambda call, attack: Handle.of(call).reject(attack)),
            }.items(),
        )
    },
    "journal: name": in_journal(_yes, name=str),
    "journal: message": in_journal(_yes, message=str),
    "journal: answer": in_journal(lambda call, attack: call.respond(attack)),
    "journal: reason": in_journal(lambda call, attack: call.decline(attack)),
    "journal: who": in_journal(lambda call, attack: call.decline("no", by=attack)),
    "error": error(InvalidValue),
    "error of a checkpoint": error(Declined),
    "log": logged(lambda attack: logger().warning("about `%s`", attack)),
    "log: traceback": logged(_log_raised),
    "table: column": table_card("column"),
    **{
        f"record ({kind[5:]}): table, {what}": table_record(what, kind)
        for kind, what in product(("text/html", "text/plain"), ("column", "label", "cell", "edit"))
    },
    "inbox: question": in_inbox(repr, message=str),
    "inbox: name": in_inbox(repr, name=str),
    "inbox: for whom": in_inbox(repr, to=str),
    "inbox (html): question": in_inbox(lambda inbox: inbox._repr_html_(), "text/html", message=str),
    "inbox (html): for whom": in_inbox(lambda inbox: inbox._repr_html_(), "text/html", to=str),
    "inbox: webhook": _webhook,
    "inbox: parked": error(Parked),
    "mcp: server": asked_by(lambda attack, person: _elicits(attack, "Which?", "It", person)),
    "mcp: message": asked_by(lambda attack, person: _elicits("orders", attack, "It", person)),
    "mcp: title": asked_by(lambda attack, person: _elicits("orders", "Which?", attack, person)),
    "mcp: tool": asked_by(_mcp_tool),
    "mcp: refusal": _mcp_refusal,
    "doctor": lambda attack: _both(str(_report(attack))),
    "doctor (html)": lambda attack: _both(_report(attack)._repr_html_(), "text/html"),
    "repr: call": shown_by_repr(lambda attack: _call(name=attack)),
    "repr: reply": shown_by_repr(lambda attack: Reply(messages=[AssistantMessage(id="m", content=attack)], calls=[])),
}


def _is_unseen(text, attack):
    return [sign for sign in set(UNSEEN.values()) & set(attack) if sign in text]


@pytest.mark.parametrize("place", PLACES)
def test_nothing_hides_in_any_place(place):
    missing = []
    for name, attack in ATTACKS.items():
        text, warning = PLACES[place](attack)
        if _is_unseen(text, attack):
            missing.append(f"{place} × {name}: not written out")
        if (HIDDEN if name in UNSEEN else "letters: " if name != "all Cyrillic" else "looks Latin") not in warning:
            missing.append(f"{place} × {name}: no warning")
    assert missing == []


@pytest.mark.parametrize("place", PLACES)
def test_nothing_is_said_where_nothing_hides(place):
    _, warning = PLACES[place]("plain words, 👍 and naïve Tシャツ")
    assert HIDDEN not in warning
    assert "letters: " not in warning


@pytest.mark.parametrize("name", UNSEEN)
def test_a_cell_on_the_screen_says_itself_that_it_is_written_out(name):
    attack = ATTACKS[name]
    call, about, _ = _table(attack, "cell")
    Handle.of(call).open_now(about)
    page = asyncio.run(card_of(call).reply({"op": "page", "from": 0, "count": 2}, open_to=True))
    Handle.of(call).close("superseded")
    [kind, text] = page["rows"][0]["cells"][0]
    assert (kind, json.loads(text)) == ("escaped", attack)
    assert attack not in json.dumps(page, ensure_ascii=False)
