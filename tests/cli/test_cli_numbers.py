"""Commands on tables whose numbers are written as people write them."""


def test_the_advice_of_each_error_leads_to_a_table(run, tmp_path):
    (tmp_path / "t.csv").write_text("Kunde;Brot;Milch\nAnna;1.234;\nBert;3;5\n")
    asked = run("info", "t.csv")
    assert asked.code == 2
    assert "Pass --thousands '.' or --decimal '.'." in asked.err
    empty = run("info", "t.csv", "--thousands", ".")
    assert "or pass --empty 'zero'." in empty.err
    given = ("--thousands", ".", "--empty", "zero")
    assert run("info", "t.csv", *given, "--json").json["total"] == 1242
    done = run("fit", "t.csv", "-k", 1, *given, "--no-report")
    assert done.code == 0, done.err
