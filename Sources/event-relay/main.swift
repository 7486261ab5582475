import Commands
import Glibc

ProcessStart.openStandardFiles()
exit(Entry.runToEnd(ProcessStart.arguments))
