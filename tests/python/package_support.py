"""What the tests of the package share. Arguments: the folder that holds it, the program sfnn."""

import hashlib
import subprocess
import sys
import unittest


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def import_package(*also):
    sys.path.insert(0, sys.argv[1])
    try:
        import sfnn  # noqa: F401
    except ImportError as error:
        if "sfnn" not in str(error) and "_engine" not in str(error):
            skip(f"the Python package needs {error.name}, and PyPI was not reachable")
        skip("the Python module is not built: it needs nanobind, and PyPI was not reachable")
    for name in also:
        try:
            __import__(name)
        except ImportError:
            skip(f"{name} is not installed: PyPI was not reachable, or it is for ./run test --all")


def program(*arguments):
    subprocess.run([sys.argv[2], *map(str, arguments)], check=True, capture_output=True, text=True)


def weights_hash(network):
    digest = hashlib.sha256()
    for name, values in sorted(network.weights().items()):
        digest.update(name.encode() + values.tobytes())
    return digest.hexdigest()


def main():
    unittest.main(argv=sys.argv[:1], verbosity=1)
