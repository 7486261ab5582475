import Commands
import Glibc

ProcessStart.openStandardFiles()
let code = Entry.runToEnd(ProcessStart.arguments)
fflush(nil)
// Not `exit`: its handlers take down what libraries hold while other threads may still be letting go of it.
_exit(code)
