import { completePolicy } from '@baton-lock/core'
import { settled } from '@baton-lock/store/conformance'
import { newClientWorld, outcomeOf, work } from '@baton-lock/test-support/client-world'
import { expect, test } from 'vitest'

const digest = 'sha256:a'

test('work that is there already is not asked for: the node is referenced and skips', async () => {
  const { baton } = newClientWorld().client({ node: 'a' })
  const done = await baton.run('pull', digest, () => expect.unreachable(), { verify: () => true })
  expect(done).toMatchObject({ status: 'skipped', by: undefined, fence: 0 })
  expect(await baton.references.list(digest)).toEqual(['a'])
})

test('a skip that proves untrue is disbelieved: the work is done again', async () => {
  const world = newClientWorld()
  const [a, b] = [world.client({ node: 'a' }), world.client({ node: 'b' })]
  await a.baton.run('pull', digest, () => 'first')
  const there = new Set<string>()
  const done = await b.baton.run(
    'pull',
    digest,
    () => {
      there.add('b')
      return 'second'
    },
    { verify: () => there.has('b') },
  )
  expect(done).toMatchObject({ status: 'performed', result: 'second', fence: 2 })
  expect(b.wire.of('acquire')).toMatchObject([{ disbelieve: undefined }, { disbelieve: 1 }])
  const [first, second] = b.wire.of('acquire')
  expect(first.owner).not.toBe(second.owner)
})

test('two that disbelieve the same success: one does it again, the other skips on the new one', async () => {
  const world = newClientWorld()
  const { baton } = world.client({ node: 'a' })
  await baton.run('pull', digest, () => 'first')
  let there = false
  let runs = 0
  const job = work()
  const again = () =>
    baton.run(
      'pull',
      digest,
      async () => {
        runs++
        await job.done
        there = true
      },
      { verify: () => there },
    )
  const both = [again(), again()]
  await settled()
  job.finish()
  expect((await Promise.all(both)).map(({ status }) => status).sort()).toEqual(['performed', 'skipped'])
  expect(runs).toBe(1)
})

test('work that turns out to be there after the grant is reported as a success without running', async () => {
  const { baton, wire } = newClientWorld().client({ node: 'a' })
  let checks = 0
  const done = await baton.run('pull', digest, () => expect.unreachable(), { verify: () => ++checks > 1 })
  expect(done).toMatchObject({ status: 'skipped', fence: 1, by: undefined })
  expect(wire.of('release')).toMatchObject([{ outcome: 'success', fence: 1 }])
  expect(await baton.references.list(digest)).toEqual(['a'])
})

test('a verify that throws after the grant is a failure, and reaches the caller as it is', async () => {
  const { baton, wire } = newClientWorld().client({ node: 'a' })
  let checks = 0
  const error = new Error('disk is gone')
  const verify = () => {
    if (++checks > 1) throw error
    return false
  }
  expect(await outcomeOf(baton.run('pull', digest, () => expect.unreachable(), { verify }))).toBe(error)
  expect(wire.of('release')).toMatchObject([{ outcome: 'failure', error: 'disk is gone' }])
})

test('a skip references the node only when its own check says yes', async () => {
  const world = newClientWorld()
  const [a, b] = [world.client({ node: 'a' }), world.client({ node: 'b' })]
  const references = () => a.baton.references.list(digest)
  await a.baton.run('pull', digest, () => 'done', { reference: false })
  let isThere = false
  const failing = b.baton.run('pull', digest, () => Promise.reject(new Error('disk full')), { verify: () => isThere })
  expect(await outcomeOf(failing)).toMatchObject({ message: 'disk full' })
  expect(await references()).toEqual([])
  await a.baton.run('pull', digest, () => 'done again', { reference: false })
  let looks = 0
  const verify = () => {
    isThere = ++looks > 1
    return isThere
  }
  const done = await b.baton.run('pull', digest, () => 'not me', { verify })
  expect(done).toMatchObject({ status: 'skipped', by: 'a', result: 'done again' })
  expect(await references()).toEqual(['b'])
})

test('a delete that begins between a skip and the check is waited for', async () => {
  const world = newClientWorld({ policy: completePolicy({ namespaces: { default: { exclusion: 'resource' } } }) })
  const [a, b] = [world.client({ node: 'a' }), world.client({ node: 'b' })]
  await a.baton.run('pull', digest, () => 'old', { reference: false })
  const deleted = work()
  let deleting: Promise<unknown> | undefined
  let isThere = true
  let looks = 0
  const verify = async () => {
    if (++looks === 1) return false
    deleting ??= a.baton.run('delete', digest, async () => {
      await deleted.done
      isThere = false
    })
    await settled()
    return isThere
  }
  const pulling = b.baton.run('pull', digest, () => 'new', { verify })
  await settled()
  deleted.finish()
  await deleting
  expect(await pulling).toMatchObject({ status: 'performed', result: 'new' })
})
