"""Small files laid out as the published ones, and other things to unpack."""

import gzip
import io
import tarfile
import zipfile


def zipped(path, contents):
    """A zip file of names and contents."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path


def tarred(contents, mode="w:gz", **header):
    """Bytes of a tar archive of names and contents."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, content in contents.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for field, value in header.items():
                setattr(info, field, value)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


WHOLESALES = (
    b"Channel,Region,Fresh,Milk,Grocery,Frozen,Detergents_Paper,Delicassen\r\n"
    b"2,3,12669,9656,7561,214,2674,1338\r\n"
    b"1,3,7057,0,9568,1762,3293,1776\r\n"
)


def wholesales(folder):
    zipped(
        folder / "wholesale+customers.zip", {"Wholesale customers data.csv": WHOLESALES}
    )


def optdigits(folder):
    def line(digit):
        return ",".join(["0"] * 63 + ["16", str(digit)]) + "\n"

    zipped(
        folder / "optical+recognition+of+handwritten+digits.zip",
        {
            "optdigits-orig.names": "about",
            "optdigits.tes": line(3),
            "optdigits.tra": line(7) + line(0),
        },
    )


def spreadsheet(rows, declaration=""):
    """A SpreadsheetML file with a second sheet that nobody wants."""
    cells = "".join(
        "<Row>"
        + "".join(
            f'<Cell><Data ss:Type="String">{cell}</Data></Cell>\r\n' for cell in row
        )
        + "</Row>"
        for row in rows
    )
    return (
        f'<?xml version="1.0"?>{declaration}'
        '<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" '
        'xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet">'
        f'<Worksheet ss:Name="Features"><Table>{cells}</Table></Worksheet>'
        '<Worksheet ss:Name="Other"><Table><Row><Cell><Data>no</Data></Cell></Row>'
        "</Table></Worksheet></Workbook>"
    )


SPORT_ROWS = [
    [
        "TextID",
        "URL",
        "Label",
        "totalWordsCount",
        "CC",
        "a&amp;b",
        "sentence1st",
        "sentencelast",
        "txtcomplexity",
    ],
    ["Text0001", "http://x", "subjective", "9", "4", "0", "1", "1", "18"],
    ["Text0002", "http://y", "objective", "8", "0", "7", "0", "1", "19"],
]


def sport_articles(folder, content=None):
    zipped(
        folder / "sports+articles+for+objectivity+analysis.zip",
        {"features.xls": content or spreadsheet(SPORT_ROWS), "Raw data/T.txt": "x"},
    )


def bbc(folder, name="bbc-fulltext.zip", root="bbc"):
    zipped(
        folder / name,
        {
            f"{root}/README.TXT": "not an article",
            f"{root}/tech/002.txt": b"caf\xe9 phones",
            f"{root}/tech/001.txt": "phones phone",
            f"{root}/sport/001.txt": "the goal",
        },
    )


def bbcsports(folder):
    bbc(folder, "bbcsport-fulltext.zip", "bbcsport")


def webkb(folder):
    head = b"MIME-Version: 1.0\nServer: CERN/3.0\n\n"
    pages = {
        "webkb/other/cornell/http:^^x": b"unwanted",
        "webkb/student/texas/http:^^b": head + b"<html> <b>bo</b>ok 12ab3c</html>",
        "webkb/course/misc/http:^^c": head + b"<!-- x --><html>exam",
    }
    (folder / "webkb-data.gtar.gz").write_bytes(tarred(pages))


def article(number, topics, text):
    listed = "".join(f"<D>{topic}</D>" for topic in topics)
    return (
        f'<REUTERS TOPICS="YES" NEWID="{number}">\n<TOPICS>{listed}</TOPICS>\n'
        f"<UNKNOWN>reute</UNKNOWN>\n{text}\n</REUTERS>\n"
    )


