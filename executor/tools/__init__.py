"""From a function or a schema to a tool: names, signatures, schemas, the catalogue."""
