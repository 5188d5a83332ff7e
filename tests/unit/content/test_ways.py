from __future__ import annotations

import pytest

from negotiator.content.javascript import names_rollback, names_static_way
from negotiator.content.text import fold


@pytest.mark.parametrize(
    "text",
    [
        "Use JSON, sitemap, llms.txt, and static HTML before requiring JavaScript.",
        "Read /catalogue/items.json",
        "Fall back to the sitemap.",
        "Plain links and copyable text.",
        "Do not post; read the JSON route.",
        "Never guess, use the JSON route.",
        "Usa HTML estático.",
        "改用静态页面。",
        "The widget requires JavaScript. Otherwise use JSON.",
        "\uff2a\uff33\uff2f\uff2e",
    ],
)
def test_names_a_static_way(text):
    assert names_static_way(fold(text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Stop and ask.",
        "Try again later.",
        "There is no static or JSON fallback.",
        "Works without JSON.",
        "Never JSON.",
        "The JSON feed requires JavaScript.",
        "JSON is only available with JavaScript.",
        "没有静态页面。",
        "Sin JSON.",
    ],
)
def test_names_none(text):
    assert not names_static_way(fold(text))


@pytest.mark.parametrize(
    "text", ["Roll back the order.", "Rollback by DELETE", "undo", "Revertir el cambio", "回滚", "执行撤销"]
)
def test_names_a_rollback(text):
    assert names_rollback(fold(text))


@pytest.mark.parametrize(
    "text", ["", "Stop.", "No rollback exists.", "It cannot be undone.", "No se puede deshacer.", "无法回滚"]
)
def test_names_no_rollback(text):
    assert not names_rollback(fold(text))
