import { inTime, tenNodes } from '@baton-lock/test-support/go-client'
import { newWorld, quiet, serverBeside } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'

const types = ['pull', 'update', 'delete', 'image-layer']
const cases = types.flatMap((type) =>
  [true, false].flatMap((named) => [1, 2].map((servers) => ({ type, named, servers }))),
)

test.each(cases)(
  'ten nodes of the known client, the first two fail, the work runs three times: $type, named: $named, servers: $servers',
  async ({ type, named, servers }) => {
    const world = newWorld()
    const worlds = servers === 1 ? [world] : [world, serverBeside(world)]
    const streams = () => worlds.reduce((open, { app }) => open + app.streams.size, 0)
    let all = () => {}
    const allHaveBegun = new Promise<void>((resolve) => {
      all = resolve
    })
    const begun = async (index: number) => {
      while (streams() < index) await quiet()
      if (index === 9) all()
    }
    const running = tenNodes(worlds, { type, named, workMs: 1_500, begun })
    await allHaveBegun
    const ends = await inTime(world, running)
    expect(ends).toEqual(['failed', 'failed', 'worked', ...Array(7).fill('done')])
    expect(await world.service.counts()).toMatchObject({ grants: 0, waiters: 0 })
  },
)
