"""The one-file report of a run: the control room's page with the run inside."""
