"""A local certificate authority for `--tls`, made with trustme. Clients do not trust it by default;
its key is never written.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import NamedTuple


def name_problem(name: str) -> str:
    """Why a certificate cannot contain a host name, or ""."""
    if "_" in name:
        return "names in certificates cannot contain underscores"
    try:
        name.removeprefix("*.").encode("idna")
    except UnicodeError as error:
        return str(error)
    return ""


class Identity(NamedTuple):
    """The TLS context of the listeners, and the certificate file that clients have to trust."""

    ca_file: Path
    context: ssl.SSLContext
    private_key: bytes
    certificate_chain: bytes


def make_identity(directory: Path, *hosts: str) -> Identity:
    """Create an authority, write its certificate to `directory`/ca.pem, and issue a certificate for
    loopback and `hosts`, which are valid for `name_problem`.
    """
    import trustme

    authority = trustme.CA(organization_name="Sandbox exchange")
    names = ["localhost", "127.0.0.1", "::1"]
    names += [host for host in hosts if host not in (*names, "0.0.0.0", "::", "")]
    leaf = authority.issue_cert(*dict.fromkeys(names))
    directory.mkdir(parents=True, exist_ok=True)
    ca_file = directory / "ca.pem"
    authority.cert_pem.write_to_path(ca_file)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    leaf.configure_cert(context)
    chain = b"".join(blob.bytes() for blob in leaf.cert_chain_pems)
    return Identity(ca_file.resolve(), context, leaf.private_key_pem.bytes(), chain)
