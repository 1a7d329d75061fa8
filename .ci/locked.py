"""Print the part of requirements.lock that some packages need, hashes included.

`.ci/locked.py runtime` is what the sandbox needs, `.ci/locked.py build` what its wheel is built
with. The lock file says of each package why it is there ("via"), so nothing is resolved again. The
Dockerfile installs from this, without what only tests need. Standard library only.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
ENTRY = re.compile(r"^(?P<name>[a-z0-9-]+)==.*?(?=^[a-z0-9-]+==|\Z)", re.MULTILINE | re.DOTALL)


def needed(what: str) -> list[str]:
    """Names of the packages that pyproject.toml asks for."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = {
        "runtime": document["project"]["dependencies"],
        "build": document["build-system"]["requires"],
    }[what]
    return [normal(re.split(r"[\s<>=!~;\[]", one, maxsplit=1)[0]) for one in asked]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(what: str) -> str:
    """The entries of what is needed, and of what that needs."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    entries = {one["name"]: one[0] for one in ENTRY.finditer(text)}
    children: dict[str, list[str]] = {}
    for name, entry in entries.items():
        for parent in re.findall(r"^    #(?: via|  ) +([a-z0-9-]+)", entry, re.MULTILINE):
            children.setdefault(parent, []).append(name)
    found, left = set[str](), needed(what)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += children.get(name, [])
    return "".join(entries[name] for name in sorted(found))


if __name__ == "__main__":
    sys.stdout.write(locked(sys.argv[1]))
