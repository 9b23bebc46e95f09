"""All files that are fuzzed, by name."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from . import doors, seeds, seeds_anndata, seeds_sheets
from .mutations import digests, hdf5, json_values
from .target import FileTarget, of_fits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .target import Target, Tree

# Targets that take milliseconds get a smaller share.
_SLOW = 2
_OBJECTS = """{"text": "cats and dogs", "label": "a", "id": "1"}
{"text": "birds and cats", "label": "b", "id": "2"}
"""
_STRINGS = """"cats and dogs"
"birds birds"

"a fish"
"""


def _table(
    name: str, opened: str, trees: Callable[[], list[Tree]], **given: Any
) -> FileTarget:
    """A file that ``read_counts`` reads with these options."""
    known = ("labels", "text_options", "thousands", "empty")
    options = {key: given.pop(key) for key in known if key in given}
    door: Callable[[Path], None] = partial(doors.read_table, **options)
    return FileTarget(name, opened, trees, door, **given)


def _blocks(name: str, opened: str, trees: Callable[[], list[Tree]]) -> FileTarget:
    return FileTarget(name, opened, trees, doors.read_blocks, weight=_SLOW)


def _texts() -> list[Tree]:
    names = ("t/a/1.txt", "t/a/2.txt", "t/b/3.txt")
    words = ("cats and dogs", "birds, birds and a cat", "one fish - two fish\n")
    return seeds.plain_files(
        dict(zip(names, words, strict=True)),
        {"t/1.txt": "red and blue", "t/2.txt": "red red"},
    )


def _jsonl() -> list[Tree]:
    return seeds.plain_files({"t.jsonl": _OBJECTS}, {"t.jsonl": _STRINGS})


def _text_columns() -> list[Tree]:
    return seeds.plain_files(
        {
            "t.csv": "id,note,label\n1,a cat sat on the warm mat,a\n"
            '2,"a dog, too, lay on the mat",b\n'
        },
        {"t.csv": "note\ttotal\nthe first of the long notes\t3\nan other note\t4\n"},
    )


def _written_numbers() -> list[Tree]:
    return seeds.plain_files(
        {"t.csv": "k;a;b\nx;1.234,50 €;2\ny;;NA\nz;7,0;12.345.678\n"},
        {"t.csv": "k;a\nx;3\ny;1.000\n"},
    )


def _objects() -> list[Tree]:
    return seeds.plain_files(
        {
            "t.jsonl": '{"k": "x", "a": 3, "b": "1.234,5 €", "label": "u"}\n\n'
            '{"k": "y", "b": null, "c": true, "label": "v"}\n{"k": "z", "a": 2.5}\n'
        },
        {"t.jsonl": '{"a": 1, "label": "u"}\n{"# a": "2 €", "label": null}\n'},
    )


def _plain_counts() -> list[Tree]:
    return seeds.plain_files(
        {"t.csv": "k,a,b,c\nx,3,0,1\ny,0,2,0\nz,5,0.5,7\n"},
        {"t.csv": 'k;"a;b";c\n"x ""1""";3;0\ny;0;2\n'},
    )


def _beside_metadata(trees: Callable[[], list[Tree]]) -> list[Tree]:
    """Tables of labels beside counts that stay as they are."""
    return [{"m" + name[1:]: file for name, file in each.items()} for each in trees()]


def _metadata(suffix: str, trees: Callable[[], list[Tree]]) -> FileTarget:
    return FileTarget(
        f"metadata-{suffix}",
        f"m.{suffix}",
        partial(_beside_metadata, trees),
        doors.read_metadata,
        weight=3 if suffix == "csv" else _SLOW,
    )


def _metadata_csv() -> list[Tree]:
    return seeds.plain_files(
        {"t.csv": "sample;label;age\nrow 1;u;3\nrow 0;v;\nrow 9;u;4\n"},
        {"t.csv": '#SampleID\tlabel\n#q2:types\tcategorical\n"row 2"\t=u\n'},
    )


def _metadata_targets() -> list[FileTarget]:
    return [
        _metadata("csv", _metadata_csv),
        _metadata("xlsx", seeds_sheets.xlsx),
        _metadata("parquet", partial(seeds.written, "t.parquet")),
    ]


