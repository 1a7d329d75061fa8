"""Create credentials: a partner's RSA key pair and a retail API key."""

from __future__ import annotations

import argparse
import base64
import os
import uuid
from pathlib import Path

from sim.cli.arguments import Options


def add_arguments(parser: Options) -> None:
    parser.add_path("--out", "DIR", "write the RSA key pair to this folder as PEM files")


def run(args: argparse.Namespace) -> int:
    print(new_keys(args.out))
    return 0


def new_keys(folder: Path | None) -> str:
    """A retail key and a partner's RSA pair as text to paste. With a folder the RSA pair is written
    there; FileExistsError instead of overwriting a key.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    retail = Ed25519PrivateKey.generate()
    partner = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = partner.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = partner.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    seed = base64.b64encode(retail.private_bytes_raw()).decode()
    lines = [
        "# world.api_keys of a scenario",
        f"- {{key_id: {uuid.uuid4()}, secret_key: {seed}, account: firms/retail/accounts/mine}}",
        "",
    ]
    if folder is None:
        lines += [
            "# a partner's RSA key; its public half goes into world.firms[].public_key",
            private.decode(),
            public.decode(),
        ]
    else:
        folder.mkdir(parents=True, exist_ok=True)
        with open(
            folder / "partner.pem", "xb", opener=lambda path, flags: os.open(path, flags, 0o600)
        ) as file:
            file.write(private)
        (folder / "partner.pub.pem").write_bytes(public)
        lines += [f"# a partner's RSA pair: {folder / 'partner.pem'}, {folder / 'partner.pub.pem'}"]
    return "\n".join(lines)
