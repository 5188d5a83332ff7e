"""Configuration: see `settings.py`."""

from negotiator.config.settings import BudgetSettings, RouteSettings, Settings, UnmatchedSettings

__all__ = ["BudgetSettings", "RouteSettings", "Settings", "UnmatchedSettings"]
