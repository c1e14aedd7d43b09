"""Interactive figures: in words, as a picture where an exporter is installed, live without a word to the network."""

import re
import sys

import altair as alt
import matplotlib.figure
import numpy as np
import plotly.graph_objects as go
import pytest
from bokeh.models import WMTSTileSource
from bokeh.plotting import figure

from hitl_nb import approve
from hitl_nb.cards import _figures
from hitl_nb.cards._figures import elsewhere, figure_words, figures_in, live, load, maker_of, picture_of_figure
from hitl_nb.people import ScriptedPerson
from tests.unit.cards.desk import record

ROC = go.Figure(go.Scatter(x=[0, 1], y=[0, 1]), layout={"title": "ROC", "xaxis_title": "false positives"})
BARS = go.Figure([go.Bar(x=["a", "b"], y=[1, 2]), go.Heatmap(z=np.eye(3))])
DEPTH = alt.Chart(alt.Data(values=[{"n": 1}]), title="Depth").mark_line().encode(x="n:Q")


def loss():
    made = figure(title="Loss", x_axis_label="epoch")
    made.line([1, 2], [2, 1])
    return made


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (ROC, "Figure (plotly): ROC; x: false positives; scatter of 2 points"),
        (BARS, "Figure (plotly): bar, heatmap of 5 points"),
        (go.Figure(), "Figure (plotly): without a title"),
        (DEPTH, "Figure (altair): Depth; x: n; line"),
        (DEPTH & DEPTH, "Figure (altair): without a title"),
        (loss(), "Figure (bokeh): Loss; x: epoch; Line"),
    ],
)
def test_a_figure_is_told_in_words(value, words):
    assert figure_words(value) == words


def test_figures_are_found_wherever_they_are_and_nothing_else_is_one():
    found = list(figures_in({"curves": [ROC, {"depth": DEPTH}], "auc": 0.9, "frame": matplotlib.figure.Figure()}))
    assert [name for name, _ in found] == ["curves", "depth"]
    assert maker_of(go.FigureWidget(ROC)) == "plotly"
    assert maker_of({"data": [], "layout": {}}) is None


@pytest.mark.parametrize(
    "value",
    [
        go.Figure(go.Scattergeo(lon=[1], lat=[1])),
        go.Figure(go.Scattermap(lon=[1], lat=[1])),
        go.Figure(go.Choropleth(locations=["DEU"], z=[1])),
        go.Figure(layout={"images": [{"source": "https://example.org/a.png"}]}),
        alt.Chart("https://example.org/a.csv").mark_line().encode(x="n:Q"),
        alt.layer(DEPTH, alt.Chart(alt.UrlData("//example.org/a.csv")).mark_line()),
    ],
)
def test_what_would_load_from_elsewhere_is_neither_live_nor_exported(value):
    assert elsewhere(value)
    assert picture_of_figure(value) == "No picture: it would load something from elsewhere."
    with pytest.raises(ValueError, match="elsewhere"):
        live(value)


def test_tiles_are_from_elsewhere_and_our_examples_are_not():
    world = figure()
    world.add_tile(WMTSTileSource(url="https://example.org/{X}/{Y}/{Z}.png"))
    assert elsewhere(world)
    assert not any(map(elsewhere, (ROC, BARS, DEPTH, loss())))


def test_a_picture_of_altair_is_a_png_with_words():
    picture = picture_of_figure(DEPTH)
    assert isinstance(picture, list)
    tag, attributes, words = picture
    assert (tag, words) == ("img", "Figure (altair): Depth; x: n; line")
    assert attributes["src"].startswith("data:image/png;base64,iVBOR")


def test_an_exporter_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    monkeypatch.setitem(sys.modules, "kaleido", None)
    assert picture_of_figure(DEPTH) == "No picture: `vl_convert` is not installed."
    assert picture_of_figure(ROC) == "No picture: `kaleido` is not installed."
    assert picture_of_figure(loss()) == "No picture is kept of figures of bokeh."
    with pytest.raises(ImportError):
        load("altair")  # which loads Vega from a CDN without it


@pytest.mark.parametrize("value", [DEPTH, loss()])
def test_a_live_figure_brings_what_it_needs(value):
    load(maker_of(value) or "plotly")
    widget = live(value)
    assert not re.search(r"import\s*\(?[^\n]{0,40}[\"']https?://", str(widget._esm))
    assert alt.JupyterChart._is_offline is False  # the person's own charts stay as they were


async def test_without_a_screen_a_figure_stays_in_words():
    person = ScriptedPerson([True])
    assert await approve("Promote?", {"auc": 0.91, "curve": ROC}, people=person)
    assert "    • curve: Figure (plotly): ROC; x: false positives; scatter of 2 points" in record(person.asked[0])
    assert _figures.drawn_of(person.asked[0]) == {}
