import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** What has caught a bug: an invariant of the simulator, first violated by this seed, or a test file. */
export interface Catch {
  readonly by: string
  readonly seed?: number
}

const seedsFile = fileURLToPath(new URL('seeds.json', import.meta.url))
const page = fileURLToPath(new URL('../../../docs/guarantees.md', import.meta.url))
const TABLE = /(?<=^\| bug \| caught by \| seed \|\n\| --- \| --- \| --- \|\n)(\|.*\n)+/m

/** The first seed that catches each bug, by the name of the bug. */
export function rememberedSeeds(): Readonly<Record<string, number>> {
  return JSON.parse(readFileSync(seedsFile, 'utf8'))
}

/** The rows of the table in docs/guarantees.md. */
export function documentedRows(): readonly string[] {
  return TABLE.exec(readFileSync(page, 'utf8'))?.[0].trim().split('\n') ?? []
}

/** Writes down what has caught each bug: the seeds, and the table in docs/guarantees.md. */
export function remember(catches: readonly (readonly [name: string, caught: Catch])[]): void {
  const seeds = catches.flatMap(([name, { seed }]) => (seed === undefined ? [] : [[name, seed]]))
  writeFileSync(seedsFile, `${JSON.stringify(Object.fromEntries(seeds), undefined, 2)}\n`)
  const rows = catches.map(([name, { by, seed }]) => `| ${name} | ${by} | ${seed ?? ''} |\n`)
  const text = readFileSync(page, 'utf8')
  writeFileSync(
    page,
    text.replace(TABLE, () => rows.join('')),
  )
}
