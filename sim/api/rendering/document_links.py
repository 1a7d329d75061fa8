"""Links for uploading identity documents, as they appear in answers (§3.5).

Ports differ between runs, so the exchange uses a placeholder as the base of such a link. The server
replaces it by the real address and turns `docv.qrCode` into a QR code of the link, a PNG as a data
URL. Neither is journalled, so the journal does not depend on a compressor. The QR library is
imported on first use.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sim.core.identity.kyc import DOCV_BASE

_BASE = DOCV_BASE.encode()
_CODE = re.compile(rb'("qrCode":")(' + re.escape(_BASE) + rb'/[^"]+)(")')
_SCALE, _BORDER = 4, 4  # pixels per module; quiet zone in modules (ISO/IEC 18004)


def with_links(body: bytes, base: str = DOCV_BASE) -> bytes:
    """Return the JSON of an answer with document links that point to the address `base`."""
    if _BASE not in body:
        return body
    to = base.encode()
    body = _CODE.sub(
        lambda match: match[1] + _picture(match[2].replace(_BASE, to)) + match[3], body
    )
    return body.replace(_BASE, to)


@lru_cache(maxsize=256)
def _picture(link: bytes) -> bytes:
    """Return the QR code of a link as a data URL."""
    import segno

    code = segno.make_qr(link.decode(), error="m")
    return code.png_data_uri(scale=_SCALE, border=_BORDER).encode()
