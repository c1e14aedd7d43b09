"""What a decision leaves behind, in words: one neutral structure for the browser, and for the saved notebook.

There it is a static record, readable without a kernel, on nbviewer and in a diff. Whoever writes a text must not be
able to write a record: each line that is not ours begins with a sign that says so.
"""

import copy
import html
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hitl_nb._calls import FAILED, Call, Decision, Handle, Outcome
from hitl_nb._process import in_a_browser, is_shared
from hitl_nb._schema import MISSING, secrets_of
from hitl_nb._secrets import WHOLE_WORDS_BELOW, KnownSecrets, is_secret_name, masked
from hitl_nb._text import (
    SIGN,
    logger,
    said,
    said_line,
    visible,
    visible_line,
    visible_name,
    visible_tree,
    warning_about,
)
from hitl_nb._transcript import CallEntry, Entry, MessageEntry, NoteEntry, StateEntry, ToolEntry, Transcript
from hitl_nb.cards._card import Card, Row, argument_rows, instead_row
from hitl_nb.cards._markdown import CLIP, attached_tree, markdown
from hitl_nb.cards._nodes import Node, tree_html, tree_text
from hitl_nb.cards._registry import card_of, fall_back
from hitl_nb.cards._shown import Drawn, drawing_of, outcome_rows, seconds_of, state_of

_HEADLINES = {
    "declined": "Declined",
    "cancelled": "Cancelled",
    "expired": "Expired",
    "invalid": "Not asked: the model's call was invalid",
    "aborted": "Stopped before an answer",
    "superseded": "Superseded",
    "parked": "Parked: still open in the inbox",
}


@dataclass(frozen=True, kw_only=True)
class Record:
    """One decided call, in words."""

    outcome: str
    """The call's outcome."""

    headline: str
    """What was decided."""

    rows: tuple[Row, ...]
    """What was asked and answered."""

    footer: str
    """Which tool, by whom, by which path, when; one line."""

    question: str = ""
    """What the code has asked, in its own words; a tool's question is its name and arguments."""

    title: str = ""
    """What stands above: the title, or a tool's name in words; for a question without a title, nothing more."""

    named: bool = False
    """Whether somebody has given the title."""

    again: str = ""
    """How it is asked again, where it has expired."""

    def wire(self) -> dict[str, Any]:
        """Give it as plain JSON for the browser."""
        # The card's own head has the question.
        heads = ("question", "title", "named")
        plain = {name: part for name, part in asdict(self).items() if name not in heads}
        return plain | {"rows": [_wired(row) for row in self.rows]}


def _wired(row: Row) -> dict[str, Any]:
    shown: dict[str, Any] = {"tree": list(row.tree), "text": ""} if row.tree else {"text": row.text}
    return {"mark": row.mark, "label": row.label, **shown}


def record_of_call(call: Call) -> Record | None:
    """Return the record of a call, by its own card or, if that fails, by the plain view; None if it is not decided."""
    if call.outcome is None:
        return None
    try:
        return record_of(call, card_of(call))
    except Exception:
        return record_of(call, fall_back(call))


def record_of(call: Call, card: Card) -> Record:
    """Return the record of a decided call as its card has it."""
    headline = _with_reason(card.headline(), call.reason) if call.approved else _ended(call.outcome, call.reason)
    rows = list(card.rows()) if call.outcome != "invalid" else []
    if call.approved and (about := compared_by_identity(call)):
        rows.append(Row(text=about))
    if call.outcome != "invalid" and card.risk:
        rows.insert(0, Row(text=f"{card.risk.capitalize()} risk"))
    if call.outcome == "expired" and (instead := Handle.of(call).if_expired) is not MISSING:
        rows.append(instead_row(call, instead))
    return _readable(call, headline, rows, _footer(call))


def headline_if(call: Call, card: Card, decision: Decision) -> str:
    """Return the first line of the record that a decision would leave, should it count."""
    if not decision.approves:
        return _ended(decision.outcome, decision.reason)
    return _with_reason(_headline_of(call, card, decision), decision.reason)


