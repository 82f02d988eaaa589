import { newClientWorld } from '@baton-lock/test-support/client-world'
import { open } from 'baton-lock'
import { expect, test } from 'vitest'

/* Here and not beside the source: the tool that checks the imports of src/ does not read `using`. */

const lock = ['lock', 'l'] as const

test('leaving without an outcome is a failure', async () => {
  const { baton } = newClientWorld().client({ node: 'a' })
  {
    await using _grant = await baton.acquire(...lock)
  }
  expect((await baton.status('l')).recent).toMatchObject([
    { outcome: { outcome: 'failure', error: 'left without an outcome' } },
  ])
})

test('a lost grant can be left without an outcome in peace', async () => {
  const world = newClientWorld()
  const [a, operator] = [world.client({ node: 'a' }), world.client({ node: 'o' })]
  await using _grant = await a.baton.acquire(...lock)
  await operator.baton.revoke(...lock)
})

test('a client that is left is closed', async () => {
  let left: { status(resource: string): Promise<unknown> }
  {
    await using baton = await open('memory:')
    left = baton
  }
  await expect(left.status('x')).rejects.toMatchObject({ code: 'closed' })
})
