"""The one-file report of a run: the page of the control room with the run inside."""
