"""Messages in, messages out: codecs, the pipeline, streams, and one handler for each operation."""
