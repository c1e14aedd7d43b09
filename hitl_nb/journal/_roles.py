"""Who may answer, and in whose name: what PostgreSQL itself refuses, whatever a client says.

Three roles, to be granted to logins: ``hitl_nb_job`` asks, ``hitl_nb_people`` answer in their own name, and
``hitl_nb_gateway`` answers in the names of others, for whom it vouches: the page behind a proxy. Each row says as whom
its writer was known (``login``); nobody can write another one there.

Each login reads what is its own: what it has written or asked (or what a role that it belongs to has), and the
questions that are put to it, to a team of its own, or to everybody; a gateway those of everybody. Of all other rows it
sees the link (`chain`): so it can append, and can follow the chain through what it may not read. What it may not read
it cannot answer either.
"""

from typing import Final

REFUSED: Final = "HN001"
"""The code of an error that says who may not do what."""

# Last of all what is temporary: else a client's own table `events` would be asked who asks.
_IN_THIS_SCHEMA: Final = """
    DO $$ BEGIN EXECUTE format('ALTER FUNCTION {function}() SET search_path = %I, pg_temp', current_schema()); END $$
"""

KEEPS_WAITING: Final = (
    """
    CREATE OR REPLACE FUNCTION hitl_nb_waits() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    DECLARE about json;
    BEGIN
        IF NEW.event IN ('answered', 'refused') THEN
            DELETE FROM waiting WHERE question = NEW.question;
        ELSIF NEW.event = 'posted' THEN
            about := NEW.value::json;
            INSERT INTO waiting (question, posted, recipient, risk, expires, widens, wider) VALUES (
                NEW.question, NEW.id, about ->> 'to',
                CASE coalesce(about ->> 'risk', about #>> '{card,options,risk}')
                    WHEN 'high' THEN 2 WHEN 'low' THEN 0 ELSE 1 END,
                about ->> 'expires', about ->> 'widens', about ->> 'wider'
            ) ON CONFLICT (question) DO UPDATE SET posted = excluded.posted, recipient = excluded.recipient,
                risk = excluded.risk, expires = excluded.expires, widens = excluded.widens, wider = excluded.wider;
        ELSIF NEW.event = 'erased' THEN
            DELETE FROM blobs WHERE digest IN (
                SELECT payload FROM events WHERE question = NEW.question AND payload IS NOT NULL
            );
        END IF;
        RETURN NULL;
    END $$
    """,
    _IN_THIS_SCHEMA.replace("{function}", "hitl_nb_waits"),
    "CREATE OR REPLACE TRIGGER waits AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION hitl_nb_waits()",
    "ALTER TABLE events ENABLE ALWAYS TRIGGER waits",
)
"""What is open is kept by the database: no client can hide a question from others. So is what is erased."""

KEEPS_PAYLOADS: Final = (
    """
    CREATE OR REPLACE FUNCTION hitl_nb_no_loss() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
        IF NOT EXISTS (
            SELECT 1 FROM events AS held JOIN events AS gone ON gone.question = held.question AND gone.event = 'erased'
            WHERE held.payload = OLD.digest
        ) THEN
            RAISE EXCEPTION 'a payload goes with an erasure only';
        END IF;
        RETURN OLD;
    END $$
    """,
    _IN_THIS_SCHEMA.replace("{function}", "hitl_nb_no_loss"),
    "CREATE OR REPLACE TRIGGER no_loss BEFORE DELETE ON blobs FOR EACH ROW EXECUTE FUNCTION hitl_nb_no_loss()",
    "ALTER TABLE blobs ENABLE ALWAYS TRIGGER no_loss",
    *(
        f"CREATE OR REPLACE TRIGGER {name} BEFORE {act} ON blobs FOR EACH STATEMENT "
        "EXECUTE FUNCTION hitl_nb_append_only()"
        for name, act in {"no_change": "UPDATE", "no_exchange": "TRUNCATE"}.items()
    ),
    *(f"ALTER TABLE blobs ENABLE ALWAYS TRIGGER {name}" for name in ("no_change", "no_exchange")),
)
"""What keeps payloads: they go when their question is erased, and only then."""

ROLES: Final = ("hitl_nb_job", "hitl_nb_people", "hitl_nb_gateway")

