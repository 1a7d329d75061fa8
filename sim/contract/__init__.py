"""What `proto/` says: the table of operations, messages, descriptors, OpenAPI, the compiler."""
