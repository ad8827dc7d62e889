"""The SBOM of the distribution `duolog`, in the form CycloneDX 1.6.

It lists the connector's jars with their digests and licences, and the libraries inside the jars.
It has neither a serial number nor a time: equal inputs give equal bytes.
"""

from collections.abc import Sequence
from typing import Any, Final

from duolog.engine.jvm.artifacts import Artifact

_APACHE: Final = "Apache-2.0"
# The libraries inside a jar: group, name, licence. The jars do not state their versions.
_CONTAINED: Final = {
    "kafka-clients": (
        ("com.google.protobuf", "protobuf-java", "BSD-3-Clause"),
        ("io.opentelemetry.proto", "opentelemetry-proto", _APACHE),
    ),
    "spark-sql-kafka-0-10_2.13": (("org.spark-project.spark", "unused", _APACHE),),
    "spark-token-provider-kafka-0-10_2.13": (("org.spark-project.spark", "unused", _APACHE),),
}


def bill_of_materials(artifacts: Sequence[Artifact], version: str) -> dict[str, Any]:
    """Return the SBOM of `duolog` in a version, whose wheel contains `artifacts`."""
    root = f"pkg:pypi/duolog@{version}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": root,
                "name": "duolog",
                "version": version,
                "purl": root,
                "licenses": [{"license": {"id": _APACHE}}],
            }
        },
        "components": [_component(artifact) for artifact in artifacts],
        "dependencies": [
            {"ref": root, "dependsOn": [_purl(artifact) for artifact in artifacts]},
            *({"ref": _purl(artifact)} for artifact in artifacts),
        ],
    }


def _component(artifact: Artifact) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": _purl(artifact),
        "group": artifact.group,
        "name": artifact.name,
        "version": artifact.version,
        "purl": _purl(artifact),
        "hashes": [{"alg": "SHA-256", "content": artifact.sha256}],
        "licenses": [{"license": {"id": _APACHE}}],
    }
    if contained := _CONTAINED.get(artifact.name):
        component["components"] = [
            {
                "type": "library",
                "bom-ref": f"{_purl(artifact)}#{name}",
                "group": group,
                "name": name,
                "purl": f"pkg:maven/{group}/{name}",
                "licenses": [{"license": {"id": licence}}],
            }
            for group, name, licence in contained
        ]
    return component


def _purl(artifact: Artifact) -> str:
    return f"pkg:maven/{artifact.group}/{artifact.name}@{artifact.version}"
