"""Build the image of the Dockerfile and run compose.yaml's two services, without a daemon.

    .venv/bin/python .ci/container.py [--base IMAGE]

For machines where no docker daemon runs: buildah builds the image, each service is a copy of its
root file system, entered by a namespace with a network of its own, and the client reaches the
exchange by its name. Without --base no registry is asked either: debootstrap makes a base from
Debian's packages. Prints the size of the image and how long the exchange took to be ready. Not
proved here: `docker build`, `docker compose` and the published base image.

Needs root, buildah, debootstrap (or --base), iproute2 and unshare:
    apt-get install --no-install-recommends buildah debootstrap iproute2
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent
SUITE, PACKAGES = "bookworm", "ca-certificates,python3-minimal,python3-venv,python-is-python3"
WASTE = "rm -rf /var/lib/apt/lists /var/cache/* /var/log/* /usr/share/doc /usr/share/man"
# What the machine says about certificates and package registries holds while the image is built.
HOST_FILES = [path for path in ("/etc/ssl/certs", "/etc/pip.conf") if Path(path).exists()]
READY_S = 20.0


def run(*command: str | Path, **more: Any) -> str:
    """Standard output of a command; its failure ends this program."""
    done = subprocess.run([str(one) for one in command], text=True, stdout=subprocess.PIPE, **more)
    if done.returncode:
        sys.exit(f"failed with {done.returncode}: {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout.strip()


def debian_base(folder: Path) -> str:
    """An image with Debian and its Python, as `localhost/base`."""
    tree = folder / "base"
    run("debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, tree)
    run("chroot", tree, "sh", "-c", WASTE)
    container = run("buildah", "from", "scratch")
    run("buildah", "add", "--quiet", container, tree, "/")
    run("buildah", "commit", "--quiet", "--rm", container, "localhost/base")
    shutil.rmtree(tree)
    return "localhost/base"


def build(base: str, folder: Path) -> None:
    """Build the image, and say how large it is as a registry would keep it."""
    mounts = [f"--volume={path}:{path}:ro" for path in HOST_FILES]
    options = ["--isolation=chroot", "--format=docker", f"--build-arg=BASE={base}", *mounts]
    run("buildah", "bud", *options, "--tag", "sandbox-exchange", ROOT)
    for name in ("sandbox-exchange", base):
        run("buildah", "push", "--quiet", name, f"oci:{folder / 'oci'}")
        size = sum(blob.stat().st_size for blob in (folder / "oci/blobs/sha256").iterdir())
        print(f"{name}: {size / 1e6:.1f} MB compressed")
        shutil.rmtree(folder / "oci")


class Service:
    """A service of compose.yaml: a copy of the image's files in a network namespace."""

    def __init__(self, name: str, address: str, hosts: str, ready: Path) -> None:
        self.entry = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"][name]
        self.container = run("buildah", "from", "sandbox-exchange")
        self.files = Path(run("buildah", "mount", self.container))
        image = json.loads(run("buildah", "inspect", "--type=image", "sandbox-exchange"))
        self.image = image["Docker"]["config"]
        (self.files / "etc/hosts").write_text(f"127.0.0.1 localhost\n{hosts}")
        self.namespace = f"sandbox-{name}"
        run("ip", "netns", "add", self.namespace)
        run("ip", "-n", self.namespace, "link", "set", "lo", "up")
        self.address, self.ready = address, ready

    def cable(self, other: Service) -> None:
        """Connect two services."""
        end = ("type", "veth", "peer", "name", "eth0", "netns", other.namespace)
        run("ip", "link", "add", "eth0", "netns", self.namespace, *end)
        for one in (self, other):
            run("ip", "-n", one.namespace, "addr", "add", f"{one.address}/24", "dev", "eth0")
            run("ip", "-n", one.namespace, "link", "set", "eth0", "up")

    def start(self, command: list[str]) -> subprocess.Popen[str]:
        """Run a command as the image's user, with its environment and the service's volumes."""
        volumes = []
        for volume in self.entry["volumes"]:
            source, target, *_ = volume.split(":")
            source = self.ready if source == "ready" else (ROOT / source).resolve()
            (self.files / target.lstrip("/")).mkdir(parents=True, exist_ok=True)
            volumes.append(f"mount --bind '{source}' '{self.files}{target}'")
        user = self.image["User"]
        variables = dict(one.split("=", 1) for one in self.image["Env"])
        variables |= {key: str(value) for key, value in self.entry.get("environment", {}).items()}
        mounts = [*volumes, f"mount --bind /dev '{self.files}/dev'"]
        enter = f"exec chroot --userspec={user}:{user} '{self.files}' env -C /run/sim \"$@\""
        inside = ["sh", "-c", " && ".join([*mounts, enter]), "sh", *command]
        outside = ["ip", "netns", "exec", self.namespace, "unshare", "--mount", *inside]
        return subprocess.Popen(outside, env=variables | {"PATH": variables["PATH"] + ":" + PATH})

    def end(self) -> None:
        run("buildah", "rm", self.container)
        run("ip", "netns", "delete", self.namespace)


PATH = os.environ["PATH"]


def journey(folder: Path) -> int:
    """The exchange, and when it is healthy the client. The client's exit code."""
    ready = folder / "ready"
    ready.mkdir(mode=0o700)
    os.chown(ready, 10001, 10001)
    exchange = Service("exchange", "10.99.0.1", "10.99.0.1 exchange\n", ready)
    client = Service("client", "10.99.0.2", "10.99.0.1 exchange\n", ready)
    serving = None
    try:
        exchange.cable(client)
        began = time.monotonic()
        serving = exchange.start([*exchange.image["Entrypoint"], *exchange.image["Cmd"]])
        while not (ready / "ready.json").exists() and time.monotonic() - began < READY_S:
            time.sleep(0.01)
        print(f"ready after {time.monotonic() - began:.2f} s, the namespace included")
        check = exchange.image["Healthcheck"]["Test"]
        if exchange.start(check[1:]).wait():
            sys.exit("the health check fails")
        return client.start(client.entry["entrypoint"]).wait()
    finally:
        if serving is not None:
            serving.terminate()
            print(f"the exchange ended with {serving.wait()}")
        exchange.end()
        client.end()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", help="base image, instead of one from Debian's packages")
    base = parser.parse_args().base
    with tempfile.TemporaryDirectory(prefix="container-") as name:
        os.environ["STORAGE_DRIVER"] = os.environ.get("STORAGE_DRIVER", "vfs")
        folder = Path(name)
        build(base or debian_base(folder), folder)
        return journey(folder)


if __name__ == "__main__":
    sys.exit(main())
