"""``hitl-nb``: what a scheduler asks from a shell."""

import argparse
import sys
import time
from contextlib import closing
from typing import Final

from hitl_nb._doctor import doctor
from hitl_nb.errors import HitlError, UsageError
from hitl_nb.journal import Journal, open_journal, setup_sql

ANSWERED: Final = 0
WRONG: Final = 1
OPEN: Final = 75
"""EX_TEMPFAIL of sysexits.h, "try again later"."""

_POLL: Final = 2.0
"""Seconds between two looks, whether or not anything was heard."""


def main(arguments: list[str] | None = None) -> int:
    """Return the exit code of a command; see ``hitl-nb --help``."""
    parser = argparse.ArgumentParser(prog="hitl-nb", description="Human-in-the-loop for notebooks.")
    rooms = parser.add_subparsers(required=True, metavar="doctor|inbox|journal")
    commands = rooms.add_parser("inbox", help="the questions of jobs").add_subparsers(required=True, metavar="command")
    _journal_option(listing := commands.add_parser("list", help="print the open questions"))
    listing.add_argument("--to", help="only those for this team")
    listing.set_defaults(run=_list)
    _journal_option(wait := commands.add_parser("wait", help="wait until the questions of a job are answered"))
    wait.add_argument("--job", required=True, help="what HITL_NB_JOB was when it asked")
    wait.add_argument("--timeout", type=float, default=0.0, help="seconds to wait (default: look once)")
    wait.set_defaults(run=_wait)
    _journal_option(setup := commands.add_parser("setup", help="have PostgreSQL know who may answer, in whose name"))
    setup.add_argument("--print", action="store_true", dest="printed", help="print the SQL, and do nothing")
    setup.set_defaults(run=_set_up)
    _journal_option(serve := commands.add_parser("serve", help="a page for those without a notebook"))
    serve.add_argument("--bind", default="127.0.0.1:8765", help="host:port, or unix:/path (default: %(default)s)")
    serve.add_argument("--header", help="where the proxy that logs people in says who it is, as X-Forwarded-User")
    serve.set_defaults(run=_serve)
    _journal_commands(rooms.add_parser("journal", help="what was asked and answered"))
    look = rooms.add_parser("doctor", help="why does no card appear, or no click arrive?")
    look.add_argument("--json", action="store_true", help="for a bug report that a program reads")
    look.set_defaults(run=_look)
    options = parser.parse_args(arguments)
    try:
        code: int = options.run(options)
    except HitlError as error:
        sys.stderr.write(f"{error}\n")
        return WRONG
    return code


def _journal_commands(room: argparse.ArgumentParser) -> None:
    commands = room.add_subparsers(required=True, metavar="command")
    _journal_option(verify := commands.add_parser("verify", help="was anything changed, cut out or put in?"))
    verify.set_defaults(run=_verify)
    _journal_option(erase := commands.add_parser("erase", help="erase what a question was about; the chain stays"))
    erase.add_argument("id", nargs="?", help="the id of the question (the latest with it)")
    erase.add_argument("--thread", help="all questions of a conversation; with an id: where to look for it")
    erase.add_argument("--by", help="who erases (default: whoever runs this)")
    erase.add_argument("--reason", help="why; stays in the journal")
    erase.set_defaults(run=_erase)


def _journal_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--journal", help="a path or an address; default: HITL_NB_JOURNAL, else beside the notebook")


def _journal(options: argparse.Namespace) -> Journal:
    """Return the journal that a command is about.

    Raises:
        UsageError: There is none.
    """
    journal = open_journal(options.journal) if options.journal else open_journal()
    if journal is None:
        raise UsageError("There is no journal: HITL_NB_JOURNAL=off. Write `--journal postgresql://host/database`.")
    return journal


def _look(options: argparse.Namespace) -> int:
    report = doctor()
    sys.stdout.write(f"{report.to_json() if options.json else report}\n")
    return ANSWERED if report.ok else WRONG


def _list(options: argparse.Namespace) -> int:
    from hitl_nb.inbox import InboxView

    sys.stdout.write(f"{InboxView(_journal(options), to=options.to)}\n")
    return ANSWERED


def _wait(options: argparse.Namespace) -> int:
    """0: every question of the job that no run has taken yet has an answer (or there is none); 75: one is open."""
    journal = _journal(options)
    give_up = time.monotonic() + options.timeout
    with closing(journal.postings.bell()) as bell:
        while True:
            asked, answered = journal.postings.of_job(options.job)
            left = give_up - time.monotonic()
            if asked == answered or left <= 0:
                sys.stdout.write(f"{answered} of {asked} questions are answered\n")
                return ANSWERED if asked == answered else OPEN
            try:
                bell.wait(min(_POLL, left))
            except Exception:  # the database is away; the look says so, once it has waited long enough
                time.sleep(min(_POLL, left))


def _verify(options: argparse.Namespace) -> int:
    found = _journal(options).verify()
    sys.stdout.write("\n".join([str(found), *found.erased]) + "\n")
    return ANSWERED if found.ok else WRONG


def _erase(options: argparse.Namespace) -> int:
    """1 also if something of it stands in the chain, and stays."""
    done = _journal(options).erase(options.id, thread=options.thread, by=options.by, reason=options.reason)
    sys.stdout.write(f"{done}\n")
    return WRONG if done.kept else ANSWERED


def _set_up(options: argparse.Namespace) -> int:
    """Make roles and rules in the database."""
    if options.printed:
        sys.stdout.write(setup_sql())
        return ANSWERED
    journal = _journal(options)
    journal.set_up_people()
    sys.stdout.write(
        f"{journal.where} knows people now. Whoever asks: GRANT hitl_nb_job TO …; whoever answers: GRANT "
        "hitl_nb_people TO …; the page behind a proxy: GRANT hitl_nb_gateway TO …\n"
    )
    return ANSWERED


def _serve(options: argparse.Namespace) -> int:
    """Serve the page until this is stopped."""
    from hitl_nb.inbox import serve

    serve(_journal(options), bind=options.bind, header=options.header)
    return ANSWERED


if __name__ == "__main__":
    raise SystemExit(main())
