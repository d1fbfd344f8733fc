"""Everything that measures or attacks a table or a release, each with its verb."""
