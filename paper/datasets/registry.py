"""Where each data set of the paper is published, and under which terms."""

from __future__ import annotations

from dataclasses import dataclass

UCI = "https://archive.ics.uci.edu/static/public"
BBC = "http://mlg.ucd.ie/files/datasets"
# A fixed commit: the files cannot change.
CELLS = (
    "https://github.com/JinmiaoChenLab/Batch-effect-removal-benchmarking/raw/"
    "60d52c29e29b7849b1505167da572165cc5d5b82/Data"
)
NO_LICENCE = "None stated by the publisher."
CC_BY = "Creative Commons Attribution 4.0 (CC BY 4.0), as stated by UCI."
BBC_RIGHTS = (
    "The BBC owns all rights in the articles; made available for non-commercial and "
    "research purposes only."
)
GREENE = (
    "D. Greene and P. Cunningham, Practical Solutions to the Problem of Diagonal "
    "Dominance in Kernel Document Clustering, ICML 2006."
)
TRAN = (
    "H. T. N. Tran et al., A benchmark of batch-effect correction methods for "
    "single-cell RNA sequencing data, Genome Biology 21:12, 2020."
)


@dataclass(frozen=True)
class Published:
    """One published file; ``instead`` are other files with the same content."""

    name: str
    url: str
    # Of the container as published, where that is known.
    sha256: str | None = None
    instead: tuple[str, ...] = ()


@dataclass(frozen=True)
class DatasetSource:
    """A data set: its names, its files and what its publisher says."""

    name: str
    paper_name: str
    files: tuple[Published, ...]
    home: str
    description: str
    citation: str
    licence: str
    # Nobody unpacks more bytes than this.
    limit: int = 1 << 28
    # Parsed in more than two seconds, so what was parsed is kept.
    slow: bool = False


def _uci(number: int, title: str) -> str:
    return f"{UCI}/{number}/{title}.zip"


