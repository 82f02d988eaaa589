import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { contentConfigOf } from '@baton-lock/containerd/node/config'
import { buildApp, listen, Service, systemClock } from '@baton-lock/server'
import { openMemoryStore } from '@baton-lock/store/memory'
import { run, startProcess } from '@baton-lock/test-support/processes'
import { EXIT } from 'baton-lock/cli'
import { readTokensFile } from 'baton-lock/cli/config/file'
import { serveConfig } from 'baton-lock/cli/config/serve-config'
import { storeTable } from 'baton-lock/store-table'
import { validate } from 'dockerfile-utils'
import { parse } from 'smol-toml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Environment,
  pathTo,
  read,
  readDockerfile,
  readObjects,
  readUnit,
  readYaml,
  root,
} from './deploy/files.ts'

/** Docker builds an image in it. */
const LONGEST_MS = 600_000
const folder = mkdtempSync(join(tmpdir(), 'baton-deploy-'))
afterAll(() => rmSync(folder, { recursive: true }))

const dockerfile = readDockerfile()
const compose = readYaml('compose.yaml')
const objects = readObjects('kubernetes.yaml')
const unit = readUnit('baton.service')
const contentUnit = readUnit('baton-content.service')
const TOKENS = pathTo('tokens.example.toml')
const STORE = 'file:/var/lib/baton'
const PORT = 8086

/** What `baton serve` makes of an environment; where that names tokens, they are those of the example. */
const configOf = ({ BATON_TOKENS, ...env }: Environment) =>
  serveConfig({
    flags: {},
    env: { ...env, ...(BATON_TOKENS !== undefined && { BATON_TOKENS: TOKENS }) },
    warn: (sentence) => expect.fail(sentence),
  })

/** The variables that `baton serve --help` names, and Node's own. */
let known: readonly string[]
let url: string
let close: () => Promise<void>

beforeAll(async () => {
  const args = ['packages/baton-lock/dist/main.js', 'serve', '--help']
  const help = String(await run(process.execPath, args, { cwd: root, timeoutMs: 30_000 }))
  known = ['NODE_ENV', ...(help.match(/\bBATON_[A-Z_]+/g) ?? [])]
  const clock = systemClock()
  const service = new Service({ store: openMemoryStore({ clock }) })
  const app = buildApp({ service, tokens: readTokensFile(TOKENS) })
  url = await listen(app, { port: 0 })
  close = async () => {
    await app.close()
    await service.close()
    clock.stop()
  }
})
afterAll(() => close())

const expectKnown = (environment: Environment) =>
  expect(Object.keys(environment).filter((name) => !known.includes(name))).toEqual([])

const works = (program: string, ...args: string[]) =>
  run(program, args, { timeoutMs: 5_000 }).then(
    () => true,
    () => false,
  )
const [hasEngine, hasSystemd] = await Promise.all([works('docker', 'info'), works('systemd-analyze', '--version')])

describe('the image', () => {
  test('nothing is wrong with the Dockerfile, nor with what it copies', () => {
    expect(validate(read('Dockerfile'))).toEqual([])
    const given = read('Dockerfile.dockerignore').split('\n')
    for (const path of dockerfile.copied) {
      expect(existsSync(join(root, path)), path).toBe(true)
      expect(given.filter((line) => line === `!${path}` || line.startsWith(`!${path}/`))).not.toEqual([])
    }
    expect(new Set(dockerfile.bases)).toEqual(new Set(['node:22-slim']))
  })

  test('it has the command line, with the packages that it needs and all stores', () => {
    const [, names] = /for name in (.*?);/.exec(dockerfile.commands.join('\n'))!
    const { dependencies } = JSON.parse(readFileSync(join(root, 'packages/baton-lock/package.json'), 'utf8'))
    const needed = [...Object.keys(dependencies), ...storeTable.map((row) => row.package ?? '')]
    const own = needed.filter((name) => name.startsWith('@baton-lock/')).map((name) => name.replace('@baton-lock/', ''))
    expect(names!.split(' ')).toEqual(['baton-lock', ...own])
  })

  test('its server is not root, keeps its data on a volume, and wants tokens', () => {
    expect(dockerfile.argumentsOf('USER')).toEqual(['node'])
    expect(dockerfile.argumentsOf('VOLUME')).toEqual(['/var/lib/baton'])
    expect(dockerfile.argumentsOf('EXPOSE')).toEqual([String(PORT)])
    expect(dockerfile.entrypoint).toEqual(['baton', 'serve'])
    expectKnown(dockerfile.environment)
    expect(() => configOf(dockerfile.environment)).toThrow('name tokens with --tokens FILE')
    const config = configOf({ ...dockerfile.environment, BATON_TOKENS: '' })
    expect(config).toMatchObject({ host: '0.0.0.0', port: PORT, store: STORE })
  })

  test('its health check passes where a server answers, and fails where none does', () => {
    const [program, ...args] = dockerfile.healthcheck
    expect(program).toBe('node')
    const check = (port: string) => startProcess(process.execPath, args, { env: { BATON_PORT: port } }).ended
    return Promise.all([
      expect(check(new URL(url).port)).resolves.toEqual({ code: 0, stdout: '', stderr: '' }),
      expect(check('1')).resolves.toMatchObject({ code: 1 }),
    ])
  })

  if (hasEngine) test('Docker builds it, and its server is ready', buildAndAsk, LONGEST_MS)
  else
    test('no Docker engine answers here, so it is not built: its commands are well-formed, and their scripts exist', async () => {
      expect(dockerfile.commands.length).toBeGreaterThan(2)
      for (const command of dockerfile.commands) {
        expect(await startProcess('sh', ['-n', '-c', command]).exited, command).toBe(0)
        for (const [, script] of command.matchAll(/\bnode (scripts\S+)/g))
          expect(existsSync(join(root, script!)), script).toBe(true)
      }
    })
})

