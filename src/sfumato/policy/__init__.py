"""The policy: everything that a release is made from except the data."""
