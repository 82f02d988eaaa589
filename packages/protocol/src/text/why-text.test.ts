import type { WaitReason } from '@baton-lock/core'
import { describe, expect, test } from 'vitest'
import { isStuck, reasonText, whyText } from './why-text.ts'

const held = (forMs: number, usualMs?: number): WaitReason => ({
  why: 'held',
  operation: 'pull',
  node: 'node-a',
  fence: 7,
  forMs,
  ...(usualMs !== undefined && { usualMs }),
})
const unclaimed: WaitReason = { why: 'unclaimed', operation: 'pull', node: 'node-b', passesOnInMs: 3_200 }
const silent: WaitReason = { why: 'silent', node: 'node-a', forMs: 12_000, expiresInMs: 3_000 }
const paused = (attempt: number): WaitReason => ({ why: 'paused', operation: 'pull', forMs: 4_000, attempt })
const queue = (...reasons: WaitReason[]) => ({ operation: 'pull', waiting: 3, reasons })

describe('why somebody waits, for people', () => {
  test.each([
    [held(42_000), 'held by node-a for 42s'],
    [held(42_000, 8_000), 'held by node-a for 42s, usually 8.0s'],
    [unclaimed, 'node-b is next and has not claimed its grant yet, which passes on in 3.2s'],
    [silent, 'node-a has not renewed for 12s, its lease ends in 3.0s'],
    [paused(3), 'paused after a failure, attempt 3 begins in 4.0s'],
  ])('%o', (reason, text) => expect(reasonText(reason, 'pull')).toBe(text))

  test('clients that wait for one another, as far as that is known, and what to do', () => {
    const at = (operation: string, resource: string) => ({ operation, resource })
    const link = (node: string, holds: object, waitsFor: object) => ({ node, holds: { ...holds, fence: 1 }, waitsFor })
    const [x, y, z] = [at('lock', 'x'), at('pull', 'y'), at('lock', 'z')]
    const two = [link('a', x, y), link('b', y, x)]
    const three = [link('a', x, y), link('b', y, z), link('c', z, x)]
    const cycle = (links: readonly object[], certain: boolean, forMs = 2_000) =>
      ({ why: 'cycle', links, certain, forMs }) as WaitReason
    expect(reasonText(cycle(two, true))).toBe(
      'a and b wait for one another: a holds x and waits for y (pull), b holds y (pull) and waits for x; revoke one of these grants, and have every task ask for them in the same order',
    )
    expect(reasonText(cycle(three, false))).toBe(
      'a, b and c may wait for one another: a holds x and waits for y (pull), b holds y (pull) and waits for z, c holds z and waits for x; if one task of each does both, revoke one of these grants, and have every task ask for them in the same order',
    )
    expect(isStuck([queue(cycle(two, true))])).toBe(true)
    expect(isStuck([queue(cycle(two, false, 59_000))])).toBe(false)
    expect(isStuck([queue(cycle(two, false, 60_000))])).toBe(true)
  })

  test('the operation is named where it is not the one that is waited for', () => {
    expect(reasonText(held(1_000), 'delete')).toBe('held by node-a (pull) for 1.0s')
    expect(reasonText(held(1_000))).toBe('held by node-a for 1.0s')
  })

  test('whoever is not the first also stands behind others', () => {
    expect(whyText(queue(held(42_000)), 1)).toBe('held by node-a for 42s')
    expect(whyText(queue(held(42_000)), 2)).toBe('held by node-a for 42s; behind 1 other')
    expect(whyText(queue(held(42_000), silent), 5)).toBe(
      'held by node-a for 42s; node-a has not renewed for 12s, its lease ends in 3.0s; behind 4 others',
    )
  })

  test('nothing is said where nothing is known', () => expect(whyText(queue())).toBe(''))

  test('a name cannot end a line, or turn it round', () => {
    const reason: WaitReason = { ...silent, why: 'silent', node: 'a\n\u001b[2J\u202eb' }
    expect(reasonText(reason)).toBe('a [2J\\u202eb has not renewed for 12s, its lease ends in 3.0s')
  })
})

describe('what is stuck', () => {
  test.each([
    ['a silent holder', [held(1_000), silent], true],
    ['much longer than usual', [held(25_000, 8_000)], true],
    ['longer than usual, but not by much', [held(23_000, 8_000)], false],
    ['much longer than usual, but for a moment', [held(4_000, 100)], false],
    ['long, and nobody knows how long it usually takes', [held(3_600_000)], false],
    ['one failure after another', [paused(4)], true],
    ['a first failure', [paused(2)], false],
    ['one that has yet to claim', [unclaimed], false],
    ['nothing known', [], false],
  ])('%s', (_name, reasons, stuck) => expect(isStuck([queue(...reasons)])).toBe(stuck))
})