def _text_targets() -> list[FileTarget]:
    written, unstemmed = seeds.written, {"text_options": {"stem": None}}
    return [
        _table("csv", "t.csv", partial(written, "t.csv"), labels="label"),
        _table("csv-triples", "t.csv", partial(written, "t.csv", triples=True)),
        _table("tsv.gz", "t.tsv.gz", partial(written, "t.tsv.gz"), labels="label"),
        _table("jsonl", "t.jsonl", _jsonl, **unstemmed),
        _table(
            "jsonl-counts",
            "t.jsonl",
            _objects,
            thousands=".",
            empty="zero",
            labels="label",
        ),
        _table("csv-text", "t.csv", _text_columns, **unstemmed),
        _table("csv-numbers", "t.csv", _written_numbers, thousands=".", empty="zero"),
        _table("texts", "t", _texts, **unstemmed),
        _table("mtx", "t.mtx", seeds.mtx_variants),
        _table("mtx.gz", "t.mtx.gz", partial(written, "t.mtx.gz")),
        _table("10x", "t", partial(written, "t", format="10x")),
        _table(
            "biom-json",
            "t.biom",
            partial(seeds_anndata.biom, "json"),
            labels="site",
            mutations={".biom": json_values.mutated},
        ),
    ]


def _binary_targets() -> list[FileTarget]:
    written = partial(seeds.written, "t.parquet")
    return [
        _table("npz", "t.npz", partial(seeds.written, "t.npz")),
        *(
            _table(f"npz-{layout}", "t.npz", partial(seeds.scipy_npz, layout))
            for layout in ("csr", "csc", "coo")
        ),
        _table("parquet", "t.parquet", written, labels="label", weight=_SLOW),
        _table(
            "parquet-triples", "t.parquet", partial(written, triples=True), weight=_SLOW
        ),
        _table(
            "parquet-numbers",
            "t.parquet",
            seeds.parquet_of_texts,
            labels="label",
            thousands=".",
            empty="zero",
            weight=_SLOW,
        ),
        *(
            _table(
                f"h5ad-{layout}",
                "t.h5ad",
                partial(seeds_anndata.h5ad, layout),
                labels="label",
                weight=_SLOW,
            )
            for layout in ("csr", "dense", "csc", "layers")
        ),
        _table("xlsx", "t.xlsx", seeds_sheets.xlsx, labels="label", weight=_SLOW),
        _table("ods", "t.ods", seeds_sheets.ods, weight=_SLOW),
        _table(
            "zarr-table", "t", seeds_anndata.zarr_folders, labels="label", weight=_SLOW
        ),
        _table("10x-hdf5", "t.h5", seeds_anndata.tenx_hdf5, weight=_SLOW),
        _table(
            "biom-hdf5",
            "t.biom",
            partial(seeds_anndata.biom, "hdf5"),
            labels="site",
            mutations={".biom": hdf5.mutated},
            weight=_SLOW,
        ),
    ]


def _block_targets() -> list[FileTarget]:
    return [
        _blocks("zarr", "t", seeds_anndata.zarr_folders),
        _blocks("blocks-h5ad", "t.h5ad", partial(seeds_anndata.h5ad, "csr")),
        _blocks("blocks-10x-hdf5", "t.h5", seeds_anndata.tenx_hdf5),
        _blocks("blocks-npz", "t", partial(seeds.block_folders, "npz")),
        _blocks("blocks-parquet", "t", partial(seeds.block_folders, "parquet")),
        _blocks("blocks-csv", "t.csv", _plain_counts),
        _blocks("blocks-mtx", "t.mtx", seeds.mtx_variants),
    ]


def _fit_targets() -> list[FileTarget]:
    return [
        FileTarget("model", "t.npz", seeds.models, doors.use_model, of_fits),
        FileTarget(
            "checkpoint",
            "t",
            seeds.checkpoints,
            doors.resume,
            of_fits,
            {".json": digests.inside_frame(json_values.mutated)},
            weight=_SLOW,
            with_digests=True,
        ),
    ]


def registry() -> dict[str, Target]:
    """All targets by name."""
    made = [
        *_text_targets(),
        *_binary_targets(),
        *_metadata_targets(),
        *_block_targets(),
        *_fit_targets(),
    ]
    return {target.name: target for target in made}
