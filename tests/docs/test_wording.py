"""Texts say things as scikit-learn, scanpy or pandas would: phrases to avoid."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MADE = {"names", "_build", "_made"}
SOURCES = [
    path
    for suffix in ("py", "jinja", "js")
    for path in (ROOT / "src").rglob(f"*.{suffix}")
]
PAGES = [
    *ROOT.glob("*.md"),
    *(
        path
        for path in (ROOT / "docs").rglob("*.md")
        if not MADE & set(path.relative_to(ROOT).parts)
    ),
]
# Anywhere: what to write instead.
EVERYWHERE = {
    r"(?<!\bthere )\b(?:is|are|was|were|be) no (?!longer\b|more\b)": "is not a",
    r"\bknows? no\b": "does not support",
    r"(?<!\bthere )\b(?:is|are) (?-i:none)\b": "is not",
    r"\bshall\b": "must, can",
    r"\btill\b": "until",
    r"\bturn(?:s|ed)? round\b": "transpose",
    r"\bmend(?:s|ed)?\b": "fix",
    r"\ba (?:name|row|count|line) a (?:line|row)\b": "one name per line",
    r"\bnobody can tell\b": "cannot be told",
    r"\bin turns of\b": "alternating",
    r"\btaken? for zeros?\b": "read as zeros",
}
# On pages for users: history, the load of a machine, sentences to read twice.
ON_PAGES = {
    r"\bno longer\b": "present tense",
    r"\bof which\b": "two sentences",
    r"\bgo(?:es)? on\b": "continue",
    r"\b(?:busy|quiet|idle) machine\b": "processor seconds",
    r"\b(?:hours|a session) (?:earlier|before)\b": "present tense",
    r"\bwhole numbers?\b": "integers",
    r"\bA/A\b|\bin turns with\b|\braised priority\b": "benchmarks/results",
}


def found(paths, patterns):
    for path in paths:
        text = " ".join(path.read_text(encoding="utf-8").split())
        for pattern, instead in patterns.items():
            for hit in re.finditer(pattern, text, flags=re.IGNORECASE):
                around = text[max(0, hit.start() - 40) : hit.end() + 40]
                yield f"{path.relative_to(ROOT)}: …{around}… ({instead})"


def test_no_phrase_that_reads_as_translated():
    assert not [*found([*SOURCES, *PAGES], EVERYWHERE)]


def test_pages_speak_of_the_present_and_of_no_machine():
    assert not [*found(PAGES, ON_PAGES)]


@pytest.mark.parametrize(
    ("text", "n"), [("it is no count", 1), ("there is no layer", 0), ("till K", 1)]
)
def test_phrases_are_found(text, n, tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(text)
    assert len([*found([page], EVERYWHERE)]) == n
