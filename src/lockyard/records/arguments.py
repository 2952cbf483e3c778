# SPDX-License-Identifier: Apache-2.0
"""Options of the commands that read many records: export, history and campaign."""

from pathlib import Path
from typing import Annotated

import typer

from lockyard.cli import completions

Files = Annotated[
    list[Path], typer.Argument(metavar="FILE…", help="Record files.", show_default=False)
]
Csv = Annotated[
    Path | None,
    typer.Option(
        "--csv",
        metavar="FILE",
        help="Write CSV.",
        show_default="standard output, without --parquet",
    ),
]
Parquet = Annotated[
    Path | None,
    typer.Option(
        "--parquet",
        metavar="FILE",
        help="Write Parquet; needs lockyard[history].",
        show_default=False,
    ),
]
Folder = Annotated[
    Path,
    typer.Argument(
        metavar="FOLDER",
        help="A folder with record files, *.jsonl or *.jsonl.gz, also in its subfolders.",
        show_default=False,
    ),
]
Machines = Annotated[
    str,
    typer.Option(
        "--machine",
        metavar="NAME,…",
        help="Only machines whose processor has this in its name.",
        show_default="all",
    ),
]
Kernels = Annotated[
    str,
    typer.Option(
        "--kernel",
        metavar="VERSION,…",
        help="Only kernels whose version begins so.",
        show_default="all",
    ),
]
Locks = Annotated[
    str,
    typer.Option(
        "--lock",
        metavar="NAME,…",
        help="Only these locks.",
        show_default="all",
        autocompletion=completions.references,
    ),
]
Studies = Annotated[
    str,
    typer.Option(
        "--study",
        metavar="NAME,…",
        help="Only these studies.",
        show_default="all",
        autocompletion=completions.studies_listed,
    ),
]
Figures = Annotated[
    str,
    typer.Option(
        "--figure",
        metavar="NAME,…",
        help="Only these figures, as the table names them: rate, p99.9, longest.",
        show_default="all",
    ),
]
Since = Annotated[
    str,
    typer.Option(
        "--since",
        metavar="DATE|30d|6w",
        help="Only files from that day on.",
        show_default="all",
    ),
]
Plot = Annotated[bool, typer.Option("--plot", help="Draw each series, a bar for each file.")]
CampaignFile = Annotated[
    Path, typer.Argument(metavar="FILE.toml", help="The campaign.", show_default=False)
]
Cluster = Annotated[
    str,
    typer.Option(
        "--cluster",
        metavar="tcp://HOST:PORT",
        help="The scheduler of a cluster of Dask distributed; needs lockyard[cluster].",
        show_default="this machine alone",
    ),
]
Patience = Annotated[
    str,
    typer.Option(
        "--patience",
        metavar="TIME",
        help="How long to wait for a worker that is needed, such as one that was lost.",
    ),
]
