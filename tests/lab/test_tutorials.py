"""The tutorials about data by hand, each to its last cell; what every decision took is counted and printed."""

from playwright.async_api import expect

from tests.lab.hands import Hands, tutorial

TWO_HUNDRED = "kept = await review(patients.iloc[-200:], 'Drop the outliers?', drop=True)\nprint(len(kept))"


async def begun(open_notebook, name, more=""):
    """A tutorial whose first cell was run, with `more` in its second; somebody at it; and its cells of code."""
    book = tutorial(name)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    code[1].source += f"\n\n{more}"
    notebook = await open_notebook(book)
    cells = [cell.id for cell in code]
    await ran(notebook, cells[0])
    return notebook, Hands(notebook), cells


async def ran(notebook, cell):
    await notebook.run(cell)
    await notebook.finished(cell, patience=90)


async def asks(notebook, cell, question, button="Confirm"):
    """Run a cell, and give the card that it brings up once it can be answered."""
    await notebook.run(cell)
    card = notebook.cell(cell).get_by_role("group", name=question, exact=True)
    await expect(card.get_by_role("button", name=button)).to_be_enabled()
    return card


async def cell_of(card, row, column):
    """A cell of a table, once the rows are there."""
    await expect(card.get_by_role("columnheader", name=column)).to_be_visible()
    await expect(card.get_by_role("rowheader").first).not_to_be_empty()
    names = await card.get_by_role("columnheader").all_text_contents()
    place = next(at for at, name in enumerate(names) if name.startswith(column))  # a pencil may stand behind it
    return card.get_by_role("row").nth(row + 1).get_by_role("gridcell").nth(place - 1)


async def test_outliers_of_two_hundred_rows_are_six_acts_and_the_tutorial_is_done_by_hand(open_notebook):
    notebook, hands, code = await begun(open_notebook, "07_outliers", TWO_HUNDRED)
    card = await asks(notebook, code[1], "Drop the outliers?")
    await hands.click(await cell_of(card, 0, "bmi"))
    await hands.press("/")
    await hands.type("40")
    await hands.press("Enter")
    await hands.click(card.get_by_role("button", name="Drop all 2 shown"))
    await hands.click(card.get_by_role("button", name="Confirm: keep 198 of 200 rows"))
    assert "198" in await notebook.output(code[1])
    assert hands.acts <= 6
    print(hands.told("outliers of 200 rows"))

    card = await asks(notebook, code[2], "Drop what cannot be right?")
    await hands.click(await cell_of(card, 0, "bmi"))
    await hands.press("Enter")
    await hands.type("38.1")
    await hands.press("Enter", "/")
    await hands.type("42")
    await hands.press("Enter")
    await hands.click(card.get_by_role("button", name="Drop all 1 shown"))
    await hands.click(card.get_by_role("button", name="Confirm: keep 11 of 12 rows, change 1 cell"))
    assert "(11, 'patient')" in await notebook.output(code[2])
    print(hands.told("a cell and a row of 12"))

    card = await asks(notebook, code[3], "Is anything mistyped?")
    await hands.click(await cell_of(card, 5, "bp"))
    await hands.press("Enter")
    await hands.type("98")
    await hands.press("Enter")
    await hands.click(card.get_by_role("button", name="Confirm: change 1 cell"))
    assert "after=98.0" in await notebook.output(code[3])
    print(hands.told("a cell of 442 rows"))

    card = await asks(notebook, code[4], "How shall missing blood sugar be filled?")
    await hands.click(card.get_by_role("radio", name="median"))
    await hands.click(card.get_by_role("button", name="Confirm"))
    assert "('median', 9)" in await notebook.output(code[4])
    await notebook.run(code[5])
    assert "'as approved': 0.406" in await notebook.output(code[5])
    print(hands.told("how it is filled"))


async def test_sql_is_read_and_run_or_declined(open_notebook):
    notebook, hands, code = await begun(open_notebook, "08_sql")
    await ran(notebook, code[1])
    card = await asks(notebook, code[2], "Run sql")
    await expect(card.get_by_text("first rows")).to_be_visible()
    await hands.click(card.get_by_role("button", name="Confirm"))
    assert "'virginica', 'petal_length': 5.57" in await notebook.output(code[2])
    print(hands.told("a statement that reads"))

    card = await asks(notebook, code[3], "Run sql")
    await expect(card.get_by_text("may write").first).to_be_visible()
    await hands.click(card.get_by_role("button", name="Decline"))
    await hands.type("not on the only copy")
    await hands.press("Enter")
    output = await notebook.output(code[3])
    assert "was declined: not on the only copy" in output
    assert "(150,)" in output
    print(hands.told("a statement that may write, declined with a reason"))


async def test_a_model_is_promoted_with_its_curve(open_notebook):
    notebook, hands, code = await begun(open_notebook, "10_promote")
    card = await asks(notebook, code[1], "Which model is the candidate?")
    await expect(card).to_contain_text("0.985")  # of another one, in its column
    await hands.click(card.get_by_role("radio", name="logistic"))
    await hands.click(card.get_by_role("button", name="Confirm"))
    assert "'auc': 0.994" in await notebook.output(code[1])
    print(hands.told("a candidate of three"))

    await ran(notebook, code[2])
    card = await asks(notebook, code[3], "Promote logistic?", "Approve")
    await expect(card.get_by_role("img", name="ROC of logistic")).to_be_visible()
    await expect(card.get_by_role("cell", name="204")).to_be_visible()
    await hands.click(card.get_by_role("button", name="Approve"))
    await notebook.finished(code[3])
    await notebook.run(code[4])
    assert "LogisticRegression" in await notebook.output(code[4])
    print(hands.told("promoted, with curve and errors"))
    await notebook.save()
    assert "data:image/png;base64," in notebook.path.read_text()  # whoever opens it next year sees the curve


async def test_a_plan_is_put_in_order_and_its_code_is_read(open_notebook):
    notebook, hands, code = await begun(open_notebook, "11_plan")
    card = await asks(notebook, code[1], "Is this the plan?")
    await hands.click(card.get_by_role("button", name="Move up step 2"))
    await hands.click(card.get_by_role("button", name="Reword step 1.1"))
    await hands.press("Control+a")
    await hands.type("malic_acid by its median")
    await hands.click(card.get_by_role("checkbox", name="Drop the top percent of proline"))
    await hands.click(card.get_by_role("button", name="Confirm 3 of 4 steps"))
    await notebook.finished(code[1])
    print(hands.told("a plan of three steps"))

    card = await asks(notebook, code[2], "Is this the code?")
    await hands.click(card.get_by_role("button", name="Confirm"))
    await notebook.finished(code[2])
    await notebook.run(code[3])
    assert "['Fill what is missing', 'Scale all columns']\n178 rows, 0 missing" in await notebook.output(code[3])
    print(hands.told("its code, as proposed"))
