extension RelayPort { static let this = RelayPort.none }