def reuters(folder):
    articles = [
        article(
            1,
            ["earn", "wheat"],
            "<TEXT>&#2;\n<TITLE>PROFIT UP</TITLE>\n<DATELINE> OSLO - </DATELINE>"
            "<BODY>Much profit\nat Reuter.\n Reuter\n&#3;</BODY></TEXT>",
        ),
        article(2, ["earn", "acq"], "<TEXT><TITLE>TWO</TITLE></TEXT>"),
        article(3, ["wheat"], "<TEXT><TITLE>NONE</TITLE></TEXT>"),
        article(
            4,
            ["grain"],
            '<TEXT TYPE="BRIEF">&#2;\n******<TITLE>CORN IN\nAUTUMN\n</TITLE>Blah.\n'
            "</TEXT>",
        ),
        article(
            5, ["acq"], '<TEXT TYPE="UNPROC">&#2;\nCORRECTION\n Reuter\n&#3;\n\n</TEXT>'
        ),
    ]
    inner = tarred(
        {
            "README.txt": b"about",
            "reut2-001.sgm": "".join(articles[3:]).encode("latin-1"),
            "reut2-000.sgm": "".join(articles[:3]).encode("latin-1"),
        }
    )
    zipped(
        folder / "reuters+21578+text+categorization+collection.zip",
        {"README.txt": "about", "reuters21578.tar.gz": inner},
    )


def newsgroups(folder):
    head = b"From: someone\nSubject: secret\n\n"
    messages = {
        "20news-bydate-test/sci.med/10": head + b"pills\n> quoted\nJo wrote:\n",
        "20news-bydate-train/sci.med/9": head + b"pills pills\n\n--\nJo Smith\n",
        "20news-bydate-train/rec.autos/7": head + b"cars\n- -\ncar",
    }
    (folder / "20news-bydate.tar.gz").write_bytes(tarred(messages))


def gene_expression(folder):
    root = "TCGA-PANCAN-HiSeq-801x20531"
    inner = tarred(
        {
            f"{root}/data.csv": b",gene_0,gene_1\nsample_0,0.0,2.6\nsample_1,1.4,0.2\n",
            f"{root}/labels.csv": b",Class\nsample_0,PRAD\nsample_1,BRCA\n",
        }
    )
    zipped(folder / "gene+expression+cancer+rna+seq.zip", {f"{root}.tar.gz": inner})


def human_dendritic(folder):
    cells = b'"c-1"\t"c_2"\n"A1BG"\t0.4\t3.6\n"A2M"\t1e2\t0\n"ZZ"\t0\t0\n'
    samples = (
        b'"cell"\t"celltype"\t"batch"\n"c_2"\t"c_2"\t"pDC"\t"Batch1"\n'
        b'"c-1"\t"c-1"\t"CD1C"\t"Batch1"\n'
    )
    (folder / "dataset1_sm_uc3.txt.gz").write_bytes(gzip.compress(cells))
    (folder / "sample_sm_uc3.txt.gz").write_bytes(gzip.compress(samples))


def mouse_atlas(folder):
    # R turns marks of a column's name into dots.
    cells = b"gene\tT.cell_1.GC\tNK.AA\nGnai3\t1\t0\nCdc45\t0\t7\n"
    samples = (
        b'"nGene"\t"ct"\t"batchlb"\n"T-cell_1.GC"\t5\t"T-cell"\t"Batch1"\n'
        b'"NK.AA"\t6\t"NK"\t"Batch2"\n'
    )
    folder.joinpath("filtered_total_batch1_seqwell_batch2_10x.txt.gz").write_bytes(
        gzip.compress(cells)
    )
    folder.joinpath(
        "filtered_total_sample_ext_organ_celltype_batch.txt.gz"
    ).write_bytes(gzip.compress(samples))


WRITERS = {
    "wholesales": wholesales,
    "sport_articles": sport_articles,
    "optdigits": optdigits,
    "bbcsports": bbcsports,
    "bbcnews": bbc,
    "webkb": webkb,
    "reuters": reuters,
    "20newsgroups": newsgroups,
    "mouse_atlas": mouse_atlas,
    "gene_expression": gene_expression,
    "human_dendritic": human_dendritic,
}
