// needs: mariadb
import { type Mariadb, startMariadb } from '@baton-lock/faults/harness/mariadb'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { killRest, logIn, startServer, type TestServer, troubleIn, until } from './cli-process.ts'
import { startLoad } from './restart-load.ts'

let mariadb: Mariadb
beforeAll(async () => {
  mariadb = await startMariadb()
})
afterAll(async () => {
  killRest()
  await mariadb.stop()
})

test('three servers over one database, restarted one after another under load: no grant and no place in line is lost', async () => {
  const store = await mariadb.createDatabase('rolling')
  const flags = ['--store', store, '--log-level', 'debug']
  const servers: TestServer[] = []
  for (let count = 0; count < 3; count++) servers.push(await startServer(flags))
  const load = await startLoad(servers.map(({ url }) => url))
  for (const [index, server] of servers.entries()) {
    const before = load.turns()
    await until('work goes on', () => load.turns() > before + 20)
    const { code, stderr } = await server.stop()
    expect([code, troubleIn(stderr)]).toEqual([0, []])
    expect(stderr).not.toContain(new URL(store).password)
    expect(logIn(stderr).at(-1)).toMatchObject({ message: 'stopped', cut: 0 })
    // Each of them had clients when it was stopped.
    expect(logIn(stderr).filter(({ message }) => message === 'stream opened').length).toBeGreaterThanOrEqual(2)
    servers[index] = await startServer([...flags, '--port', new URL(server.url).port])
  }
  const before = load.turns()
  await until('work goes on', () => load.turns() > before + 20)
  expect(await load.finish()).toEqual({ trouble: [], order: [0, 1, 2, 3, 4, 5] })
  for (const server of servers) expect(troubleIn((await server.stop()).stderr)).toEqual([])
}, 120_000)
