// The programs of internal/faults, bundled: the simulator, the soak and its processes, the attacks and theirs.
import { join } from 'node:path'

const SOURCES = 'internal/faults/src'
const programs = {
  simulator: 'simulator/cli.ts',
  soak: 'harness/cli.ts',
  'soak-client': 'harness/client.ts',
  'soak-observer': 'harness/observer.ts',
  'kill-restart': 'harness/kill-restart-cli.ts',
  'content-pulls': 'content/pulls.ts',
  'recorded-server': 'recorded-server.ts',
  attacks: 'attacks/cli.ts',
  'attack-attacker': 'attacks/attacker-process.ts',
  'attack-victim': 'attacks/victim-process.ts',
}

/** What `bundle` takes; `only` names some of them. */
export function faultPrograms(outDir, { only = Object.keys(programs), root = '.', plugins = [] } = {}) {
  const entries = Object.fromEntries(only.map((name) => [name, join(root, SOURCES, programs[name])]))
  return {
    entries,
    outDir,
    plugins,
    chunks: '',
    external: ['mysql2', '@grpc/grpc-js', 'protobufjs', 'ws', '@opentelemetry/api'],
  }
}
