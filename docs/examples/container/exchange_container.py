"""The sandbox in a container of a Python test, with Testcontainers (`pip install testcontainers`).
Copy it: it needs nothing else.

    with ExchangeContainer() as exchange:
        client = MyClient(exchange.ready["retail"], **exchange.ready["api_keys"][0])
        exchange.control("POST", "/clock/advance", {"by": "5m"})
"""

from __future__ import annotations

import json
import urllib.request
from typing import Any, Self

from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import HealthcheckWaitStrategy

SURFACES = ("gateway", "retail", "exchange", "auth", "grpc", "control", "docs")
FIRST_PORT = 18080
READY_FILE = "/run/sim/ready.json"


class ExchangeContainer(DockerContainer):
    """A container of the image. Once it has started, `ready` is its ready file, with the addresses
    by which this machine reaches it; what clients sign for (`audience`) stays as the exchange has
    it. Settings are those of `sim serve`: `SIM_SCENARIO="mine"`.
    """

    def __init__(self, image: str = "sandbox-exchange", **settings: str) -> None:
        super().__init__(image)
        self.ready: dict[str, Any] = {}
        self.with_exposed_ports(*range(FIRST_PORT, FIRST_PORT + len(SURFACES)))
        for name, value in {"SIM_CLOCK": "manual", **settings}.items():
            self.with_env(name, value)
        self.waiting_for(HealthcheckWaitStrategy())

    def start(self) -> Self:
        """Start it, and wait until it is healthy."""
        super().start()
        code, output = self.exec(["cat", READY_FILE])
        if code:
            raise RuntimeError(f"no ready file in the container: {output.decode().strip()}")
        self.ready = json.loads(output)
        for surface in SURFACES:
            scheme, separator, inside = self.ready[surface].rpartition("://")
            port = self.get_exposed_port(int(inside.rpartition(":")[2]))
            self.ready[surface] = f"{scheme}{separator}{self.get_container_host_ip()}:{port}"
        return self

    def control(self, verb: str, path: str, body: object = None) -> Any:
        """A call of the control plane, below /_sim/v1."""
        request = urllib.request.Request(
            f"{self.ready['control']}/_sim/v1{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self.ready['control_token']}",
                "Content-Type": "application/json",
            },
            method=verb,
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
