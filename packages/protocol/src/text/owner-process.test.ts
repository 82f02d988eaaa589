import { expect, test } from 'vitest'
import { ownerPrefix, processesOf } from './owner-process.ts'

const owner = (pid: number, host: string, rest = 'x.1') => `${ownerPrefix(pid, host)}${rest}`
const texts = (...actors: { node: string; owner: string }[]) => {
  const processes = processesOf(actors)
  return actors.map((actor) => processes.get(actor))
}

test('two processes that share a name are told apart by pid, and by host where that is not the name', () => {
  const one = { node: 'web', owner: owner(11, 'h1') }
  const other = { node: 'web', owner: owner(12, 'web') }
  expect(texts(one, other, { node: 'db', owner: owner(13, 'db') })).toEqual(['pid 11 on h1', 'pid 12', undefined])
  expect(texts(one, { node: 'web', owner: owner(11, 'h2') })).toEqual(['pid 11 on h1', 'pid 11 on h2'])
})

test('several asks of one process need no more than its name', () => {
  expect(texts({ node: 'web', owner: owner(11, 'h1', 'x.1') }, { node: 'web', owner: owner(11, 'h1', 'x.2') })).toEqual(
    [undefined, undefined],
  )
})

test('an owner that says nothing of its process has none, beside one that does', () => {
  expect(texts({ node: 'web', owner: 'web' }, { node: 'web', owner: owner(11, 'h1') })).toEqual([
    undefined,
    'pid 11 on h1',
  ])
  expect(texts({ node: 'web', owner: '1@h\u202e/x' }, { node: 'web', owner: 'x' })).toEqual([undefined, undefined])
})

test('the name of a host cannot be too long, or end the prefix', () => {
  expect(ownerPrefix(1, `a/b\n${'x'.repeat(300)}`)).toBe(`1@ab${'x'.repeat(62)}/`)
})
