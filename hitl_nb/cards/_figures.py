"""Figures and pictures in what a question is about: matplotlib, arrays, plotly, altair, bokeh.

Interactive ones do not draw themselves as matplotlib's do. On a screen each stands beside its question as the widget of
its own library, which brings what it needs; what stays is a picture, where an exporter is installed (kaleido,
vl-convert), and words where none is. Nothing is fetched: a figure that would load maps or data from elsewhere is told
in words.

Libraries are imported for figures of theirs and for nothing else. Both making a picture and importing may take
seconds, and belong beside the loop.
"""

import base64
import importlib
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal
from weakref import WeakKeyDictionary

from pydantic import BaseModel

from hitl_nb._calls import Call
from hitl_nb._schema import opened
from hitl_nb.cards._nodes import Node

Maker = Literal["plotly", "altair", "bokeh"]

_DEEPEST: Final = 4
_MOST: Final = 200
"""Items of a list in which figures are looked for."""

_ROOTS: Final[dict[tuple[str, str], Maker]] = {
    ("plotly", "BaseFigure"): "plotly",
    ("altair", "TopLevelMixin"): "altair",
    ("bokeh", "LayoutDOM"): "bokeh",
}
"""What all figures of a library are, by its name."""

_MODULES: Final[dict[Maker, tuple[str, str]]] = {
    "plotly": ("plotly.graph_objects", "anywidget"),
    "altair": ("altair", "vl_convert"),
    "bokeh": ("bokeh.embed", "anywidget"),
}
"""What has to be there for a live figure."""

_MAP: Final = re.compile(r"geo|(?<!heat)map(box)?$|choropleth")
"""Traces of plotly that need tiles or the shapes of countries."""


def maker_of(value: object) -> Maker | None:
    """Return the library that an interactive figure is of; None for everything else."""
    for kind in type(value).__mro__:
        room = kind.__module__.partition(".")[0]
        if found := _ROOTS.get((room, kind.__name__)):
            return found
    return None


