"""Programs that others would use instead, measured beside ours where they are installed.

`python -m benchmarks.peers FOLDER` installs them all: Python packages into a virtual environment,
npm packages beside it if npm is available. `python -m benchmarks --peers FOLDER` then uses them.
Without it their rows are left out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

PACKAGES = (
    "lightmatchingengine",
    "pyorderbook",
    "order-matching<0.4",  # later ones want another numpy than PAMS
    "pams>=0.3",
    "simpy",
    "looptime",
    "pytest-httpserver",
    "moto[server,s3]",
)
NPM_PACKAGES = ("@stoplight/prism-cli", "@mockoon/cli")


def install(folder: Path) -> None:
    """Fetch every peer into a folder."""
    venv.create(folder, with_pip=True)
    subprocess.run(
        [folder / "bin" / "python", "-m", "pip", "install", "--quiet", *PACKAGES], check=True
    )
    if shutil.which("npm"):
        subprocess.run(
            [
                "npm",
                "install",
                "--silent",
                "--no-fund",
                "--no-audit",
                "--prefix",
                folder,
                *NPM_PACKAGES,
            ],
            check=True,
        )
    else:
        print("npm is not here: Prism and Mockoon are left out", file=sys.stderr)


def use(folder: Path) -> None:
    """Make what is installed in a folder importable, after our own packages, and its commands
    known.
    """
    site = (
        folder
        / "lib"
        / f"python{sys.version_info.major}.{sys.version_info.minor}"
        / "site-packages"
    )
    if not site.is_dir():
        raise SystemExit(
            f"{folder} holds no peers for this Python: run `python -m benchmarks.peers {folder}`"
            " first"
        )
    sys.path.append(str(site))
    os.environ["PATH"] = os.pathsep.join(
        (str(folder / "node_modules" / ".bin"), str(folder / "bin"), os.environ["PATH"])
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    install(Path(sys.argv[1]).resolve())
