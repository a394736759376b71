# SPDX-License-Identifier: GPL-2.0-or-later
"""What shells offer to complete, asked of each itself: COMPLETION names the directory of what they load."""

import os
import re
import shutil
import subprocess
import tempfile

import pytest

COMPLETION = os.environ.get("COMPLETION")

# fish makes directories there.
HOME = tempfile.TemporaryDirectory(prefix="dedupd-shell-")

# What a shell has before it completes, and nothing of whoever runs the tests.
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "TERM": "dumb", "HOME": HOME.name}

# As readline has it: the words before the cursor, of which = makes one.
BASH = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
$(complete -p "$1" | sed -E 's/.*-F ([^ ]+) .*/\\1/')
printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = """
source $argv[1]
complete -C $argv[2] | string replace -r '\\t.*' ''
"""


def shell(name):
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"there is no {name}")
    return path


def ask(command, directory):
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                             check=False, timeout=60, cwd=directory, env=ENVIRONMENT)
    assert process.stderr == ""
    return sorted(process.stdout.split("\n")[:-1]) if process.stdout.strip() else []


def ask_bash(line, directory="/"):
    """The candidates for what ends the line, which has no quotes."""
    words = [word for typed in line.split(" ") for word in re.split(r"(?<=.)(?==)|(?<==)(?=.)", typed)]
    return ask([shell("bash"), "--norc", "-c", BASH, "bash", f"{COMPLETION}/{words[0]}", *words], directory)


def ask_fish(line, directory="/"):
    """The same, of which each begins where the word that is completed does."""
    name = line.split()[0]
    found = ask([shell("fish"), "--no-config", "-c", FISH, f"{COMPLETION}/{name}.fish", line], directory)
    return [re.sub(r"^(--[a-z-]+=|[A-Z][A-Za-z]*=(?=.))", "", candidate) for candidate in found]


# zsh completes for who sits before it only: so somebody does.  What it offers is kept, and said at the end.
ZSH = """
zmodload zsh/zpty
zpty -b terminal zsh -f -i
zpty -w terminal "PS1=; fpath=($1 \\$fpath); autoload -Uz compinit; compinit -u -D; stty -echo"
zpty -w terminal 'zstyle ":completion:*" insert-unambiguous true'
zpty -w terminal 'compadd() { local -a found; [[ $* == *-[OAD]* ]] || { builtin compadd -O found "$@"; print -rl -- $found >> $OFFERED }; builtin compadd "$@" }'
zpty -w terminal 'finish() { zle kill-whole-line; print -r -- @END@ >> $OFFERED; }; zle -N finish; bindkey "^X" finish; bindkey "^I" complete-word'
zpty -w -n terminal "$2"$'\\t\\x18'
"""


def ask_zsh(line, directory):
    """What it offers for what ends the line."""
    offered = directory / "offered"
    process = subprocess.Popen([shell("zsh"), "-f", "-c", ZSH + f"""
while ! grep -qs @END@ {offered}; do zpty -rt terminal chunk || sleep 0.05; done
zpty -d terminal""", "zsh", COMPLETION, line], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**ENVIRONMENT, "HOME": str(directory), "OFFERED": str(offered)})
    try:
        process.wait(timeout=120)
    finally:
        process.kill()
        process.wait()
    return sorted(set(offered.read_text(encoding="utf-8").split("\n")) - {"", "@END@"})
