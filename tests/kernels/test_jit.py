"""How kernels are compiled and kept."""

import os
import subprocess
import sys

SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from sfumato.kernels import outer
print(outer.twice_inner(20))
"""


def test_a_change_in_a_called_kernel_is_never_missed(tmp_path):
    """numba alone looks at the file of the outer function only."""
    folder = tmp_path / "sfumato" / "kernels"
    folder.mkdir(parents=True)
    (tmp_path / "sfumato" / "__init__.py").write_text("")
    (folder / "__init__.py").write_text("")
    import sfumato.kernels.jit as jit

    with open(jit.__file__, encoding="utf-8") as source:
        (folder / "jit.py").write_text(source.read())
    (folder / "outer.py").write_text(
        "from sfumato.kernels.jit import kernel\nfrom sfumato.kernels.inner import inner\n\n\n"
        "@kernel\ndef twice_inner(x):\n    return 2 * inner(x)\n"
    )
    printed = []
    for added in (1, 2):
        (folder / "inner.py").write_text(
            f"from sfumato.kernels.jit import inlined\n\n\n@inlined\ndef inner(x):\n    return x + {added}\n"
        )
        environment = {**os.environ, "SFUMATO_CACHE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        environment.pop("PYTHONPATH", None)
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, env=environment, check=True
        )
        printed.append(int(done.stdout))
    assert printed == [42, 44]
