"""The studio: pages on this computer in which a data steward publishes a table; started by ``sfumato studio``."""
