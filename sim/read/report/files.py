"""Paths of the files of the control room's page."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "server" / "room"
