import Glibc

// A fuzzer of one target: `EVENT_RELAY_FUZZ_TARGET` names it, all else are libFuzzer's own options. `Deploy/fuzz` runs it.

/// libFuzzer's own main function, for programs that have one already.
@_silgen_name("LLVMFuzzerRunDriver")
func runDriver(
  _ count: UnsafeMutablePointer<CInt>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
  _ check: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

let name = getenv("EVENT_RELAY_FUZZ_TARGET").map { String(cString: $0) } ?? ""
guard let target = FuzzTarget.named(name) else {
  let names = FuzzTarget.all.map(\.name).joined(separator: " ")
  Chosen.say("EVENT_RELAY_FUZZ_TARGET is \"\(name)\"; it must be one of: \(names)")
  exit(2)
}
Chosen.target = target

var count = CommandLine.argc
var arguments = CommandLine.unsafeArgv
exit(runDriver(&count, &arguments) { Chosen.check($0, $1) })
