"""One input in, one outcome out: journal records, snapshots, time travel."""
