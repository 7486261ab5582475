// swift-tools-version: 6.2
import PackageDescription

// `Deploy/fuzz` sets it: everything is then built for libFuzzer, with counters at every edge and AddressSanitizer.
let isFuzzing = Context.environment["EVENT_RELAY_FUZZ"] == "1"
let fuzzSwift: [SwiftSetting] = [.unsafeFlags(["-enable-testing", "-sanitize=fuzzer,address"])]
let fuzzC = ["-fsanitize=fuzzer-no-link,address", "-fno-omit-frame-pointer"]

// What every Swift target is built with: the Swift 6 language mode, and no warning gets by.
let swiftSettings: [SwiftSetting] =
  [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)] + (isFuzzing ? fuzzSwift : [])
let cSettings: [CSetting] = [.treatAllWarnings(as: .error)] + (isFuzzing ? [.unsafeFlags(fuzzC)] : [])
let cxxSettings: [CXXSetting] = [.treatAllWarnings(as: .error)] + (isFuzzing ? [.unsafeFlags(fuzzC)] : [])

/// A library of ours: one room of the house, with the rooms it may enter.
func room(_ name: String, _ uses: [Target.Dependency] = [], pages: [String] = []) -> Target {
  .target(name: name, dependencies: uses, exclude: pages, swiftSettings: swiftSettings)
}

/// The thin C (or C++) layer over one system library: what Swift can't import by itself, and nothing more.
func shim(_ name: String, over library: Target.Dependency? = nil, link: String...) -> Target {
  .target(
    name: name, dependencies: library.map { [$0] } ?? [], cSettings: cSettings, cxxSettings: cxxSettings,
    linkerSettings: link.map { .linkedLibrary($0) })
}

/// A system library, with the name of its Debian package.
func system(_ name: String, pkgConfig: String?, apt: String) -> Target {
  .systemLibrary(name: name, path: "Sources/System/\(name)", pkgConfig: pkgConfig, providers: [.apt([apt])])
}

func tests(_ room: String, _ uses: [Target.Dependency] = []) -> Target {
  .testTarget(
    name: "\(room)Tests", dependencies: [.byName(name: room), "TestSupport"] + uses, swiftSettings: swiftSettings)
}

