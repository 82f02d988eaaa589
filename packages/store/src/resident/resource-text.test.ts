import { memoriesToWrite, type Resource, resourceInMemory } from '@baton-lock/core'
import { expect, test } from 'vitest'
import { resourceFromText, resourceToText } from './resource-text.ts'

const at = { namespace: 'default', resource: 'r' }
const asks = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ operation: 'pull', owner: `o${index}`, hold: '1' }))
const keptOf = (result: string | { readonly bytes: number } | number) => ({
  node: 'n',
  revision: undefined,
  disbelieve: undefined,
  answer: { status: 'skip', fence: 1, by: 'a', atMs: 5, result } as const,
  after: 0,
  untilMs: 10,
})

/** Everybody was told this; half of them with a hold id of their own. */
function told(count: number, result: Parameters<typeof keptOf>[0]): Resource {
  const resource = resourceInMemory('default', 'r')
  const reply = { status: 'refused', code: 'unknown-grant' } as const
  for (const [index, ask] of asks(count).entries()) {
    if (index % 2 === 0) memoriesToWrite(resource, 'answers').set(ask, keptOf(result))
    else
      memoriesToWrite(resource, 'released').set(ask, { node: 'n', fence: 0, reply, kept: keptOf(result), untilMs: 10 })
  }
  return resource
}

test.each([['x'.repeat(100)], [{ bytes: 3 }], [7]])(
  'what was told is as it was when it is read again: %j',
  (result) => {
    const resource = told(4, result)
    const again = resourceFromText(resourceToText(resource), at)
    for (const ask of asks(4)) {
      expect(again.answers.of(ask)).toEqual(resource.answers.of(ask))
      expect(again.released.of(ask)).toEqual(resource.released.of(ask))
    }
    expect(resourceToText(again)).toBe(resourceToText(resource))
  },
)

test('a large result that thousands were told is written once, again and again', () => {
  const text = resourceToText(told(3_000, 'x'.repeat(256 * 1024)))
  expect(text.length).toBeLessThan(1_000_000)
  expect(resourceToText(resourceFromText(text, at))).toBe(text)
})
