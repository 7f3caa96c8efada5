"""`App` ties what users wrote to the ports; `connect` is the one door for producers."""

from wow_ray.app.application import App
from wow_ray.app.connection import Client, Connector, SyncClient, SyncStore, install_connector

__all__ = ["App", "Client", "Connector", "SyncClient", "SyncStore", "install_connector"]
