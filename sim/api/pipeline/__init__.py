"""The stages that every call passes, whatever the plane and protocol."""
