// needs: containerd, mergerfs, mount
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { containerdConfig } from '@baton-lock/faults/content/containerd-config'
import { startContainerd } from '@baton-lock/faults/content/containerd-node'
import { ContentCluster } from '@baton-lock/faults/content/content-cluster'
import { makeImage } from '@baton-lock/faults/content/image'
import { startRegistry } from '@baton-lock/faults/content/registry'
import { afterAll, expect, test } from 'vitest'
import { baton, killRest, MAIN, openFolder, start, startServer, until } from '../../../test/e2e/cli-process.ts'
import { openContent } from '../src/index.ts'

/* What docs/containerd.md tells its readers to do. */

const folder = openFolder()
afterAll(() => {
  killRest()
  folder.remove()
})

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

test('a token of a node that is bound to the namespace content is all that a content store needs', async () => {
  const tokens = ['a', 'b'].map(
    (node) => `[[tokens]]\nsha256 = "${sha256(node)}"\nrole = "node"\nnodes = ["${node}"]\nnamespace = "content"\n`,
  )
  writeFileSync(folder.path('tokens.toml'), tokens.join(''))
  const server = await startServer(['--tokens', folder.path('tokens.toml')])
  const nodes = { a: { root: folder.path('a') }, b: { root: folder.path('b') } }
  const settingsOf = (node: string) => {
    writeFileSync(folder.path(`${node}.token`), `${node}\n`)
    return { current_node: node, servers: [server.url], token_file: folder.path(`${node}.token`), nodes }
  }
  const a = await openContent(settingsOf('a'))
  const b = await openContent(settingsOf('b'))
  try {
    const blob = { digest: `sha256:${sha256('layer')}`, size: 5 }
    const writer = await a.writer(blob)
    await writer.write(Buffer.from('layer'))
    await writer.commit()
    const found = await b.writer(blob)
    expect(found.isThere).toBe(true)
    await found.commit()
    expect((await b.status()).isCoordinated).toBe(true)
    expect(await a.delete(blob.digest)).toEqual({ status: 'in-use', usedBy: ['b'] })
    expect(await b.delete(blob.digest)).toEqual({ status: 'removed', usedBy: [] })
  } finally {
    await Promise.all([a.close(), b.close()])
  }
  const lines = Object.entries(nodes).map(([name, { root }]) => `[nodes.${name}]\nroot = "${root}"\n`)
  const top = `current_node = "a"\nsocket_path = "${folder.path('s')}"\nservers = ["${server.url}"]\n`
  writeFileSync(folder.path('content.toml'), `${top}token_file = "${folder.path('a.token')}"\n${lines.join('')}`)
  expect(await baton(['content', 'check', '--config', folder.path('content.toml')])).toMatchObject({ code: 0 })
  writeFileSync(folder.path('a.token'), 'another')
  const refused = await baton(['content', 'check', '--config', folder.path('content.toml')])
  expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('WRONG')])
  await server.stop()
}, 60_000)

test('the folder of a dead node is gone: what only lay there is fetched again when the image was removed, and its references can be dropped', async () => {
  mkdirSync(folder.path('k'))
  const cluster = await ContentCluster.start({ folder: folder.path('k'), main: MAIN, names: ['a', 'b'] })
  try {
    const [dead, node] = cluster.nodes as [(typeof cluster.nodes)[0], (typeof cluster.nodes)[0]]
    await dead.start()
    await node.start()
    const image = await cluster.pushed({ name: 'image', layers: 2, layerBytes: 100_000 })
    const reference = image.at(node.door)
    await dead.containerd.pull(image.at(dead.door))
    await node.containerd.pull(reference)
    expect(node.hostBlobs()).toEqual([])
    await dead.kill()
    renameSync(`${dead.root}/host`, folder.path('gone'))
    // Files that it has open would be read on.
    const { saved } = await node.status()
    await node.stopStore()
    await node.startStore()
    expect(await node.status()).toMatchObject({ saved: saved as object, fetched: { gets: 0 } })

    const layer = image.layers[0]!
    const missing = `${layer.digest} is in no node's folder: the folder of a is not there`
    // containerd dials a store that was away again by and by.
    const read = () => node.containerd.readBlob(layer.digest).then(() => 'read', String)
    await expect.poll(read, { timeout: 20_000 }).toContain(missing)
    await expect(node.containerd.pull(reference)).rejects.toThrow("is in no node's folder")
    expect(await node.status()).toMatchObject({ absentNodes: ['a'] })

    cluster.link.resetGets()
    await node.containerd.removeImage(reference)
    await node.containerd.pull(reference)
    expect(cluster.link.gets).toHaveLength(image.blobs.length)
    expect(await node.containerd.readBlob(layer.digest)).toMatchObject({ digest: layer.digest })

    await node.containerd.removeImage(reference)
    await expect.poll(async () => (await node.status()).pending, { timeout: 10_000 }).toBe(0)
    expect(node.hostBlobs()).toHaveLength(image.blobs.length + 1)
    const where = ['--server', cluster.serverUrl, '--namespace', 'content']
    expect(await baton(['refs', 'drop-node', 'a', ...where])).toMatchObject({ code: 0 })
    // It asks for what nobody uses at its start, and every hour.
    await node.stopStore()
    await node.startStore()
    await expect.poll(() => node.hostBlobs(), { timeout: 10_000 }).toEqual([])
  } finally {
    await cluster.stop()
  }
}, 120_000)

test('a containerd that had images before: its blobs are copied to host, and it goes on with them', async () => {
  const registry = await startRegistry({ folder: folder.path('registry') })
  const server = await startServer()
  const image = makeImage({ name: 'old', tag: '1', layers: 2, layerBytes: 100_000, seed: 'old' })
  await registry.push(image)
  const containerd = await startContainerd({ folder: folder.path('d'), name: 'a' })
  try {
    await containerd.pull(image.at(registry.address))
    await containerd.kill()
    const blobs = 'blobs/sha256'
    const builtIn = folder.path('d/root/io.containerd.content.v1.content')
    cpSync(join(builtIn, blobs), folder.path(`n/host/${blobs}`), { recursive: true })
    const contentSocket = folder.path('n.sock')
    const nodes = `[nodes.a]\nroot = "${folder.path('n')}"\n`
    const settings = `current_node = "a"\nsocket_path = "${contentSocket}"\nservers = ["${server.url}"]\n${nodes}`
    writeFileSync(folder.path('n.toml'), settings)
    const store = start(['content', '--config', folder.path('n.toml')])
    await until('the content store listens', () => store.stdout().includes('listening'))
    expect(store.stderr()).toContain(`${image.blobs.length + 1} blobs that were here already are taken to be in use`)
    const config = containerdConfig({ folder: folder.path('d'), socket: containerd.socket, contentSocket })
    writeFileSync(folder.path('d/config.toml'), config)
    rmSync(builtIn, { recursive: true })
    await containerd.restart()
    await containerd.collectGarbage()
    for (const { digest } of image.blobs) expect(await containerd.readBlob(digest)).toMatchObject({ digest })
    await containerd.unpackAgain(image.manifest.digest)
    await containerd.removeImage(image.at(registry.address))
    await expect.poll(() => readdirSync(folder.path(`n/host/${blobs}`)), { timeout: 10_000 }).toEqual([])
    store.kill('SIGTERM')
    expect(await store.ended).toMatchObject({ code: 0 })
  } finally {
    await containerd.stop()
    await registry.stop()
    await server.stop()
  }
}, 60_000)
