import { formatDuration } from '../duration.ts'
import type { Colour, Paint } from '../print/paint.ts'
import type { Board, Cell, Line } from './board.ts'
import type { Fetch } from './registry.ts'

const LEVELS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
export const GRID_WIDTH = 72

/** Nodes down, layers across. A layer that is being fetched fills up. */
export function renderGrid(board: Board, fetches: readonly Fetch[], paint: Paint): string[] {
  const { nodes, layers } = board.plan
  const header = `${' '.repeat(9)}${layers.map(({ name }) => name.padStart(3)).join('')}`
  const rows = nodes.map((node) => {
    const dead = board.isDead(node)
    const cells = board.row(node).map((cell, layer) => {
      const [symbol, colour] = symbolOf(cell, shareOf(fetches, node, layer))
      return `  ${paint(dead && cell.state === 'idle' ? 'dim' : colour, dead && cell.state === 'idle' ? ' ' : symbol)}`
    })
    return `  ${paint(dead ? 'dim' : 'bold', node)} ${cells.join('')}`
  })
  return [paint('dim', header), ...rows]
}

export function renderLegend(paint: Paint): string {
  const entries: readonly [string, Colour, string][] = [
    ['…', 'yellow', 'waits'],
    ['▅', 'cyan', 'fetches'],
    ['●', 'green', 'fetched'],
    ['○', 'dim', 'skipped'],
    ['✗', 'red', 'failed'],
    ['†', 'magenta', 'crashed'],
  ]
  return `  ${entries.map(([symbol, colour, text]) => `${paint(colour, symbol)} ${paint('dim', text)}`).join('   ')}`
}

export function renderTotals(board: Board, paint: Paint): string {
  const total = board.plan.layers.length
  const done = board.count('done')
  const bar = paint('green', '█'.repeat(done)) + paint('dim', '░'.repeat(Math.max(0, total - done)))
  const counts = [
    `${done}/${total} fetched`,
    `${board.count('waiting')} wait`,
    `${board.count('skipped')} skipped`,
    formatDuration(board.elapsedMs),
  ]
  return `  ${bar}  ${counts.join(paint('dim', ' · '))}`
}

const lineColours: Readonly<Record<Line['kind'], Colour | undefined>> = {
  fetching: 'dim',
  'handed-over': 'cyan',
  done: 'green',
  failed: 'red',
  crashed: 'magenta',
}

export function renderLine({ atMs, kind, text }: Line, paint: Paint): string {
  const colour = lineColours[kind]
  const time = `${(atMs / 1_000).toFixed(2).padStart(6)}s`
  return `  ${paint('dim', time)}  ${colour === undefined ? text : paint(colour, text)}`
}

function symbolOf({ state, failed }: Cell, share: number): readonly [string, Colour] {
  switch (state) {
    case 'idle':
      return ['·', 'dim']
    case 'waiting':
      return ['…', 'yellow']
    case 'fetching':
      return [LEVELS[Math.min(LEVELS.length - 1, Math.floor(share * LEVELS.length))] ?? '▁', 'cyan']
    case 'done':
      return ['●', 'green']
    case 'skipped':
      return failed ? ['✗', 'red'] : ['○', 'dim']
    case 'failed':
      return ['✗', 'red']
    case 'crashed':
      return ['†', 'magenta']
  }
}

function shareOf(fetches: readonly Fetch[], node: string, layer: number): number {
  return fetches.findLast((fetch) => fetch.node === node && fetch.layer === layer)?.share ?? 0
}
