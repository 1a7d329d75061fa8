"""The actions of testers and operators on a running exchange."""
