"""A lean start trusts nobody less: certificates are read when an https receiver is called, from where the environment says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sim.shell.webhook_sender import Answered

SCRIPT = """
import asyncio, os, sys
from sim.shell.lean import import_aiohttp
before = dict(os.environ)
import_aiohttp()
assert dict(os.environ) == before
import aiohttp.connector, aiohttp.web
from pathlib import Path
from sim.api.traffic import Post
from sim.kernel.instants import seconds
from sim.settings import Settings
from sim.shell.tls import make_identity
from sim.shell.webhook_sender import WebhookSender

assert not aiohttp.connector._SSL_CONTEXT_VERIFIED.get_ca_certs()
answers = []

async def main(context):
    async def receive(request):
        return aiohttp.web.Response()
    app = aiohttp.web.Application()
    app.router.add_post("/", receive)
    runner = aiohttp.web.AppRunner(app)
    await runner.setup()
    await aiohttp.web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    port = runner.addresses[0][1]
    sender = WebhookSender(Settings(), now=lambda: 0, secret_for=lambda key: None, answered=lambda attempt, answer: answers.append(answer))
    sender.post(Post("a1", f"https://127.0.0.1:{port}/", "evt", b"{}", "", seconds(5)))
    await sender.idle(5)
    await sender.close()
    await runner.cleanup()

identity = make_identity(Path(sys.argv[1]), "127.0.0.1")
if sys.argv[2] == "trusted":
    os.environ["SSL_CERT_FILE"] = str(identity.ca_file)
asyncio.run(main(identity.context))
print(answers)
"""


@pytest.mark.parametrize(("trust", "answer"), [("trusted", Answered(200)), ("unknown", Answered(0, "ClientConnectorCertificateError"))])
def test_an_https_receiver_is_verified_although_aiohttp_was_imported_without_certificates(tmp_path: Path, trust: str, answer: Answered) -> None:
    ran = subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path), trust], capture_output=True, text=True, check=False, env=dict(os.environ))
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == str([answer])
