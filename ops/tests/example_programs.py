"""Programs of a folder of examples, as modules."""

import importlib.util


def loaded(path):
    """Return what an example defines; it runs nothing when it is imported."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