def _ended(outcome: Outcome, reason: str | None) -> str:
    if outcome == "aborted" and reason is not None and reason.startswith(FAILED):
        return f"Failed before an answer: {reason.removeprefix(FAILED)}"
    return _with_reason(_HEADLINES[outcome], reason)


def _with_reason(headline: str, reason: str | None) -> str:
    return f"{headline}: {reason}" if reason else headline


def _headline_of(call: Call, card: Card, decision: Decision) -> str:
    decided, drawn = copy.copy(call), copy.copy(card)
    decided.unobserve_all()
    decided.take({"answer": decision.answer, "edits": decision.edits, "outcome": decision.outcome})
    drawn.call = decided
    try:
        return drawn.headline()
    except Exception:
        _log.exception("The headline of `%s` (%s) failed", call.name, call.id)
        return "Answered"


def _readable(call: Call, headline: str, rows: list[Row], footer: str) -> Record:
    """Give a record without a secret of its call, or one that passed by, and with a warning if it hid something."""
    clean = _cleaning(call)
    headline, footer = clean(headline), clean(footer)
    rows = [_without(row, clean) for row in rows]
    warning = warning_about(
        headline, call.name, call.title, call.message, footer, *(text for row in rows for text in (row.label, row.text))
    )
    lines = [Row(text=f"{SIGN} {line}") for line in (warning or "").split("\n") if line]
    return Record(
        outcome=str(call.outcome),
        headline=visible(headline),
        rows=tuple(map(_seen, [*rows, *lines])),
        footer=visible_line(footer),
        question=visible(clean(call.message)) if call.kind != "tool" else "",
        title=visible_line(clean(title_of(call.name, call.title))) if call.kind == "tool" or call.title else "",
        named=bool(call.title),
        again=visible_line(clean(Handle.of(call).again)) if call.outcome == "expired" else "",
    )


def _cleaning(call: Call) -> Callable[[str], str]:
    """Give what takes out of words the secrets of a call, however short they are, and those that passed by."""
    asked, answered = secrets_of(call.args, call.args_type), secrets_of(call.answer, call.answer_type or call.args_type)
    own = [*asked.declared, *asked.named, *answered.declared, *answered.named]
    if not own:
        return masked
    secrets = KnownSecrets(whole_words_below=WHOLE_WORDS_BELOW)
    secrets.add(own)
    return lambda text: masked(secrets.scrub_text(text) or "")


def title_of(name: str, title: str = "") -> str:
    """Give what stands above a card: the title that somebody has given, else the name in words."""
    words = title or name.replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:]


def _without(row: Row, clean: Callable[[str], str]) -> Row:
    # "password" may be somebody's password; the word beside the stars is none.
    label = row.label if is_secret_name(row.label.rpartition(" ")[2]) else clean(row.label)
    return replace(row, label=label, text=clean(row.text), tree=tuple(_cleaned(node, clean) for node in row.tree))


def _cleaned(node: Node, clean: Callable[[str], str]) -> Node:
    if isinstance(node, str):
        return clean(node)
    if node[0] in ("dt", "th", "img"):  # names, as labels; and what is no text
        return node
    attributes = {name: clean(part) if isinstance(part, str) else part for name, part in node[1].items()}
    return [node[0], attributes, *(_cleaned(child, clean) for child in node[2:])]


def _seen(row: Row) -> Row:
    tree = tuple(visible_tree(list(row.tree))[0])
    return replace(row, label=visible(row.label), text=visible(row.text), tree=tree)


def compared_by_identity(call: Call) -> str:
    """Give what a person must know who approves something that has no content to compare; empty if it all has."""
    live = Handle.of(call).live
    return visible_line(f"Compared by identity, not by content: {', '.join(live)}") if live else ""


