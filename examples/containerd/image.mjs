// Makes an image of random bytes, and pushes it by the API of registries.
import { createHash, randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'

const DOCKER = 'application/vnd.docker'

/**
 * @param {{ registry: string, name: string, layers: number, layerBytes: number }} image
 * @returns {Promise<{ blobs: number }>} how many blobs a pull fetches: the layers, and the configuration of the image
 */
export async function pushImage({ registry, name, layers, layerBytes }) {
  const url = `http://${registry}/v2/${name}`
  const archives = Array.from({ length: layers }, (_, index) => tar(`file-${index}`, randomBytes(layerBytes)))
  const described = []
  for (const archive of archives) {
    const bytes = gzipSync(archive, { level: 1 })
    described.push(await pushBlob(url, bytes, `${DOCKER}.image.rootfs.diff.tar.gzip`))
  }
  const config = JSON.stringify({
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: {},
    rootfs: { type: 'layers', diff_ids: archives.map(digestOf) },
  })
  const mediaType = `${DOCKER}.distribution.manifest.v2+json`
  const parts = {
    config: await pushBlob(url, Buffer.from(config), `${DOCKER}.container.image.v1+json`),
    layers: described,
  }
  const manifest = JSON.stringify({ schemaVersion: 2, mediaType, ...parts })
  await send(`${url}/manifests/1`, { method: 'PUT', headers: { 'content-type': mediaType }, body: manifest })
  return { blobs: layers + 1 }
}

/**
 * @param {string} url
 * @param {Buffer} bytes
 * @param {string} mediaType
 */
async function pushBlob(url, bytes, mediaType) {
  const digest = digestOf(bytes)
  const { headers } = await send(`${url}/blobs/uploads/`, { method: 'POST' })
  const upload = new URL(headers.get('location') ?? '', url)
  upload.searchParams.set('digest', digest)
  const type = { 'content-type': 'application/octet-stream' }
  await send(upload.href, { method: 'PUT', headers: type, body: new Uint8Array(bytes) })
  return { mediaType, digest, size: bytes.length }
}

/**
 * @param {string} url
 * @param {RequestInit} init
 */
async function send(url, init) {
  const response = await fetch(url, init)
  if (!response.ok) throw new Error(`${init.method} ${url}: ${response.status} ${await response.text()}`)
  return response
}

/** @param {Buffer} bytes */
function digestOf(bytes) {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

/**
 * An archive of one file.
 * @param {string} name
 * @param {Buffer} bytes
 */
function tar(name, bytes) {
  const header = Buffer.alloc(512)
  header.write(name, 0)
  header.write('0000644\0'.concat('0000000\0'.repeat(2)), 100)
  header.write(`${bytes.length.toString(8).padStart(11, '0')}\0${'0'.repeat(11)}\0`, 124)
  // The checksum is summed up as if its own field held blanks.
  header.fill(' ', 148, 156)
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  const padding = Buffer.alloc((512 - (bytes.length % 512)) % 512)
  return Buffer.concat([header, bytes, padding, Buffer.alloc(1024)])
}
