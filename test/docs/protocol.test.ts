import type { RequestType } from '@baton-lock/protocol'
import { requestSchemas } from '@baton-lock/protocol/requests'
import { routes } from '@baton-lock/protocol/routes'
import type { GatheredEvent, StreamedEvent } from '@baton-lock/protocol/stream/events'
import { routeAccess } from '@baton-lock/server/auth/roles'
import { newWorld } from '@baton-lock/test-support/server-world'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { readPage } from './page.ts'
import { code, expectTables, table } from './tables.ts'

/* docs/protocol.md and the code say the same. Of its error table that is shown by packages/protocol/src/errors.test.ts. */

const path = 'docs/protocol.md'
const page = readPage(path)
const section = (heading: string) => page.text.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!

describe('routes', () => {
  const types = new Map(Object.entries(routes).map(([type, { method, path }]) => [`${method} ${path}`, type]))
  const rows = [...routeAccess].map(([route, { roles }]) => {
    const type = types.get(route)
    return [code(route), type === undefined ? '' : code(type), roles ? roles.join(', ') : 'everybody']
  })

  test('all of them are in the table, with who may ask, and nothing else is', () => {
    expectTables(path, { routes: table(['route', 'type', 'roles'], rows) })
  })

  test('what the page says of paths is about these, and each of them is spoken of before the table', () => {
    const known = new Set([...routeAccess.keys()].map((route) => route.split(' ')[1]!))
    const said = page.text.slice(0, page.text.indexOf('## All routes'))
    const named = [...said.matchAll(/(?<![\w.}])\/(?:v1\/[\w/-]+|lock(?:\/\w+)?|unlock|\w+z\b|metrics|openapi\.json)/g)]
    expect(new Set(named.map(([path]) => path).filter((path) => !known.has(path)))).toEqual(new Set())
    const unsaid = [...known].filter((path) => !said.includes(path) && !path.startsWith('/assets/'))
    expect(unsaid).toEqual([])
  })
})

test.each(Object.entries(requestSchemas))('every field of %s is on the page', (type, schema) => {
  expect(page.text).toContain('`/openapi.json`')
  const { properties, oneOf = [] } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  const parts = [properties ?? {}, ...oneOf.map((each) => (each as z.core.JSONSchema.ObjectSchema).properties ?? {})]
  const fields = new Set(parts.flatMap((part) => Object.keys(part)))
  fields.delete('type')
  expect(fields.size > 0 || ['get-policy', 'get-who'].includes(type)).toBe(true)
  const isSaid = (field: string) => new RegExp(`\`${field}\`|"${field}":|[?&]${field}=`).test(page.text)
  expect([...fields].filter((field) => !isSaid(field))).toEqual([])
})

test('every event is in its table, and every row is one', () => {
  // Types are not there when this runs: the compiler sees to it that this has all of them, and no others.
  const types: Readonly<Record<(StreamedEvent | GatheredEvent)['type'], true>> = {
    state: true,
    'state-part': true,
    reset: true,
    queued: true,
    granted: true,
    claimed: true,
    told: true,
    left: true,
    'hold-ended': true,
    ended: true,
    progress: true,
    referenced: true,
    dereferenced: true,
    gathered: true,
  }
  const rows = [...section('Events').matchAll(/^\| (`[a-z-]+`(?:, `[a-z-]+`)*) \|/gm)].map(([, cell]) => cell!)
  const named = rows.flatMap((cell) => cell.replaceAll('`', '').split(', '))
  expect(named).toEqual(Object.keys(types))
})

describe('what is shown of requests', () => {
  const shell = page.blocks
    .filter(({ language }) => language === 'sh')
    .map(({ text }) => text)
    .join('')
  const posts = [...shell.matchAll(/^curl (-X PUT )?\$B(\/[\w/-]+) +-d '([^']+)'/gm)]
  const gets = [...shell.matchAll(/^curl "?\$B(\/v1[^\s"]+)"?(?= |$)(?! +-[dH])/gm)]

  test.each(posts.map(([, put, path, body]) => [path!, body!, put]))('%s takes %s', async (path, body, put) => {
    const { send } = newWorld()
    const reply = await send({ method: put ? 'PUT' : 'POST', path, body })
    expect(reply.body).not.toMatchObject({
      code: expect.stringMatching(/^(bad-request|not-found|unknown-operation)$/),
    })
  })

  test.each(gets.map(([, path]) => path!))('%s', async (path) => {
    const { get } = newWorld()
    expect((await get(path)).status).toBe(200)
  })

  test('there are some of both kinds', () => {
    const shown = new Set([...posts.map(([, , path]) => path!), ...gets.map(([, path]) => path!.split('?')[0]!)])
    const unshown = Object.values(routes).filter(({ path }) => !shown.has(path) && path !== '/v1/who')
    expect(unshown).toEqual([])
    expect(posts.length).toBeGreaterThan(15)
  })
})

test('types of requests that the page names are there', () => {
  const known = new Set<string>(Object.keys(requestSchemas) as RequestType[])
  const named = [...page.text.matchAll(/"type":"([a-z-]+)"/g)].map(([, type]) => type!)
  const events = new Set(['granted', 'state', 'pull'])
  expect(named.filter((type) => !known.has(type) && !events.has(type))).toEqual([])
})
