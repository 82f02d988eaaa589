// needs: mariadb, containerd, mergerfs, mount
import { pullRound } from '@baton-lock/faults/content/pull-round'
import { type Mariadb, startMariadb } from '@baton-lock/faults/harness/mariadb'
import { afterAll, expect, test } from 'vitest'
import { until } from '../../../test/e2e/cli-process.ts'
import { contentStage, MIB, statusOf } from './content-stage.ts'

let mariadb: Mariadb
// Hooks of this kind run in the reverse of their order: the nodes end before it.
afterAll(() => mariadb?.stop())

const stage = contentStage({
  names: ['a', 'b', 'c'],
  async lock() {
    mariadb = await startMariadb()
    return `store = "${await mariadb.createDatabase('baton')}"`
  },
})

test('three nodes on a database, without a server: one GET a blob, and removed everywhere it is gone', async () => {
  const { cluster } = stage
  expect(cluster.serverPid).toBeUndefined()
  const image = await cluster.pushed({ name: 'shared', layers: 3, layerBytes: MIB / 4 })
  expect([...(await pullRound(cluster, image)).gets.values()]).toEqual(image.blobs.map(() => 1))
  for (const node of cluster.nodes) {
    expect(await statusOf(node)).toMatchObject({ isCoordinated: true, uncoordinated: 0, pending: 0 })
    await node.containerd.removeImage(image.at(node.door))
  }
  await until('the files are gone', () => cluster.nodes.every((node) => node.hostBlobs().length === 0))
}, 60_000)
