"""How the demo site is governed: the routes that `negotiator init` writes as an example, too."""

from __future__ import annotations

from pathlib import Path

from negotiator.config import RouteSettings, Settings, UnmatchedSettings

__all__ = ["DEMO_ROUTES", "demo_settings"]

DEMO_ROUTES = (
    RouteSettings(match="GET /", action="read_static", resource="pages", public=True, publish=True),
    RouteSettings(match="GET /articles/{slug}", action="read_static", resource="pages", public=True, publish=True),
    RouteSettings(match="GET /comments", action="read_static", resource="comments", public=True, publish=True),
    RouteSettings(match="GET /api/articles", action="read_json", resource="articles", public=True, publish=True),
    RouteSettings(match="GET /api/comments", action="read_json", resource="comments", public=True, publish=True),
    RouteSettings(match="GET /reports/{name}", action="render_ui", resource="reports", publish=True),
    RouteSettings(match="POST /comments", action="post", resource="comments", undeclared="human_only", publish=True),
    RouteSettings(match="POST /articles", action="publish", resource="articles", publish=True),
    RouteSettings(match="POST /api/search", action="call_tool", resource="search", publish=True),
    RouteSettings(match="POST /api/digest", action="run_task", resource="digest", publish=True),
    RouteSettings(match="GET /memory/{path:path}", action="read_json", resource="memory", publish=True),
    RouteSettings(match="PUT /memory/{path:path}", action="write_memory", resource="memory", publish=True),
)


def demo_settings(folder: Path) -> Settings:
    """Return the settings of the demo site, with everything that it writes below `folder`."""
    return Settings(
        database=f"sqlite:///{folder / 'data' / 'negotiator.db'}",
        keys_dir=folder / "keys",
        kill_switch=folder / "kill-switch",
        routes=DEMO_ROUTES,
        effect_lease_seconds=3,
        unmatched=UnmatchedSettings(),
    )
