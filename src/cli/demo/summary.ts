import { formatDuration } from '../duration.ts'
import { columns } from '../print/columns.ts'
import type { Paint } from '../print/paint.ts'
import type { Board } from './board.ts'
import type { Fetch } from './registry.ts'

interface Summary {
  readonly lines: readonly string[]
  /** Every layer was fetched whole exactly once, and every node that lives has them all. */
  readonly ok: boolean
}

/** What happened, counted where it happened: in the registry. */
export function summarise(board: Board, fetches: readonly Fetch[], paint: Paint): Summary {
  const rows = board.plan.layers.map((layer) => rowOf(board, fetches, layer.index))
  const wrong = rows.filter((row) => row.whole.length !== 1)
  const missing = board.plan.nodes
    .filter((node) => !board.isDead(node))
    .flatMap((node) => board.row(node).filter(({ state }) => state !== 'done' && state !== 'skipped'))
  const [head = '', ...table] = columns([
    ['layer', 'fetches', 'fetched by', 'skipped by', 'attempts that failed'],
    ...rows.map((row) => [
      row.name,
      String(row.whole.length),
      row.whole.map(({ node }) => node).join(', '),
      `${row.skipped} nodes`,
      row.failed.join('; '),
    ]),
  ])
  const ok = wrong.length === 0 && missing.length === 0
  return {
    ok,
    lines: [
      paint('dim', `  ${head}`),
      ...table.map((line, at) => `  ${rows[at]?.whole.length === 1 ? line : paint('red', line)}`),
      '',
      ...crashLines(board),
      `  ${counts(board, fetches)}`,
      '',
      `  ${ok ? paint('green', verdict(board)) : paint('red', complaint({ wrong: wrong.length, missing: missing.length }))}`,
    ],
  }
}

interface Row {
  readonly name: string
  readonly whole: readonly Fetch[]
  readonly failed: readonly string[]
  readonly skipped: number
}

function rowOf(board: Board, fetches: readonly Fetch[], layer: number): Row {
  const own = fetches.filter((fetch) => fetch.layer === layer)
  return {
    name: board.plan.layers[layer]?.name ?? '',
    whole: own.filter(({ state }) => state === 'whole'),
    failed: own.filter(({ state }) => state !== 'whole').map((fetch) => `${fetch.node} ${whatFailed(fetch)}`),
    skipped: board.plan.nodes.filter((node) => board.row(node)[layer]?.state === 'skipped').length,
  }
}

function whatFailed({ state, share }: Fetch): string {
  const at = `at ${Math.round(share * 100)}%`
  switch (state) {
    case 'refuses':
      return '(registry answered 503)'
    case 'breaks':
      return `(connection broke ${at})`
    case 'gone':
      return `(crashed ${at})`
    default:
      return `(${state} ${at})`
  }
}

function crashLines({ handOvers, plan }: Board): string[] {
  return handOvers.map(
    ({ layer, from, to, afterMs }) =>
      `  ${from} was killed; layer ${layer.name} passed on to ${to} ${formatDuration(afterMs)} later ` +
      `(lease: ${formatDuration(plan.ttlMs)})`,
  )
}

function counts(board: Board, fetches: readonly Fetch[]): string {
  const whole = fetches.filter(({ state }) => state === 'whole').length
  const skips = board.count('skipped')
  return (
    `${whole} fetches and ${skips} skips where ${whole + skips} fetches would have been, ` +
    `${fetches.length - whole} failed attempts, in ${formatDuration(board.elapsedMs)}`
  )
}

function verdict({ plan }: Board): string {
  return `Each of the ${plan.layers.length} layers was fetched exactly once.`
}

function complaint({ wrong, missing }: { readonly wrong: number; readonly missing: number }): string {
  return `This is a bug: ${wrong} layers were not fetched exactly once, ${missing} never reached a node that wants them.`
}
