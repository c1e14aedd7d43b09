"""Interactive figures beside a question: live, without a word to the network; a picture or words of them stay."""

import base64
import re
from urllib.parse import urlparse

import pytest
from playwright.async_api import expect

SETUP = """\
import altair as alt
import plotly.graph_objects as go
from bokeh.plotting import figure

from hitl_nb import approve

roc = go.Figure(go.Scatter(x=[0, 0.1, 1], y=[0, 0.8, 1], name="roc"), layout={"title": "ROC <b>x</b>"})
data = alt.Data(values=[{"depth": n, "score": n * n} for n in range(9)])
depth = alt.Chart(data, title="Depth").mark_line().encode(x="depth:Q", y="score:Q")
loss = figure(title="Loss", height=200, x_axis_label="epoch")
_ = loss.line([1, 2, 3], [3, 2, 1])
"""
ASKS = {
    name: f"print(await approve('Promote?', {{'auc': 0.91, 'figure': {name}}}))" for name in ("roc", "depth", "loss")
}
DRAWN = {"roc": ".js-plotly-plot .scatterlayer", "depth": ".vega-embed :is(canvas, svg)", "loss": ".bk-Figure canvas"}
PICTURES = {"roc": "Figure .plotly.: ROC", "depth": "Figure .altair.: Depth"}


@pytest.mark.timeout(300)
async def test_figures_are_live_beside_the_question_and_a_picture_or_words_of_them_stay(open_notebook):
    notebook = await open_notebook({"setup": SETUP, **ASKS})
    page, hosts = notebook.page, set()
    page.on("request", lambda request: hosts.add(urlparse(request.url).hostname))
    await notebook.run("setup")
    for name, drawn in DRAWN.items():
        await notebook.run(name)
        cell = notebook.cell(name)
        await expect(cell.locator(drawn).first).to_be_visible(timeout=60_000)
        if name in PICTURES:
            await expect(cell.get_by_role("img", name=re.compile(PICTURES[name]))).to_be_visible(timeout=60_000)
        await cell.get_by_role("button", name="Approve").click()
        await expect(cell).to_contain_text("Approved")
        await expect(cell.locator(drawn)).to_have_count(0)  # what is decided is not at play any more
        assert (await notebook.output(name)).endswith("True\n")
    assert hosts <= {"127.0.0.1", "localhost", None, ""}
    await notebook.save()
    kept = notebook.path.read_text()
    pictures = re.findall(r"data:image/png;base64,([A-Za-z0-9+/=]+)", kept)
    assert len(pictures) == 2
    assert all(base64.b64decode(picture).startswith(b"\x89PNG") for picture in pictures)
    assert "Figure (bokeh): Loss" in kept  # why there is no picture of it comes a moment later, as the pictures do
