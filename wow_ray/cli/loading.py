"""From an import string to the `App` it names, or one sentence that says what is wrong with it."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from wow_ray.app import App
from wow_ray.errors import DefinitionError, WowError
from wow_ray.names import nearest

CODE = "WOW-APP"


@dataclass(frozen=True, slots=True)
class Loaded:
    """An app and where it was found; `folders` are those whose files make it up."""

    app: App
    target: str
    folders: tuple[Path, ...]


def load_app(target: str) -> Loaded:
    """Import the app that `module:attribute` names; the attribute may be a function without parameters that makes it.

    Modules are looked for from the working folder on. Raises `DefinitionError` (code `WOW-APP`) for a string that names
    no app, and for whatever importing it raised, with the place.
    """
    module_name, _, attribute = target.partition(":")
    if not module_name or not attribute or "/" in target or module_name.endswith(".py"):
        raise DefinitionError(f"{target!r} names no app; write module:attribute, as in shop:app{_guess(target)}", CODE)
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    module = _imported(module_name, target)
    found = _attribute(module, attribute, target)
    if not isinstance(found, App) and callable(found) and not isinstance(found, type):
        found = _made(found, target)
    if not isinstance(found, App):
        is_a = "a class" if isinstance(found, type) else f"a value of type {type(found).__name__}"
        raise DefinitionError(f"{target} is {is_a}, not an App{_apps_hint(module)}", CODE)
    return Loaded(found, target, _folders(found, module))


def _guess(target: str) -> str:
    """Guess the import string that a path was meant for."""
    path, _, attribute = target.partition(":")
    module = path.removesuffix(".py").strip("./").replace("/", ".")
    return f"; did you mean {module}:{attribute or 'app'}?" if module else ""


def _imported(name: str, target: str) -> ModuleType:
    """Import the module, telling one that is not there from one that fails."""
    try:
        with _place_of_failure(target):
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        if name != missing and not name.startswith(f"{missing}."):
            raise DefinitionError(
                f"{target} cannot be loaded: {_where(error)}: there is no module {missing!r} (is it installed?)", CODE
            ) from error
        hint = nearest(missing, _neighbours(missing))
        raise DefinitionError(f"there is no module {missing!r} in {Path.cwd()} or on sys.path{hint}", CODE) from error


@contextmanager
def _place_of_failure(target: str) -> Iterator[None]:
    """Turn whatever an author's module or factory raises into one sentence with its place."""
    try:
        yield
    except (WowError, ModuleNotFoundError, KeyboardInterrupt):
        raise
    except SyntaxError as error:
        place = f"{_short(error.filename or '?')}:{error.lineno}"
        raise DefinitionError(f"{target} cannot be loaded: {place}: {error.msg}", CODE) from error
    except BaseException as error:
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise DefinitionError(f"{target} cannot be loaded: {_where(error)}: {said}", CODE) from error


def _attribute(module: ModuleType, attribute: str, target: str) -> object:
    """Follow the attribute, which may be dotted."""
    found: object = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            hint = nearest(part, [name for name in dir(found) if not name.startswith("_")])
            raise DefinitionError(f"{target}: {module.__name__} has no {part!r}{hint or _apps_hint(module)}", CODE)
        found = getattr(found, part)
    return found


def _made(factory: object, target: str) -> object:
    """Call a factory; it may not ask for anything, and not be async."""
    assert callable(factory)  # noqa: S101 - the caller has looked
    if inspect.iscoroutinefunction(factory):
        raise DefinitionError(f"{target} is async; a factory is a plain function that returns the App", CODE)
    try:
        inspect.signature(factory).bind()
    except TypeError as error:
        raise DefinitionError(f"{target} is called without arguments, and {error}", CODE) from error
    except ValueError:  # no signature to look at
        pass
    with _place_of_failure(target):
        return factory()


def _apps_hint(module: ModuleType) -> str:
    """Name the apps that the module does have."""
    apps = [name for name, value in vars(module).items() if isinstance(value, App)]
    return f"; its apps: {', '.join(f'{module.__name__}:{name}' for name in apps)}" if apps else ""


def _neighbours(missing: str) -> list[str]:
    """Give the names of modules that lie where the missing one was looked for."""
    parent, _, _ = missing.rpartition(".")
    package = sys.modules.get(parent) if parent else None
    folders = [Path(path) for path in getattr(package, "__path__", [])] if package else [Path.cwd()]
    names = [
        path.stem
        for folder in folders
        for path in sorted(folder.iterdir())
        if path.suffix == ".py" or (path.is_dir() and any(path.glob("*.py")))
    ]
    return [f"{parent}.{name}" if parent else name for name in names]


def _folders(app: App, module: ModuleType) -> tuple[Path, ...]:
    """Give the folders an app's files lie in: where `App(...)` is written, and the whole package of its module."""
    folders = {app.folder}
    top = sys.modules.get(module.__name__.partition(".")[0], module)
    folders.update(Path(path).resolve() for path in getattr(top, "__path__", ()))
    if module.__file__ is not None:
        folders.add(Path(module.__file__).resolve().parent)
    return tuple(sorted(folder for folder in folders if not any(other in folder.parents for other in folders)))


def _where(error: BaseException) -> str:
    """Give file and line of the last frame that is not Python's own or a library's."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
    libraries = (
        "site-packages",
        "dist-packages",
        str(Path(importlib.__file__).parent.parent),
        str(Path(__file__).parent),
    )
    own = [frame for frame in frames if not any(part in frame.filename for part in libraries)]
    chosen = (own or frames)[-1] if frames else None
    return "at an unknown place" if chosen is None else f"{_short(chosen.filename)}:{chosen.lineno}"


def _short(filename: str) -> str:
    """Write a path as seen from the working folder, where it lies below that."""
    path = Path(filename)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else filename
