"""From an import string to an app, or one sentence that says what is wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wow_ray.cli.loading import load_app
from wow_ray.errors import DefinitionError

Write = Callable[..., None]

APP = "from wow_ray import App\napp = App('shop')\n"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Write modules into the working folder; whatever is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    before = set(sys.modules)

    def write(**modules: str) -> None:
        for name, text in modules.items():
            path = tmp_path / f"{name.replace('__in__', '/')}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]


def refused(target: str) -> str:
    """Expect that the app is not loaded, and give what is said."""
    with pytest.raises(DefinitionError) as caught:
        load_app(target)
    return f"{caught.value.code} {caught.value.message}"


def test_an_app_is_found_by_module_and_attribute(write: Write, tmp_path: Path) -> None:
    """In the working folder, although it is not on the path; what is watched is where the app is written."""
    write(shop=APP)

    loaded = load_app("shop:app")

    assert (loaded.app.context, loaded.folders) == ("shop", (tmp_path,))
    assert loaded.app.folder == tmp_path


def test_an_app_may_be_made_by_a_function_or_lie_in_an_object(write: Write) -> None:
    """A factory without parameters is called; a dotted attribute is followed."""
    write(shop=f"{APP}class Here:\n    app = app\ndef create_app():\n    return app\n")

    assert load_app("shop:create_app").app is load_app("shop:Here.app").app


def test_the_whole_package_of_an_app_is_watched(write: Write, tmp_path: Path) -> None:
    """Also when the app is written deeper in it."""
    write(store__in____init__="", store__in__core=APP)

    assert load_app("store.core:app").folders == (tmp_path / "store",)


@pytest.mark.parametrize("target", ["shop", "shop.py", "shop.py:app", "./shop:app", ":app", "shop:"])
def test_what_is_no_import_string_is_told_the_form(write: Write, target: str) -> None:
    """A path gets a guess."""
    write(shop=APP)

    said = refused(target)

    assert said.startswith(f"WOW-APP {target!r} names no app; write module:attribute, as in shop:app")
    assert ("did you mean shop:app?" in said) == (target != ":app")


def test_a_module_that_is_not_there_is_told_with_the_nearest(write: Write) -> None:
    """At the top and inside a package."""
    write(shop=APP, store__in____init__="", store__in__core=APP)

    assert "there is no module 'shopp'" in refused("shopp:app")
    assert "did you mean 'shop'?" in refused("shopp:app")
    assert "did you mean 'store.core'?" in refused("store.cor:app")


def test_a_module_that_the_app_misses_is_told_with_the_place(write: Write) -> None:
    """It is another mistake than a wrong import string."""
    write(shop="\nimport nonsuch\n")

    assert refused("shop:app") == (
        "WOW-APP shop:app cannot be loaded: shop.py:2: there is no module 'nonsuch' (is it installed?)"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\nraise KeyError('k')\n", "shop.py:2: KeyError: 'k'"),
        ("def f(:\n", "shop.py:1: invalid syntax"),
        ("import sys\nsys.exit(3)\n", "shop.py:2: SystemExit: 3"),
        ("import inner\n", "inner.py:1: ZeroDivisionError: division by zero"),
        ("import json\njson.loads('{')\n", "shop.py:2: JSONDecodeError"),
    ],
)
def test_what_a_module_raises_is_told_with_the_place(write: Write, text: str, said: str) -> None:
    """Whatever it is, in the author's own file."""
    write(shop=text, inner="1 / 0\n")

    assert f"WOW-APP shop:app cannot be loaded: {said}" in refused("shop:app")


def test_an_attribute_that_is_not_there_is_told_with_the_nearest(write: Write) -> None:
    """Or, when none is near, with the apps there are."""
    write(shop=APP)

    assert "shop has no 'ap'; did you mean 'app'?" in refused("shop:ap")
    assert "shop has no 'zzz'; its apps: shop:app" in refused("shop:zzz")


def test_what_is_no_app_is_told_what_it_is(write: Write) -> None:
    """A value, a class, a factory of something else, one that wants something, one that is async, one that fails."""
    write(
        shop=f"{APP}number = 3\nclass Thing: pass\ndef other(): return 3\ndef wants(x): return app\n"
        "async def later(): return app\ndef fails(): raise OSError('no disk')\n"
    )

    assert "shop:number is a value of type int, not an App; its apps: shop:app" in refused("shop:number")
    assert "shop:Thing is a class, not an App" in refused("shop:Thing")
    assert "shop:other is a value of type int, not an App" in refused("shop:other")
    assert "is called without arguments, and missing a required argument: 'x'" in refused("shop:wants")
    assert "shop:later is async" in refused("shop:later")
    assert "shop.py:8: OSError: no disk" in refused("shop:fails")


def test_an_error_of_ours_is_told_as_it_is(write: Write) -> None:
    """It has its own code and place."""
    write(shop="from wow_ray import App\napp = App('no name')\n")

    assert refused("shop:app").startswith("WOW-NAME 'no name'")
