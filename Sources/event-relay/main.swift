import Commands
import Glibc

exit(await Entry.main(Array(CommandLine.arguments.dropFirst())))