def _footer(call: Call) -> str:
    parts = [visible_name(call.name)]
    if call.answered_by:
        at_a_shared_one = call.via == "card" and is_shared()
        who = f"at the notebook of {call.answered_by}" if at_a_shared_one else f"by {call.answered_by}"
        parts.append(f"{who}{_known(call)}")
    if call.via == "card" and call.answered_at is not None:
        # Only a person's own click carries a time: scripted tutorials have to print the same every day.
        parts.append(call.answered_at.strftime("%Y-%m-%d %H:%M UTC"))
    return " · ".join(parts)


def _known(call: Call) -> str:
    """How well it is known that it was they: by their own login, or by the word of somebody else's."""
    handle = Handle.of(call)
    knows = getattr(handle.recorder, "knows_people", False)
    if not knows or handle.decision is None or call.via not in ("card", "callback"):
        return ""
    login = handle.decision.login or getattr(handle.recorder, "login", None)
    return " (own login)" if login == call.answered_by else f" (vouched for by {login})"


# -- the saved notebook --------------------------------------------------------------------------------------

_MARKS = {"on": "☑", "off": "☐", "": "•"}
_SIGNS = {"answered": "✓", "edited": "✎", "invalid": "⚠"}
_NO_SIGN = "✗"
_AGAIN = "↻ To ask again:"

_log = logger()


def display_record(transcript: Transcript) -> None:
    """Put the record of a run into the current cell; needs IPython, as every kernel has."""
    from IPython.display import display

    pairs = [(entry, _record_of_entry(entry)) for entry in transcript]
    if pairs:
        display(bundle(pairs), raw=True, metadata=metadata_of(getattr(transcript, "head", None)))


def _record_of_entry(entry: Entry) -> "Record | Drawn | None":
    if isinstance(entry, ToolEntry | StateEntry):
        drawn = drawing_of(entry)
        if drawn is not None:
            drawn.draw(entry.state if isinstance(entry, StateEntry) else entry.call)
        return drawn
    return record_of_call(entry.call) if isinstance(entry, CallEntry) else None


def metadata_of(head: Callable[[], str | None] | None) -> dict[str, Any]:
    """Return what stands beside a record: where the journal's chain was, so that one cut short afterwards is seen."""
    try:
        last = head() if head is not None else None
    except Exception:
        # The record of what was decided is not to be lost because the journal cannot be read.
        _log.exception("The head of the journal could not be read")
        return {}
    return {"hitl_nb": {"journal_head": last}} if last is not None else {}


def bundle(entries: Iterable[tuple[Entry, "Record | Drawn | None"]]) -> dict[str, str]:
    """Return a transcript as a MIME bundle: text/html and text/plain with the same content."""
    pairs = list(entries)
    body = "".join(_html(entry, record) for entry, record in pairs)
    return {
        "text/html": f'<div class="hitl-record" style="max-width:54em">{body}</div>',
        "text/plain": "\n".join(line for entry, record in pairs for line in _lines(entry, record)),
    }


# -- text/plain ----------------------------------------------------------------------------------------------


def _lines(entry: Entry, record: "Record | Drawn | None") -> Iterator[str]:
    if isinstance(entry, MessageEntry):
        names = [f"{CLIP} {visible_line(name)}" for name, _ in entry.attached]
        yield _quoted(f"{_speaker(entry)}: ", "\n".join([said(entry.text), *names]))
    elif isinstance(entry, NoteEntry):
        yield _quoted(f"[{entry.level}] ", said(entry.text))
    elif isinstance(entry, ToolEntry):
        yield from _lines_of_tool(entry, record if isinstance(record, Drawn) else None)
    elif isinstance(entry, StateEntry) or isinstance(record, Drawn):
        if isinstance(record, Drawn) and record.nodes:
            yield _quoted("◆ ", said(tree_text(record.nodes)), "  ")
    elif record is None:
        yield _quoted(f"? {visible_name(entry.call.name)}: ", _open_question(entry.call), "  ")
    else:
        yield _quoted(f"{_SIGNS.get(record.outcome, _NO_SIGN)} ", record.headline, "  ")
        if record.named:
            yield _quoted("    • ", record.title, "      ")
        if record.question:
            yield _quoted("    • ", record.question, "      ")
        for row in record.rows:
            gap = "\n" if row.tree and "\n" in row.text else " "
            label = f"{row.label}:{gap}" if row.label else ""
            yield _quoted(f"    {_MARKS[row.mark]} ", f"{label}{row.text}", "      ")
        if record.again:
            yield f"    {_AGAIN} {record.again}"
        yield f"    {record.footer}"


