/** What a registry does wrong, once: it refuses, or the connection breaks in the middle. */
export type Fault = 'refuses' | 'breaks'

export interface Layer {
  /** 0 for the first. */
  readonly index: number
  /** `01` for the first. */
  readonly name: string
  readonly digest: string
  /** How long a whole fetch takes. */
  readonly fetchMs: number
  /** Met by the first attempts, one each. */
  readonly faults: readonly Fault[]
}

export interface Plan {
  readonly nodes: readonly string[]
  readonly layers: readonly Layer[]
  /** The node that is killed in the middle of a pull. */
  readonly victim: string
  readonly ttlMs: number
  /** How many layers a node pulls at a time. */
  readonly parallel: number
}

const NODES = ['node-a', 'node-b', 'node-c', 'node-d', 'node-e', 'node-f', 'node-g', 'node-h']
const LAYERS = 20
const FAULTS: Readonly<Record<number, readonly Fault[]>> = { 2: ['refuses'], 10: ['breaks'], 16: ['breaks', 'refuses'] }

export function demoPlan({ fast }: { readonly fast: boolean }): Plan {
  const random = seeded(20)
  const layers = Array.from({ length: LAYERS }, (_, index): Layer => {
    const name = String(index + 1).padStart(2, '0')
    return {
      index,
      name,
      digest: `sha256:${`demo-layer-${name}-`.padEnd(64, '0')}`,
      fetchMs: Math.round((fast ? 150 : 1_800) + random() * (fast ? 250 : 2_400)),
      faults: FAULTS[index] ?? [],
    }
  })
  return { nodes: NODES, layers, victim: 'node-h', ttlMs: fast ? 1_000 : 2_000, parallel: 3 }
}

/**
 * In which order a node pulls. Three groups begin at three places of the image, so that there is both work side by side
 * and a crowd for each layer; within a group the order differs a little, as it does in life.
 */
export function orderOf({ nodes, layers }: Plan, node: string): readonly Layer[] {
  const at = nodes.indexOf(node)
  const start = at < 3 ? 0 : at < 6 ? 10 : 5
  const random = seeded(at + 1)
  const rotated = [...layers.slice(start), ...layers.slice(0, start)]
  const order: Layer[] = []
  for (let from = 0; from < rotated.length; from += 5) {
    const window = rotated.slice(from, from + 5)
    while (window.length > 0) order.push(...window.splice(Math.floor(random() * window.length), 1))
  }
  return order
}

/** The same numbers at every run: mulberry32. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
