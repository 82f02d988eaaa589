import { describe, expect, test } from 'vitest'
import { plain } from '../print/paint.ts'
import { Board } from './board.ts'
import { renderGrid } from './grid.ts'
import { demoPlan, orderOf, type Plan } from './plan.ts'
import type { Fetch } from './registry.ts'
import { summarise } from './summary.ts'

const whole = demoPlan({ fast: true })
const plan: Plan = { ...whole, nodes: ['node-a', 'node-h'], layers: whole.layers.slice(0, 2) }
const fetched = (layer: number, node = 'node-a'): Fetch => ({ layer, node, share: 1, state: 'whole' })

/** Both nodes have both layers, all fetched by the first. */
function happy(): Board {
  const board = new Board(plan, () => {})
  for (const layer of [0, 1]) {
    board.report({ node: 'node-a', layer, state: 'fetching', fence: 1, attempt: 1 })
    board.report({ node: 'node-h', layer, state: 'waiting' })
    board.report({ node: 'node-a', layer, state: 'done' })
    board.report({ node: 'node-h', layer, state: 'skipped' })
  }
  return board
}

describe('the summary of the demo', () => {
  test('is content when each layer was fetched whole once', () => {
    const { ok, lines } = summarise(happy(), [fetched(0), fetched(1)], plain)
    expect(ok).toBe(true)
    expect(lines.join('\n')).toContain('Each of the 2 layers was fetched exactly once.')
  })

  test.each([
    ['twice', [fetched(0), fetched(1), fetched(1, 'node-h')]],
    ['not at all', [fetched(0)]],
    ['only in part', [fetched(0), { ...fetched(1), state: 'gone' } as Fetch]],
  ])('complains when a layer was fetched %s', (_how, fetches) => {
    const { ok, lines } = summarise(happy(), fetches, plain)
    expect(ok).toBe(false)
    expect(lines.join('\n')).toContain('1 layers were not fetched exactly once')
  })

  test('complains when a living node never got a layer, not when a dead one did not', () => {
    const board = new Board(plan, () => {})
    board.report({ node: 'node-a', layer: 0, state: 'done' })
    board.report({ node: 'node-a', layer: 1, state: 'waiting' })
    board.crash()
    expect(summarise(board, [fetched(0), fetched(1)], plain).ok).toBe(false)
    board.report({ node: 'node-a', layer: 1, state: 'done' })
    expect(summarise(board, [fetched(0), fetched(1)], plain).ok).toBe(true)
  })

  test('lists the attempts that failed, and who took over from the dead', () => {
    const board = new Board(plan, () => {})
    board.report({ node: 'node-h', layer: 0, state: 'fetching', fence: 1, attempt: 1 })
    board.crash()
    const previous = { node: 'node-h', outcome: 'expired', error: undefined } as const
    board.report({ node: 'node-a', layer: 0, state: 'fetching', fence: 2, attempt: 2, previous })
    const gone: Fetch = { layer: 0, node: 'node-h', share: 0.5, state: 'gone' }
    const text = summarise(board, [gone, fetched(0), fetched(1)], plain).lines.join('\n')
    expect(text).toContain('node-h (crashed at 50%)')
    expect(text).toContain('node-h was killed; layer 01 passed on to node-a')
  })
})

describe('the grid of the demo', () => {
  test('shows where everybody stands', () => {
    const board = new Board(plan, () => {})
    board.report({ node: 'node-h', layer: 0, state: 'fetching', fence: 1, attempt: 1 })
    board.report({ node: 'node-a', layer: 0, state: 'waiting' })
    const half: Fetch = { layer: 0, node: 'node-h', share: 0.5, state: 'under way' }
    expect(renderGrid(board, [half], plain)).toEqual(['          01 02', '  node-a   …  ·', '  node-h   ▅  ·'])
    board.crash()
    expect(renderGrid(board, [half], plain)[2]).toBe('  node-h   †   ')
  })

  test('keeps a failure to be seen when its node has skipped later', () => {
    const board = new Board(plan, () => {})
    board.report({ node: 'node-a', layer: 0, state: 'failed', error: 'x' })
    board.report({ node: 'node-a', layer: 0, state: 'skipped' })
    expect(renderGrid(board, [], plain)[1]).toBe('  node-a   ✗  ·')
  })

  test('hears nothing more of the dead', () => {
    const board = new Board(plan, () => {})
    board.crash()
    board.report({ node: 'node-h', layer: 0, state: 'done' })
    expect(board.count('done')).toBe(0)
  })
})

test('every node of the demo wants every layer', () => {
  for (const node of whole.nodes) {
    const wanted = orderOf(whole, node).map(({ index }) => index)
    expect(wanted.toSorted((a, b) => a - b)).toEqual(whole.layers.map(({ index }) => index))
  }
})
