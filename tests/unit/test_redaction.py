"""No secret is stored, whatever it looks like; and no text makes hiding it slow (P4, S108)."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import pytest

from wow_ray.errors import SettingsError
from wow_ray.failure import Category, Failure
from wow_ray.redaction import also_hide, redacted, safe
from wow_ray.settings import load

BODY = "Zx9Zx8Zx7Zx6Zx5Zx4Zx3Zx2Zx1Zx0ZxAZxB"
# Put together here, so that nobody who looks for secrets in this file finds one.
LOOKS = [
    f"eyJ{BODY}.eyJ{BODY}.{BODY}",
    f"eyJ{BODY}.{BODY}",
    f"AKIA{BODY[:16].upper()}",
    f"gh{'p'}_{BODY}",
    f"github_{'pat'}_{BODY}",
    f"glpat-{BODY}",
    f"xox{'b'}-123-{BODY}",
    f"sk_{'live'}_{BODY}",
    f"rk_{'test'}_{BODY}",
    f"sk-{'proj'}-{BODY}",
    f"whsec_{BODY}",
    f"AIza{BODY}",
    f"npm_{BODY}",
    f"pypi-{BODY}",
    f"https://hooks.slack.com/services/T0/B0/{BODY}",
    f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n{BODY}\n-----END RSA PRIVATE KEY-----",
    f"-----BEGIN PRIVATE KEY-----\n{BODY}",
    f"host=db user=u password={BODY} dbname=x",
    f"postgresql://u:{BODY}@db/x",
    f"redis://:{BODY}@cache:6379/0",
    f"amqps://user:p%40{BODY}@mq/vhost",
    f"Authorization: Bearer {BODY}",
    f"{{'x-api-key': '{BODY}'}}",
    f"AWS_SECRET_ACCESS_KEY={BODY}",
    f"SharedAccessKey={BODY};Endpoint=x",
]


@pytest.fixture(autouse=True)
def _as_ever() -> Iterator[None]:
    """Leave nothing hidden besides for other tests."""
    yield
    also_hide((), ())


@pytest.mark.parametrize("text", LOOKS)
@pytest.mark.parametrize("around", ["{}", "it says {} again", '"{}"', "({})", "a={}, b=1", "{}\nnext line", "é{} ✓"])
def test_a_secret_is_known_by_its_own_looks(text: str, around: str) -> None:
    """P4: wherever it stands; hiding it twice changes nothing more."""
    shown = redacted(around.replace("{}", text))

    assert BODY[:16].upper() not in shown.upper()
    assert "***" in shown
    assert redacted(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "task-sk-1 failed",
        "the asian market is closed",
        "AKIA is a prefix",
        "ghost_writer of o-42",
        "npm_config is odd",
        "eyJ is how JSON begins in base64",
        "hooks.slack.com does not answer",
        "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
        "risk-assessment-of-the-new-carrier-42",
        "a 40 digit commit 0123456789abcdef0123456789abcdef01234567",
    ],
)
def test_what_only_begins_alike_stays(text: str) -> None:
    """S108: what helps is kept."""
    assert redacted(text) == text


def test_it_is_hidden_along_the_whole_chain() -> None:
    """P4: in causes, notes, groups and messages."""
    for text in LOOKS:
        inner = ValueError(text)
        inner.add_note(text)
        outer = RuntimeError("no")
        outer.__cause__ = ExceptionGroup(text, [inner, KeyError(text)])
        failure = Failure.capture(outer, Category.RECOVERABLE, "default")
        assert BODY[:16] not in failure.message + failure.traceback, text


def test_an_app_has_its_own_secrets_hidden_too() -> None:
    """P4: keys and prefixes, in letters of either case, as settings say; plain texts, whatever is in them."""
    text = "PIN=1234 and acme_live_77, (a+)+=x, pinned=5 hopping=6"
    assert redacted(text) == text

    also_hide(["pin", "(a+)+"], ["ACME_live_"])

    assert redacted(text) == "PIN=*** and acme_live_***, (a+)+=***, pinned=5 hopping=6"
    assert redacted(redacted(text)) == redacted(text)
    failure = Failure.capture(ValueError(text), Category.RECOVERABLE, "default")
    assert "1234" not in failure.message + failure.traceback


def test_what_an_app_hides_is_a_setting() -> None:
    """P4, C4: too short a text would hide everything."""
    given = {"keys": ["pin"], "prefixes": ["acme_"]}
    found = load({"redaction": given}, None, {"WOW_RAY_REDACTION__KEYS": '["geheim"]'}).redaction
    assert (found.keys, found.prefixes) == (("geheim",), ("acme_",))
    for odd in ([""], ["a"], ["a b c"], "pin", [7]):
        with pytest.raises(SettingsError, match=r"redaction\.keys"):
            load({"redaction": {"keys": odd}}, None, {})


HOSTILE = [
    "eyJ-",
    "eyJ" + "a" * 50 + "-",
    "eyJaaaaaaaa.",
    "eyJaaaaaaaa.eyJ",
    "sk-sk-",
    "sk_live_",
    "ghp_",
    "AKIA",
    "xoxb-",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN ",
    "hooks.slack.com/services/",
    "://a:",
    "://",
    "://a\n",
    ":",
    "password=",
    "password='",
    'token="\\"',
    "token=a\n",
    "token=\n",
    "Authorization: ",
    "bearer ",
    "basic A",
    "api_key" + " " * 7,
    "secret-",
    "pin=",
    "acme_live_",
    " ",
    "\n ",
    "a" * 15 + "\n",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_makes_hiding_slow(piece: str) -> None:
    """S108: 130,000 characters of the worst that is known; what grows with the square takes minutes."""
    also_hide(["pin"], ["acme_live_"])
    for text in (piece * (131_000 // len(piece)), "password=" + piece * (131_000 // len(piece))):
        began = time.perf_counter()
        safe(text)
        assert time.perf_counter() - began < 8.0


def test_texts_made_of_all_of_it_are_hidden_in_time() -> None:
    """S108: three hundred mixtures, from a seed."""
    luck = random.Random(7)  # noqa: S311 - no secret
    also_hide(["pin"], ["acme_live_"])
    began = time.perf_counter()
    for _ in range(300):
        safe("".join(luck.choices(HOSTILE, k=400)))
    assert time.perf_counter() - began < 30.0
