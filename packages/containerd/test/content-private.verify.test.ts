// needs: containerd, mergerfs, mount
import { appendFileSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { ContentCluster } from '@baton-lock/faults/content/content-cluster'
import type { ContentNode } from '@baton-lock/faults/content/content-node'
import { type Image, makeImage } from '@baton-lock/faults/content/image'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { killRest, MAIN, openFolder, startProgram } from '../../../test/e2e/cli-process.ts'

/* What docs/containerd.md says of private images: a registry asks for a password, and one of two nodes has it. */

const PASSWORD = 'user:secret'
const folder = openFolder()
let cluster: ContentCluster
let registry: Server
let address: string
/** What the registry was asked, by those who may. */
const asked: string[] = []
let may: ContentNode
let mayNot: ContentNode
let image: Image

beforeAll(async () => {
  cluster = await ContentCluster.start({ folder: folder.path('c'), main: MAIN, names: ['a', 'b'] })
  ;[may, mayNot] = cluster.nodes as [ContentNode, ContentNode]
  await Promise.all(cluster.nodes.map((node) => node.start()))
  image = await cluster.pushed({ name: 'private', layers: 2, layerBytes: 100_000 })
  registry = createServer(guarded)
  address = await addressOf(registry)
}, 60_000)

afterAll(async () => {
  registry.closeAllConnections()
  registry.close()
  await cluster.stop()
  killRest()
  folder.remove()
})

/** Hands on to the registry what comes with the password, and refuses the rest. */
const guarded: Parameters<typeof createServer>[1] = (client, answer) => {
  const { method, url: path, headers } = client
  if (headers.authorization !== `Basic ${Buffer.from(PASSWORD).toString('base64')}`) {
    answer.writeHead(401, { 'www-authenticate': 'Basic realm="private"' }).end()
    return
  }
  asked.push(`${method} ${path}`)
  const [host, port] = cluster.registry.address.split(':')
  const onward = request({ host, port, method, path, headers }, (reply) => {
    answer.writeHead(reply.statusCode!, reply.rawHeaders)
    reply.pipe(answer)
  })
  client.pipe(onward)
}

async function addressOf(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const pull = (node: ContentNode, reference: string, ...more: string[]) =>
  startProgram('ctr', [
    ...['-a', node.containerd.socket, 'image', 'pull', '--plain-http', '--snapshotter', 'native', ...more],
    reference,
  ]).ended
const blobsAsked = () => asked.splice(0).filter((line) => line.includes('/blobs/'))

test('a node without the password is refused by name and by digest, although the blobs are in its union', async () => {
  expect(await pull(may, image.at(address), '--user', PASSWORD)).toMatchObject({ code: 0 })
  expect(blobsAsked()).toHaveLength(image.blobs.length)
  for (const reference of [image.at(address), `${address}/private@${image.manifest.digest}`]) {
    const { code, stderr } = await pull(mayNot, reference)
    expect([code, stderr]).toEqual([1, expect.stringContaining('401 Unauthorized')])
  }
  for (const { digest } of image.blobs) {
    await expect(mayNot.containerd.readBlob(digest)).rejects.toThrow('not found')
  }
  expect([mayNot.uses(), await mayNot.containerd.contentList()]).toEqual([[], []])
}, 60_000)

test('one with the password asks the registry for the name, and for no blob', async () => {
  expect(await pull(mayNot, image.at(address), '--user', PASSWORD)).toMatchObject({ code: 0 })
  expect(asked.splice(0)).toEqual(['HEAD /v2/private/manifests/1'])
  await mayNot.containerd.removeImage(image.at(address))
  expect(mayNot.uses()).toEqual([])
}, 60_000)

test('whoever knows the digest of a layer gets it by a manifest of his own, also where containerd isolates namespaces', async () => {
  const own = makeImage({ name: 'own', tag: '1', layers: ['private-0'], layerBytes: 100_000, seed: 'own' })
  const layer = image.layers[0]!
  expect(own.layers[0]!.digest).toBe(layer.digest)
  // It has a manifest and a configuration, and nothing of the layer.
  const server = createServer(({ url = '' }, answer) => {
    const isManifest = url.includes('/manifests/')
    const found = isManifest
      ? own.manifest
      : own.blobs.find(({ digest }) => digest !== layer.digest && url.endsWith(digest))
    if (!found) return void answer.writeHead(404).end()
    const headers = { 'content-type': found.mediaType, 'content-length': found.size }
    answer.writeHead(200, { ...headers, 'docker-content-digest': found.digest }).end(found.bytes)
  })
  const evil = await addressOf(server)
  try {
    const policy = '[plugins."io.containerd.metadata.v1.bolt"]\ncontent_sharing_policy = "isolated"\n'
    appendFileSync(join(mayNot.root, 'c', 'config.toml'), policy)
    await mayNot.containerd.restart()
    expect(await pull(mayNot, own.at(evil))).toMatchObject({ code: 0 })
    expect(await mayNot.containerd.readBlob(layer.digest)).toEqual({ digest: layer.digest, size: layer.size })
  } finally {
    server.closeAllConnections()
    server.close()
  }
}, 60_000)
