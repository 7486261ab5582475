import Commands
import Glibc

ProcessStart.openStandardFiles()
let code = Entry.runToEnd(ProcessStart.arguments)
// Not `exit`: libraries would take down what threads that are just ending still use, and now and then the process would
// crash with its work done. What commands print is written by then.
fflush(nil)
_exit(code)
