import Clocks
import Records

extension ArchiveWriter {
  /// Opens an archive for writing, or begins one in a directory that is empty or not there yet.
  ///
  /// Finishes what a crash interrupted: a manifest's half line is cut off, a file that the manifest names gets its name, a
  /// file with a line about its removal goes, and the open file is continued behind its last whole member.
  ///
  /// - Parameter memory: what was committed last, if anything: tells whether the archive was changed since.
  public convenience init(
    _ place: Place, memory: ArchiveMemory?, now: Timestamp, on system: FileSystem = .system
  ) throws(ArchiveError) {
    try self.init(place, memory: memory, now: now, on: system, random: RandomBytes.system)
  }

  convenience init(
    _ place: Place, memory: ArchiveMemory?, now: Timestamp, on system: FileSystem,
    random: @escaping RandomBytes.Source
  ) throws(ArchiveError) {
    var opening = ArchiveOpening(place: place, memory: memory, now: now, tools: PartTools(random), random: random)
    let directory: ArchiveDirectory
    let manifest: AppendedFile
    do throws(FileError) {
      try system.makeDirectories(place.path)
      directory = try ArchiveDirectory(place.path, on: system)
    } catch {
      throw .file(error)
    }
    let files = try ArchiveError.wrapping { () throws(FileError) in try ArchiveListing(directory) }
    manifest = try opening.openManifest(in: directory, files)
    guard let begin = opening.chain.begin else { preconditionFailure("a manifest has a begin") }
    let newest = max(
      memory?.newest ?? Timestamp(milliseconds: .min),
      opening.chain.lastFile?.name.time ?? Timestamp(milliseconds: .min))
    self.init(
      directory: directory, manifest: manifest, chain: opening.chain, archive: begin.archive, notes: opening.notes,
      newest: newest, tools: opening.tools)
    do throws(FileError) {
      try finish(files)
      if let part = memory?.part, memory?.head.archive != archive {
        notes.append(.missing(file: part.name.lines, first: part.first, last: part.last))
      }
      try continuePart(files, memory: memory?.head.archive == archive ? memory : nil)
      try directory.sync()
    } catch {
      throw .file(error)
    }
  }

  /// Finishes the publication, the erasure and the removals that were under way.
  private func finish(_ files: ArchiveListing) throws(FileError) {
    if chain.endsInFile, let name = chain.lastFile?.name, files.parts.contains(name.open) {
      isPublishing = true
      try finishPublishing()
      notes.append(.published(file: name.lines))
    }
    if chain.endsInErasure, let name = chain.lastErased {
      for file in [name.salts, name.lines] where try directory.has(file + ArchiveFileName.partEnding) {
        try directory.rename(file + ArchiveFileName.partEnding, to: file)
      }
    }
    guard let removed = chain.lastRemoved?.last else { return }
    unremoved = files.published.filter { $0.first <= removed }
    for name in unremoved {
      try directory.remove(name.lines)
      try directory.remove(name.salts)
    }
    unremoved = []
  }

  /// Takes up the part that was being written, and puts those aside that can't be.
  private func continuePart(_ files: ArchiveListing, memory: ArchiveMemory?) throws(FileError) {
    let opening = PartOpening(directory: directory, archive: archive, tools: tools)
    var known = memory?.part
    if let last = chain.lastSequence, let part = known, part.last <= last { known = nil }
    // The one that was committed first; there are others only when somebody brought them.
    let names = files.parts.sorted().sorted { one, _ in one == known?.name }
    for name in names {
      let (hasLines, hasSalts) = (try directory.has(name.lines), try directory.has(name.salts))
      // Published just now.
      guard hasLines || hasSalts else { continue }
      if let last = chain.lastSequence, name.first <= last {
        try setAside(name, "its events are in a published file")
      } else if part != nil {
        try setAside(name, "another file is open")
      } else if hasLines, hasSalts {
        let scan = try PartScan(name, of: archive, in: directory, tools.hasher)
        try scan.run()
        let isDamaged = known.map { $0.name == name && $0.bytes > scan.linesBytes } ?? false
        if isDamaged || scan.saltsBytes == 0 {
          try setAside(name, scan.misfit ?? "it is shorter than it was")
        } else if scan.totals.count > 0 {
          let (found, cut) = try opening.continued(name, scan)
          part = found
          newest = max(newest, name.time)
          notes.append(.continued(file: name.lines, cut: cut))
          known = nil
        } else {
          try directory.remove(name.lines)
          try directory.remove(name.salts)
        }
      } else {
        try setAside(name, "the file of its lines or that of its salts is missing")
      }
    }
    if let known { notes.append(.missing(file: known.name.lines, first: known.first, last: known.last)) }
  }

  private func setAside(_ name: ArchiveFileName, _ reason: String) throws(FileError) {
    for file in [name.lines, name.salts] {
      guard let facts = try directory.facts(of: file) else { continue }
      // Nothing but a head is nothing.
      if facts.length <= (file == name.salts ? SaltsFormat.headBytes : 0) {
        try directory.remove(file)
        continue
      }
      var to = file + ArchiveFileName.asideEnding
      var number = 1
      while try directory.has(to) {
        number += 1
        to = "\(file)\(ArchiveFileName.asideEnding)\(number)"
      }
      try directory.rename(file, to: to)
      notes.append(.setAside(file: file, to: to, reason: reason))
    }
  }
}
