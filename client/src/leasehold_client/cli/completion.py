"""Completion for zsh and fish: `leasehold complete --shell fish`. Cliff has the one for bash."""

from __future__ import annotations

import shlex

from cliff.complete import CompleteShellBase


class CompleteZsh(CompleteShellBase):
    """Completion for zsh: what follows the words that are typed, from a table."""

    def get_header(self) -> str:
        """Return what comes before the table."""
        return f"#compdef {self.name}\n_{self.escaped_name}() {{\n  local -A following\n  following=(\n"

    def get_trailer(self) -> str:
        """Return what comes after it: the longest known beginning of the typed words has what follows."""
        function = f"_{self.escaped_name}"
        return f"""  )
  local known="" word
  for word in ${{words[2,CURRENT-1]}}; do
    [[ -n ${{following[${{known:+$known }}$word]}} ]] || break
    known="${{known:+$known }}$word"
  done
  local -a candidates
  candidates=(${{=following[${{known:-/}}]}})
  if [[ $PREFIX == -* ]] || (( ! ${{#candidates[(r)-*]}} )); then
    compadd -- $candidates
  else
    _files
  fi
}}
if [[ $funcstack[1] == {function} ]]; then
  {function} "$@"
else
  compdef {function} {self.name}
fi
"""

    def write(self, cmdo: str, data: list[tuple[str, str]]) -> None:
        """Write the script; called by cliff with the first words, and what follows each beginning."""
        self.output.write(self.get_header())
        for words, following in [("/", cmdo), *((words.replace("_", " "), rest) for words, rest in data)]:
            self.output.write(f"    {shlex.quote(words)} {shlex.quote(following)}\n")
        self.output.write(self.get_trailer())


class CompleteFish(CompleteShellBase):
    """Completion for fish: a rule for each beginning of a command."""

    def get_header(self) -> str:
        """Return the function that says whether the typed words begin so and go on with an option or nothing."""
        return f"""function __{self.escaped_name}_after
    set -l typed (commandline -opc)[2..-1]
    set -l plain
    for word in $typed
        string match -q -- '-*' $word; and break
        set -a plain $word
    end
    test "$plain" = "$argv"
end
function __{self.escaped_name}_within
    set -l typed (commandline -opc)[2..-1]
    set -l count (count $argv)
    test (count $typed) -ge $count; and test "$typed[1..$count]" = "$argv"
end
complete -c {self.name} -f
"""

    def get_trailer(self) -> str:
        """Return nothing: rules need no end."""
        return ""

    def write(self, cmdo: str, data: list[tuple[str, str]]) -> None:
        """Write the script; called by cliff with the first words, and what follows each beginning."""
        after = f"__{self.escaped_name}"
        self.output.write(self.get_header())
        self.output.write(f"complete -c {self.name} -n '{after}_after' -a {shlex.quote(cmdo)}\n")
        for words, following in data:
            typed = words.replace("_", " ")
            self.output.writelines(self._rule(f"{after}_within {typed}", f"{after}_after {typed}", following))
        self.output.write(self.get_trailer())

    def _rule(self, within: str, after: str, following: str) -> list[str]:
        options = [word for word in following.split() if word.startswith("-")]
        if not options:
            return [f"complete -c {self.name} -n '{after}' -a {shlex.quote(following)}\n"]
        flags = [f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}" for word in options]
        return [f"complete -c {self.name} -n '{within}' {flag}\n" for flag in flags]
