"""Messages in, messages out: contract, codecs, the pipeline and one handler per operation. Still
pure, still no I/O.
"""
