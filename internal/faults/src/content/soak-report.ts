import { soakContent } from './soak.ts'

interface ReportOptions {
  readonly minutes: string
  readonly seed: string
  readonly nodes: string
  readonly out: (text: string) => void
  readonly progress: (text: string) => void
}

/** What any run of some length gets to; one that does not has shown nothing. */
const PROVED_BY = [
  'pulls',
  'pulls killed',
  'removals',
  'prunes',
  'collections',
  'stores killed in mid-fetch',
  'nodes killed in mid-fetch',
  'stores stopped in mid-fetch',
  'outages in mid-fetch',
  'throttlings',
]
const PROOF_MINUTES = 2
const SHOWN = 30
const SHOWN_CHARS = 700
/** Where the programs that it needs are missing. */
const EXIT_USAGE = 64

/** Runs it, prints the verdict, and returns the exit code. */
export async function runContentSoak({ minutes, seed, nodes, out, progress }: ReportOptions): Promise<number> {
  if (!(Number(nodes) >= 2)) {
    out('content stores share: --nodes has to be 2 or more')
    return EXIT_USAGE
  }
  const startMs = Date.now()
  const lengthMs = Number(minutes) * 60_000
  const verdict = await soakContent({
    lengthMs,
    seed: Number(seed),
    nodes: Number(nodes),
    // For the test of the checker: a build with a defect.
    ...(process.env.BATON_SOAK_MAIN && { main: process.env.BATON_SOAK_MAIN }),
    onProgress: progress,
  })
  progress('')
  const { counts, excused, violations, folder } = verdict
  out(`seed ${seed}, ${nodes} content stores, ${((Date.now() - startMs) / 1_000).toFixed(0)} s`)
  out(`  ${listOf(counts)}`)
  out(`  GETs of what was there, or was being fetched, excused: ${listOf(excused)}`)
  const replay = `  again: npm run soak -- --content --minutes ${minutes} --seed ${seed} --nodes ${nodes}`
  if (violations.length > 0) {
    out(`FAILED: ${violations.length} violations; what was seen is in ${folder}`)
    for (const { rule, about, what } of violations.slice(0, SHOWN)) out(`  ${rule} ${about}: ${oneLine(what)}`)
    out(replay)
    return 1
  }
  const never = PROVED_BY.filter((what) => !counts[what])
  if (Number(minutes) >= PROOF_MINUTES && never.length > 0) {
    out(`FAILED: a run that never meets ${never.join(', ')} proves nothing`)
    out(replay)
    return 1
  }
  out('no violation')
  return 0
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, SHOWN_CHARS)
}

function listOf(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ')
}