def _lines_of_tool(entry: ToolEntry, drawn: Drawn | None) -> Iterator[str]:
    if drawn is not None and drawn.nodes is not None:
        yield _quoted("⚙ ", said(tree_text(drawn.nodes)), "  ")
    elif drawn is None or not drawn.hidden:
        yield _quoted("⚙ ", tool_headline(entry.call), "  ")
        for row in _tool_rows(entry.call):
            label = f"{row.label}: " if row.label else ""
            yield _quoted("    • ", f"{label}{row.text}", "      ")


def tool_headline(call: Call) -> str:
    """Say in a line how far a call is that nobody is asked about."""
    state, seconds = state_of(call), seconds_of(call)
    took = f" in {seconds:,.0f} s" if seconds is not None and seconds >= 1 and call.status == "complete" else ""
    why = f": {call.reason}" if call.reason else ""
    return said_line(f"{title_of(call.name)} ({call.name}), {state}{took}{why}")


def _tool_rows(call: Call) -> list[Row]:
    rows = [*(argument_rows(call) if call.args is not None else []), *outcome_rows(call)]
    return [_seen(_without(row, masked)) for row in rows]


def _open_question(call: Call) -> str:
    """Say what a reader of the file has to know who sees no card: what is asked, and where the decision will be."""
    journal = Handle.of(call).recorder
    where = f"journal {Path(path).name}, " if (path := getattr(journal, "path", None)) else ""
    asked = f"{visible(call.message)}\n" if call.message else ""
    # A kernel that is in the page goes with it, and the question with the kernel.
    again = "write `hitl_nb.pending()` in a cell" if in_a_browser() else "reload the page"
    return (
        f"{asked}Asked, and not answered when this was saved. The decision: {where}call {visible_name(call.id)}. "
        f"No buttons? Trust this notebook, or {again}."
    )


def _quoted(start: str, text: str, margin: str = "") -> str:
    """Give a text of somebody else behind `start`, with a bar before every further line."""
    first, *more = text.split("\n")
    return "\n".join([f"{start}{first}", *(f"{margin}│ {line}".rstrip() for line in more)])


def _speaker(entry: MessageEntry) -> str:
    return {"user": "You", "reasoning": "Thought"}.get(entry.role, "Assistant")


# -- text/html -----------------------------------------------------------------------------------------------

_GREY = "color:var(--jp-content-font-color2,#757575)"
_QUIET = f"{_GREY};font-size:0.9em"
_CARD = (
    "border:1px solid var(--jp-border-color2,#bdbdbd);border-left:4px solid {edge};border-radius:4px;"
    "padding:0.5em 0.8em;margin:0.5em 0"
)
_SAID = (
    "white-space:pre-wrap;margin:0.5em 0;padding:0 0 0 0.8em;border:0 solid var(--jp-border-color2,#bdbdbd);"
    "border-left-width:2px"
)
"""A quotation: also where a host takes the style away, as GitHub does, it is none of ours."""
_ASKED = "margin:0 0 0.3em 0;padding:0;border:0"
_ROW = "white-space:pre-wrap;padding-left:1.4em;text-indent:-1.4em"
"""Further lines stand further in, so that none looks like the next row."""
_YES, _NO = "var(--jp-success-color1,#2e7d32)", "var(--jp-warn-color1,#ef6c00)"


