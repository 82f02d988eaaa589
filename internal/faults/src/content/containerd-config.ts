import { join } from 'node:path'

interface ConfigOptions {
  readonly folder: string
  readonly socket: string
  readonly contentSocket?: string
}

/** What needs kernel modules, disks or the network, and is of no use here. */
const UNUSED = [
  'io.containerd.grpc.v1.cri',
  'io.containerd.internal.v1.opt',
  'io.containerd.snapshotter.v1.aufs',
  'io.containerd.snapshotter.v1.btrfs',
  'io.containerd.snapshotter.v1.devmapper',
  'io.containerd.snapshotter.v1.zfs',
]
/** While it is enabled, it silently wins over a proxy plugin. */
const BUILT_IN_STORE = 'io.containerd.content.v1.content'

/** The `config.toml` of a containerd with everything of its own in one folder. */
export function containerdConfig({ folder, socket, contentSocket }: ConfigOptions): string {
  const disabled = contentSocket === undefined ? UNUSED : [...UNUSED, BUILT_IN_STORE]
  const place = (name: string) => JSON.stringify(join(folder, name))
  const proxy = `
[proxy_plugins.baton]
type = "content"
address = ${JSON.stringify(contentSocket)}
`
  return `version = 2
root = ${place('root')}
state = ${place('state')}
disabled_plugins = ${JSON.stringify(disabled)}
[grpc]
address = ${JSON.stringify(socket)}
[ttrpc]
address = ${place('t.sock')}
# It says how long it took to apply a layer only at this level.
[debug]
level = "debug"
${contentSocket === undefined ? '' : proxy}`
}
