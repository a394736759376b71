# SPDX-License-Identifier: GPL-2.0-or-later
"""What zsh has completed for a Program."""

import shlex

HEAD = """\
#compdef @NAME@
# @NAME@ and its options in zsh; made of what its --help says.
# SPDX-License-Identifier: GPL-2.0-or-later

_@NAME@_filesystems() {
	local -a mounts uuids

	mounts=(${(fu)"$(findmnt -t btrfs,xfs -lno TARGET 2>/dev/null)"})
	uuids=(${(fu)"$(findmnt -t btrfs,xfs -lno UUID 2>/dev/null)"})
	_alternative 'mounts:mount point:compadd -a mounts' 'uuids:UUID:compadd -a uuids'
}

_@NAME@_disks() {
	local -a disks

	disks=(${(f)"$(lsblk -dno NAME 2>/dev/null)"})
	_wanted disks expl disk compadd -a disks
}

_@NAME@_columns() {
	compset -P '+'
	_values -s , column "$@"
}

# The words in $1, or what others complete.
_@NAME@_or() {
	local -a alternatives
	local other

	alternatives=("words:word:($1)")
	shift
	for other in "$@"; do
		alternatives+=("${other#_}:value:$other")
	done
	_alternative $alternatives
}
"""


def text_of(words):
    """A description, where brackets and colons have a meaning."""
    for mark in "\\[]:":
        words = words.replace(mark, "\\" + mark)
    return words


def action(program, value, columns):
    """What completes a value, as the last part of a specification."""
    # A blank before it has it called with what stands here alone.
    if value.kinds == ["columns"]:
        return f" _{program.name}_columns {' '.join(columns)}"
    actions = [{
        "file": "_files", "directory": "_directories", "filesystem": f"_{program.name}_filesystems",
        "disk": f"_{program.name}_disks", "key": f"_{program.name}_keys",
    }[kind] for kind in value.kinds]
    if not actions:
        return f"({' '.join(value.words)})" if value.words else " "
    if len(actions) == 1 and not value.words:
        return actions[0]
    return f" _{program.name}_or '{' '.join(value.words)}' {' '.join(actions)}"


def specifications(program, verb):
    for option in verb.options:
        names = option.names()
        excluded = f"({' '.join(names)})" if len(names) > 1 else ""
        if option.long == "--exclude":
            excluded = "*"
        for name in names:
            sign = ""
            value = ""
            if option.value:
                sign = "=" if name.startswith("--") else "+"
                value = f":value:{action(program, option.value, verb.columns)}"
            yield f"{excluded}{name}{sign}[{text_of(option.summary)}]{value}"
    for i, argument in enumerate(verb.arguments):
        number = "*" if verb.repeats and i == len(verb.arguments) - 1 else str(i + 1)
        yield f"{number}:argument:{action(program, argument, [])}"


def arguments(program, verb, indent, more=()):
    yield f"{indent}_arguments -s -S : \\"
    found = [*specifications(program, verb), *more]
    for specification in found[:-1]:
        yield f"{indent}\t{shlex.quote(specification)} \\"
    yield f"{indent}\t{shlex.quote(found[-1])}"


def described(words):
    return " ".join(shlex.quote(f"{word}:{text_of(said)}") for word, said in words.items())


def keys(program):
    yield f"_{program.name}_keys() {{"
    yield "\tif compset -P '*='; then"
    yield "\t\tcase $IPREFIX in"
    for key, words in program.keys.items():
        if words:
            yield f"\t\t{key}=) compadd {' '.join(words)} ;;"
    yield "\t\tesac"
    yield "\telse"
    yield f"\t\tcompadd -S = {' '.join(program.keys)}"
    yield "\tfi"
    yield "}"
    yield ""


def verb_function(program):
    """Completes what is behind a verb, which is the first of the words."""
    yield f"_{program.name}_verb() {{"
    yield "\tlocal verb=$words[1]"
    yield "\tlocal -a seconds"
    yield ""
    yield "\tcase $verb in"
    for first, seconds in program.second_words().items():
        yield f"\t{first})"
        yield "\t\tif ((CURRENT == 2)); then"
        yield f"\t\t\tseconds=({described(seconds)})"
        yield "\t\t\t_describe word seconds"
        yield "\t\t\treturn"
        yield "\t\tfi"
        yield "\t\tverb+=\" $words[2]\""
        yield "\t\tshift words"
        yield "\t\t((CURRENT--))"
        yield "\t\t;;"
    yield "\tesac"
    yield "\tcase $verb in"
    for verb in program.verbs:
        yield f"\t{shlex.quote(verb.name)})"
        yield from arguments(program, verb, "\t\t")
        yield "\t\t;;"
    yield "\tesac"
    yield "}"
    yield ""


def make(program):
    text = [HEAD]
    if program.keys:
        text += keys(program)
    if program.verbs:
        text += verb_function(program)
        text += [f"_{program.name}_verbs() {{", "\tlocal -a verbs", "",
                 f"\tverbs=({described(program.first_words())})", "\t_describe verb verbs", "}", ""]
    text += [f"_{program.name}() {{"]
    more = [f"1:verb:_{program.name}_verbs", f"*::argument:_{program.name}_verb"] if program.verbs else []
    text += arguments(program, program.common, "\t", more)
    text += ["}", "", f"_{program.name} \"$@\""]
    return "\n".join(text).replace("@NAME@", program.name) + "\n"
