/** Returns the script for a shell; each asks `kubectl-bind __complete` and drops its last line. */
export const completionScript = (shell: string): string => SCRIPTS[shell] ?? "";

const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `# Completes kubectl-bind in bash: source <(kubectl bind completion bash)
_kubectl_bind() {
  local words=() word joined=0 last line
  # bash takes "--flag=value" apart
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if [[ ( $word == "=" || $joined == 1 ) && \${#words[@]} -gt 0 ]]; then
      words[\${#words[@]}-1]+=$word
    else
      words+=("$word")
    fi
    if [[ $word == "=" ]]; then joined=1; else joined=0; fi
  done
  COMPREPLY=()
  last="\${words[\${#words[@]}-1]}"
  while IFS= read -r line; do
    case $line in
      :0) compopt -o default 2>/dev/null ;;
      :*) ;;
      *)
        line="\${line%%$'\\t'*}"
        if [[ $last == -*=* ]]; then line="\${line#*=}"; fi
        COMPREPLY+=("$line")
        ;;
    esac
  done < <(kubectl-bind __complete "\${words[@]}" 2>/dev/null)
}
complete -F _kubectl_bind kubectl-bind
`,
  zsh: `#compdef kubectl-bind
# Completes kubectl-bind in zsh: source <(kubectl bind completion zsh)
_kubectl_bind() {
  local line value
  local -a found
  while IFS= read -r line; do
    case $line in
      :0) _files ;;
      :*) ;;
      *)
        value="\${line%%$'\\t'*}"
        found+=("\${value//:/\\\\:}:\${line#*$'\\t'}")
        ;;
    esac
  done < <(kubectl-bind __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)
  (( \${#found} )) && _describe 'kubectl bind' found
}
compdef _kubectl_bind kubectl-bind
`,
  fish: `# Completes kubectl-bind in fish: kubectl bind completion fish | source
function __kubectl_bind_complete
  set -l words (commandline -opc)[2..-1] (commandline -ct)
  kubectl-bind __complete $words 2>/dev/null | string match -v -r '^:\\d+$'
end
complete -c kubectl-bind -f -a '(__kubectl_bind_complete)'
`,
  powershell:
    `# Completes kubectl-bind in PowerShell: kubectl bind completion powershell | Out-String | iex
Register-ArgumentCompleter -Native -CommandName kubectl-bind -ScriptBlock {
  param($word, $ast, $position)
  $words = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($word -eq '') { $words += '""' }
  kubectl-bind __complete @words 2>$null | Where-Object { $_ -notmatch '^:\\d+$' } | ForEach-Object {
    $value, $text = $_ -split "\`t", 2
    if (-not $text) { $text = $value }
    [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $text)
  }
}
`,
};
