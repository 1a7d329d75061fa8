"""HTTP: the REST planes, WebSockets and the document page."""
