"""No file of the project names one machine's folders or a package index's host: any index must serve it."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# In parts, so that this file does not hold what it looks for.
FORBIDDEN = tuple(
    "".join(parts)
    for parts in (
        ("/", "work", "/"),
        ("/", "farm", "/"),
        ("py", "pi.org"),
        ("files.", "pythonhosted", ".org"),
        ("deb.", "debian.org"),
        ("security.", "debian.org"),
        ("registry.", "npmjs.org"),
    )
)


def project_files() -> list[Path]:
    """Every file that is, or would be, committed."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if listing.returncode:
        pytest.skip("not a git repository")
    return [ROOT / name for name in listing.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def test_no_file_names_a_machine_or_an_index() -> None:
    """Paths of one machine and hosts of registries stay out of everything that is committed."""
    hits = [
        f"{path.relative_to(ROOT)} holds {text}"
        for path in project_files()
        for text in FORBIDDEN
        if text.encode() in path.read_bytes()
    ]
    assert hits == []


def test_the_constraints_are_bare_versions_with_hashes() -> None:
    """constraints.txt holds pinned names and hashes, no option and no address."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if "==" not in line and not line.startswith("    --hash=sha256:")] == []
    assert [line for line in lines if "//" in line] == []