/// The fuzz targets: a test runs each over its corpus, and a build for libFuzzer makes an executable of them.
func fuzzTarget() -> Target {
  let rooms: [Target.Dependency] = [
    "Archive", "Clocks", "Configuration", "CSimdjson", "CZlib", "Dedupe", "Dialects", "EventLog", "EventsAPI",
    "HTTPServer", "JSON", "Observability", "Records", "Relay", "Replay", "Sinks", "StandIn", "TestSupport",
  ]
  guard isFuzzing else {
    return .testTarget(
      name: "FuzzTests", dependencies: rooms, path: "Tests/Fuzz", exclude: ["Corpus", "Dictionaries", "Runner"],
      swiftSettings: swiftSettings)
  }
  return .executableTarget(
    name: "fuzz", dependencies: rooms, path: "Tests/Fuzz", exclude: ["Corpus", "Dictionaries", "Tests"],
    swiftSettings: swiftSettings,
    // (The linker's usual choice can't export what AddressSanitizer brings.)
    linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address", "-use-ld=lld"])])
}

let package = Package(
  name: "EventRelay",
  products: [
    .executable(name: "event-relay", targets: ["event-relay"]),
    // For tests alone: what stands between the relay and the disk when power is cut.
    .library(name: "PowerLossShim", type: .dynamic, targets: ["PowerLossShim"]),
  ],
  targets: [
    // System libraries.
    system("Libmicrohttpd", pkgConfig: "libmicrohttpd", apt: "libmicrohttpd-dev"),
    system("Libgnutls", pkgConfig: "gnutls", apt: "libgnutls28-dev"),
    system("Libcurl", pkgConfig: "libcurl", apt: "libcurl4-openssl-dev"),
    system("Libcrypto", pkgConfig: "libcrypto", apt: "libssl-dev"),
    // (simdjson's own pkg-config file names a flag that the package manager refuses.)
    system("Libsimdjson", pkgConfig: nil, apt: "libsimdjson-dev"),
    system("Libyaml", pkgConfig: "yaml-0.1", apt: "libyaml-dev"),
    system("Libz", pkgConfig: "zlib", apt: "zlib1g-dev"),

    // C shims.
    shim("CPlatform"),
    shim("CMicrohttpd", over: "Libmicrohttpd", link: "microhttpd"),
    shim("CTLS", over: "Libgnutls", link: "gnutls"),
    shim("CCurl", over: "Libcurl", link: "curl"),
    shim("CCrypto", over: "Libcrypto", link: "crypto"),
    shim("CSimdjson", over: "Libsimdjson", link: "simdjson", "stdc++"),
    shim("CYAML", over: "Libyaml", link: "yaml"),
    shim("CZlib", over: "Libz", link: "z"),

    // The rooms. Arrows are imports; nothing imports anything else.
    room("Clocks"),
    room("Threads", ["CPlatform"]),
    room("JSON", ["CSimdjson"]),
    room("Observability", ["Clocks", "JSON"]),
    // Where tests have the process die; a release build has nothing of it.
    .target(
      name: "CrashPoints", swiftSettings: swiftSettings + [.define("CRASH_POINTS", .when(configuration: .debug))]),
    room("EventLog", ["Clocks", "CPlatform", "CrashPoints", "JSON", "Observability"], pages: ["FORMAT.md"]),
    room("Dialects", ["CSimdjson", "Clocks", "EventLog", "EventsAPI", "HTTPClient", "JSON"]),
    room("Records", ["CPlatform", "Clocks", "CrashPoints", "Dialects", "EventLog", "JSON", "Observability"]),
    room("Archive", ["CCrypto", "CZlib", "Clocks", "JSON", "Records"]),
    room("DeadLetters", ["Clocks", "Dialects", "EventLog", "JSON", "Observability", "Records"]),
    room("EventsAPI", ["Clocks", "CSimdjson", "JSON"]),
    room("HTTPServer", ["Clocks", "CMicrohttpd", "CTLS", "CZlib", "Observability"]),
    room("HTTPClient", ["CCurl", "Clocks", "Observability"]),
    room("Configuration", ["CCrypto", "CYAML", "Clocks"]),
    room("Apps", ["CCrypto", "Clocks", "JSON", "Observability", "Records"]),
    room("Dedupe", ["CPlatform", "Clocks", "EventLog", "Observability", "Threads"]),
    room(
      "Ingest",
      ["Apps", "Clocks", "Dedupe", "Dialects", "EventLog", "EventsAPI", "HTTPServer", "JSON", "Observability"]),
    room(
      "Delivery",
      [
        "Apps", "Clocks", "DeadLetters", "Dialects", "EventLog", "EventsAPI", "HTTPClient", "JSON", "Observability",
        "Records",
      ]),
    room(
      "Sinks",
      [
        "Archive", "CCrypto", "CPlatform", "Clocks", "Configuration", "DeadLetters", "EventLog", "HTTPClient", "JSON",
        "Observability",
        "Records", "Threads",
      ]),
    room(
      "Replay",
      [
        "Archive", "Clocks", "DeadLetters", "Dialects", "EventLog", "EventsAPI", "JSON", "Observability", "Records",
        "Threads",
      ]),
    room("StandIn", ["CCrypto", "Clocks", "Dialects", "EventLog", "EventsAPI", "HTTPServer", "JSON", "Observability"]),
    room(
      "Relay",
      [
        "Apps", "Archive", "CCrypto", "CPlatform", "Clocks", "Configuration", "DeadLetters", "Dedupe", "Delivery",
        "Dialects", "EventLog", "EventsAPI",
        "HTTPClient",
        "HTTPServer", "Ingest", "JSON", "Observability", "Records", "Replay", "Sinks", "StandIn", "Threads",
      ]),
    room(
      "Torture",
      ["Archive", "CCrypto", "CZlib", "Clocks", "Configuration", "EventLog", "JSON", "Records", "Relay", "Threads"]),
    room(
      "Commands",
      [
        "Archive", "Clocks", "Configuration", "DeadLetters", "Dialects", "EventLog", "EventsAPI", "HTTPClient",
        "HTTPServer",
        "JSON", "Observability", "Records", "Relay", "Sinks", "StandIn", "Torture",
      ]),
    .executableTarget(name: "event-relay", dependencies: ["Commands"], swiftSettings: swiftSettings),

    // Tests, one target a room, and the whole program end to end.
    .target(
      name: "CTestTLS", dependencies: ["Libcrypto"], path: "Tests/CTestTLS", cSettings: cSettings,
      linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
    .target(name: "TestSupport", dependencies: ["CTestTLS"], path: "Tests/TestSupport", swiftSettings: swiftSettings),
    .executableTarget(
      name: "archive-speed",
      dependencies: [
        "Clocks", "Configuration", "DeadLetters", "EventLog", "Observability", "Sinks", "TestSupport",
      ], path: "Tests/ArchiveSpeed", swiftSettings: swiftSettings),
    .target(name: "PowerLossShim", path: "Tests/PowerLossShim", cSettings: cSettings),
    .target(
      name: "PowerLoss", dependencies: ["CPlatform", "TestSupport"], path: "Tests/PowerLoss",
      swiftSettings: swiftSettings),
    tests("PowerLoss"),
    tests("Clocks"), tests("JSON"), tests("Observability"), tests("Records"), tests("Archive"), tests("EventLog"),
    tests("EventsAPI"), tests("Dialects"),
    .testTarget(
      name: "CrashPointsTests", dependencies: ["CrashPoints"],
      swiftSettings: swiftSettings + [.define("CRASH_POINTS", .when(configuration: .debug))]),
    tests("HTTPServer", ["CZlib"]),
    tests("HTTPClient"), tests("Configuration", ["Sinks"]), tests("Apps"), tests("Dedupe"), tests("Ingest"),
    tests("Delivery", ["HTTPServer", "StandIn"]),
    tests("Sinks"),
    tests("Replay", ["EventLog", "DeadLetters"]), tests("StandIn"), tests("Relay"), tests("Torture", ["EventLog"]),
    tests("Commands", ["Relay", "Sinks"]),
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "TestSupport", "Archive", "CZlib", "Clocks", "CrashPoints", "JSON", "PowerLoss", "Records", "event-relay",
      ],
      swiftSettings: swiftSettings),
    fuzzTarget(),
  ],
  cxxLanguageStandard: .cxx17
)
