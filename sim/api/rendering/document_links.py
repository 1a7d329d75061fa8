"""The links under which a person uploads a document, as an answer shows them (§3.5).

The exchange knows such a link by a name of its own, since ports differ between runs. Who sends the
answer puts the address there, and makes `docv.qrCode` the picture of it: a PNG as a data URL. The
journal has neither, and so depends on no compressor. The QR library is imported with the first one.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sim.core.identity.kyc import DOCV_BASE

_BASE = DOCV_BASE.encode()
_CODE = re.compile(rb'("qrCode":")(' + re.escape(_BASE) + rb'/[^"]+)(")')
_SCALE, _BORDER = 4, 4  # pixels a module; modules of quiet zone, as ISO/IEC 18004 asks


def with_links(body: bytes, base: str = DOCV_BASE) -> bytes:
    """Return the JSON of an answer with the links of documents below an address."""
    if _BASE not in body:
        return body
    to = base.encode()
    body = _CODE.sub(
        lambda found: found[1] + _picture(found[2].replace(_BASE, to)) + found[3], body
    )
    return body.replace(_BASE, to)


@lru_cache(maxsize=256)
def _picture(link: bytes) -> bytes:
    """Return a QR code of a link as a data URL."""
    import segno

    code = segno.make_qr(link.decode(), error="m")
    return code.png_data_uri(scale=_SCALE, border=_BORDER).encode()