# By name, in the order of the paper's tables.
SOURCES = {
    source.name: source
    for source in (
        DatasetSource(
            "wholesales",
            "Wholesales",
            (
                Published(
                    "wholesale+customers.zip",
                    _uci(292, "wholesale+customers"),
                    instead=("Wholesale customers data.csv",),
                ),
            ),
            "https://archive.ics.uci.edu/dataset/292/wholesale+customers",
            "Yearly spending of 440 customers on six groups of products; clusters are "
            "horeca (hotels, restaurants, cafes) and retail.",
            "M. Cardoso, Wholesale customers, UCI Machine Learning Repository, 2013, "
            "doi:10.24432/C5030X.",
            CC_BY,
        ),
        DatasetSource(
            "sport_articles",
            "SportA",
            (
                Published(
                    "sports+articles+for+objectivity+analysis.zip",
                    _uci(450, "sports+articles+for+objectivity+analysis"),
                    "fbabf8bedec32648afe386ac70eb550740ba2b81f94873e5a8c0d5497b272807",
                ),
            ),
            "https://archive.ics.uci.edu/dataset/450/"
            "sports+articles+for+objectivity+analysis",
            "Frequencies of 55 kinds of words in 1000 sport articles, which are "
            "objective or subjective.",
            "N. Hajj, Y. Rizk and M. Awad, Sports articles for objectivity analysis, "
            "UCI Machine Learning Repository, 2018.",
            CC_BY,
        ),
        DatasetSource(
            "optdigits",
            "Optdigits",
            (
                Published(
                    "optical+recognition+of+handwritten+digits.zip",
                    _uci(80, "optical+recognition+of+handwritten+digits"),
                    instead=("optdigits.tra", "optdigits.tes"),
                ),
            ),
            "https://archive.ics.uci.edu/dataset/80/"
            "optical+recognition+of+handwritten+digits",
            "5620 handwritten digits as pixels set in blocks of 4 x 4; training digits "
            "first, then those for testing.",
            "E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI "
            "Machine Learning Repository, 1998, doi:10.24432/C50P49.",
            CC_BY,
        ),
        DatasetSource(
            "bbcsports",
            "BBCSports",
            (
                Published(
                    "bbcsport-fulltext.zip",
                    f"{BBC}/bbcsport-fulltext.zip",
                ),
            ),
            "http://mlg.ucd.ie/datasets/bbc.html",
            "Terms of 737 BBC sport articles of 2004 and 2005 on five sports.",
            GREENE,
            BBC_RIGHTS,
        ),
        DatasetSource(
            "bbcnews",
            "BBCNews",
            (
                Published(
                    "bbc-fulltext.zip",
                    f"{BBC}/bbc-fulltext.zip",
                    "c438ddbcf715dab39d19d877b469534b50ce20eb2f80ed6d59350d5920b83e98",
                ),
            ),
            "http://mlg.ucd.ie/datasets/bbc.html",
            "Terms of 2225 BBC news articles of 2004 and 2005 in five sections.",
            GREENE,
            BBC_RIGHTS,
        ),
        DatasetSource(
            "webkb",
            "WebKB",
            (
                Published(
                    "webkb-data.gtar.gz",
                    "https://www.cs.cmu.edu/afs/cs.cmu.edu/project/theo-20/www/data/"
                    "webkb-data.gtar.gz",
                    instead=("webkb-data.tar.xz",),
                ),
            ),
            "https://www.cs.cmu.edu/~webkb/",
            "Terms of 4518 web pages of computer science departments, collected in "
            "1997, of six kinds.",
            "M. Craven et al., Learning to Extract Symbolic Knowledge from the World "
            "Wide Web, AAAI 1998.",
            NO_LICENCE,
        ),
        DatasetSource(
            "reuters",
            "Reuters",
            (
                Published(
                    "reuters+21578+text+categorization+collection.zip",
                    _uci(137, "reuters+21578+text+categorization+collection"),
                    instead=("reuters21578.tar.xz",),
                ),
            ),
            "https://archive.ics.uci.edu/dataset/137/"
            "reuters+21578+text+categorization+collection",
            "Terms of 8367 Reuters articles of 1987 with exactly one of the topics "
            "acq, crude, earn, grain and money-fx.",
            "D. Lewis, Reuters-21578 Text Categorization Collection, UCI Machine "
            "Learning Repository, 1997, doi:10.24432/C52G6M.",
            "The collection's README: copyright Reuters Ltd., free to distribute for "
            "research only. UCI states CC BY 4.0.",
        ),
        DatasetSource(
            "20newsgroups",
            "20NewsG",
            (
                Published(
                    "20news-bydate.tar.gz",
                    "https://ndownloader.figshare.com/files/5975967",
                    "8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
                    instead=("20news-bydate.tar.xz",),
                ),
            ),
            "http://qwone.com/~jason/20Newsgroups/",
            "Terms of 18846 messages to 20 newsgroups, without headers, footers and "
            "quotes; training messages first, then those for testing.",
            "K. Lang, NewsWeeder: Learning to Filter Netnews, ICML 1995.",
            NO_LICENCE,
            slow=True,
        ),
        DatasetSource(
            "mouse_atlas",
            "MouseAtlas",
            (
                Published(
                    "filtered_total_batch1_seqwell_batch2_10x.txt.gz",
                    f"{CELLS}/dataset2/filtered_total_batch1_seqwell_batch2_10x.txt.gz",
                ),
                Published(
                    "filtered_total_sample_ext_organ_celltype_batch.txt.gz",
                    f"{CELLS}/dataset2/"
                    "filtered_total_sample_ext_organ_celltype_batch.txt.gz",
                    "c48cbe877ebb520def4826eb0606d5d3f665ec9d75e4c6f71e9c0acf72c0dd08",
                ),
            ),
            "https://github.com/JinmiaoChenLab/Batch-effect-removal-benchmarking",
            "Expression of 15006 genes in 6954 mouse cells of eleven types, rounded.",
            TRAN,
            NO_LICENCE,
            limit=1 << 32,
            slow=True,
        ),
        DatasetSource(
            "gene_expression",
            "GeneExp",
            (
                Published(
                    "gene+expression+cancer+rna+seq.zip",
                    _uci(401, "gene+expression+cancer+rna+seq"),
                    instead=("TCGA-PANCAN-HiSeq-801x20531.tar.gz",),
                ),
            ),
            "https://archive.ics.uci.edu/dataset/401/gene+expression+cancer+rna+seq",
            "Expression of 20531 genes in 801 tumours of five kinds, rounded.",
            "S. Fiorini, gene expression cancer RNA-Seq, UCI Machine Learning "
            "Repository, 2016, doi:10.24432/C5R88H.",
            CC_BY,
            limit=1 << 30,
            slow=True,
        ),
        DatasetSource(
            "human_dendritic",
            "HDendritic",
            (
                Published(
                    "dataset1_sm_uc3.txt.gz",
                    f"{CELLS}/dataset1/dataset1_sm_uc3.txt.gz",
                    "0a28597978a1b9d64a128bb8e74243a3cb5d9a01a2b3d44174f5dfb009340100",
                ),
                Published(
                    "sample_sm_uc3.txt.gz",
                    f"{CELLS}/dataset1/sample_sm_uc3.txt.gz",
                    "1f0d3fe3511bacad8ed8baec206edc1ae34f27d10b4d661c14e7679c117207b1",
                ),
            ),
            "https://github.com/JinmiaoChenLab/Batch-effect-removal-benchmarking",
            "Expression of 26593 genes in 576 human blood dendritic cells of four "
            "types, rounded.",
            TRAN,
            NO_LICENCE,
            limit=1 << 32,
            slow=True,
        ),
    )
}
