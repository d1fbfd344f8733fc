"""How the suite meets chance, and which tests wait for ``make test-all``."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

from hypothesis import HealthCheck, settings

# No verdict depends on how busy the machine is.
patient = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
# A fifth of the examples, the same in every run.
settings.register_profile("quick", patient, max_examples=20, derandomize=True)
# All examples, others in every run. What fails is kept under .hypothesis, and tried first the next time.
settings.register_profile("full", patient, max_examples=100)
settings.load_profile("quick")


def pytest_collection_modifyitems() -> None:
    """Load all modules: hypothesis draws from their constants, and draws shall not depend on what ran before."""
    import sfumato

    for module in walk_packages(sfumato.__path__, "sfumato."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
