# SPDX-License-Identifier: GPL-2.0-or-later
"""What fish has completed for a Program."""

HEAD = """\
# @NAME@ and its options in fish; made of what its --help says.
# SPDX-License-Identifier: GPL-2.0-or-later

complete -c @NAME@ -f

function __@NAME@_filesystems
    findmnt -t btrfs,xfs -lno TARGET 2>/dev/null | sort -u
    findmnt -t btrfs,xfs -lno UUID 2>/dev/null | sort -u
end

# What is typed of the word at the cursor, or of the value that is in it.
function __@NAME@_typed
    string replace -r -- '^--[a-z-]+=' '' (commandline -ct)
end

# A list by commas: what was typed of it, with each column behind that.
function __@NAME@_columns
    set -l before (string match -r -- '^(?:.*,|\\+)?' (__@NAME@_typed))
    printf '%s\\n' $before$argv
end

# What is typed before the cursor, without options and their values.
function __@NAME@_words
    set -l is_value 0
    for word in (commandline -opc)[2..-1]
        if test $is_value = 1
            set is_value 0
        else if contains -- $word @WITH_VALUE@
            set is_value 1
        else if not string match -q -- '-*' $word
            echo $word
        end
    end
end

# Whether the verb is this.
function __@NAME@_verb_is
    set -l words (__@NAME@_words)
    test "$words[1..$(count $argv)]" = "$argv"
end

# Whether so many arguments of the verb are there, which is $argv[2..-1].
function __@NAME@_has
    set -l words (__@NAME@_words)
    __@NAME@_verb_is $argv[2..-1]
    and test (math (count $words) - (count $argv) + 1) = $argv[1]
end
"""


def quote(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def candidates(program, value, columns):
    found = list(value.words)
    for kind in value.kinds:
        found.append({
            "file": f"(__fish_complete_path (__{program.name}_typed))",
            "directory": f"(__fish_complete_directories (__{program.name}_typed) '')",
            "filesystem": f"(__{program.name}_filesystems)", "disk": "(lsblk -dno NAME 2>/dev/null)",
            "key": f"(__{program.name}_keys)",
            "columns": f"(__{program.name}_columns {' '.join(columns)})",
        }[kind])
    return " ".join(found)


def condition(program, verb):
    if verb.name:
        return f"__{program.name}_verb_is {verb.name}"
    return f"not __{program.name}_words | string length -q" if program.verbs else ""


def complete(program, when, *words):
    return " ".join(filter(None, (f"complete -c {program.name}", when and f"-n {quote(when)}", *words)))


def options(program, verb):
    when = condition(program, verb)
    for option in verb.options:
        words = [option.short and f"-s {option.short[1]}", f"-l {option.long[2:]}"]
        if option.value:
            found = candidates(program, option.value, verb.columns)
            words += ["-x", found and f"-a {quote(found)}"]
        yield complete(program, when, *words, f"-d {quote(option.summary)}")


def arguments(program, verb):
    for i, argument in enumerate(verb.arguments):
        found = candidates(program, argument, [])
        if not found:
            continue
        if not verb.name:
            when = ""
        elif verb.repeats and i == len(verb.arguments) - 1:
            when = f"__{program.name}_verb_is {verb.name}" + "".join(
                f"; and not __{program.name}_has {n} {verb.name}" for n in range(i))
        else:
            when = f"__{program.name}_has {i} {verb.name}"
        yield complete(program, when, f"-a {quote(found)}")


def verbs(program):
    for first, said in program.first_words().items():
        when = f"not __{program.name}_words | string length -q"
        yield complete(program, when, f"-a {first}", f"-d {quote(said)}")
    for first, seconds in program.second_words().items():
        for second, said in seconds.items():
            yield complete(program, f"__{program.name}_has 0 {first}", f"-a {second}", f"-d {quote(said)}")


def keys(program):
    yield f"function __{program.name}_keys"
    for key, words in program.keys.items():
        if words:
            yield f"    printf '%s\\n' {key}={{{','.join(words)}}}"
        else:
            yield f"    echo {key}="
    yield "end"
    yield ""


def make(program):
    every = [program.common, *program.verbs]
    with_value = {name for verb in every for option in verb.options if option.value
                  for name in option.names()}
    text = [HEAD.replace("@WITH_VALUE@", " ".join(sorted(with_value)))]
    if program.keys:
        text += keys(program)
    text += verbs(program)
    for verb in every:
        text += options(program, verb)
        text += arguments(program, verb)
    return "\n".join(text).replace("@NAME@", program.name) + "\n"
