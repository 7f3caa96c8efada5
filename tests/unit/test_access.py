"""Who is let in: tokens by their hashes, sessions by their signature, failures by their number."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from wow_ray.errors import SettingsError
from wow_ray.ops.access import Access, Holder, Role, TokenBook, TokenSource, made_token
from wow_ray.ops.access.access import Refused, is_here
from wow_ray.ops.access.limiter import MOST, MOST_ADDRESSES, WINDOW, Failures
from wow_ray.ops.access.roles import wanted_for
from wow_ray.ops.access.sessions import LIFE, Seal
from wow_ray.testing.clock import VirtualClock

ANN, BOB = made_token("ann", Role.OPERATOR), made_token("bob", Role.VIEWER)


def lines(*made: tuple[str, Holder]) -> str:
    """Write the lines of some tokens."""
    return "\n".join(holder.line() for _, holder in made)


# --- tokens


def test_a_token_is_found_by_its_hash_and_kept_by_nothing_else() -> None:
    """S109: what is written down lets nobody in."""
    book = TokenBook.parsed(f"# who may\n\n{lines(ANN, BOB)} # the night shift", "a file")

    assert book.holder_of(ANN[0]) == ANN[1]
    assert book.holder_of(ANN[1].digest) is None
    assert book.holder_of("") is None
    assert book.holder_of("\ud800") is None
    assert ANN[0] not in lines(ANN)


@pytest.mark.parametrize(
    "line",
    [
        "ann operator",
        "ann operator sha256:abc",
        f"ann chief sha256:{'0' * 64}",
        f"ann operator md5:{'0' * 64}",
        f"ann operator sha256:{'0' * 64} more",
        f"-ann operator sha256:{'0' * 64}",
        f"änn operator sha256:{'0' * 64}",
        f"ann operator sha256:{'0' * 64}\nann viewer sha256:{'1' * 64}",
    ],
)
def test_a_line_that_is_none_is_refused_by_its_number(line: str) -> None:
    """The error tells where, and not what stands there."""
    with pytest.raises(SettingsError, match="a file, line ") as refused:
        TokenBook.parsed(line, "a file")
    assert "0" * 64 not in refused.value.message


def test_a_name_that_no_header_carries_is_refused() -> None:
    """It becomes the actor of the audit."""
    with pytest.raises(SettingsError, match="a name has"):
        made_token("ann smith", Role.VIEWER)


def test_a_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    """A token is withdrawn without a restart; a broken, empty or missing file opens the door to nobody else."""
    file = tmp_path / "tokens"
    file.write_text(lines(ANN, BOB))
    source = TokenSource(file)
    assert source.book().named("bob")
    file.write_text(lines(ANN))
    assert source.book().holder_of(BOB[0]) is None
    for text in ("nonsense", "", "# nobody\n"):
        file.write_text(text)
        assert source.book().holder_of(ANN[0]) == ANN[1]
    file.unlink()
    assert source.book().holders == (ANN[1],)


def test_tokens_stand_in_the_environment_too() -> None:
    """A comma ends a line there; a file and the environment are one list."""
    assert len(TokenSource(None, lines(ANN, BOB).replace("\n", ",")).book().holders) == 2
    with pytest.raises(SettingsError, match="holds no token"):
        TokenSource(None, "  ")
    with pytest.raises(SettingsError, match="cannot be read"):
        TokenSource(Path("/nowhere/tokens"))


# --- roles


@pytest.mark.parametrize(
    ("method", "path", "role"),
    [
        ("GET", "/api/v1/subscriptions/Sales/reset", Role.VIEWER),
        ("POST", "/api/v1/parked/r-1/resume", Role.OPERATOR),
        ("DELETE", "/whatever/is/new", Role.OPERATOR),
        ("POST", "/api/v1/subscriptions/Sales/reset", Role.ADMIN),
        ("POST", "/api/v1/partitions/scale", Role.ADMIN),
    ],
)
def test_what_may_change_something_takes_a_role(method: str, path: str, role: Role) -> None:
    """S109: also an address that nobody thought of here."""
    assert wanted_for(method, path) is role


def test_each_role_covers_those_before_it() -> None:
    """An admin operates, an operator looks, and none of it the other way round."""
    covered = {(a, b) for a in Role for b in Role if a.covers(b)}
    assert covered == {
        ("viewer", "viewer"),
        ("operator", "viewer"),
        ("operator", "operator"),
        ("admin", "viewer"),
        ("admin", "operator"),
        ("admin", "admin"),
    }


# --- where it listens


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("127.0.0.1", True),
        ("127.0.0.2", True),
        ("localhost", True),
        ("::1", True),
        ("0.0.0.0", False),  # noqa: S104 - refused
        ("::", False),
        ("10.1.2.3", False),
        ("localhost.evil.example", False),
        ("", False),
        (None, False),
    ],
)
def test_this_machine_is_known_by_its_own_names(host: str | None, here: bool) -> None:  # noqa: FBT001 - what is to be told
    """Loopback, and nothing that only looks like it."""
    assert is_here(host) is here


def test_without_a_token_it_listens_on_this_machine_only() -> None:
    """S109: the error says both ways out."""
    with pytest.raises(SettingsError, match=r"wow-ray token.*127\.0\.0\.1"):
        Access().check_binding("0.0.0.0")  # noqa: S104 - refused
    Access().check_binding("127.0.0.1")
    Access(TokenSource(None, lines(ANN))).check_binding("0.0.0.0")  # noqa: S104 - with tokens it may


# --- sessions


def test_a_session_is_read_back_until_it_is_old() -> None:
    """Half a day: a shift with its hand-over."""
    seal = Seal()
    session = seal.new("ann", ANN[1].digest, 1_000.0)
    cookie = seal.sealed(session)

    assert seal.opened(cookie, 1_000.0 + LIFE - 1) == session
    assert seal.opened(cookie, 1_000.0 + LIFE + 1) is None
    assert Seal().opened(cookie, 1_000.0) is None


@pytest.mark.parametrize("changed", ["", ".", "x", "x.y", "ä.ö", "a" * 5_000])
def test_a_cookie_that_is_not_ours_is_nobody(changed: str) -> None:
    """Whatever it holds, it is no error either."""
    assert Seal().opened(changed, 0.0) is None


def test_a_cookie_cannot_be_written_by_its_bearer() -> None:
    """The signature is over all of it."""
    seal = Seal()
    body, _, mac = seal.sealed(seal.new("bob", BOB[1].digest, 0.0)).partition(".")
    fields = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    fields[0] = "ann"
    forged = base64.urlsafe_b64encode(json.dumps(fields).encode()).decode().rstrip("=")
    assert seal.opened(f"{forged}.{mac}", 0.0) is None


def test_a_session_ends_with_its_token(tmp_path: Path) -> None:
    """Withdrawn, or made anew under the same name: the browser signs in again."""
    file = tmp_path / "tokens"
    file.write_text(lines(ANN, BOB))
    access = Access(TokenSource(file), VirtualClock())
    session = access.signed_in(ANN[0], "10.0.0.1")
    assert not isinstance(session, Refused)
    cookie = access.seal.sealed(session)
    found = access.by_session(cookie)
    assert found is not None
    assert (found[0].name, found[0].role, found[0].by) == ("ann", Role.OPERATOR, "session")

    file.write_text(lines(made_token("ann", Role.OPERATOR), BOB))

    assert access.by_session(cookie) is None


# --- failures


def test_an_address_that_is_wrong_too_often_waits() -> None:
    """Even with a right token then; others do not wait, and the wait ends."""
    clock = VirtualClock()
    access = Access(TokenSource(None, lines(ANN)), clock)
    answers = [access.by_token("wrong", "10.0.0.1") for _ in range(MOST + 1)]

    assert [answer.status for answer in answers if isinstance(answer, Refused)] == [*[401] * (MOST - 1), 429, 429]
    waits = access.by_token(ANN[0], "10.0.0.1")
    assert isinstance(waits, Refused)
    assert 0 < waits.after <= WINDOW
    assert not isinstance(access.by_token(ANN[0], "10.0.0.2"), Refused)


def test_failures_are_forgotten_in_time_and_never_fill_the_memory() -> None:
    """A sum: five within five minutes; the sixth may come when the first is that old."""
    failures = Failures()
    for second in range(MOST):
        failures.failed("a", float(second))
    assert failures.wait("a", 10.0) == WINDOW - 10.0
    assert failures.wait("a", WINDOW + 0.5) == 0.0
    failures.failed("b", 0.0)
    for number in range(MOST_ADDRESSES):
        failures.failed(f"n-{number}", 0.0)
    assert len(failures._by_address) == MOST_ADDRESSES  # noqa: SLF001 - the bound is the point
