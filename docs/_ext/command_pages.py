"""The reference of the command line, made from the commands themselves."""

import click

from threecpo.cli import _main, _options


def top():
    """Return the context of ``threecpo``, whose names of --help commands inherit."""
    group = _main.commands
    return click.Context(group, info_name="threecpo", **group.context_settings)


def commands():
    """Return the commands by name, in the order of ``threecpo --help``."""
    return {name: _main.commands.get_command(top(), name) for name in _main.COMMANDS}


def page():
    """Return a section for each command, as Markdown."""
    found = commands()
    return "\n\n".join(
        section(title, each, found["fit"]) for title, each in found.items()
    )


def section(title, command, fit):
    """Return what a command does, its options and examples.

    Options that ``threecpo fit`` has as well are only named.
    """
    context = click.Context(command, info_name=title, parent=top())
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [f"## {title}", f"```text\nthreecpo {title} {usage}\n```"]
    parts.append(about(command))
    known = option_groups(fit, context) if command is not fit else {}
    for group, records in option_groups(command, context).items():
        new = [each for each in records if each not in known.get(group, [])]
        same = [each for each in records if each in known.get(group, [])]
        if new:
            rows = [f"| `{escaped(flags)}` | {escaped(text)} |" for flags, text in new]
            parts.append("\n".join([f"| {group} | |", "| --- | --- |", *rows]))
        if same:
            flags = ", ".join(f"`{name(flags)}`" for flags, _ in same)
            parts.append(f"{group}, as for [fit](#fit): {flags}.")
    if command.epilog:
        lines = command.epilog.replace("\b", "").strip().splitlines()[1:]
        parts.append("\n".join(["```text", *(line.strip() for line in lines), "```"]))
    return "\n\n".join(parts)


def about(command):
    text = "\n".join(line.strip() for line in (command.help or "").splitlines())
    return text.replace("\b", "").replace("<", "&lt;")


def option_groups(command, context):
    """Return pairs of flags and help for each titled group of options."""
    groups = {}
    for param in command.params:
        record = isinstance(param, _options.Option) and param.get_help_record(context)
        if record:
            groups.setdefault(param.group, []).append(record)
    return dict(sorted(groups.items(), key=lambda item: _options.TITLES.index(item[0])))


def name(flags):
    """Return the long name of an option, without its value."""
    return next(each for each in flags.split() if each.startswith("--"))


def escaped(text):
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