_MADE: Final = """
DO $$ BEGIN CREATE ROLE {role} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
"""

_RULES: Final = """
DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO {roles}', current_schema()); END $$;
GRANT SELECT, INSERT ON events TO {roles};
GRANT SELECT ON schema_version, waiting, chain TO {roles};
GRANT SELECT, INSERT ON blobs TO {roles};
GRANT UPDATE (claimed, claimed_until, assigned) ON waiting TO hitl_nb_people, hitl_nb_gateway;

ALTER TABLE waiting ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS theirs ON waiting;
CREATE POLICY theirs ON waiting TO {roles} USING (
    pg_has_role(session_user, 'hitl_nb_gateway', 'usage') OR recipient = ''
    OR session_user::text IN (recipient, assigned)
    OR EXISTS (SELECT 1 FROM pg_roles WHERE pg_has_role(session_user, oid, 'usage') AND (
        rolname = recipient OR (rolname = wider AND widens::timestamptz <= now())))
);

CREATE OR REPLACE FUNCTION hitl_nb_has_role(name text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = name AND pg_has_role(session_user, oid, 'usage'))
$$;

CREATE OR REPLACE FUNCTION hitl_nb_sees(about bigint) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT EXISTS (
        SELECT 1 FROM events WHERE id = about
            AND (login = session_user OR login IS NOT NULL AND hitl_nb_has_role(login))
    ) OR EXISTS (
        SELECT 1 FROM events WHERE question = about AND event = 'posted' AND (
            pg_has_role(session_user, 'hitl_nb_gateway', 'usage')
            OR (pg_has_role(session_user, 'hitl_nb_people', 'usage') AND (
                value::json ->> 'to' IN ('', session_user::text) OR hitl_nb_has_role(value::json ->> 'to')
                OR ((value::json ->> 'widens')::timestamptz <= now() AND (
                    value::json ->> 'wider' = session_user::text OR hitl_nb_has_role(value::json ->> 'wider')))
            ))
        )
    ) OR EXISTS (SELECT 1 FROM waiting WHERE question = about AND assigned = session_user::text)
$$;
{seen_in_this_schema};

ALTER TABLE events ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS theirs ON events;
CREATE POLICY theirs ON events FOR SELECT TO {roles} USING (login = session_user::text OR hitl_nb_sees(question));
DROP POLICY IF EXISTS checked ON events;
CREATE POLICY checked ON events FOR INSERT TO {roles} WITH CHECK (true);

ALTER TABLE blobs ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS theirs ON blobs;
CREATE POLICY theirs ON blobs FOR SELECT TO {roles} USING (
    EXISTS (SELECT 1 FROM events WHERE events.payload = blobs.digest)
);
DROP POLICY IF EXISTS checked ON blobs;
CREATE POLICY checked ON blobs FOR INSERT TO {roles} WITH CHECK (
    EXISTS (SELECT 1 FROM events WHERE events.payload = blobs.digest AND events.login = session_user::text)
);

CREATE OR REPLACE FUNCTION hitl_nb_checked() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    me text := session_user;
    is_job boolean := pg_has_role(session_user, 'hitl_nb_job', 'usage');
    is_person boolean := pg_has_role(session_user, 'hitl_nb_people', 'usage');
    is_gateway boolean := pg_has_role(session_user, 'hitl_nb_gateway', 'usage');
    last record;
    is_owner boolean := (
        SELECT pg_has_role(session_user, relowner, 'usage') FROM pg_class WHERE oid = 'events'::regclass
    );
    asked record;
    posted record;
    approves boolean := NEW.event = 'answered' AND NEW.outcome IN ('answered', 'edited');
BEGIN
    IF NEW.login IS DISTINCT FROM me THEN
        RAISE EXCEPTION '`%` cannot write as `%`', me, NEW.login USING ERRCODE = '{code}';
    END IF;
    SELECT id, sha256 INTO last FROM events ORDER BY id DESC LIMIT 1;
    IF FOUND AND (NEW.id <> last.id + 1 OR NEW.prev_sha256 <> last.sha256) THEN
        RAISE EXCEPTION 'row % does not follow the last one', NEW.id USING ERRCODE = '{code}';
    END IF;
    IF NEW.event = 'erased' THEN
        IF NOT is_owner AND NOT EXISTS (SELECT 1 FROM events WHERE id = NEW.question AND login = me) THEN
            RAISE EXCEPTION '`%` may not erase question %: who asks it may, and who owns the tables', me, NEW.question
                USING ERRCODE = '{code}';
        END IF;
        IF NEW."by" IS DISTINCT FROM me THEN
            RAISE EXCEPTION '`%` cannot erase as `%`', me, NEW."by" USING ERRCODE = '{code}';
        END IF;
        RETURN NEW;
    END IF;
    IF is_owner AND NEW.event = 'answered' AND NEW.outcome = 'cancelled' THEN
        RETURN NEW;  -- what is erased is withdrawn first
    END IF;
    IF NEW.event = 'asked' OR NEW.question IS NULL OR NEW.question = NEW.id THEN
        IF NOT is_job AND NEW.event = 'asked' THEN
            RAISE EXCEPTION '`%` may not ask: GRANT hitl_nb_job TO "%"', me, me USING ERRCODE = '{code}';
        END IF;
        RETURN NEW;
    END IF;
    SELECT login INTO asked FROM events WHERE id = NEW.question AND event = 'asked';
    SELECT count(*) > 0 AS there, coalesce(bool_or(value::json ->> 'four_eyes' = 'true'), false) AS four_eyes,
        coalesce(bool_or(value::json ->> 'asker' = NEW."by"), false) AS by_asker
        INTO posted FROM events WHERE question = NEW.question AND event = 'posted';
    IF NEW.event NOT IN ('answered', 'late', 'shown') THEN
        IF asked.login IS DISTINCT FROM me THEN
            RAISE EXCEPTION 'question % is not of `%`, who has no say in what becomes of it', NEW.question, me
                USING ERRCODE = '{code}';
        END IF;
        RETURN NEW;
    END IF;
    IF asked.login IS DISTINCT FROM me AND NOT posted.there THEN
        RAISE EXCEPTION 'question % is put to nobody else', NEW.question USING ERRCODE = '{code}';
    END IF;
    IF asked.login IS DISTINCT FROM me AND NOT hitl_nb_sees(NEW.question) THEN
        RAISE EXCEPTION 'question % is not put to `%`', NEW.question, me USING ERRCODE = '{code}';
    END IF;
    IF NOT posted.there OR NEW.event = 'shown' THEN
        RETURN NEW;
    END IF;
    IF (approves OR asked.login IS DISTINCT FROM me) AND NOT (is_person OR is_gateway) THEN
        RAISE EXCEPTION '`%` may not answer: GRANT hitl_nb_people TO "%"', me, me USING ERRCODE = '{code}';
    END IF;
    IF NOT is_gateway AND NEW."by" IS DISTINCT FROM me AND (approves OR NEW."by" IS NOT NULL) THEN
        RAISE EXCEPTION '`%` cannot answer as `%`: a login answers in its own name', me, NEW."by"
            USING ERRCODE = '{code}';
    END IF;
    IF approves AND posted.four_eyes AND (asked.login = me OR asked.login = NEW."by" OR posted.by_asker) THEN
        RAISE EXCEPTION 'four eyes: who asks does not approve, and this was asked by `%`', asked.login
            USING ERRCODE = '{code}';
    END IF;
    RETURN NEW;
END $$;
{checked_in_this_schema};
CREATE OR REPLACE TRIGGER checked BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION hitl_nb_checked();
ALTER TABLE events ENABLE ALWAYS TRIGGER checked;
"""


def setup_sql() -> str:
    """Return the SQL that makes roles and rules in the current schema; it can be run again."""
    return f"BEGIN;\n{''.join(_MADE.replace('{role}', role) for role in ROLES)}{rules_sql()}COMMIT;\n"


def rules_sql() -> str:
    """Return the SQL of the rules alone, for a database that has the roles."""
    # Not `format`: SQL has braces of its own.
    rules = _RULES.replace("{roles}", ", ".join(ROLES)).replace("{code}", REFUSED)
    rules = rules.replace("{checked_in_this_schema}", _IN_THIS_SCHEMA.replace("{function}", "hitl_nb_checked").strip())
    seen = _IN_THIS_SCHEMA.replace("{function}()", "hitl_nb_sees(bigint)").strip()
    return rules.replace("{seen_in_this_schema}", seen)
