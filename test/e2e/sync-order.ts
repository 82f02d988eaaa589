/*
 * Reads what strace saw of a server: its log being written and synced, requests coming in and replies going out. Every
 * request here names a resource of its own, so that it can be found in all three.
 */
export interface SyncOrder {
  /** Requests whose way could be followed from their coming in to their reply. */
  readonly followed: number
  /** Of those, the ones that were answered, or told to a listener, before a sync covered them. */
  readonly early: readonly string[]
}

const MARK = /mark-\d+-\d+/g

interface Sync {
  readonly begun: number
  ended: number
}

export function syncOrder(trace: string): SyncOrder {
  const lines = completed(trace.split('\n'))
  const syncs = syncsIn(lines)
  const written = new Map<string, number>()
  const asked = new Map<string, string>()
  const early = new Set<string>()
  let followed = 0
  const isCovered = (mark: string, at: number) => {
    const since = written.get(mark)
    return since !== undefined && syncs.some(({ begun, ended }) => begun > since && ended < at)
  }
  for (const [at, line] of lines.entries()) {
    const [, call, fd] = /^\d+ +(\w+)\((\d+)/.exec(line) ?? []
    if (call === undefined || fd === undefined) continue
    const marks = line.match(MARK) ?? []
    if (call === 'pwrite64') for (const mark of marks) written.set(mark, at)
    // The body may come in a read of its own: what names the resource is the request, with its head or without.
    else if (call === 'read' && marks[0]) asked.set(fd, marks[0])
    else if (call.startsWith('write')) {
      const answered = line.includes('HTTP/1.1 200') ? asked.get(fd) : undefined
      if (answered) {
        asked.delete(fd)
        followed++
        if (!isCovered(answered, at)) early.add(`${answered} was answered`)
      }
      // Listeners hear the names of resources.
      if (line.includes('data: ')) for (const mark of marks) if (!isCovered(mark, at)) early.add(`${mark} was told`)
    }
  }
  return { followed, early: [...early] }
}

/** A call that was interrupted by another thread's says at its end what it read: there it is put together again. */
function completed(lines: readonly string[]): string[] {
  const unfinished = new Map<string, string>()
  return lines.map((line) => {
    const [, pid = '', beginning] = /^(\d+) +(read\(\d+, *)<unfinished/.exec(line) ?? []
    if (beginning !== undefined) unfinished.set(pid, beginning)
    const [, resumed = '', end] = /^(\d+) +<\.\.\. read resumed>(.*)$/.exec(line) ?? []
    return end === undefined ? line : `${resumed} ${unfinished.get(resumed)}${end}`
  })
}

/** Syncs run on other threads: their beginning and their end may be lines apart. */
function syncsIn(lines: readonly string[]): Sync[] {
  const syncs: Sync[] = []
  const open = new Map<string, Sync>()
  for (const [at, line] of lines.entries()) {
    const [, pid = '', call = ''] = /^(\d+) +(.*)$/.exec(line) ?? []
    if (call.startsWith('fdatasync(')) {
      const sync = { begun: at, ended: Infinity }
      syncs.push(sync)
      if (call.includes('<unfinished')) open.set(pid, sync)
      else if (call.endsWith('= 0')) sync.ended = at
    } else if (call.startsWith('<... fdatasync resumed>') && call.endsWith('= 0')) {
      const sync = open.get(pid)
      if (sync) sync.ended = at
      open.delete(pid)
    }
  }
  return syncs
}
