"""Makes hyper 0.7, the HTTP library of PyPI's ksql, run on Python 3.10 and later."""

import collections
import collections.abc

for _name in ("Iterable", "Mapping", "MutableMapping", "MutableSet"):
    setattr(collections, _name, getattr(collections.abc, _name))
