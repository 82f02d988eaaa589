import { oneLine } from '../../protocol/index.ts'
import { formatDuration } from '../duration.ts'
import type { Layer, Plan } from './plan.ts'
import type { Report } from './pull.ts'

type CellState = 'idle' | 'waiting' | 'fetching' | 'done' | 'skipped' | 'failed' | 'crashed'

export interface Cell {
  state: CellState
  /** A failure of this node's stays to be seen, even though the node has skipped later. */
  failed: boolean
}

export interface Line {
  readonly atMs: number
  readonly kind: 'fetching' | 'handed-over' | 'done' | 'failed' | 'crashed'
  readonly text: string
}

/** When a crashed layer went on, and where. */
interface HandOver {
  readonly layer: Layer
  readonly from: string
  readonly to: string
  readonly afterMs: number
}

/** Everything that the nodes said, as a table of nodes and layers, and as lines. */
export class Board {
  readonly plan: Plan
  readonly lines: Line[] = []
  readonly handOvers: HandOver[] = []
  readonly failures: { readonly layer: number; readonly node: string; readonly error: string }[] = []
  readonly #cells = new Map<string, Cell[]>()
  readonly #startMs = performance.now()
  readonly #onLine: (line: Line) => void
  #crashedAtMs: number | undefined

  constructor(plan: Plan, onLine: (line: Line) => void) {
    this.plan = plan
    this.#onLine = onLine
    for (const node of plan.nodes) {
      this.#cells.set(
        node,
        plan.layers.map(() => ({ state: 'idle', failed: false })),
      )
    }
  }

  get elapsedMs(): number {
    return performance.now() - this.#startMs
  }

  row(node: string): readonly Cell[] {
    return this.#cells.get(node) ?? []
  }

  count(state: CellState): number {
    return this.plan.nodes.reduce((sum, node) => sum + this.row(node).filter((cell) => cell.state === state).length, 0)
  }

  isDead(node: string): boolean {
    return node === this.plan.victim && this.#crashedAtMs !== undefined
  }

  report(report: Report): void {
    const cell = this.#cells.get(report.node)?.[report.layer]
    const layer = this.plan.layers[report.layer]
    // What a dead node said last can still be on its way.
    if (!cell || !layer || this.isDead(report.node)) return
    cell.state = report.state
    if (report.state === 'fetching') this.#fetching(report, layer)
    if (report.state === 'done') this.#line('done', report.node, `has fetched layer ${layer.name}`)
    if (report.state === 'failed') {
      cell.failed = true
      this.failures.push(report)
      this.#line('failed', report.node, `failed at layer ${layer.name}: ${report.error}`)
    }
  }

  crash(): readonly Layer[] {
    const { victim, layers } = this.plan
    this.#crashedAtMs = this.elapsedMs
    const held = layers.filter(({ index }) => this.row(victim)[index]?.state === 'fetching')
    for (const cell of this.#cells.get(victim) ?? []) {
      if (cell.state === 'fetching') cell.state = 'crashed'
      if (cell.state === 'waiting') cell.state = 'idle'
    }
    const names = held.map(({ name }) => name).join(', ')
    this.#line('crashed', victim, `is killed with SIGKILL while it fetches layer ${names}`)
    return held
  }

  #fetching({ node, fence, attempt, previous }: Extract<Report, { state: 'fetching' }>, layer: Layer): void {
    if (!previous) {
      this.#line('fetching', node, `fetches layer ${layer.name} (fence ${fence})`)
      return
    }
    const why = `${previous.node} ${previous.outcome === 'failure' ? 'failed' : previous.outcome}`
    let after = ''
    if (this.isDead(previous.node) && this.#crashedAtMs !== undefined) {
      const afterMs = this.elapsedMs - this.#crashedAtMs
      this.handOvers.push({ layer, from: previous.node, to: node, afterMs })
      after = `, ${formatDuration(afterMs)} after the crash`
    }
    const text = `is handed layer ${layer.name}: ${why}${after} (fence ${fence}, attempt ${attempt})`
    this.#line('handed-over', node, text)
  }

  #line(kind: Line['kind'], node: string, text: string): void {
    const line = { atMs: this.elapsedMs, kind, text: oneLine(`${node} ${text}`) }
    this.lines.push(line)
    this.#onLine(line)
  }
}
