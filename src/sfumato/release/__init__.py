"""From a policy to a verified release on disk."""
