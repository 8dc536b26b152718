"""`python -m attend`: the same as the `attend` command."""

from attend.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
