"""Configuration: see `settings.py`."""

from negotiator.config.settings import RouteSettings, Settings, UnmatchedSettings

__all__ = ["RouteSettings", "Settings", "UnmatchedSettings"]
