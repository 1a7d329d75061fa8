"""The docs listener: an index of this run's addresses and operations, the changelog and its feed,
the rules, the OpenAPI documents, the protobuf bundle (§9), and the target page of the document
links of identity verification (§3.5).
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from html import escape
from typing import cast
from urllib.parse import parse_qsl

from aiohttp import web
from msgspec import json

from sim.api.pipeline.error_mapping import http_status
from sim.contract import changelog
from sim.contract.contract import PLANES, Operation, Plane, load_contract
from sim.core.model.refusals import Refusal
from sim.kernel.instants import format_instant
from sim.read.report.files import FOLDER
from sim.server.host import Host
from sim.server.http.body import Uploads, read_body
from sim.server.http.page_guard import READING, PageGuard, guarded
from sim.server.http.response import Headers, HttpError, HttpResponse
from sim.server.http.server import HttpServer
from sim.server.listeners import Addresses

BUNDLE = "/proto/bundle"
ASYNCAPI, LLMS, SKILL = _DOCUMENTS = ("/asyncapi.json", "/llms.txt", "/skill.md")
DOCV = "/docv/"
_FORM_LIMIT = 4096
_RULE = re.compile(r'^  (\w+): (".*"),$', re.MULTILINE)


# Other pages may link to a page here, but not embed it to make a person press its buttons.
_PAGE_HEADERS = (
    ("Content-Security-Policy", "frame-ancestors 'self'"),
    ("X-Content-Type-Options", "nosniff"),
)


def docs_server(host: Host, addresses: Addresses, names: tuple[str, ...] = ()) -> HttpServer:
    """The server of the docs listener. `names` are accepted host names besides loopback names
    and IP addresses.
    """
    guard = PageGuard(names, static=True)
    return HttpServer(guarded(Docs(host, addresses), guard), lambda: host.now)


class Docs:
    """The pages of one run."""

    def __init__(self, host: Host, addresses: Addresses) -> None:
        self._host = host
        self._addresses = addresses
        self._uploads = Uploads()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        path = request.raw_path.partition("?")[0]
        if path.startswith(DOCV):
            return await self._document(request, path.removeprefix(DOCV))
        if request.method not in READING:
            raise HttpError(405, 12, "only GET", headers=(("Allow", "GET, HEAD"),))
        if path in ("/", "/index.html"):
            return self._page("Sandbox exchange", self._index())
        if path == "/changelog":
            return self._page("Changelog", changelog.page(self._host.now, self._notices()))
        if path == "/rules":
            return self._page("Rules", _rules())
        document = self._document_at(path)
        if document is None:
            raise HttpError(404, 5, "Not Found")
        kind, content, headers = document
        return HttpResponse(200, content, content_type=kind, now=self._host.now, headers=headers)

    def _notices(self) -> list[changelog.WindowEntry]:
        """Return what the changelog says of one-off maintenance windows (§8), oldest first."""
        notices = []
        for window in self._host.simulation.exchange.maintenance_calendar.announced():
            hours = f"{format_instant(window.begins)} to {format_instant(window.ends)}"
            for verb, at in (("announced", window.since), ("called off", window.until)):
                if at and (verb == "announced" or at <= window.begins):
                    title = f"Maintenance window {verb}"
                    body = f"One-off maintenance from {hours} is {verb}."
                    name = f"{window.name}-{verb.replace(' ', '-')}"
                    notices.append(
                        changelog.WindowEntry(name=name, heading=title, body=body, published=at)
                    )
        return notices

    def _page(self, title: str, inside: str, status: int = 200) -> HttpResponse:
        page = _PAGE.format(title=escape(title), inside=inside).encode()
        return HttpResponse(
            status,
            page,
            content_type="text/html; charset=utf-8",
            now=self._host.now,
            headers=_PAGE_HEADERS,
        )

    async def _document(self, request: web.BaseRequest, token: str) -> web.StreamResponse:
        """The page of a document link, on which a tester chooses the result of the upload."""
        form: dict[str, str] = {}
        if request.method == "POST":
            body, _ = await read_body(request, _FORM_LIMIT, self._uploads)
            form = dict(parse_qsl(body.decode("utf-8", "replace")))
        try:
            case = self._host.simulation.exchange.kyc.find(token)
            if request.method == "POST":
                await self._host.control("kyc.document", token, {"result": form.get("result", "")})
        except Refusal as refusal:
            return self._page(
                "Document", f"<h1>Document</h1><p>{escape(refusal.message)}", http_status(refusal)
            )
        buttons = _BUTTONS if case.docv is not None else ""
        return self._page(
            "Document",
            f"<h1>Document of {escape(case.external_id)}</h1><p>{escape(case.decision)},"
            f" {escape(case.sub_status)}.{buttons}",
        )

    def _document_at(self, path: str) -> tuple[str, bytes, Headers] | None:
        """Media type, content and headers of a machine-readable document; None if there is none."""
        if path == "/changelog/rss.xml":
            feed = changelog.rss(self._host.now, self._addresses.docs, self._notices())
            return "application/rss+xml; charset=utf-8", feed, ()
        if path == BUNDLE:
            bundle, checksum = _bundle()
            attachment = ("Content-Disposition", 'attachment; filename="bundle.zip"')
            sums = (("ETag", f'"{checksum}"'), ("x-checksum-sha256", checksum))
            return "application/zip", bundle, (attachment, *sums)
        plane = path.removeprefix("/openapi/").removesuffix(".json")
        is_plane = path == f"/openapi/{plane}.json" and plane in (*PLANES, "control")
        if not is_plane and path not in _DOCUMENTS:
            return None
        from sim.server.http import interface_documents as documents

        simulation, settings, at = self._host.simulation, self._host.settings, self._addresses
        if path == LLMS:
            text = documents.llms_text(simulation, at).encode("utf-8", "replace")
            return "text/plain; charset=utf-8", text, ()
        if path == SKILL:
            return "text/markdown; charset=utf-8", documents.skill(), ()
        if path == ASYNCAPI:
            document = documents.asyncapi_of(simulation, settings, at.retail)
        elif plane == "control":
            from sim.server.control.openapi import control_openapi

            document = control_openapi(at.control)
        else:
            server = getattr(at, plane)
            document = documents.openapi_of(cast(Plane, plane), simulation, settings, server)
        return "application/json", json.encode(document), ()

    def _index(self) -> str:
        simulation = self._host.simulation
        surfaces = "".join(
            f"<tr><th>{name}<td><code>{escape(address)}</code>"
            for name, address in self._addresses.surfaces()
            if address is not None
        )
        operations = "".join(_row(operation) for operation in load_contract().operations)
        links = " · ".join(
            f'<a href="/openapi/{plane}.json">OpenAPI: {plane}</a>'
            for plane in (*PLANES, "control")
        )
        return _INDEX.format(
            scenario=escape(simulation.scenario.name),
            seed=simulation.seed,
            surfaces=surfaces,
            operations=operations,
            links=links,
            bundle=BUNDLE,
        )


def _row(operation: Operation) -> str:
    addresses = (
        [f"{verb} {template}" for verb, template, _ in operation.bindings]
        if operation.planes
        else []
    )
    addresses += operation.full_methods[:1]
    cells = (operation.name, " ".join(operation.planes), operation.scope, operation.summary)
    spelling = "<br>".join(f"<code>{escape(address)}</code>" for address in addresses)
    name, planes, scope, summary = (escape(cell) for cell in cells)
    return f"<tr><td>{name}<td>{planes}<td>{spelling}<td>{scope}<td>{summary}\n"


@lru_cache(maxsize=1)
def _rules() -> str:
    """Every rule with an anchor of its name, from the control room's copy of the rules."""
    text = (FOLDER / "rules.js").read_text("utf-8")
    rows = (
        f'<tr id="{name.lower()}"><th>{name}<td>{escape(json.decode(sentence))}\n'
        for name, sentence in _RULE.findall(text)
    )
    return f"<h1>Rules</h1><p>What answers and explanations cite.<table>{''.join(rows)}</table>"


