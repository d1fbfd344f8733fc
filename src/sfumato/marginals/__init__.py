"""Marginal publication: sets of attributes, the joint that an attacker infers, and what count tables disclose."""
