"""Write a scenario, a first test and a CI file into a project.

Nothing is overwritten: if one of the files exists already, nothing is written at all.

examples:
  sim init
  sim init my-project --ci gitlab
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from sim.cli.arguments import Options, usage_error
from sim.read.layout import put

# File in the project, by name of the template.
FILES = {
    "scenarios/first.yaml": "scenarios/first.yaml",
    "tests/test_exchange.py": "tests/test_exchange.py",
    "requirements-exchange.txt": "requirements-exchange.txt",
}
CI = {
    "github": {"ci/exchange.yml": ".github/workflows/exchange.yml"},
    "gitlab": {"ci/gitlab-ci.yml": ".gitlab-ci.yml"},
    "shell": {"ci/exchange.sh": "exchange.sh"},
    "none": dict[str, str](),
}
SCHEMA = "scenarios/scenario.schema.json"


def add_arguments(parser: Options) -> None:
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="folder of the project (default: the current one)",
    )
    parser.add_option(
        "--ci", "CI service to write a file for (default: github)", choices=CI, default="github"
    )


def run(args: argparse.Namespace) -> int:
    files = {args.folder / name: text for name, text in _texts(args.ci).items()}
    if there := [str(path) for path in files if path.exists() or path.is_symlink()]:
        return usage_error(
            f"nothing was written, because these files exist already: {', '.join(there)}"
        )
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        if path.suffix == ".sh":
            path.chmod(0o755)
        put(f"  {path}")
    into = "" if args.folder == Path() else f"cd {shlex.quote(str(args.folder))} && "
    put(f"next: {into}sim run scenarios/first.yaml && pytest tests/test_exchange.py")
    return 0


def _texts(ci: str) -> dict[str, str]:
    """The text of each file, by its name in the project."""
    import json

    from sim.kernel import resources
    from sim.kernel.release import RELEASE
    from sim.world.format.json_schema import scenario_schema

    texts = {SCHEMA: json.dumps(scenario_schema(), indent=2) + "\n"}
    for source, name in {**FILES, **CI[ci]}.items():
        text = resources.path("fixtures", f"new-project/{source}").read_text(encoding="utf-8")
        texts[name] = text.replace("@RELEASE@", RELEASE).replace("@PACKAGE@", _package())
    return texts


def _package() -> str:
    """The requirement that installs this sandbox again: the source that pip got,
    else the release.
    """
    import json
    from importlib import metadata

    from sim.kernel.release import RELEASE

    try:
        text = metadata.distribution("sandbox-exchange").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        text = None
    origin = json.loads(text) if text else {}
    if not origin.get("url"):
        return f"sandbox-exchange[testing]=={RELEASE}"
    version = origin.get("vcs_info")
    url = f"{version['vcs']}+{origin['url']}@{version['commit_id']}" if version else origin["url"]
    return f"sandbox-exchange[testing] @ {url}"
