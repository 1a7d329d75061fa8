"""The release of the sandbox: for `sim --version`, for every journal, and for scenarios that name
the release they were written for.

The package takes its version from here.
"""

RELEASE = "0.1.0"
