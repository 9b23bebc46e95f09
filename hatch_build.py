"""Metadata made of the project's addresses: links, and a README for an index."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)(\[[^]]*\])\((?!https?:|#)([^)\s]+)\)")


class Addresses(MetadataHookInterface):
    """Fills in ``authors``, ``urls`` and ``readme``."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set what pyproject.toml calls dynamic."""
        repository, documentation = (
            self.config["repository"],
            self.config["documentation"],
        )
        metadata["authors"] = [
            {"name": "The threecpo developers", "email": self.config["contact"]}
        ]
        metadata["urls"] = {
            "Documentation": documentation,
            "Source": repository,
            "Issues": f"{repository}/issues",
            "Changelog": f"{repository}/blob/main/CHANGELOG.md",
        }
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_addresses(text, repository),
        }


def with_addresses(text: str, repository: str) -> str:
    """Links to files of the repository as they work outside it."""

    def link(found: re.Match[str]) -> str:
        kind = "raw" if found[1] else "blob"
        return f"{found[1]}{found[2]}({repository}/{kind}/main/{found[3]})"

    return LINK.sub(link, text)
