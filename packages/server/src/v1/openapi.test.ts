import { errors, routes } from '@baton-lock/protocol'
import { newWorld } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'

test('/openapi.json describes every route, and every error code', async () => {
  const { get } = newWorld({ version: '1.2.3' })
  const { status, body } = await get('/openapi.json')
  expect([status, body.openapi, body.info.version]).toEqual([200, '3.1.0', '1.2.3'])
  for (const { method, path, summary } of Object.values(routes)) {
    expect(body.paths[path][method.toLowerCase()]).toMatchObject({ summary })
  }
  const others = ['/v1/batch', '/v1/events', '/lock', '/unlock', '/lock/subscribe', '/lock/status']
  expect(Object.keys(body.paths)).toEqual(expect.arrayContaining(others))
  expect(body.components.schemas.Error.properties.code.enum).toEqual(Object.keys(errors))
})

test('a body is described without its type, with what it must have', async () => {
  const { get } = newWorld()
  const { body } = await get('/openapi.json')
  const { schema } = body.paths['/v1/acquire'].post.requestBody.content['application/json']
  expect(schema.required.sort()).toEqual(['node', 'operation', 'resource'])
  expect(schema.properties).not.toHaveProperty('type')
  expect(schema.properties.ttlMs).toMatchObject({ minimum: 1_000, maximum: 86_400_000, default: 30_000 })
  const release = body.paths['/v1/release'].post.requestBody.content['application/json'].schema
  expect(release.oneOf).toHaveLength(3)
})

test('everything that it refers to is there', async () => {
  const { get } = newWorld()
  const { body } = await get('/openapi.json')
  const text = JSON.stringify(body)
  const names = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, name]) => name!)
  expect(names.length).toBeGreaterThan(0)
  for (const name of names) {
    const found = name
      .split('/')
      .slice(1)
      .reduce((at, part) => at?.[part], body)
    expect([name, found]).toEqual([name, expect.anything()])
  }
})
