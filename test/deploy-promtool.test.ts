// needs: promtool
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProcess } from '@baton-lock/test-support/processes'
import { newWorld } from '@baton-lock/test-support/server-world'
import { afterAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { pathTo, root } from './deploy/files.ts'
import { panelQueries, readDashboard } from './deploy/queries.ts'

/* What promtool, which comes with Prometheus, finds wrong with what a server tells and with the files of deploy/. */

const folder = mkdtempSync(join(tmpdir(), 'baton-promtool-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** `input` is for its stdin. */
function promtool(args: readonly string[], input = '') {
  const started = startProcess('promtool', args, { stdin: 'pipe' })
  started.write(input)
  started.endInput()
  return started.ended
}

test('nothing is wrong with the metrics of a server', async () => {
  const world = newWorld({ version: '1.2.3' })
  const ask = { operation: 'pull', resource: 'r', hold: '1' }
  const { body } = await world.post('/v1/acquire', { ...ask, node: 'a', owner: 'a' })
  await world.post('/v1/acquire', { ...ask, node: 'b', owner: 'b' })
  await world.post('/v1/release', { ...ask, node: 'a', owner: 'a', fence: body.fence, outcome: 'success' })
  await world.post('/v1/release', { ...ask, node: 'a', owner: 'a', fence: 99, outcome: 'success' })
  // The event loop is measured from the first time on.
  await world.get('/metrics')
  await expect
    .poll(async () => {
      world.clock.jump(10_000)
      return (await world.get('/metrics')).body
    })
    .toContain('quantile="0.99"')
  const { body: text } = await world.get('/metrics')
  expect(text).toContain('baton_refusals_total{code=')
  expect(await promtool(['check', 'metrics'], text)).toEqual({ code: 0, stdout: '', stderr: '' })
})

test('nothing is wrong with the alerts, nor with the configuration that names them', async () => {
  const config = await promtool(['check', 'config', pathTo('prometheus.yaml')])
  expect(config).toMatchObject({ code: 0, stdout: expect.stringContaining('SUCCESS: 1 rule files found') })
  expect(await promtool(['check', 'rules', pathTo('prometheus-rules.yaml')])).toMatchObject({ code: 0 })
})

test('alerts come when they should, and only then', async () => {
  const tests = join(root, 'test/deploy/prometheus-rules.test.yaml')
  expect(await promtool(['test', 'rules', tests])).toMatchObject({ code: 0 })
})

test('every query of the dashboard is one that Prometheus understands', async () => {
  const rules = panelQueries(readDashboard()).map(({ text }, index) => ({
    record: `query:${index}`,
    expr: text.replaceAll('$__rate_interval', '5m').replaceAll(/\$\{?\w+\}?/g, 'x'),
  }))
  const path = join(folder, 'queries.yaml')
  writeFileSync(path, stringify({ groups: [{ name: 'dashboard', rules }] }))
  const stdout = expect.stringContaining(`SUCCESS: ${rules.length} rules found`)
  expect(await promtool(['check', 'rules', path])).toMatchObject({ code: 0, stdout })
  expect(rules.length).toBeGreaterThan(25)
})