def _html(entry: Entry, record: "Record | Drawn | None") -> str:
    if isinstance(entry, MessageEntry):
        who = f'<span style="{_QUIET}">{_speaker(entry)}</span>'
        if entry.role == "reasoning":
            return f'<details style="{_SAID}"><summary>{who}</summary>{_html_said(entry.text)}</details>'
        if entry.role == "user":
            attached = tree_html(attached_tree(entry.attached))
            return f'<blockquote style="{_SAID}">{who}<br>{_escaped(entry.text)}{attached}</blockquote>'
        return f'<blockquote style="{_SAID};white-space:normal">{who}{_html_said(entry.text)}</blockquote>'
    if isinstance(entry, NoteEntry):
        return f'<blockquote style="{_SAID}"><em>{_escaped(entry.text)}</em></blockquote>'
    if isinstance(entry, ToolEntry):
        return _html_tool(entry, record if isinstance(record, Drawn) else None)
    if isinstance(entry, StateEntry) or isinstance(record, Drawn):
        nodes = record.nodes if isinstance(record, Drawn) else None
        return f'<blockquote style="{_SAID};white-space:normal">{tree_html(nodes)}</blockquote>' if nodes else ""
    if record is None:
        name = html.escape(visible_name(entry.call.name))
        asked = html.escape(_open_question(entry.call))
        return f'<div style="{_CARD.format(edge=_NO)};white-space:pre-wrap"><strong>{name}</strong>: {asked}</div>'
    yes = record.outcome in ("answered", "edited")
    sign = _SIGNS.get(record.outcome, _NO_SIGN)
    rows = "".join(_html_row(row) for row in record.rows)
    items = f'<ul style="list-style:none;margin:0.4em 0;padding-left:0">{rows}</ul>' if rows else ""
    return (
        f'<div style="{_CARD.format(edge=_YES if yes else _NO)}">{_html_asked(record)}'
        f"<strong>{sign} {html.escape(record.headline)}</strong>"
        f"{items or '<br>'}{_html_again(record)}"
        f'<span style="{_QUIET}">{html.escape(record.footer)}</span></div>'
    )


def _html_again(record: Record) -> str:
    return f'<span style="{_QUIET}">{_AGAIN} {html.escape(record.again)}</span><br>' if record.again else ""


def _html_tool(entry: ToolEntry, drawn: Drawn | None) -> str:
    if drawn is not None and drawn.nodes is not None:
        return f'<blockquote style="{_SAID};white-space:normal">{tree_html(drawn.nodes)}</blockquote>'
    if drawn is not None and drawn.hidden:
        return ""
    rows = "".join(_html_row(row) for row in _tool_rows(entry.call))
    items = f'<ul style="list-style:none;margin:0.2em 0;padding-left:0">{rows}</ul>' if rows else ""
    head = html.escape(tool_headline(entry.call))
    return f'<div style="{_SAID};white-space:normal"><span style="{_GREY}">⚙ {head}</span>{items}</div>'


def _html_said(text: str) -> str:
    """The marks of a model's text, and what a reader has to be told about its characters."""
    told = "".join(
        f"<p>{html.escape(f'{SIGN} {line}')}</p>" for line in (warning_about(text) or "").split("\n") if line
    )
    return tree_html(markdown(masked(text))) + told


def _html_asked(record: Record) -> str:
    """What stood above the card: the question, in its own marks, as a quotation of whoever wrote it."""
    title = f'<span style="{_GREY}">{html.escape(record.title)}</span><br>' if record.title else ""
    asked = (
        f'<blockquote style="{_ASKED}">{tree_html(markdown(record.question))}</blockquote>' if record.question else ""
    )
    return title + asked


def _html_row(row: Row) -> str:
    label = f'<span style="{_GREY}">{html.escape(row.label)}:</span> ' if row.label else ""
    text = html.escape(row.text)
    if row.tree:
        text = f'<div style="white-space:normal;text-indent:0">{tree_html(row.tree)}</div>'
    return f'<li style="{_ROW}">{_MARKS[row.mark]} {label}{text}</li>'


def _escaped(text: str) -> str:
    return html.escape(said(text))
