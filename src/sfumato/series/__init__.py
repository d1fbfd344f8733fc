"""Releases in series: a public folder of releases that withstand each other, and the steward's private ledger.

A way to publish the next release is one line of :data:`sfumato.series.description.WAYS`.
"""
