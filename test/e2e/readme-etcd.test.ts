// needs: etcd
import { type EtcdCluster, startEtcd } from '@baton-lock/faults/harness/etcd'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readPage } from '../docs/page.ts'
import { killRest } from './cli-process.ts'
import { PageShell } from './page-shell.ts'

/* What README.md says below 'On etcd'. */

const blocks = readPage('README.md').blocks.filter(({ heading }) => heading === 'On etcd')

let cluster: EtcdCluster
let shell: PageShell
beforeAll(async () => {
  cluster = await startEtcd()
  shell = new PageShell({ BATON_NODE: 'node-a' }, { 'deploy.sh': 'echo "$BATON_NODE" >> deploy.log' })
}, 60_000)
afterAll(async () => {
  killRest()
  shell.remove()
  await cluster.stop()
})

test('its commands run on three members, with and without a server', async () => {
  expect(blocks.map(({ language }) => language)).toEqual(['sh'])
  const members = 'h1.example:2379,h2.example:2379,h3.example:2379'
  expect(blocks[0]!.text).toContain(members)
  const { code, stdout, stderr } = await shell.start(blocks[0]!.text.replace(members, cluster.endpoints.join(',')))
    .ended
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^baton listening on http/)
  expect(shell.read('deploy.log')).toBe('node-a\n')
}, 60_000)
