import Commands
import Glibc

exit(Entry.runToEnd(Array(CommandLine.arguments.dropFirst())))
