"""Which release of the sandbox this is: in `sim --version`, in every journal, and for scenarios
that name the release they were written for. The package takes its version from here.
"""

RELEASE = "0.1.0"
