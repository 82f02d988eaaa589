import { createCipheriv, createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { tarOf } from './tar.ts'

interface Blob {
  readonly mediaType: string
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string
  readonly size: number
  readonly bytes: Buffer
}

export interface Image {
  readonly name: string
  readonly tag: string
  readonly manifest: Blob
  readonly config: Blob
  /** The lowest first. */
  readonly layers: readonly Blob[]
  /** What a registry serves as blobs: the config and the layers. The manifest is fetched by another path. */
  readonly blobs: readonly Blob[]
  /** As `ctr` names it, by this way to the registry. */
  at(address: string): string
}

interface ImageOptions {
  readonly name: string
  readonly tag: string
  /** How many, or the seed of each: layers of the same seed and size are the same blob, whatever image they are in. */
  readonly layers: number | readonly string[]
  /** Of each layer, compressed; about. */
  readonly layerBytes: number
  readonly seed: string
}

const DOCKER = 'application/vnd.docker'
const FILES_PER_LAYER = 4

/** The same options always make the same image. */
export function makeImage({ name, tag, layers, layerBytes, seed }: ImageOptions): Image {
  const seeds = typeof layers === 'number' ? Array.from({ length: layers }, (_, place) => `${seed}-${place}`) : layers
  const archives = seeds.map((each) => layerArchive(each, layerBytes))
  const tarballs = archives.map((archive) =>
    // Random bytes do not become smaller: compressing them costs time, and nothing is gained.
    blobOf(`${DOCKER}.image.rootfs.diff.tar.gzip`, gzipSync(archive, { level: 1 })),
  )
  const config = jsonBlob(`${DOCKER}.container.image.v1+json`, {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: {},
    rootfs: { type: 'layers', diff_ids: archives.map(digestOf) },
  })
  const described = ({ mediaType, digest, size }: Blob) => ({ mediaType, digest, size })
  const mediaType = `${DOCKER}.distribution.manifest.v2+json`
  const parts = { config: described(config), layers: tarballs.map(described) }
  const manifest = jsonBlob(mediaType, { schemaVersion: 2, mediaType, ...parts })
  const blobs = [config, ...new Map(tarballs.map((layer) => [layer.digest, layer])).values()]
  return { name, tag, manifest, config, layers: tarballs, blobs, at: (address) => `${address}/${name}:${tag}` }
}

/** Several files, so that unpacking is more than one long write. */
function layerArchive(seed: string, layerBytes: number): Buffer {
  const bytes = randomBytes(seed, layerBytes)
  const size = Math.ceil(layerBytes / FILES_PER_LAYER)
  const files = Array.from({ length: FILES_PER_LAYER }, (_, place) => ({
    path: `${seed}/${place}`,
    bytes: bytes.subarray(place * size, (place + 1) * size),
  }))
  return tarOf(files)
}

/** The key stream of a cipher: quick to make, and of no pattern that gzip could use. */
function randomBytes(seed: string, count: number): Buffer {
  const key = createHash('sha256').update(seed).digest()
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(count))
}

function jsonBlob(mediaType: string, content: object): Blob {
  return blobOf(mediaType, Buffer.from(JSON.stringify(content)))
}

function blobOf(mediaType: string, bytes: Buffer): Blob {
  return { mediaType, digest: digestOf(bytes), size: bytes.length, bytes }
}

/** As registries and containerd write it. */
export function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}
