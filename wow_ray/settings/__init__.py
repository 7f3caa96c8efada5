"""The host's settings: one tree, read at start (C4); environment beats `wow-ray.toml` beats `App(settings=...)`."""

from wow_ray.settings.sources import load, settings_file
from wow_ray.settings.tree import Settings, SubscriptionSettings

__all__ = ["Settings", "SubscriptionSettings", "load", "settings_file"]
