/** Completion scripts: each shell asks the executable what may follow. */

const bash = `_gateway() {
  local found
  COMPREPLY=()
  while IFS= read -r found; do
    COMPREPLY+=("$(printf %q "$found")")
  done < <(gateway __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _gateway gateway
`;

const zsh = `#compdef gateway
_gateway() {
  local -a found
  found=("\${(@f)$(gateway __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -a found
}
compdef _gateway gateway
`;

const fish = `function __gateway_complete
  set -l words (commandline -opc) (commandline -ct)
  gateway __complete $words[2..-1] 2>/dev/null
end
complete -c gateway -f -a '(__gateway_complete)'
`;

const powershell = `Register-ArgumentCompleter -Native -CommandName gateway -ScriptBlock {
  param($word, $ast, $cursor)
  $words = $ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" }
  if ($word -eq '') { $words = @($words) + '' }
  gateway __complete @words 2>$null | ForEach-Object { [System.Management.Automation.CompletionResult]::new($_) }
}
`;

export const completionScripts: Readonly<Record<string, string>> = { bash, zsh, fish, powershell };
