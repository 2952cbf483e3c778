# SPDX-License-Identifier: Apache-2.0
"""Unpacks one folder of a zip file: python tools/unpack.py FILE FOLDER DESTINATION."""

import sys
import zipfile
from pathlib import Path


def main() -> None:
    file, folder, destination = sys.argv[1:]
    with zipfile.ZipFile(file) as packed:
        for name in packed.namelist():
            if not name.startswith(f"{folder}/") or name.endswith("/"):
                continue
            path = Path(destination) / name.removeprefix(f"{folder}/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(packed.read(name))


if __name__ == "__main__":
    main()
