"""Calls about the instances of this process: list, start, fork and stop them.

The public name of an instance is "world" in paths and answers; it is a promise and stays.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from msgspec import Struct

from sim.core.model.refusals import Conflict, InvalidRequest
from sim.scenario.scalar_types import INTEGER
from sim.scenario.scenario import SEED_NUMBER, Scenario
from sim.server.beside import beside
from sim.server.control.call import Call, InstanceControl
from sim.server.control.clock_calls import clock_mode
from sim.server.host import Host


class ForkBody(Struct, frozen=True):
    """A name for a new instance, made up when left out, and the moment at which it begins: right
    after the input `seq` of a branch, of the present one unless given; now when left out.
    """

    name: str = ""
    seq: Annotated[int | None, INTEGER] = None
    branch: str = ""


class InstanceBody(Struct, frozen=True):
    """A new instance. Without a scenario it begins as this one began."""

    name: str = ""
    scenario: Annotated[Any, "bundled name, document, YAML text, or path below --scenarios"] = None
    params: Annotated[Any, "texts by name"] = None
    seed: Annotated[int | None, SEED_NUMBER] = None
    clock: Annotated[str | None, "manual, autojump, paced, paced:60"] = None


def _instances(call: Call) -> InstanceControl:
    if call.instances is None:
        remedy = "only `sim serve` and the pytest fixture can run several instances"
        raise Conflict("this process serves a single exchange", remedy=remedy)
    return call.instances


async def list_instances(host: Host, call: Call) -> object:
    return {"worlds": _instances(call).describe_all()}


async def start_instance(host: Host, call: Call) -> object:
    instances, body = _instances(call), call.body
    scenario = host.simulation.scenario
    if body.scenario is not None:
        # Reading a large one takes long, and nobody else has to wait for it.
        folder = host.settings.scenarios
        scenario = await beside(_scenario, body.scenario, body.params or {}, folder)
    elif body.params is not None:
        raise InvalidRequest("params belong to a scenario", remedy='{"scenario": …, "params": {…}}')
    mode = None if body.clock is None else clock_mode(body.clock)
    name = await instances.begin(host, scenario, body.seed, body.name, mode)
    return instances.describe(name)


async def fork_instance(host: Host, call: Call) -> object:
    instances, body = _instances(call), call.body
    if body.branch and body.seq is None:
        raise InvalidRequest("a branch needs a seq", remedy='{"branch": "main", "seq": 12}')
    name = await instances.fork(host, body.name, seq=body.seq, branch=body.branch)
    return instances.describe(name)


async def stop_instance(host: Host, call: Call) -> object:
    instances, name = _instances(call), call.path["name"]
    instances.describe(name)
    if instances.name_of(host) == name:
        remedy = "use the control plane of another instance, such as main"
        raise Conflict("an instance cannot end itself", remedy=remedy)
    await instances.end(name)
    return {}


def _scenario(source: object, params: object, folder: str) -> Scenario:
    from sim.loader.load import load_submitted
    from sim.scenario.yaml_tree import ScenarioError

    if not isinstance(source, str | dict):
        kinds = "a document, YAML text, or a path below the folder of --scenarios"
        raise InvalidRequest(f"scenario is the name of a bundled one, {kinds}")
    if not isinstance(params, dict) or not all(isinstance(value, str) for value in params.values()):
        raise InvalidRequest("params must map names to texts")
    try:
        return load_submitted(source, Path(folder) if folder else None, params)
    except ScenarioError as error:
        page = "docs/how-to/write-a-scenario.md"
        remedy = f"`sim schema` prints the schema of scenarios; {page} explains it"
        raise InvalidRequest(str(error), remedy=remedy) from None
