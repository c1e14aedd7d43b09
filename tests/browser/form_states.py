"""States of the form, each drawn from a type of this page and a value of it."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, SecretStr

from tests.browser.forms import form
from tests.browser.items import arg


class Stage(BaseModel):
    description: str
    status: Literal["enabled", "disabled", "executing"]
    days: int | None = None


class Address(BaseModel):
    street: Annotated[str, Field(description="With the number.")]
    city: str
    zip: str | None = None


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    breed: str


class Booking(BaseModel):
    """Every kind of control once."""

    title: Annotated[str, Field(description="What it is about.", max_length=80)]
    letter: Annotated[str, Field(json_schema_extra={"format": "textarea"})]
    seats: Annotated[int, Field(ge=1, le=10)]
    price: Decimal
    urgent: bool
    refundable: bool | None = None
    tone: Literal["formal", "friendly", "terse"]
    planet: Literal["Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn"]
    day: date
    window: datetime
    stay: timedelta
    note: str | None = None
    api_key: SecretStr
    tags: list[str]
    address: Address
    stages: list[Stage]
    limits: dict[str, int]
    pet: Cat | Dog
    either: int | str
    pair: tuple[int, str]
    anything: Any


LETTER = "Dear Ada,\n\nthe window opens at 04:12 UTC, not at 04:21. Seat 2B has no view.\n\nYours,\nGrace"
STAGES = [
    Stage(description="Choose a launch window between two dust storms", status="enabled", days=3),
    Stage(description="Book two seats", status="executing"),
    Stage(description="Wipe the old flight computer", status="disabled", days=1),
]
BOOKING = Booking(
    title="Trip to Mars",
    letter=LETTER,
    seats=2,
    price=Decimal("1299.00"),
    urgent=True,
    tone="friendly",
    planet="Mars",
    day=date(2026, 11, 29),
    window=datetime(2026, 11, 29, 4, 12, tzinfo=UTC),
    stay=timedelta(days=30),
    api_key=SecretStr("secret"),
    tags=["cheap", "window seat"],
    address=Address(street="Main Street 1", city="Bern"),
    stages=STAGES,
    limits={"kilos": 20, "bags": 2},
    pet=Dog(breed="Pug"),
    either="seven",
    pair=(1, "first"),
    anything={"meals": ["vegan", None], "seat": {"row": 12}},
)


class Mail(BaseModel):
    recipient: str
    subject: str
    retries: Annotated[int, Field(ge=0, le=5, description="How often to try again.")] = 3
    headers: dict[str, Any] = {}


class Plan(BaseModel):
    stages: list[Stage]


class Person(BaseModel):
    name: str
    phones: list[str] = []
    address: Address | None = None


class Contacts(BaseModel):
    people: list[Person]


class Feedback(BaseModel):
    stars: Annotated[int, Field(ge=1, le=5)]
    recommend: bool
    mood: Literal["good", "so so", "bad"]
    visited: date | None = None
    comment: Annotated[str, Field(max_length=500)] = ""
    tags: list[str]


MAIL = Mail(recipient="ada@example.org", subject="Flight plan", headers={"X-Trace": [1, 2]})
_MAIL = {"name": "send_email", "title": "Send email", "message": "Sends one email from the shared account."}
_BOOK = {"name": "book_trip", "title": "Book trip", "message": "Books the trip. The ticket cannot be returned."}
_PLAN = {"name": "plan_trip", "title": "Plan trip", "message": ""}
_PEOPLE = Contacts(
    people=[
        Person(name="Ada", phones=["+41 1", "+41 2"], address=Address(street="Main Street 1", city="Bern")),
        Person(name="Grace"),
    ]
)
_MANY = Plan(stages=[Stage(description=f"Stage {number}", status="enabled") for number in range(1, 41)])
_ASK = {"name": "ask_feedback", "title": "Ask feedback", "message": "How was the trip?", "mode": "answer"}
_WRONG = [
    {"path": ["recipient"], "message": "An email address, please, such as ada@example.org."},
    {"path": ["headers", "X-Trace"], "message": "A text, please."},
]

FORM_STATES: dict[str, dict[str, Any]] = {
    "form-writing": {
        "items": [form(Mail, {"recipient": "ada@example.org", "subject": "Flight pl"}, status="inProgress", **_MAIL)]
    },
    "form-open": {"items": [form(Mail, MAIL, instead=True, **_MAIL)]},
    "form-every-kind": {"items": [form(Booking, BOOKING, **_BOOK)]},
    "form-edited": {"items": [form(Mail, MAIL, instead=True, **_MAIL)], "acts": ["edit"]},
    "form-fault": {"items": [form(Mail, MAIL, **_MAIL)], "acts": ["fault", "confirm"]},
    "form-refused": {"items": [form(Mail, MAIL, errors=_WRONG, error="2 fields are wrong.", **_MAIL)]},
    "form-sending": {"items": [form(Mail, MAIL, **_MAIL)], "acts": ["busy", "confirm"]},
    "form-instead": {"items": [form(Mail, MAIL, instead=True, **_MAIL)], "acts": ["instead"]},
    "form-declining": {"items": [form(Mail, MAIL, instead=True, **_MAIL)], "acts": ["decline"]},
    "form-answer": {
        "items": [form(Feedback, {"comment": "", "tags": []}, rows=[arg("trip", "Mars, 30 days")], **_ASK)]
    },
    "form-one-value": {"items": [form(int, None, **_ASK)]},
    "form-table": {"items": [form(Plan, Plan(stages=STAGES), **_PLAN)]},
    "form-table-picked": {"items": [form(Plan, _MANY, **_PLAN)], "acts": ["pick"]},
    "form-table-empty": {"items": [form(Plan, Plan(stages=[]), **_PLAN)], "acts": ["add"]},
    "form-nested": {"items": [form(Contacts, _PEOPLE, **_PLAN)]},
    "form-disconnected": {"items": [form(Mail, MAIL, **_MAIL)], "acts": ["disconnect"]},
}
