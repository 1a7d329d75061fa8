"""The exchange: a pure, synchronous calculation with integers. Start reading at `exchange.py`."""
