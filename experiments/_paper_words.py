"""The words that the paper lists for each class, and for C0 and C-."""

_LISTS = {
    "BBCSports": {
        "rugby": "half six their franc nation the rugbi ireland wale england",
        "athletics": "year indoor world race athlet her olymp she in the",
        "cricket": "four day by run his test wicket over off ball",
        "tennis": "the australian she her final in seed roddick set open",
        "football": "unit leagu have chelsea club that he is we it",
        "C0": "as at with but was on for of and to",
        "C-": "former move face month week old intern injuri last said",
    },
    "BBCNews": {
        "politics": "tori blair would govern said parti elect labour he mr",
        "entertainment": "music was for award best of in and film the",
        "sport": "player after england game play win we his he but",
        "business": "said firm bank market compani us of it in the",
        "tech": "can user phone game are peopl that technolog mobil use",
        "C0": "about new up their an this will as is to",
        "C-": "12 earlier 20 januari charg 2003 third dure follow week",
    },
}
PAPER_WORDS = {
    name: {title: words.split() for title, words in table.items()}
    for name, table in _LISTS.items()
}