def figures_in(value: object, name: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the interactive figures in what a question is about, each with what it is called."""
    if value is None or isinstance(value, str | int | float | bytes):
        return
    if maker_of(value) is not None:
        yield name, value
        return
    inside = opened(value)
    if depth >= _DEEPEST:
        return
    if isinstance(inside, Mapping):
        for key, part in inside.items():
            yield from figures_in(part, str(key), depth + 1)
    elif isinstance(inside, list | tuple) and len(inside) <= _MOST:
        for part in inside:
            yield from figures_in(part, name, depth + 1)


# -- in words ------------------------------------------------------------------------------------------------


def figure_words(value: object) -> str:
    """Return a figure in words: its title and axes, and how much is in it."""
    maker = maker_of(value)
    try:
        parts = {"plotly": _plotly_words, "altair": _altair_words, "bokeh": _bokeh_words}[maker or "plotly"](value)
    except Exception:  # whatever somebody has built of it
        parts = []
    return f"Figure ({maker}): " + ("; ".join(part for part in parts if part) or "without a title")


def _plotly_words(figure: Any) -> list[str]:
    layout, traces = figure.layout, figure.data
    axes = [f"{name}: {text}" for name in "xy" if (text := getattr(layout, f"{name}axis").title.text)]
    given = [[getattr(trace, name, None) for name in ("x", "y", "z", "values")] for trace in traces]
    counts = [max((len(part) for part in parts if part is not None), default=0) for parts in given]
    kinds = ", ".join(dict.fromkeys(str(trace.type) for trace in traces))
    return [layout.title.text or "", *axes, f"{kinds} of {sum(counts):,} points" if traces else ""]


def _altair_words(chart: Any) -> list[str]:
    spec = chart.to_dict(validate=False)
    title = spec.get("title", "")
    mark = spec.get("mark", "")
    axes = [f"{name}: {part['field']}" for name in "xy" if "field" in (part := spec.get("encoding", {}).get(name, {}))]
    return [
        str(title.get("text", "")) if isinstance(title, dict) else str(title),
        *axes,
        str(mark.get("type", "")) if isinstance(mark, dict) else str(mark),
    ]


def _bokeh_words(figure: object) -> list[str]:
    title = getattr(getattr(figure, "title", None), "text", "")
    axes = [
        f"{name}: {axis[0].axis_label}"
        for name in "xy"
        if (axis := getattr(figure, f"{name}axis", None)) and axis[0].axis_label
    ]
    kinds = [type(each.glyph).__name__ for each in getattr(figure, "renderers", []) if hasattr(each, "glyph")]
    return [str(title or ""), *axes, ", ".join(dict.fromkeys(kinds))]


# -- as a picture, and live ------------------------------------------------------------------------------------


def picture_of_figure(value: object) -> Node | str:
    """Return a figure as a picture, or why there is none. It takes seconds."""
    maker = maker_of(value)
    try:
        if elsewhere(value):
            return "No picture: it would load something from elsewhere."
        if maker == "plotly":
            return picture(_plotly_png(value), figure_words(value))
        if maker == "altair":
            return picture(_altair_png(value), figure_words(value))
    except ImportError as error:
        return f"No picture: `{error.name}` is not installed."
    except Exception as error:
        return f"No picture ({type(error).__name__})."
    return "No picture is kept of figures of bokeh."


def picture(png: bytes, words: str) -> Node:
    """Return a picture that is in the document itself, with words for whoever cannot see it."""
    return ["img", {"src": f"data:image/png;base64,{base64.b64encode(png).decode()}"}, words]


def _plotly_png(figure: Any) -> bytes:
    kaleido = importlib.import_module("kaleido")
    page = kaleido.PageGenerator(mathjax=False)  # which it would fetch
    options = {"format": "png", "width": 700, "height": 420}
    made: bytes = kaleido.calc_fig_sync(
        figure.to_plotly_json(), opts=options, kopts={"page_generator": page, "timeout": 30}
    )
    return made


def _altair_png(chart: Any) -> bytes:
    convert = importlib.import_module("vl_convert")
    made: bytes = convert.vegalite_to_png(chart.to_dict(), ppi=100, allowed_base_urls=[])
    return made


def elsewhere(value: Any) -> bool:
    """Whether a figure loads something over the network when it is drawn: tiles, shapes of countries, data."""
    match maker_of(value):
        case "plotly":
            maps = any(_MAP.search(str(trace.type)) for trace in value.data)
            return maps or any("://" in str(image.source) for image in value.layout.images)
        case "altair":
            return _has_address(value.to_dict(validate=False))
        case "bokeh":
            return any("Tile" in type(each).__name__ for each in value.references())
    return False


def _has_address(spec: object) -> bool:
    if isinstance(spec, Mapping):
        url = spec.get("url")
        return (isinstance(url, str) and not url.startswith("data:")) or any(map(_has_address, spec.values()))
    return isinstance(spec, list) and len(spec) <= _MOST and any(map(_has_address, spec))


def load(maker: Maker) -> None:
    """Import what a live figure needs.

    Raises:
        ImportError: It is not installed.
    """
    for name in _MODULES[maker]:
        importlib.import_module(name)


def live(value: object) -> Any:
    """Return a widget that shows a figure; `load` was called before.

    Raises:
        Exception: It cannot be made, or would load something from elsewhere.
    """
    if elsewhere(value):
        raise ValueError("it would load something from elsewhere")
    match maker_of(value):
        case "plotly":
            return importlib.import_module("plotly.graph_objects").FigureWidget(value)
        case "altair":
            return _offline_chart()(value)
        case "bokeh":
            return _bokeh_widget(value)
    raise TypeError(f"`{type(value).__name__}` is no figure")


def _offline_chart() -> Any:
    """The widget of altair with all of Vega in it; as it comes it loads that from a CDN."""
    kind: Any = type("OfflineChart", (importlib.import_module("altair").JupyterChart,), {})
    kind.enable_offline()
    return kind


_BOKEH: Final = """\
const scope = {};
(function () {
%s
}).call(scope);
export default {
  async render({ model, el }) {
    const place = el.appendChild(document.createElement("div"));
    const views = await scope.Bokeh.embed.embed_item(model.get("item"), place);
    return () => [...(views?.roots ?? [])].forEach((view) => view.remove());
  },
};
"""


def _bokeh_widget(figure: Any) -> Any:
    """A figure of bokeh with the scripts of its package, which stay out of the page's own names."""
    anywidget, traitlets = importlib.import_module("anywidget"), importlib.import_module("traitlets")
    embed, resources = importlib.import_module("bokeh.embed"), importlib.import_module("bokeh.resources")
    rooms = {type(each).__module__ for each in figure.references()}
    parts = [part for part in ("widgets", "tables") if any(f".{part}" in room for room in rooms)]
    scripts = resources.Resources(mode="inline", components=["bokeh", *(f"bokeh-{part}" for part in parts)]).js_raw
    traits = {
        "_esm": _BOKEH
        % "\n".join(script for script in scripts if not script.startswith("Bokeh.")),  # which sets a global
        "item": traitlets.Dict().tag(sync=True),
    }
    return type("BokehFigure", (anywidget.AnyWidget,), traits)(item=embed.json_item(figure))


# -- what was made of the figures of a call --------------------------------------------------------------------

_drawn: "WeakKeyDictionary[Call, dict[int, list[Node]]]" = WeakKeyDictionary()


def drawn_of(call: Call) -> dict[int, list[Node]]:
    """Return how the figures of a call are shown, by `id`, as far as pictures of them were made."""
    return _drawn.setdefault(call, {})


# -- pictures ------------------------------------------------------------------------------------------------


def picture_of(value: object) -> Node | None:
    """Return a figure or an image as a picture with words for those who cannot see it; None for everything else."""
    if value is None or isinstance(value, str | bytes | int | float | Mapping | list | tuple | BaseModel):
        return None
    try:
        return _figure(value) or _image(value)
    except Exception:
        return None  # whatever it is, it does not draw itself


def _figure(value: object) -> Node | None:
    figure: Any = value if hasattr(value, "savefig") else getattr(value, "figure", None)
    if not type(figure).__module__.startswith("matplotlib") or not hasattr(figure, "savefig"):
        return None
    from io import BytesIO

    file = BytesIO()
    # The library's own name and version would make each picture another one.
    figure.savefig(file, format="png", bbox_inches="tight", dpi=110, metadata={"Software": None})
    return picture(file.getvalue(), _figure_words(figure))


def _figure_words(figure: Any) -> str:
    titles = [getattr(getattr(figure, "_suptitle", None), "get_text", str)()]
    for axes in figure.get_axes():
        labels = [f"{name}: {text}" for name, text in (("x", axes.get_xlabel()), ("y", axes.get_ylabel())) if text]
        titles.append("; ".join(part for part in [axes.get_title(), *labels] if part))
    return "Figure: " + (". ".join(title for title in titles if title) or "without a title")


def _image(value: Any) -> Node | None:
    if type(value).__module__.split(".")[0] == "numpy":
        return (
            picture(_encoded(value), f"Picture, {value.shape[1]} × {value.shape[0]} pixels")
            if is_picture(value)
            else None
        )
    for mime, name in (("png", "_repr_png_"), ("jpeg", "_repr_jpeg_")):
        draw = getattr(type(value), name, None)
        found = draw(value) if callable(draw) else None
        data = found[0] if isinstance(found, tuple) else found
        if data:
            raw = data if isinstance(data, bytes) else base64.b64decode(data)
            size = getattr(value, "size", None)
            words = (
                f"Picture, {size[0]} × {size[1]} pixels"
                if isinstance(size, tuple)
                else f"Picture: a {type(value).__name__}"
            )
            return ["img", {"src": f"data:image/{mime};base64,{base64.b64encode(raw).decode()}"}, words]
    return None


def png(array: object, words: str) -> Node:
    """Return an array of bytes (height × width, with 3 or 4 colours or none) as a picture with words."""
    return picture(_encoded(array), words)


_SMALLEST: Final = 16
"""Pixels from which on an array of bytes is a picture and no table."""


def is_picture(value: Any) -> bool:
    """Whether an array is one of bytes that is a picture and no table."""
    if str(value.dtype) != "uint8" or value.ndim not in (2, 3) or min(value.shape[:2]) < _SMALLEST:
        return False
    return value.ndim == 2 or value.shape[2] in (3, 4)


def _encoded(value: Any) -> bytes:
    """An array of bytes as a PNG."""
    height, width = value.shape[:2]
    kind = {2: 0}.get(value.ndim) if value.ndim == 2 else {3: 2, 4: 6}[value.shape[2]]
    lines = b"".join(b"\0" + value[at].tobytes() for at in range(height))

    def part(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", zlib.compress(lines)) + part(b"IEND", b"")


# -- a call that is drawn as something else than its arguments --------------------------------------------------

_views: "WeakKeyDictionary[Call, Any]" = WeakKeyDictionary()


def draw_as(call: Call, view: Any) -> None:
    """Have a call drawn as if it were about `view`; what is answered is about its arguments."""
    _views[call] = view


def drawn_args(call: Call) -> Any:
    """Return what a call is drawn with: its arguments, where nobody has said otherwise."""
    return _views.get(call, call.args)
