"""The demo site's pages. Plain HTML that needs no JavaScript; every value is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jinja2 import DictLoader, Environment, StrictUndefined
from starlette.responses import HTMLResponse

__all__ = ["article_page", "comments_page", "front_page", "report_page"]

_LAYOUT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }} · The Demo Gazette</title>
<style>
  :root { color-scheme: light dark; font: 1.05rem/1.6 Georgia, serif; }
  body { max-width: 38rem; margin: 2rem auto; padding: 0 1rem; }
  header a { color: inherit; text-decoration: none; font-variant: small-caps; letter-spacing: .04em; }
  textarea { width: 100%; min-height: 5rem; font: inherit; }
</style>
</head>
<body>
<header><a href="/">The Demo Gazette</a></header>
<main>
<h1>{{ title }}</h1>
{% block content %}{% endblock %}
</main>
</body>
</html>
"""

_PAGES = {
    "layout": _LAYOUT,
    "front": """{% extends "layout" %}{% block content %}
<p>A small site behind the negotiator. Agents start at
<a href="/.well-known/uaix.json">/.well-known/uaix.json</a>.</p>
<ul>{% for slug, name in articles.items() %}<li><a href="/articles/{{ slug }}">{{ name }}</a></li>{% endfor %}</ul>
<p><a href="/comments">Comments</a> · <a href="/reports/traffic">Traffic report</a></p>
{% endblock %}""",
    "article": """{% extends "layout" %}{% block content %}<p>{{ text }}</p>{% endblock %}""",
    "comments": """{% extends "layout" %}{% block content %}
<ol>{% for comment in comments %}<li>{{ comment }}</li>{% endfor %}</ol>
<form method="post" action="/comments"><label>Your comment <textarea name="text"></textarea></label>
<button>Send</button></form>{% endblock %}""",
    "report": """{% extends "layout" %}{% block content %}
<table><tr><th scope="row">Comments</th><td>{{ comments }}</td></tr></table>{% endblock %}""",
}
_ENVIRONMENT = Environment(loader=DictLoader(_PAGES), autoescape=True, undefined=StrictUndefined)


def front_page(articles: Mapping[str, str]) -> HTMLResponse:
    """Return the list of articles, slug to title."""
    return _page("front", title="Today", articles=articles)


def article_page(title: str, text: str) -> HTMLResponse:
    """Return one article."""
    return _page("article", title=title, text=text)


def comments_page(comments: Sequence[str]) -> HTMLResponse:
    """Return all comments and the form for a new one."""
    return _page("comments", title="Comments", comments=comments)


def report_page(name: str, comments: int) -> HTMLResponse:
    """Return a rendered report."""
    return _page("report", title=f"Report: {name}", comments=comments)


def _page(name: str, **values: object) -> HTMLResponse:
    return HTMLResponse(_ENVIRONMENT.get_template(name).render(**values))
