"""The 23 models on which we measured how many values Python's form libraries lose; the defaults are the values."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AnyUrl, BaseModel, ConfigDict, Field, SecretStr


class Scalars(BaseModel):
    text: str = "a"
    number: int = 3
    fraction: float = 0.5
    flag: bool = True


class Required(BaseModel):
    text: str
    number: int
    fraction: float
    flag: bool


class Constrained(BaseModel):
    number: Annotated[int, Field(ge=1, le=10)] = 3
    fraction: Annotated[float, Field(gt=0, lt=1)] = 0.5
    fives: Annotated[int, Field(multiple_of=5)] = 10
    code: Annotated[str, Field(pattern=r"^[A-Z]{2}-\d{2}$", min_length=5, max_length=5)] = "AB-12"


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class LiteralEnum(BaseModel):
    status: Literal["enabled", "disabled", "executing"] = "enabled"
    colour: Colour = Colour.BLUE
    level: Level = Level.HIGH
    only: Literal["this"] = "this"


class Optionals(BaseModel):
    text: str | None = None
    number: int | None = 5
    fraction: float | None = None
    flag: bool | None = None


class Unions(BaseModel):
    either: int | str = "seven"
    several: list[str] | str = ["a", "b"]


class Step(BaseModel):
    description: str
    status: Literal["enabled", "disabled", "executing"] = "enabled"


class ListOfModels(BaseModel):
    steps: list[Step] = [Step(description="boil"), Step(description="pour", status="disabled")]


class Leg(BaseModel):
    city: str = "Oslo"
    stops: list[str] = ["Hamar", "Lillehammer"]


class Journey(BaseModel):
    legs: list[Leg] = [Leg(), Leg(city="Rome", stops=[])]


class Nested(BaseModel):
    name: str = "north"
    journey: Journey = Journey()


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    tricks: list[str] = ["sit"]


class Discriminated(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] = Dog()


class DictStrInt(BaseModel):
    counts: dict[str, int] = {"a": 1, "b": 2}


class Temporal(BaseModel):
    day: date = date(2024, 2, 29)
    moment: datetime = datetime(2024, 2, 29, 10, 30)  # naive on purpose
    hour: time = time(10, 30)
    span: timedelta = timedelta(hours=1, minutes=30)


class AwareDatetime(BaseModel):
    moment: datetime = datetime(2024, 2, 29, 10, 30, 0, 250_000, tzinfo=UTC)


class Decimals(BaseModel):
    price: Decimal = Decimal("10.10")
    limited: Annotated[Decimal, Field(max_digits=6, decimal_places=2)] = Decimal("1234.50")


class DefaultFactory(BaseModel):
    names: list[str] = Field(default_factory=lambda: ["x"])
    anything: dict[str, Any] = Field(default_factory=lambda: {"k": [1, None]})


class Tuples(BaseModel):
    pair: tuple[int, str] = (1, "a")
    point: tuple[float, float] = (0.5, 1.0)
    many: tuple[int, ...] = (1, 2, 3)
    unique: set[str] = {"only"}


class Recursive(BaseModel):
    name: str = "root"
    children: list["Recursive"] = []


class Secret(BaseModel):
    user: str = "ada"
    password: SecretStr = SecretStr("hunter2")


class PathUuidUrl(BaseModel):
    path: Path = Path("data/in.csv")
    id: UUID = UUID("12345678-1234-5678-1234-567812345678")
    url: AnyUrl = AnyUrl("https://example.com/a?b=c")


class LargeText(BaseModel):
    sql: str = Field("SELECT 1;\n" * 2_000, json_schema_extra={"format": "textarea"})


class List200(BaseModel):
    steps: list[Step] = [Step(description=f"step {place}") for place in range(200)]


class BigIntUnicode(BaseModel):
    big: int = 2**60 + 1
    text: str = "naïve ☃ <b>x</b> 日本"
    tiny: float = -1e-12


class Alias(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    from_: str = Field("here", alias="from")
    class_: str = Field("first", alias="class")


class AnyField(BaseModel):
    anything: Any = {"a": [1, {"b": None}]}


SAMPLES: dict[str, BaseModel] = {
    "M01": Scalars(),
    "M02": Required(text="a", number=3, fraction=0.5, flag=True),
    "M03": Constrained(),
    "M04": LiteralEnum(),
    "M05": Optionals(),
    "M06": Unions(),
    "M07": ListOfModels(),
    "M08": Nested(),
    "M09": Discriminated(),
    "M10": DictStrInt(),
    "M11": Temporal(),
    "M12": AwareDatetime(),
    "M13": Decimals(),
    "M14": DefaultFactory(),
    "M15": Tuples(),
    "M16": Recursive(children=[Recursive(name="leaf", children=[Recursive(name="deep", children=[Recursive()])])]),
    "M17": Secret(),
    "M18": PathUuidUrl(),
    "M19": LargeText(),
    "M20": List200(),
    "M21": BigIntUnicode(),
    "M22": Alias(),
    "M23": AnyField(),
}