@lru_cache(maxsize=1)
def _bundle() -> tuple[bytes, str]:
    from importlib.resources import files

    content = files("sim.contract.pb").joinpath("bundle.zip").read_bytes()
    return content, hashlib.sha256(content).hexdigest()


_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<link rel="alternate" type="application/rss+xml" href="/changelog/rss.xml" title="Changelog">
<style>
body {{font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem}}
table {{border-collapse: collapse}}
tr:target {{background: #fff3d6; color: #1b2430}}
td, th {{padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid #ddd; overflow-wrap: anywhere}}
.tag {{background: #eee; border-radius: 3px; padding: 0 .4rem}}
button {{font: inherit; padding: .3rem 1rem; margin-right: 1rem}}
</style>
{inside}
</html>
"""
_INDEX = """<h1>Sandbox exchange</h1>
<p>Scenario <b>{scenario}</b>, seed {seed}.
<h2>Addresses</h2>
<table>{surfaces}</table>
<p><a href="/changelog">Changelog</a> · <a href="/rules">Rules</a> · {links} ·
<a href="{bundle}">Protobuf bundle</a>
(its SHA-256 is the ETag) · <a href="/asyncapi.json">AsyncAPI: sockets and webhooks</a> ·
<a href="/llms.txt">llms.txt</a> · <a href="/skill.md">Skill for coding agents</a>
<h2>Operations</h2>
<table><tr><th>Operation<th>Planes<th>Addresses<th>Scope<th>Summary
{operations}</table>"""
_BUTTONS = """
<form method="post"><button name="result" value="uploaded">The document was uploaded</button>
<button name="result" value="failed">It could not be read</button></form>"""
