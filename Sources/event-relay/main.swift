import Commands
import Glibc

let arguments = Array(CommandLine.arguments.dropFirst())
Entry.prepare(arguments)
exit(await Entry.main(arguments))
