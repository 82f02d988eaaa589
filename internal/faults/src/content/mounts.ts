import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'

/**
 * Removes a folder together with what is mounted in it. A containerd that is killed while it unpacks leaves the bind
 * mount of a snapshot behind, and a folder with a mount in it cannot be removed.
 */
export function removeWithMounts(folder: string): void {
  for (const place of mountsIn(folder)) spawnSync('umount', ['--lazy', place])
  rmSync(folder, { recursive: true, force: true })
}

/** The process of the file system that is mounted there, by its last argument. */
export function mountedBy(place: string): number | undefined {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).find((pid) => {
    const args = argsOf(pid)
    return args[0]?.endsWith('mergerfs') && args.at(-1) === place
  })
}

function argsOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
  } catch {
    // It has ended meanwhile.
    return []
  }
}

/** The last mounted comes first: it may lie in an earlier one. */
function mountsIn(folder: string): string[] {
  const places = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
  const unescaped = (path: string) =>
    path.replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)))
  const all = places.map((line) => unescaped(line.split(' ')[4] ?? ''))
  return all.filter((place) => place.startsWith(`${folder}/`)).reverse()
}
