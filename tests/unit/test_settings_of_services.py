"""Services in the settings: where the store of each is, who is let in, and what is refused at start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wow_ray.cli.several import several_of
from wow_ray.cli.stores import operations_of
from wow_ray.errors import DefinitionError, SettingsError
from wow_ray.ops.access import Access, Role, TokenSource, made_token
from wow_ray.settings import Settings, load

DSN = "postgresql://wow:hunter2@db.example/wow"
OTHER = "postgresql://wow:hunter3@other.example/wow"


def settings_of(services: dict[str, Any], **given: Any) -> Settings:  # noqa: ANN401 - whatever a file says
    """Give settings of a shop with services beside it."""
    return load({"postgres_dsn": DSN, "postgres_schema": "shop", **given, "ops": {"services": services}}, None, {})


def test_a_service_is_a_schema_of_the_same_database_or_another_database(tmp_path: Path) -> None:
    """What is not said of it is as for the app; a database of its own has the schema of all databases by default."""
    file = tmp_path / "dsn"
    file.write_text(OTHER, encoding="utf-8")
    settings = settings_of(
        {
            "billing": {"postgres_schema": "billing"},
            "mail": {"postgres_dsn": OTHER, "pgbouncer": True, "redis_url": "redis://cache.example"},
            "till": {"postgres_dsn_file": str(file), "context": "Till_2"},
        }
    )

    found = {name: operations_of(settings, name).database() for name in settings.ops.services}

    places = {name: (each.dsn, each.schema, each.context, each.pgbouncer) for name, each in found.items()}
    assert places == {
        "billing": (DSN, "billing", "billing", False),
        "mail": (OTHER, "wow", "mail", True),
        "till": (OTHER, "wow", "Till_2", False),
    }
    assert {name: each.calls_url is not None for name, each in found.items()} == {
        "billing": False,
        "mail": True,
        "till": False,
    }


def test_one_list_serves_the_consoles_of_all_of_them() -> None:
    """The entry of the app itself is left out of what stands beside it."""
    settings = settings_of({"shop": {"postgres_schema": "shop"}, "billing": {"postgres_schema": "billing"}})
    several = several_of(settings, "shop", Access())
    assert (several.home, [each.name for each in several.others]) == ("shop", ["billing"])


def test_services_are_given_in_the_environment_as_well() -> None:
    """C4: an address there stands in no file, and nowhere else."""
    settings = load(None, None, {"WOW_RAY_OPS__SERVICES": f'{{"mail": {{"postgres_dsn": "{OTHER}"}}}}'})
    assert operations_of(settings, "mail").database().dsn == OTHER
    assert "hunter3" not in repr(settings)
    assert "hunter3" not in repr(operations_of(settings, "mail"))


@pytest.mark.parametrize(
    ("services", "said"),
    [
        ({"billing": {}}, "ops.services.billing has the store of 'shop'; give it a postgres_schema of its own"),
        ({"a": {"postgres_schema": "x"}, "b": {"postgres_schema": "x"}}, "ops.services.b has the store of 'a'"),
        ({"shop": {"context": "other", "postgres_schema": "x"}}, "ops.services.shop has the name of the app's own"),
        ({"mail": {"postgres_dsn": OTHER, "tokens": "nonsense"}}, "ops.services.mail: ops.tokens, line 2"),
    ],
)
def test_a_console_refuses_services_that_it_would_mix_up(services: dict[str, Any], said: str) -> None:
    """Two names for one store, or one name for two, would tell people the wrong thing at three in the morning."""
    with pytest.raises(SettingsError, match=said):
        several_of(settings_of(services), "shop", Access())


@pytest.mark.parametrize(
    ("services", "said"),
    [
        ({"bil/ling": {}}, "names no service"),
        ({"billing": {"postgres_dns": DSN}}, r"ops.services.billing.postgres_dns .* did you mean"),
        ({"billing": {"postgres_dsn": DSN, "postgres_dsn_file": "/x"}}, "keep one"),
        ({"billing": {"postgres_dsn": [DSN]}}, r"ops.services.billing.postgres_dsn in App"),
    ],
)
def test_a_mistake_is_refused_without_telling_an_address(services: dict[str, Any], said: str) -> None:
    """C4, P4: the setting's dotted name, and no secret."""
    with pytest.raises(SettingsError, match=said) as refused:
        settings_of(services)
    assert "hunter2" not in str(refused.value)


def test_a_context_that_no_app_can_have_is_refused() -> None:
    """The name of a service may be short for it, the context may not be anything."""
    with pytest.raises(DefinitionError, match="no name for a context"):
        operations_of(settings_of({"billing": {"context": "a b"}}), "billing")


def test_people_are_those_of_the_app_unless_a_service_has_its_own() -> None:
    """A service without tokens is guarded as the home is; one with its own lets in nobody else."""
    (ann, of_shop), (bob, of_mail) = made_token("ann", Role.ADMIN), made_token("bob", Role.VIEWER)
    services = {
        "billing": {"postgres_schema": "billing"},
        "mail": {"postgres_dsn": OTHER, "tokens": of_mail.line()},
    }
    billing, mail = several_of(settings_of(services), "shop", Access(TokenSource(None, of_shop.line()))).others
    assert [(each.access.knows(ann, None), each.access.knows(bob, None)) for each in (billing, mail)] == [
        (True, False),
        (False, True),
    ]
    assert (billing.access.cookie, mail.access.cookie) == ("wow_ray_session", "wow_ray_session_mail")
