# SPDX-License-Identifier: GPL-2.0-or-later
"""What bash has completed for a Program."""

import shlex

HEAD = """\
# @NAME@ and its options in bash; made of what its --help says.
# SPDX-License-Identifier: GPL-2.0-or-later

"""

# What does not depend on the program.  Nothing here needs the package bash-completion.
BODY = r"""
# Of the lines that are read those that begin with $1, each between $2 and $3.
_@NAME@_reply()
{
	local line quoted

	while IFS= read -r line; do
		printf -v quoted %q "$line"
		[[ $quoted == "$1"* ]] && COMPREPLY+=("$2$quoted$3")
	done
}

# The btrfs and XFS that are mounted: where, or their UUIDs if that is how it begins.
_@NAME@_filesystems()
{
	local column=TARGET

	[[ $1 && $1 != /* ]] && column=UUID
	findmnt -t btrfs,xfs -lno "$column" 2>/dev/null | sort -u
}

_@NAME@_names()
{
	compopt -o filenames 2>/dev/null
	mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "$1" -- "$2")
}

# Complete $1, before which $2 was typed, as what follows says: kinds, and words with = before them.
_@NAME@_complete()
{
	local current=$1 before=$2 wanted last

	shift 2
	for wanted in "$@"; do
		case $wanted in
		=*) _@NAME@_reply "$current" "$before" <<<"${wanted#=}" ;;
		file) _@NAME@_names -f "$current" ;;
		directory) _@NAME@_names -d "$current" ;;
		filesystem) _@NAME@_reply "$current" "$before" < <(_@NAME@_filesystems "$current") ;;
		disk) _@NAME@_reply "$current" "$before" < <(lsblk -dno NAME 2>/dev/null) ;;
		key)
			compopt -o nospace 2>/dev/null
			_@NAME@_reply "$current" "$before" = < <(_@NAME@_keys)
			;;
		column:*)
			compopt -o nospace 2>/dev/null
			[[ $current == +* ]] && before+=+ current=${current#+}
			last=${current##*,}
			_@NAME@_reply "$last" "$before${current%"$last"}" <<<"${wanted#column:}"
			;;
		esac
	done
}

# What stands before the word at the cursor: $verb, $option that waits for its value, the $n_arguments of the verb
# that are complete, and the $key that a = is behind.
_@NAME@_look()
{
	local i word is_value=

	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		# bash takes the = of --option=value for a word of its own.
		if [[ $word == = ]]; then
			[[ $option ]] || is_value=1
		elif [[ $option ]]; then
			option=
		elif [[ $is_value ]]; then
			is_value= key=
		elif [[ $word == -?* ]]; then
			[[ $word == -[!-]* ]] && word=-${word: -1}
			[[ $(_@NAME@_value "$verb" "$word") ]] && option=$word
		elif [[ $(_@NAME@_words "$verb") ]]; then
			verb+=${verb:+ }$word
		else
			n_arguments=$((n_arguments + 1)) key=$word
		fi
	done
	[[ $is_value ]] || key=
}

_@NAME@()
{
	local current=${COMP_WORDS[COMP_CWORD]} before= verb= option= key= n_arguments=0
	local -a wanted

	COMPREPLY=()
	_@NAME@_look
	if [[ $current == = ]]; then
		current=
		[[ $option ]] || key=${COMP_WORDS[COMP_CWORD - 1]}
	elif [[ $current == --*=* ]]; then
		option=${current%%=*} before=$option= current=${current#*=}
	fi

	if [[ $option ]]; then
		mapfile -t wanted < <(_@NAME@_value "$verb" "$option")
	elif [[ $key ]]; then
		mapfile -t wanted < <(_@NAME@_key "$key")
	elif [[ $current == -* ]]; then
		_@NAME@_reply "$current" "" < <(_@NAME@_options "$verb")
		[[ ${COMPREPLY[*]} == *= ]] && compopt -o nospace 2>/dev/null
		return
	else
		mapfile -t wanted < <(_@NAME@_words "$verb"; _@NAME@_argument "$verb" "$n_arguments")
	fi
	_@NAME@_complete "$current" "$before" "${wanted[@]}"
}

complete -F _@NAME@ @NAME@
"""


def lines(words):
    """A command that prints each on a line."""
    return "printf '%s\\n' " + " ".join(shlex.quote(word) for word in words)


def wanted(value, columns):
    found = [f"={word}" for word in value.words]
    for kind in value.kinds:
        found += [f"column:{column}" for column in columns] if kind == "columns" else [kind]
    # One that takes a value of which nothing is known takes one, too.
    return found or ["value"]


def function(name, word, cases):
    """A function that prints what belongs to its arguments; without cases nothing."""
    yield f"_@NAME@_{name}()"
    yield "{"
    if cases:
        yield f"\tcase {word} in"
        yield from (f"\t{pattern}) {command} ;;" for pattern, command in cases)
        yield "\tesac"
    else:
        yield "\t:"
    yield "}"
    yield ""


def options_of(program):
    return [(shlex.quote(verb.name), lines(option.long + ("=" if option.value else "")
                                           for option in verb.options) + "; " +
             lines(option.short for option in verb.options if option.short))
            for verb in [program.common, *program.verbs]]


def values_of(program):
    for verb in [program.common, *program.verbs]:
        for option in verb.options:
            if option.value:
                patterns = "|".join(shlex.quote(f"{verb.name} {name}") for name in option.names())
                yield patterns, lines(wanted(option.value, verb.columns))


def words_after(program):
    if program.verbs:
        yield "''", lines(f"={word}" for word in program.first_words())
    for first, seconds in program.second_words().items():
        yield shlex.quote(first), lines(f"={word}" for word in seconds)


def arguments_of(program):
    for verb in program.verbs or [program.common]:
        for i, argument in enumerate(verb.arguments):
            number = "*" if verb.repeats and i == len(verb.arguments) - 1 else str(i)
            yield f"{shlex.quote(verb.name + ' ')}{number}", lines(wanted(argument, []))


def make(program):
    text = [HEAD]
    text += function("words", '"$1"', list(words_after(program)))
    text += function("options", '"$1"', options_of(program))
    text += function("value", '"$1 $2"', list(values_of(program)))
    text += function("argument", '"$1 $2"', list(arguments_of(program)))
    text += function("keys", '""', [("*", lines(program.keys))] if program.keys else [])
    text += function("key", '"$1"', [(key, lines(f"={word}" for word in words))
                                     for key, words in program.keys.items() if words])
    return ("\n".join(text) + BODY).replace("@NAME@", program.name)
