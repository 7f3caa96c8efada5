"""When `wow-ray up` takes a program for another one than that which runs (H19)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from wow_ray.cli.run_site import AppSite
from wow_ray.cli.up import as_on_nodes, checked_release, edition_of
from wow_ray.errors import SettingsError
from wow_ray.settings import load

SITE = AppSite("shop:app", "shop", "r1")
PLAIN = load(None, None, {})


def test_files_settings_and_the_app_s_name_make_the_edition() -> None:
    """Any of them differs: another edition. All alike: the same one, so that nothing is rolled over."""
    edition = edition_of(SITE, PLAIN, "files-1")

    assert edition == edition_of(replace(SITE, release="r2", returning="end"), load(None, None, {}), "files-1")
    others = [
        edition_of(SITE, PLAIN, "files-2"),
        edition_of(replace(SITE, target="shop:other"), PLAIN, "files-1"),
        edition_of(SITE, load({"subscription": {"retry": {"max_attempts": 9}}}, None, {}), "files-1"),
        edition_of(SITE, load({"autoscale": {"max": 9}}, None, {}), "files-1"),
    ]
    assert len({edition, *others}) == 5


@pytest.mark.parametrize("settings", [{"postgres_dsn": "postgresql:///x"}, {"partitions": 9}, {"ops": {"port": 1}}])
def test_what_the_program_does_not_see_makes_no_edition(settings: dict[str, object]) -> None:
    """Where the store is, what consoles read, and how many partitions there are, which the plan says."""
    assert edition_of(SITE, load(settings, None, {}), "files-1") == edition_of(SITE, PLAIN, "files-1")


def test_a_settings_file_of_the_app_s_folder_travels_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its copy is read, not the file as it becomes; one from elsewhere is looked for in the same place on each node."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.toml").write_text("partitions = 2\n", encoding="utf-8")

    assert as_on_nodes(Path("other.toml")) == as_on_nodes(tmp_path / "other.toml") == Path("other.toml")
    assert as_on_nodes(Path("/etc/wow-ray.toml")) == Path("/etc/wow-ray.toml")
    assert as_on_nodes(None) is None


@pytest.mark.parametrize("release", ["", "a\nb", "x" * 101])
def test_the_name_of_a_release_is_one_line(release: str) -> None:
    """It stands in every report and in every table."""
    with pytest.raises(SettingsError, match="1 to 100 characters"):
        checked_release(release)
