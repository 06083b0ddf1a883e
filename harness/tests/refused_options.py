"""Options of a program that are refused: one line on stderr, exit code 2, and nothing else."""


def check_one_line(program, main, options, folder, monkeypatch, capsys):
    """Call `main` with options in an empty folder, and compare what it says and leaves."""
    monkeypatch.chdir(folder)
    try:
        code = main(options.split())
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    assert code == 2
    assert captured.err.startswith(f"{program}: error: ") and captured.err.count("\n") == 1
    assert captured.out == "" and not list(folder.iterdir())