async function buildAndAsk(): Promise<void> {
  const docker = async (...args: string[]) =>
    String(await run('docker', args, { cwd: root, timeoutMs: LONGEST_MS })).trim()
  await docker('build', '-f', 'deploy/Dockerfile', '-t', 'baton-test', '.')
  const container = await docker('run', '--detach', '--publish', `127.0.0.1::${PORT}`, 'baton-test', '--insecure')
  try {
    const address = await docker('port', container, String(PORT))
    const isReady = () => fetch(`http://${address}/readyz`).then(({ ok }) => ok)
    await expect.poll(() => isReady().catch(() => false), { timeout: 30_000 }).toBe(true)
  } finally {
    await docker('rm', '--force', '--volumes', container)
  }
}

test('compose: the image on this machine alone, with a volume, and tokens that come as a secret', () => {
  const { baton } = compose.services
  expect(join(root, 'deploy', baton.build.context, baton.build.dockerfile)).toBe(pathTo('Dockerfile'))
  expect(baton.ports).toEqual([`127.0.0.1:${PORT}:${PORT}`])
  const [volume, path] = baton.volumes[0].split(':')
  expect(Object.keys(compose.volumes)).toEqual([volume])
  expect(dockerfile.argumentsOf('VOLUME')).toEqual([path])
  expectKnown(baton.environment)
  expect(baton.secrets.map((name: string) => `/run/secrets/${name}`)).toEqual([baton.environment.BATON_TOKENS])
  expect(Object.keys(compose.secrets)).toEqual(baton.secrets)
  expect(configOf({ ...dockerfile.environment, ...baton.environment })).toMatchObject({ port: PORT, store: STORE })
})

describe('kubernetes', () => {
  const pod = objects.StatefulSet.spec.template.spec
  const [container] = pod.containers
  const environment = Object.fromEntries(container.env.map(({ name, value }: Record<string, string>) => [name, value]))

  test('one server on a volume of its own, which is not root', () => {
    expect(Object.keys(objects)).toEqual(['Secret', 'Service', 'StatefulSet'])
    expect(objects.StatefulSet.spec.replicas).toBe(1)
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000 })
    expect(container.securityContext).toMatchObject({ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false })
    const [claim] = objects.StatefulSet.spec.volumeClaimTemplates
    const namesOf = (things: readonly { readonly name: string }[]) => things.map(({ name }) => name)
    expect(namesOf(container.volumeMounts)).toEqual(namesOf([claim.metadata, ...pod.volumes]))
    expect([container.volumeMounts[0].mountPath]).toEqual(dockerfile.argumentsOf('VOLUME'))
    expectKnown(environment)
    expect(configOf({ ...dockerfile.environment, ...environment })).toMatchObject({ port: PORT, store: STORE })
  })

  test('the Service does not set BATON_PORT, and finds the server', () => {
    expect(() => configOf({ BATON_PORT: 'tcp://10.0.0.1:8086' })).toThrow('is not a port')
    expect(pod.enableServiceLinks).toBe(false)
    const { selector, ports } = objects.Service.spec
    expect(objects.StatefulSet.spec.template.metadata.labels).toEqual(selector)
    expect(ports[0]).toMatchObject({ port: PORT, targetPort: container.ports[0].name })
    expect(container.ports[0].containerPort).toBe(PORT)
  })

  test.each(['livenessProbe', 'readinessProbe', 'startupProbe'])('%s is answered, without a token', async (name) => {
    const { path, port } = container[name].httpGet
    expect(port).toBe(container.ports[0].name)
    expect((await fetch(url + path)).status).toBe(200)
    expect((await fetch(`${url}/v1/resources`)).status).toBe(401)
  })

  test('its tokens are such as the server takes', () => {
    const [file] = Object.keys(objects.Secret.stringData)
    expect(pod.volumes[0].secret.secretName).toBe(objects.Secret.metadata.name)
    expect(environment.BATON_TOKENS).toBe(join(container.volumeMounts[1].mountPath, file!))
    const path = join(folder, 'tokens.toml')
    writeFileSync(path, objects.Secret.stringData[file!])
    expect(readTokensFile(path)).toHaveLength(1)
  })
})

