"""The control plane over HTTP."""
