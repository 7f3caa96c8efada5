"""The outside is small, sorted and importable; errors survive the trip between processes."""

import inspect
import pickle
import subprocess
import sys

import pytest

import wow_ray
from wow_ray import errors

ERRORS = [cls for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, wow_ray.WowError)]
INSIDE = {"FencedError", "StoreDataError"}


def test_what_is_exported_is_importable_and_sorted() -> None:
    """`__all__` holds exactly the public names that `wow_ray` defines, in order."""
    modules = {name for name, value in vars(wow_ray).items() if inspect.ismodule(value)}
    public = {name for name in vars(wow_ray) if not name.startswith("_")} - modules
    assert wow_ray.__all__ == sorted(public)


def test_every_error_a_caller_can_meet_is_exported() -> None:
    """What stays inside is what the runtime settles with its own store."""
    assert {cls.__name__ for cls in ERRORS} - set(wow_ray.__all__) == INSIDE


@pytest.mark.parametrize("cls", ERRORS)
def test_an_error_survives_the_trip_between_processes(cls: type[wow_ray.WowError]) -> None:
    """Arguments are positional, so pickling gives back the same class, text, code and fields."""
    error = cls("what was wrong")
    back = pickle.loads(pickle.dumps(error))  # noqa: S301 - made here
    assert type(back) is cls
    assert (str(back), back.code, vars(back)) == (str(error), error.code, vars(error))
    assert back.code.startswith("WOW")


def test_an_errors_code_and_fields_survive_too() -> None:
    """Also when they are not the class's own."""
    coded = pickle.loads(pickle.dumps(wow_ray.DefinitionError("text", "WOW-C3")))  # noqa: S301
    assert (str(coded), coded.code) == ("WOW-C3 text", "WOW-C3")
    stale = pickle.loads(pickle.dumps(wow_ray.ConcurrencyError("text", 3, 4)))  # noqa: S301
    assert (stale.expected, stale.actual) == (3, 4)


def test_importing_the_package_loads_neither_ray_nor_a_driver() -> None:
    """A producer pays for what it uses."""
    program = "import sys, wow_ray; print([m for m in ('ray', 'asyncpg', 'redis', 'typer') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
