"""The exchange: pure, synchronous, integers only. Start reading at `exchange.py`."""