describe('systemd', () => {
  test('the server has a user and a directory of its own, and starts again unless it was called wrongly', () => {
    const environment = Object.fromEntries(unit.Environment!.map((each) => each.split(/=(.*)/s)))
    expectKnown(environment)
    expect(configOf(environment)).toMatchObject({ host: '127.0.0.1', port: PORT, store: STORE })
    expect(unit).toMatchObject({ DynamicUser: ['yes'], StateDirectory: ['baton'], Restart: ['on-failure'] })
    expect(unit.RestartPreventExitStatus).toEqual([String(EXIT.usage)])
    expect(unit.ExecStart![0]).toMatch(/\/baton serve$/)
  })

  test('whatever supervises a server waits for longer than its stop takes', () => {
    const program = readFileSync(join(root, 'packages/baton-lock/src/program.ts'), 'utf8')
    const stopMs = Number(/^const STOP_MS = ([\d_]+)$/m.exec(program)![1]!.replaceAll('_', ''))
    const { terminationGracePeriodSeconds } = objects.StatefulSet.spec.template.spec
    const waits = [
      unit.TimeoutStopSec![0],
      parseInt(compose.services.baton.stop_grace_period, 10),
      terminationGracePeriodSeconds,
    ]
    for (const seconds of waits) expect(Number(seconds) * 1_000).toBeGreaterThan(stopMs)
  })

  test('the content store is there before containerd is started, comes again, and is killed only where it does not stop', () => {
    expect(contentUnit).toMatchObject({ Before: ['containerd.service'], Restart: ['always'], KillMode: ['mixed'] })
    expect(contentUnit.WantedBy![0]).toContain('containerd.service')
    expect(contentUnit.RestartPreventExitStatus).toEqual([String(EXIT.usage)])
    expect(contentUnit.ExecStart![0]).toMatch(/\/baton content --config \/etc\/baton\/content\.toml$/)
  })

  test('the content store, its configuration and that of containerd agree on the socket', () => {
    const settings = (name: string) => parse(readFileSync(join(root, 'examples/containerd', name), 'utf8'))
    const socket = settings('content.toml').socket_path
    expect(settings('containerd.toml')).toMatchObject({
      proxy_plugins: { baton: { type: 'content', address: socket } },
    })
    expect(contentUnit.ExecStartPost![0]).toContain(`test -S ${socket};`)
    expect(dirname(String(socket))).toBe(`/run/${contentUnit.RuntimeDirectory![0]}`)
    expect(contentConfigOf(settings('content.toml'), 'content.toml').warnings).toEqual([])
  })

  test('the content store has no mount namespace of its own, in which others would not see the union', () => {
    const own =
      /^(Protect(System|Home|Kernel|Proc|ControlGroups)|Private|ReadOnly|ReadWrite|Inaccessible|Temporary|Bind|Root|MountFlags|DynamicUser)/
    expect(Object.keys(contentUnit).filter((setting) => own.test(setting))).toEqual([])
  })

  const UNITS = ['baton.service', 'baton-content.service']
  if (hasSystemd)
    test.each(UNITS)('systemd-analyze finds nothing wrong with %s', async (name) => {
      // It looks whether the program is there.
      const path = join(folder, name)
      writeFileSync(path, read(name).replace('/usr/local/bin/baton', process.execPath))
      const { ended } = startProcess('systemd-analyze', ['verify', path])
      expect(await ended).toEqual({ code: 0, stdout: '', stderr: '' })
    })
  else
    test.each(UNITS)(
      'systemd-analyze is not here: %s has the three sections, and nothing but settings in them',
      (name) => {
        const lines = read(name).split('\n')
        expect(lines.filter((line) => line.startsWith('['))).toEqual(['[Unit]', '[Service]', '[Install]'])
        expect(lines.filter((line) => !/^(#.*|\[\w+\]|\w+=.*|)$/.test(line))).toEqual([])
      },
    )
})
