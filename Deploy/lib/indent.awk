# Indents JSON for reading: one member or element a line. Empty objects and arrays stay together.
{ text = text $0 "\n" }

function line(level,   i) {
  printf "\n  "
  for (i = 0; i < level; i++) printf "  "
}

END {
  printf "  "
  count = length(text)
  for (at = 1; at <= count; at++) {
    c = substr(text, at, 1)
    if (quoted) {
      printf "%s", c
      if (escaped) escaped = 0
      else if (c == "\\") escaped = 1
      else if (c == "\"") quoted = 0
      continue
    }
    if (c == " " || c == "\t" || c == "\r" || c == "\n") continue
    if (opened) {
      opened = 0
      if (c == "]" || c == "}") { printf "%s", c; continue }
      line(++level)
    }
    if (c == "\"") { quoted = 1; printf "%s", c }
    else if (c == "{" || c == "[") { opened = 1; printf "%s", c }
    else if (c == "}" || c == "]") { line(--level); printf "%s", c }
    else if (c == ",") { printf "%s", c; line(level) }
    else if (c == ":") printf ": "
    else printf "%s", c
  }
  printf "\n"
}
