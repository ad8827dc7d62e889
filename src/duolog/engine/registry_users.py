"""Pass the users of schema registries to the JVM, which keeps them in memory only.

Plans have addresses without users. The JVM sends the users to executors with each query's jobs, see
`RegistryUsers` of the kernel.
"""

import json

from duolog.engine.spark.session import Session
from duolog.schemas.registry_users import known_users


def tell_registry_users(session: Session) -> None:
    """Pass the users that this process knows to the JVM, for queries that this thread starts."""
    users = known_users()
    if users:
        java = session.spark._jsparkSession  # noqa: SLF001 - PySpark has no public access to Java
        session.kernel("RegistryUsers").tell(java, json.dumps(users))
