extension FileLog {
  /// Takes other limits while it is open: `maxSize`, `onFull`, `minFreeDisk` and `retain`. The rest needs another opening.
  public func setLimits(from configuration: FileLogConfiguration) {
    keeper.setLimits { limits in
      limits.maxSize = configuration.maxSize
      limits.onFull = configuration.onFull
      limits.minFreeDisk = configuration.minFreeDisk
      limits.retain = configuration.retain
    }
    replays?.setMinFreeDisk(configuration.minFreeDisk)
  }

  /// How many segments stay open for the next read.
  public func setOpenFilesMax(_ count: Int) { catalog.setOpenFilesMax(count) }
}
